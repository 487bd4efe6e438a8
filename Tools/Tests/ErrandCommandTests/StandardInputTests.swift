import Errand
import Foundation
import Testing

@testable import ErrandCommand

/// Standard input as the body of a request without an option for a body.
@Suite(.timeLimit(.minutes(5)), .serialized) struct StandardInputTests {
    private func inFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// `-s` does not hide the message: without it, a loop would send its list as a body without a trace.
    @Test(arguments: ["post", "put", "patch"]) func aBodyFromAPipeIsNamed(method: String) async throws {
        try await withRawServer { (server: RawServer) async throws in
            for options in [[], ["-s"], ["-sS"]] {
                let outcome = try await CommandProcess([method, server.url] + options, input: Data(#"{"a":1}"#.utf8)).outcome()
                #expect(outcome.status == 0 && server.requests.last?.hasSuffix("\r\n\r\n" + #"{"a":1}"#) == true)
                #expect(outcome.errors == "errand: the body is standard input (7 bytes); --ignore-stdin sends no body\n")
            }
        }
    }

    @Test(arguments: [["-T", "-"], ["-d", "@-"], ["--json", "@-"], ["--data-binary", "@-"]])
    func aBodyThatIsAskedForIsNotNamed(words: [String]) async throws {
        try await withRawServer { (server: RawServer) async throws in
            for own in [words, words + ["-s"], words + ["--ignore-stdin"]] {
                let outcome = try await CommandProcess(["post", server.url] + own, input: Data("{}".utf8)).outcome()
                #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
                #expect(server.requests.last?.hasSuffix("{}") == true || server.lastHead.contains("Transfer-Encoding: chunked"))
            }
        }
    }

    @Test(arguments: [["post"], ["put"], ["send"], []]) func standardInputCanBeIgnored(words: [String]) async throws {
        try await withRawServer { (server: RawServer) async throws in
            let outcome = try await CommandProcess(words + ["--ignore-stdin", server.url], input: Data("text".utf8)).outcome()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            #expect(server.requests.last?.hasSuffix("\r\n\r\n") == true)
        }
    }

    /// `while read` reads a file and leaves the rest to the next round.
    @Test(arguments: [("", 2), ("--ignore-stdin", 0), ("-s", 0)])
    func aLoopOverAFileKeepsItsList(options: String, messages: Int) async throws {
        try await inFolder { (folder: URL) async throws in
            try await withRawServer { (server: RawServer) async throws in
                let list = (1...3).map { "\(server.url)/\($0)\n" }.joined()
                try Data(list.utf8).write(to: folder.appendingPathComponent("list"))
                let loop = "while read url; do \(CommandProcess.path.path) post $url \(options); done < list"
                let outcome = try await CommandProcess(["-c", loop], running: ["/bin/sh"], in: folder).outcome()
                #expect(server.requests.count == 3 && server.requests.allSatisfy { $0.hasSuffix("\r\n\r\n") }, "\(server.requests)")
                let lines = outcome.errors.split(separator: "\n")
                #expect(lines.count == messages && lines.allSatisfy { $0.contains("--json @- sends the rest") }, "\(outcome.errors)")
            }
        }
    }

    @Test(arguments: ["", "-s"]) func aLoopOverAPipeIsToldWhatBecameOfItsList(option: String) async throws {
        try await withRawServer { (server: RawServer) async throws in
            let list = (1...3).map { "\(server.url)/\($0)\n" }.joined()
            let loop = { (options: String) in "while read url; do \(CommandProcess.path.path) post $url \(options); done" }
            let outcome = try await CommandProcess(["-c", loop(option)], input: Data(list.utf8), running: ["/bin/sh"]).outcome()
            let rest = list.utf8.count / 3 * 2
            #expect(server.requests.count == 1 && outcome.errors.contains("(\(rest) bytes); --ignore-stdin"), "\(outcome.errors)")
            let whole = try await CommandProcess(["-c", loop("--ignore-stdin")], input: Data(list.utf8), running: ["/bin/sh"]).outcome()
            #expect(server.requests.count == 4 && whole.errors.isEmpty, "\(whole.errors)")
        }
    }

    @Test func aFileIsSentFromItsBeginning() async throws {
        try await inFolder { (folder: URL) async throws in
            try await withRawServer { (server: RawServer) async throws in
                try Data("[1]".utf8).write(to: folder.appendingPathComponent("list"))
                let line = "\(CommandProcess.path.path) post \(server.url) < list"
                let outcome = try await CommandProcess(["-c", line], running: ["/bin/sh"], in: folder).outcome()
                #expect(outcome.status == 0 && server.requests.last?.hasSuffix("\r\n\r\n[1]") == true)
                #expect(outcome.errors.contains("(3 bytes)"), "\(outcome.errors)")
            }
        }
    }

    @Test(arguments: [(1, true, "(1 byte)"), (2, true, "(2 bytes)"), (1_048_577, false, "(at least 1048577 bytes)")])
    func theSizeOfStandardInputIsNamed(bytes: Int, isWhole: Bool, text: String) {
        #expect(PipedBody.notice(of: bytes, isWhole: isWhole).contains(text))
    }
}
