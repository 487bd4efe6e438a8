import ArgumentParser
import Crypto
import Foundation
import Testing

@testable import ConformanceCommand

/// llhttp's replies, which lie outside this repository: see `ERRAND_SUITES` in CONTRIBUTING.md.
private enum HTTP1Suite {
    static let folder = Suites.folder("http1")
    static let missing = Suites.missing

    struct Vector: Decodable {
        let name: String
        let client: String
        let status: Int?
        let body: Data?
    }

    static func vectors() throws -> [Vector] {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: folder.appendingPathComponent("responses.json")))
    }

    /// Calls `body` with the URL of a server that sends the replies.
    static func withServer<Result>(chunkBytes: Int, _ body: (String) async throws -> Result) async throws -> Result {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", folder.appendingPathComponent("replay.py").path, folder.appendingPathComponent("responses.json").path,
            "--port", "0", "--chunk", "\(chunkBytes)", "--max-seconds", "120",
        ]
        process.standardOutput = output
        try process.run()
        defer {
            // Tests may run with blocked signals, which a child inherits.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        var line = ""
        while !line.contains("\n"), case let more = output.fileHandleForReading.availableData, !more.isEmpty {
            line += String(decoding: more, as: UTF8.self)
        }
        let url = try #require(line.firstMatch(of: #/http://[0-9.:]+/#))
        return try await body(String(url.output))
    }
}

@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: HTTP1Suite.folder != nil, HTTP1Suite.missing)) struct ReplayTests {
    private func verdict(_ vector: HTTP1Suite.Vector, _ outcome: Replay.Outcome) -> String? {
        // Other tests take processors.
        if outcome.milliseconds >= 120_000 { return "took \(outcome.milliseconds) ms" }
        switch vector.client {
        case "accept":
            if let error = outcome.error { return "refused: \(error.message)" }
            let digest = SHA256.hash(data: vector.body ?? Data()).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            guard outcome.status == vector.status else { return "status \(outcome.status ?? 0)" }
            return outcome.sha256 == digest && outcome.bytes == vector.body?.count ?? 0 ? nil : "another body"
        case "refuse": return outcome.error == nil ? "accepted" : nil
        default: return nil
        }
    }

    /// The pieces of 40 bytes make a difference to a parser, and the outcome must be the same.
    @Test(arguments: [0, 40]) func theTransportHandlesEveryReplyOfTheSuite(chunkBytes: Int) async throws {
        let vectors = try HTTP1Suite.vectors()
        let outcomes = try await HTTP1Suite.withServer(chunkBytes: chunkBytes) { url in
            try await Replay(base: url).outcomes(count: vectors.count)
        }
        #expect(outcomes.count == vectors.count && vectors.count == 84)
        for (vector, outcome) in zip(vectors, outcomes) {
            let wrong = verdict(vector, outcome)
            #expect(wrong == nil, "\(outcome.index) \(vector.name)")
        }
    }

    @Test func theOutputFileHasOneObjectForEachURL() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-replay-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try await HTTP1Suite.withServer(chunkBytes: 0) { url in
            let words = ["replay", "--base", url, "--count", "3", "--output", file.path]
            let command = try #require(try ConformanceCommand.parseAsRoot(words) as? ReplayCommand)
            try await command.run()
        }
        let outcomes = try JSONDecoder().decode([Replay.Outcome].self, from: Data(contentsOf: file))
        #expect(outcomes.map(\.index) == [0, 1, 2] && outcomes.allSatisfy { $0.sha256.count == 64 })
    }
}

/// Without the suite: how failures look.
@Suite struct ReplayFailureTests {
    @Test func aConnectionThatIsRefusedIsAnOutcome() async throws {
        let outcomes = try await Replay(base: "http://127.0.0.1:1").outcomes(count: 1)
        let outcome = try #require(outcomes.first)
        #expect(outcome.status == nil && outcome.bytes == 0 && outcome.sha256.hasPrefix("e3b0c44298fc1c14"))
        #expect(outcome.error?.code == "cannot connect" && outcome.error?.phase == "connect")
        #expect(outcome.error?.message.hasSuffix("connection refused") == true)
    }
}
