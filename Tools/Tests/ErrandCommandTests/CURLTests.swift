import Foundation
import Testing

@testable import ErrandCommand

/// The commands of `--curl`, run by a shell with a real curl.
@Suite(.timeLimit(.minutes(5)), .serialized) struct CURLTests {
    /// Returns the path of a program; `nil` if it is not installed.
    private static func find(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first(where: FileManager.default.isExecutableFile)
    }

    private static let hasCURL = find("curl") != nil
    private static let hasOpenSSL = find("openssl") != nil

    /// Returns what `--curl` shows.
    private func text(_ arguments: [String]) async throws -> String {
        let outcome = try await CommandProcess(arguments + ["--curl"]).outcome()
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
        return outcome.text
    }

    private func runShell(_ text: String, _ more: String = "") async throws -> CommandProcess.Outcome {
        // A time limit, silence, and no settings of the person who tests.
        let silent = text.replacing("curl ", with: "curl -q -sS --max-time 20 ", maxReplacements: 1)
        return try await CommandProcess(["-c", silent.trimmingCharacters(in: .whitespacesAndNewlines) + more], running: ["/bin/sh"])
            .outcome()
    }

    @Test func theCommandHasEveryOptionOfTheConnection() async throws {
        let text = try await text([
            "-L", "--max-redirs", "3", "--retry", "2", "-m", "9", "--connect-timeout", "1.5", "-x", "joe:s3cret@proxy.example:3128",
            "--resolve", "a.example:80:127.0.0.1", "--resolve", "b.example:81:[::1]", "--cacert", "it's ca.pem", "--cert", "a:b\\c.pem",
            "--key", "a:b.key", "--http1.1", "--compressed", "http://a.example/",
        ])
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .init(charactersIn: " \\")) }
        #expect(
            Array(lines.dropFirst().dropLast(2)) == [
                "--location", "--max-redirs 3", "--retry 2", "--max-time 9", "--connect-timeout 1.5",
                "--proxy http://REDACTED:REDACTED@proxy.example:3128", "--resolve a.example:80:127.0.0.1",
                "--resolve 'b.example:81:[::1]'", #"--cacert 'it'\''s ca.pem'"#, #"--cert 'a\:b\\c.pem'"#, "--key a:b.key", "--http1.1",
                "--compressed",
            ])
        #expect(!text.contains("s3cret") && !text.contains("joe"))
    }

    @Test(
        arguments: [
            (["https://a.example/"], []), (["http://a.example/", "--http2"], []), (["https://a.example/", "--http2"], ["--http2"]),
            (["-x", "socks5://[::1]:9050", "http://a.example/"], ["--proxy 'socks5h://[::1]:9050'"]),
            (["-x", "http://p.example", "https://a.example/"], ["--proxy http://p.example:1080"]),
            (["-k", "https://localhost/"], ["--insecure"]),
            (["--http2-prior-knowledge", "http://a.example/"], ["--http2-prior-knowledge"]),
            (
                ["-x", "https://joe:s3cret@p.example", "--cacert", "ca.pem", "--noproxy", "b.example,10.0.0.0/8", "http://a.example/"],
                [
                    "--proxy https://REDACTED:REDACTED@p.example:443", "--proxy-cacert ca.pem", "--noproxy b.example,10.0.0.0/8",
                    "--cacert ca.pem",
                ]
            ),
            (
                ["-x", "p.example:3128", "-U", "joe:s3cret", "--proxy-digest", "http://a.example/"],
                ["--proxy http://p.example:3128", "--proxy-user REDACTED:REDACTED", "--proxy-digest"]
            ),
            (["-x", "", "http://a.example/"], ["--proxy ''"]),
            (["post", "-L", "--retry", "2", "http://a.example/", "-H", "Content-Type: a/b"], []),
            (["delete", "-L", "--retry", "2", "http://a.example/"], ["--retry 2"]),
            (["--retry", "2", "--retry-delay", "1.5", "http://a.example/"], ["--retry 2", "--retry-delay 2"]),
            (["--wait-for-network", "5", "http://a.example/"], []),
            (["-L", "https://a.example/"], ["--location", "--max-redirs 20", "--proto-redir '=https'"]),
            (["-L", "--allow-downgrade", "https://a.example/"], ["--location", "--max-redirs 20"]),
            (["-L", "http://a.example/"], ["--location", "--max-redirs 20"]),
            (["--unix-socket", "/run/a.sock", "http://a.example/"], ["--unix-socket /run/a.sock"]),
            (["--hsts", "hosts.txt", "http://a.example/"], ["--hsts hosts.txt"]),
            (["--unix-socket=-x.sock", "http://a.example/"], ["--unix-socket ./-x.sock"]),
        ] as [([String], [String])]) func theCommandHasOnlyTheGivenOptions(arguments: [String], expected: [String]) async throws
    {
        let lines = try await text(arguments).split(separator: "\n").map { $0.trimmingCharacters(in: .init(charactersIn: " \\")) }
        // Without the line of the URL, and what belongs to the request.
        let shown = lines.dropFirst().filter { !$0.hasPrefix("-H ") && !$0.hasPrefix("--data-raw ") }
        #expect(shown == expected)
    }

    @Test(arguments: ["http", "https", "socks5h"]) func theCommandHasNoPasswordOrFieldForTheProxy(scheme: String) async throws {
        let text = try await text([
            "-x", "\(scheme)://joe:s3cret@p.example:8", "-H", "Proxy-Authorization: Basic s3cret", "http://a.example/",
        ])
        #expect(text.contains("--proxy \(scheme)://REDACTED:REDACTED@p.example:8"), "\(text)")
        #expect(text.contains("Proxy-Authorization: ") && text.contains("REDACTED") && !text.contains("s3cret") && !text.contains("joe"))
    }

    @Test(arguments: [["--resolve", "a.example:127.0.0.1"], ["-x", "ftp://p.example"]])
    func invalidConnectionOptionsAreRefused(words: [String]) async throws {
        let outcome = try await CommandProcess(words + ["http://a.example/", "--curl"]).outcome()
        #expect(outcome.status == 64 && outcome.output.isEmpty)
    }

    @Test(.enabled(if: hasCURL, "there is no curl on this machine")) func theRequestGoesToTheSocket() async throws {
        let folder = "/tmp/errand it's \(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try RawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", path: folder + "/s.sock")
        defer { server.stop() }
        let text = try await text(["put", "--unix-socket", folder + "/s.sock", "http://nowhere.invalid/a?b", "-d", "c=it's"])
        let outcome = try await runShell(text)
        #expect(outcome.status == 0 && outcome.text == "fine", "\(outcome.errors)")
        #expect(server.lastHead.first == "PUT /a?b HTTP/1.1" && server.lastHead.contains("Host: nowhere.invalid"))
        #expect(server.requests.last?.hasSuffix("\r\n\r\nc=it's") == true)
    }

    @Test(.enabled(if: hasCURL, "there is no curl on this machine")) func theRequestGoesToTheAddress() async throws {
        let server = try RawServer(response: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        defer { server.stop() }
        let host = "nowhere.invalid:\(server.port)"
        let outcome = try await runShell(text(["--resolve", "\(host):127.0.0.1", "http://\(host)/a"]))
        #expect(outcome.status == 0 && outcome.text == "fine", "\(outcome.errors)")
        #expect(server.lastHead.contains("Host: \(host)"))
    }

    /// The files are in a folder whose name curl and the shell would read otherwise.
    @Test(
        .enabled(if: hasCURL, "there is no curl on this machine"), .enabled(if: hasOpenSSL, "there is no openssl on this machine")
    ) func serverAndClientAreAuthenticatedByCertificates() async throws {
        let folder = URL(fileURLWithPath: "/tmp/errand it's a:b\\\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // One certificate for all: its own authority, the server and the client.
        let made = try await CommandProcess(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "c.key", "-out", "c.pem",
                "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            ], running: ["openssl"], in: folder
        ).outcome()
        try #require(made.status == 0, "\(made.errors)")
        let server = try TLSServer(
            ["-cert", "c.pem", "-key", "c.key", "-CAfile", "c.pem", "-Verify", "1", "-verify_return_error"], in: folder)
        defer { server.stop() }
        let url = "https://localhost:\(server.port)/"
        let (pem, key) = (folder.appendingPathComponent("c.pem").path, folder.appendingPathComponent("c.key").path)
        let outcome = try await runShell(text(["--cacert", pem, "--cert", pem, "--key", key, url]))
        #expect(outcome.status == 0 && outcome.text.contains("Verify return code: 0 (ok)"), "\(outcome.text)\(outcome.errors)")
        // Without the authority, curl refuses the server; without the certificate, the server refuses curl.
        let untrusting = try await runShell(text(["--cert", pem, "--key", key, url]))
        #expect(untrusting.status == 60)
        let nameless = try await runShell(text(["--cacert", pem, url]))
        #expect(nameless.status != 0)
    }
}

/// `openssl s_server` on a free port, which shows the state of the connection as a page.
private final class TLSServer {
    let port: Int
    private let process = Process()

    init(_ arguments: [String], in folder: URL) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-www"] + arguments
        process.currentDirectoryURL = folder
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try? output.fileHandleForWriting.close()
        // It prints its port: ACCEPT 127.0.0.1:40123
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            text += String(decoding: data, as: UTF8.self)
            let line = text.components(separatedBy: "\n").dropLast().first { $0.hasPrefix("ACCEPT ") }
            if let port = line?.components(separatedBy: ":").last.flatMap({ Int($0) }) {
                self.port = port
                return
            }
            guard !data.isEmpty else { throw POSIXError(.EIO) }
        }
    }

    func stop() { process.terminate() }
}
