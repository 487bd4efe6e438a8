import Errand
import ErrandMockServer
import ErrandTesting
import Foundation
import Testing

@testable import ErrandCommand

/// The option `--hsts`.
@Suite(.timeLimit(.minutes(5)), .serialized) struct HSTSOptionTests {
    private func withFile(_ text: String?, permissions: Int = 0o600, _ body: (String) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "errand-hsts-\(UUID().uuidString)"
        defer { for end in ["", ".lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
        if let text {
            #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: permissions]))
        }
        try await body(path)
    }

    @Test func aKnownHostIsReachedByHTTPSAlone() async throws {
        try await withFile("localhost \"unlimited\"\n") { path in
            let server = try RawServer()
            let port = server.port
            // Nobody listens at the port any more.
            server.stop()
            let outcome = try await CommandProcess.run("get", "-v", "--hsts", path, "http://localhost:\(port)/x")
            #expect(outcome.status == 6 && outcome.errors.contains("* HSTS: to https://localhost:\(port)/x"), "\(outcome.errors)")
            #expect(outcome.errors.contains("GET https://localhost:\(port)/x: "), "\(outcome.errors)")
        }
    }

    @Test(arguments: [nil, "", "other.example \"unlimited\"\n", "localhost \"20200101 00:00:00\"\n"])
    func anUnknownHostIsReachedByHTTP(text: String?) async throws {
        try await withFile(text) { path in
            let server = try RawServer()
            defer { server.stop() }
            let outcome = try await CommandProcess.run("get", "--hsts", path, "http://localhost:\(server.port)/x")
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            #expect(server.lastHead.first == "GET /x HTTP/1.1")
        }
    }

    @Test(arguments: [("localhost \"unlimited\"", 0o644, "chmod 600"), ("no list", 0o600, "it is not a list of hosts")])
    func anUnusableFileIsAWarning(text: String, permissions: Int, reason: String) async throws {
        try await withFile(text, permissions: permissions) { path in
            let server = try RawServer()
            defer { server.stop() }
            let outcome = try await CommandProcess.run("get", "--hsts", path, "http://localhost:\(server.port)/x")
            #expect(outcome.status == 0 && server.requests.count == 1)
            #expect(outcome.errors.hasPrefix("errand: warning: --hsts: cannot read '"), "\(outcome.errors)")
            #expect(outcome.errors.contains(reason), "\(outcome.errors)")
            let silent = try await CommandProcess.run("get", "-s", "--hsts", path, "http://localhost:\(server.port)/x")
            #expect(silent.status == 0 && silent.errors.isEmpty, "\(silent.errors)")
        }
    }

    /// With `-k`, nobody has checked that the server is the server of the host.
    @Test(arguments: [false, true]) func onlyAHostThatWasCheckedIsWritten(isUnchecked: Bool) async throws {
        let authority = try TestAuthority()
        try await withFile(nil) { path in
            let roots = path + ".pem"
            defer { try? FileManager.default.removeItem(atPath: roots) }
            try authority.writeCertificate(toPath: roots)
            try await withMockServer(.tls(try authority.certificate(), protocols: [.http1_1])) { server in
                server.dispatch { _ in .text("fine", headers: [.strictTransportSecurity: "max-age=600"]) }
                let (url, trust) = (server.url("/x"), isUnchecked ? ["-k"] : ["--cacert", roots])
                let first = try await CommandProcess(["get", "--hsts", path, url] + trust).outcome()
                #expect(first.status == 0 && first.text == "fine", "\(first.errors)")
                let lines = try? String(contentsOfFile: path, encoding: .utf8)
                #expect(lines?.contains("\nlocalhost \"") == (isUnchecked ? nil : true), "\(lines ?? "")")
                // The next command knows the host, and the server speaks only TLS.
                let plain = url.replacingOccurrences(of: "https:", with: "http:")
                let next = try await CommandProcess(["get", "--hsts", path, plain] + trust).outcome()
                #expect(next.status == (isUnchecked ? 6 : 0) && server.requests.count == (isUnchecked ? 1 : 2), "\(next.errors)")
            }
        }
    }

    /// In the middle of a body, while another process has the lock of the file.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func aHostIsWrittenAfterASignal(signal: Int32) async throws {
        let authority = try TestAuthority()
        try await withFile(nil) { path in
            let roots = path + ".pem"
            defer { try? FileManager.default.removeItem(atPath: roots) }
            try authority.writeCertificate(toPath: roots)
            try await withMockServer(.tls(try authority.certificate(), protocols: [.http1_1])) { server in
                server.dispatch { _ in
                    .text("four", headers: [.strictTransportSecurity: "max-age=600"]).fault(.stall, at: .responseBody)
                }
                let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                #expect(lock >= 0 && flock(lock, LOCK_EX) == 0)
                let command = try CommandProcess(["get", "--profile", "--hsts", path, "--cacert", roots, server.url("/x")])
                await command.waitForOutput(containing: "fo")
                kill(command.process.processIdentifier, signal)
                // The profile is shown when the request has ended.
                await command.waitForError(containing: "NIOTransport")
                _ = close(lock)
                #expect(try await command.outcome().status == 128 + signal && command.process.terminationReason == .exit)
                let lines = try? String(contentsOfFile: path, encoding: .utf8)
                #expect(lines?.contains("\nlocalhost \"") == true, "\(lines ?? "")")
            }
        }
    }

    @Test func aFileThatCannotBeWrittenIsAWarning() async throws {
        let authority = try TestAuthority()
        try await withFile(nil) { path in
            let roots = path + ".pem"
            defer { try? FileManager.default.removeItem(atPath: roots) }
            try authority.writeCertificate(toPath: roots)
            try await withMockServer(.tls(try authority.certificate(), protocols: [.http1_1])) { server in
                server.dispatch { _ in .text("fine", headers: [.strictTransportSecurity: "max-age=600"]) }
                let arguments = ["get", "--hsts", path + "/none/hsts", "--cacert", roots, server.url("/x")]
                let outcome = try await CommandProcess(arguments).outcome()
                #expect(outcome.status == 0 && outcome.text == "fine")
                #expect(outcome.errors.hasPrefix("errand: warning: --hsts: cannot "), "\(outcome.errors)")
                #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
            }
        }
    }
}
