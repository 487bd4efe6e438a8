import Synchronization
import Testing

@testable import ConformanceCommand

@Suite(.serialized, .timeLimit(.minutes(2))) struct SoakTests {
    /// The short form of what `conformance soak` does for hours.
    @Test(arguments: [UInt64(1), 2]) func nothingIsLeftOfManyRequests(seed: UInt64) async throws {
        var lines: [String] = []
        // So few requests say nothing of the growth of the memory.
        let soak = Soak(requests: 1500, seed: seed, concurrency: 32, maxGrowthBytes: 256 << 20)
        let problems = try await soak.run { lines.append($0) }
        #expect(problems == [])
        #expect(lines.count == 11 && lines.dropLast().allSatisfy { $0.hasSuffix(" 0 exchanges in progress") })
    }

    @Test func aPlanDependsOnTheSeedAndTheNumberAlone() {
        func plans(_ seed: UInt64) -> [String] { (0..<200).map { "\(SoakPlan($0, seed: seed, servers: 4))" } }
        #expect(plans(1) == plans(1))
        #expect(plans(1) != plans(2))
    }
}
