import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

/// `--retry` and `--retry-delay`, and what the command says about them.
@Suite(.timeLimit(.minutes(5)), .serialized) struct RetryOptionTests {
    private static func busy(_ fields: String = "") -> String {
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\(fields)\r\n"
    }

    // MARK: - The reason why there is no further attempt

    @Test(arguments: ["post", "patch"]) func aRequestThatMayHaveBeenProcessedHasItsReason(method: String) async throws {
        try await withRawServer(response: Self.busy()) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run(method, server.url, "--retry", "2")
            #expect(outcome.status == 5 && server.requests.count == 1)
            let start = "errand: 503, and no further attempt: the server may have processed the \(method.uppercased())"
            #expect(outcome.errors.hasPrefix(start) && outcome.errors.contains("-H 'Idempotency-Key: KEY'"), "\(outcome.errors)")
            #expect(try await CommandProcess.run(method, "-s", server.url, "--retry", "2").errors.isEmpty)
            #expect(try await CommandProcess.run(method, server.url).errors.isEmpty)
        }
    }

    @Test func aKeyLetsAPostBeSentAgain() async throws {
        try await withRawServer(response: Self.busy("Retry-After: 0\r\n")) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("post", server.url, "--retry", "2", "-H", "Idempotency-Key: 1")
            #expect(outcome.status == 5 && server.requests.count == 3)
            #expect(!outcome.errors.contains("no further attempt"), "\(outcome.errors)")
        }
    }

    @Test func aLostPostHasItsReasonInTheWordsOfTheCommand() async throws {
        try await withRawServer(response: "") { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("post", server.url, "--retry", "2")
            #expect(outcome.status == 6 && server.requests.count == 1)
            #expect(outcome.errors.contains("no further attempt: the server may have processed the POST"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("options.idempotencyKey"), "\(outcome.errors)")
        }
    }

    @Test func aLongRetryAfterIsNamed() async throws {
        try await withRawServer(response: Self.busy("Retry-After: 61\r\n")) { (server: RawServer) async throws in
            for words in [["--retry", "1"], ["--retry", "1", "--retry-delay", "1"]] {
                let outcome = try await CommandProcess(["get", server.url] + words).outcome()
                #expect(outcome.status == 5 && outcome.errors.contains("more than 60 s (Retry-After)"), "\(outcome.errors)")
            }
            #expect(server.requests.count == 2)
        }
    }

    // MARK: - The wait

    @Test(arguments: [("Retry-After: 0", "0.2", "0.2"), ("X-A: b", "0.2", "0.2"), ("Retry-After: 1", "0.9", "1"), ("X-A: b", "0", "0")])
    func theDelayIsALowerBound(field: String, delay: String, wait: String) async throws {
        try await withRawServer(response: Self.busy(field + "\r\n")) { (server: RawServer) async throws in
            let start = ContinuousClock.now
            let outcome = try await CommandProcess.run("get", server.url, "--retry", "1", "--retry-delay", delay)
            #expect(server.requests.count == 2 && outcome.errors == "errand: 503, again after \(wait) s\n", "\(outcome.errors)")
            #expect(start.duration(to: .now) >= .seconds(Double(wait) ?? 0))
        }
    }

    @Test(arguments: ["X-A: b", "Retry-After: 3"]) func aDelayBeyondTheWholeTimeIsNamed(field: String) async throws {
        try await withRawServer(response: Self.busy(field + "\r\n")) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", server.url, "--retry", "1", "--retry-delay", "30", "-m", "20")
            #expect(outcome.status == 5 && server.requests.count == 1)
            #expect(outcome.errors.contains("the wait would end after --max-time"), "\(outcome.errors)")
        }
    }

    @Test func verboseNamesEachAttemptAndItsWait() async throws {
        try await withRawServer(response: Self.busy()) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", "-v", server.url, "--retry", "2", "--retry-delay", "0.01")
            let lines = outcome.errors.split(separator: "\n").filter { $0.hasPrefix("* 503") || $0.hasPrefix("* attempt") }
            #expect(
                lines == [
                    "* 503, again after 0.01 s", "* attempt 2 after 503", "* 503, again after 0.01 s", "* attempt 3 after 503",
                ], "\(outcome.errors)")
            #expect(!outcome.errors.contains("errand: "))
        }
    }

    @Test(arguments: [
        (["--retry-delay", "1"], "--retry-delay needs --retry COUNT"),
        (["--retry", "1", "--retry-delay", "-1"], "at least 0 and less than 1000000 seconds (is -1)"),
        (["--retry", "1", "--retry-delay", "inf"], "at least 0 and less than 1000000 seconds (is inf)"),
    ]) func anUnusableDelayIsExplained(words: [String], problem: String) async throws {
        let outcome = try await CommandProcess(["get", "http://127.0.0.1:1/"] + words).outcome()
        #expect(outcome.status == 64 && outcome.errors.contains(problem), "\(outcome.errors)")
    }

    // MARK: - Equal attempts

    @Test func equalAttemptsAreJoined() async throws {
        let server = try RawServer()
        server.stop()
        let outcome = try await CommandProcess.run("get", server.url, "--retry", "3", "--retry-delay", "0")
        let last = outcome.errors.split(separator: "\n").last ?? ""
        #expect(outcome.status == 6 && last.contains("(not sent); attempts 1 to 3: the same. Is a server listening"), "\(outcome.errors)")
    }

    @Test func onlyConsecutiveAttemptsAreJoined() throws {
        let request = try Request(.get, url: "http://a.example/")
        let refused = TransportError(.cannotConnect, phase: .connect, message: "refused", request: request, delivery: .notSent)
        let outcomes: [AttemptRecord.Outcome] = [
            .status(.serviceUnavailable), .failure(refused), .failure(refused), .status(.badGateway), .status(.badGateway),
        ]
        let attempts = outcomes.enumerated().map { AttemptRecord(number: $0 + 1, outcome: $1, delay: .seconds($0)) }
        let groups = AttemptGroup.groups(of: attempts, last: "another failure", request: request)
        #expect(
            groups.map(\.description) == [
                "attempt 1: 503", "attempts 2 to 3: cannot connect: refused (not sent)", "attempts 4 to 5: 502",
            ])
        #expect(AttemptGroup.groups(of: attempts, last: "\(refused)", request: request)[1].description == "attempts 2 to 3: the same")
        #expect(AttemptGroup.groups(of: [], last: "", request: nil).isEmpty)
    }
}
