import Foundation
import Testing

@testable import ErrandCommand

/// The texts that people read, each in a file beside this one. After a change that is meant, run the tests with ERRAND_RECORD_SNAPSHOTS=1
/// and read the difference.
@Suite(.timeLimit(.minutes(5)), .serialized) struct HelpTests {
    private static let isRecording = ProcessInfo.processInfo.environment["ERRAND_RECORD_SNAPSHOTS"] != nil

    private func expectSnapshot(_ name: String, _ text: String, file: String = #filePath) throws {
        let path = URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Snapshots/\(name).txt")
        if Self.isRecording { try Data(text.utf8).write(to: path) }
        #expect(try String(contentsOf: path, encoding: .utf8) == text)
    }

    @Test(arguments: [
        ("help", ["--help"]), ("help-send", ["send", "--help"]), ("help-events", ["events", "--help"]),
        ("help-auth", ["auth", "--help"]), ("help-auth-login", ["auth", "login", "--help"]),
        ("help-download", ["download", "--help"]), ("help-upload", ["upload", "--help"]), ("help-cache", ["cache", "--help"]),
        ("help-cache-show", ["cache", "show", "--help"]),
        ("help-serve", ["serve", "--help"]),
        ("help-tour", ["tour", "--help"]),
    ]) func theHelpIsAsRecorded(name: String, arguments: [String]) async throws {
        let outcome = try await CommandProcess(arguments, through: ["env", "COLUMNS=100"]).outcome()
        #expect(outcome.status == 0)
        try expectSnapshot(name, outcome.text)
    }

    /// The other subcommands have the options of `send`, without `-X`.
    @Test(arguments: ["get", "post", "put", "patch", "delete", "head"]) func eachMethodHasTheOptionsOfSend(name: String) async throws {
        func options(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("-") }
        }
        let send = options(try await CommandProcess.run("send", "--help").text)
        let own = options(try await CommandProcess.run(name, "--help").text)
        #expect(own == send.filter { !$0.hasPrefix("-X") })
    }

    @Test func eachDefaultIsShownOnce() async throws {
        let help = try await CommandProcess.run("send", "--help").text.replacing(#/\s+/#, with: " ")
        #expect(help.contains("(default: 20)"))
        #expect(!help.contains(#/\([0-9.]+\)\.? \(default/#) && !help.contains(#/by default\. \(default/#))
    }

    /// The command's own messages about arguments, one after the other.
    @Test func theUsageErrorsAreAsRecorded() async throws {
        try await expectUsageErrors(
            "usage-errors",
            [
                ["gett", "http://a.example"], ["options", "http://a.example"], ["post", "-I", "a.example"], ["-I", "-d", "x", "a.example"],
                ["get"], ["get", "a.example", "--max-time", "0"], ["get", "a.example", "--retry", "101"],
                ["get", "a.example", "-d", "a", "-F", "b=c"], ["get", "a.example", "-H", "no colon"], ["get", "a.example", "--cert", "x"],
                ["-X", "B AD", "a.example"], ["get", "-O", "a.example"], ["get", "-k", "https://localhost", "-x", "p.example"],
                ["get", "a.example", "--resolve", "x"], ["get", "a.example", "--unix-socket", "/s", "-x", "http://b.example", "--http2"],
                ["get", "a.example", "--color", "red"], ["get", "a.example", "--no-such-option"],
                ["serve", "-p", "70000"],
            ])
    }

    /// Arguments as users of curl or httpie write them.
    @Test func theUsageErrorsOfOtherHabitsAreAsRecorded() async throws {
        try await expectUsageErrors(
            "usage-errors-habits",
            [
                ["a.example", "-c", ""], ["a.example", "-C", "-"], ["a.example", "-b", "a=b\nc"], ["a.example", "extra"],
                ["post", "a.example", "photo@x.jpg"], ["a.example", "http://b.example"], ["get", "a.example", "a=1"],
                ["a.example", "-q", "a=1", "b=2"], ["post", "a.example", "-d", "a=1", "b=2"], ["post", "a.example", "a:=x"],
                ["POSTS", "a.example", "a=1"], ["myhost", "a=1"], ["a.example", "a[b]=1"], ["post", "a.example", "-json", "{}"],
                ["-v", "post"], ["post", "a.example", "-XPUT"],
            ])
    }

    private func expectUsageErrors(_ name: String, _ lines: [[String]]) async throws {
        var texts: [String] = []
        for arguments in lines {
            let outcome = try await CommandProcess(arguments, through: ["env", "COLUMNS=100"]).outcome()
            #expect(outcome.status == 64)
            texts.append("$ errand \(arguments.joined(separator: " "))\n\(outcome.errors)")
        }
        try expectSnapshot(name, texts.joined(separator: "\n"))
    }
}
