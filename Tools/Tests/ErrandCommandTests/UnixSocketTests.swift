import Foundation
import Testing

@testable import ErrandCommand

@Suite(.timeLimit(.minutes(5)), .serialized) struct UnixSocketTests {
    /// Short, as the path of a socket has room for about 100 bytes.
    private func withSocketPath(_ body: (String) async throws -> Void) async throws {
        let path = "/tmp/errand-\(UInt32.random(in: 0 ... .max)).sock"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test func aRequestGoesToTheSocketAndNotToTheHost() async throws {
        try await withSocketPath { path in
            let server = try RawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", path: path)
            defer { server.stop() }
            let outcome = try await CommandProcess.run(
                "post", "-w", " %{http_version} %{http_code}", "--unix-socket", path, "http://nowhere.invalid/v1/notes?a=b", "-d", "c=d")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.text.contains("fine") && outcome.text.contains("1.1 200"))
            #expect(server.lastHead.first == "POST /v1/notes?a=b HTTP/1.1" && server.lastHead.contains("Host: nowhere.invalid"))
            #expect(server.requests.last?.hasSuffix("\r\n\r\nc=d") == true)
        }
    }

    @Test func redirectsStayOnTheSocket() async throws {
        try await withSocketPath { path in
            let server = try RawServer(
                response: "HTTP/1.1 302 Found\r\nLocation: http://other.invalid/x\r\nContent-Length: 0\r\n\r\n", path: path)
            defer { server.stop() }
            let outcome = try await CommandProcess.run("-L", "--max-redirs", "1", "--unix-socket", path, "http://nowhere.invalid/")
            #expect(outcome.status == 6)
            #expect(server.requests.count == 2 && server.lastHead.contains("Host: other.invalid"))
        }
    }

    @Test func aClosedSocketIsNamed() async throws {
        try await withSocketPath { path in
            let outcome = try await CommandProcess.run("--unix-socket", path, "http://nowhere.invalid/")
            #expect(outcome.status == 6)
            #expect(
                outcome.errors.contains("(not sent). Is a server listening on the socket that --unix-socket names?"), "\(outcome.errors)")
        }
    }

    @Test(arguments: [
        ["-x", "http://a.example"], ["--resolve", "a.example:80:127.0.0.1"],
    ]) func optionsThatConflictWithASocketAreRefused(words: [String]) async throws {
        let outcome = try await CommandProcess(["--unix-socket", "/s"] + words + ["http://a.example/"]).outcome()
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("--unix-socket and --") && outcome.errors.contains("do not go together"), "\(outcome.errors)")
    }
}
