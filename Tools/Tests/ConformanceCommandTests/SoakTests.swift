import Foundation
import Testing

@testable import ConformanceCommand

@Suite(.timeLimit(.minutes(5))) struct SoakTests {
    /// The built command, beside the test bundle. It runs in a process of its own, whose descriptors and memory it counts.
    private func run(_ arguments: [String]) async throws -> (status: Int32, lines: [String]) {
        var folder = Bundle.main.bundleURL
        while folder.path != "/", !FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent("conformance").path) {
            folder.deleteLastPathComponent()
        }
        let process = Process()
        let output = Pipe()
        process.executableURL = folder.appendingPathComponent("conformance")
        process.arguments = arguments
        process.standardOutput = output
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
        try? output.fileHandleForWriting.close()
        // Reading blocks, so it is done on a thread that may.
        let data = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: (try? output.fileHandleForReading.readToEnd()) ?? Data()) }
        }
        var status: Int32 = -1
        for await end in ends { status = end }
        return (status, String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
    }

    /// A machine that is busy delays every end, and so few requests say nothing of the growth of the memory.
    private static let looseBounds = [
        "--max-growth-mib", "256", "--max-live-growth-kib", "262144", "--usual-end-ms", "60000", "--longest-end-ms", "60000",
    ]

    /// The short form of what `conformance soak` does two million times.
    @Test(arguments: [1, 2]) func manyRequestsLeaveNothing(seed: Int) async throws {
        let words = ["soak", "--requests", "1500", "--seed", "\(seed)", "--concurrency", "32"]
        let (status, lines) = try await run(words + Self.looseBounds)
        #expect(status == 0)
        #expect(lines.filter { $0.hasPrefix("FAILED") } == [])
        #expect(lines.prefix(10).allSatisfy { $0.hasSuffix(" 0 exchanges in progress") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("0 mix-ups") }, "\(lines)")
    }

    /// The short form of what `conformance soak --http2` does 500,000 times.
    @Test func manyRequestsOverHTTP2LeaveNothing() async throws {
        let (status, lines) = try await run(["soak", "--http2", "--requests", "300", "--concurrency", "16"] + Self.looseBounds)
        #expect(status == 0)
        #expect(lines.filter { $0.hasPrefix("FAILED") } == [])
        #expect(lines.prefix(10).allSatisfy { $0.hasSuffix(" 0 exchanges in progress") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("0 mix-ups") }, "\(lines)")
        // The faults have happened.
        let servers = lines.first { $0.hasPrefix("the servers: ") } ?? ""
        #expect(
            ["GOAWAY", "refusesOnce", "cancels", "stalls", "ends without close_notify"].allSatisfy { servers.contains($0) }, "\(lines)")
    }

    @Test func aBrokenBoundFails() async throws {
        let words = ["soak", "--http2", "--requests", "100", "--usual-end-ms", "0", "--longest-end-ms", "0"]
        let (status, lines) = try await run(words)
        #expect(status == 1)
        #expect(lines.contains { $0.hasPrefix("FAILED: 99.9 % of the ends took up to ") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("FAILED: an end took ") }, "\(lines)")
    }

    @Test func percentilesOfTheEndsAreRoundedUp() {
        var ends = SoakEnds()
        for milliseconds in 1...1000 { ends.add(.cancel, .milliseconds(milliseconds) - .microseconds(50)) }
        ends.add(.deadline, .seconds(5))
        #expect(ends.figures(.cancel).text == "1000: p50 500.0 ms, p99 990.0 ms, p99.9 999.0 ms, longest 1000.0 ms")
        #expect(ends.figures().longest == .seconds(5))
        #expect(ends.figures().count == 1001)
        #expect(ends.figures(.shutdown).count == 0)
    }

    @Test func aPlanDependsOnlyOnTheSeedAndTheNumber() {
        func plans(_ seed: UInt64) -> [String] { (0..<200).map { "\(SoakPlan($0, seed: seed, servers: 4))" } }
        #expect(plans(1) == plans(1))
        #expect(plans(1) != plans(2))
        func http2Plans(_ seed: UInt64) -> [String] { (0..<200).map { "\(SoakPlan(http2: $0, seed: seed))" } }
        #expect(http2Plans(1) == http2Plans(1))
        #expect(http2Plans(1) != http2Plans(2))
    }
}
