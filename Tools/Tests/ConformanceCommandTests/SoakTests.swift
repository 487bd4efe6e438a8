import Foundation
import Testing

@testable import ConformanceCommand

@Suite(.timeLimit(.minutes(2))) struct SoakTests {
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

    /// The short form of what `conformance soak` does two million times. So few requests say nothing of the growth of the memory.
    @Test(arguments: [1, 2]) func nothingIsLeftOfManyRequests(seed: Int) async throws {
        let words = ["soak", "--requests", "1500", "--seed", "\(seed)", "--concurrency", "32", "--max-growth-mib", "256"]
        let (status, lines) = try await run(words)
        #expect(status == 0)
        #expect(lines.filter { $0.hasPrefix("FAILED") } == [])
        #expect(lines.count == 11 && lines.dropLast().allSatisfy { $0.hasSuffix(" 0 exchanges in progress") }, "\(lines)")
    }

    @Test func aPlanDependsOnTheSeedAndTheNumberAlone() {
        func plans(_ seed: UInt64) -> [String] { (0..<200).map { "\(SoakPlan($0, seed: seed, servers: 4))" } }
        #expect(plans(1) == plans(1))
        #expect(plans(1) != plans(2))
    }
}
