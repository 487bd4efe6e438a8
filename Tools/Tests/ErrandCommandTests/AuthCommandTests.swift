import DemoServer
import Foundation
import Testing

@testable import ErrandCommand

/// `errand auth` against the demo server's OAuth 2, with curl as the browser.
@Suite(.timeLimit(.minutes(5)), .serialized) struct AuthCommandTests {
    private func withFolder(_ body: (_ state: URL, _ base: String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-auth-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let server = Task { try await DemoServer.run { port.yield($0) } }
        defer { server.cancel() }
        for await port in ports {
            try await body(folder, "http://127.0.0.1:\(port)")
            return
        }
    }

    private func run(_ state: URL, _ words: String...) async throws -> CommandProcess.Outcome {
        try await CommandProcess(words, through: ["env", "-u", "BROWSER", "XDG_STATE_HOME=\(state.path)"]).outcome()
    }

    private static let browser = "curl -s -L -o /dev/null"

    @Test func aPersonSignsInUsesTheTokenAndSignsOut() async throws {
        try await withFolder { state, base in
            let login = try await run(state, "auth", "login", "work", "--issuer", base, "--client-id", "x", "--browser", Self.browser)
            #expect(login.status == 0 && login.text.hasPrefix("signed in as work: client x of \(base)\n"), "\(login)")
            let files = state.appendingPathComponent("errand")
            for (path, mode) in [(files.path, 0o700), (files.path + "/work.json", 0o600), (files.path + "/work.token", 0o600)] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == mode, "\(path)")
            }
            let token = try String(contentsOf: files.appendingPathComponent("work.token"), encoding: .utf8)
            let secrets = token.matches(of: #/[0-9A-F]{8}-[0-9A-F-]{27}/#).map { String($0.output) }
            #expect(secrets.count == 2)

            let account = try await run(state, "-v", "--auth", "work", "\(base)/v1/account")
            #expect(account.status == 0 && account.text == #"{"name":"joe"}"#, "\(account)")
            _ = try await run(state, "post", "\(base)/oauth/expire")
            let refreshed = try await run(state, "-v", "--auth", "work", "\(base)/v1/account")
            #expect(refreshed.status == 0 && refreshed.text == #"{"name":"joe"}"#, "\(refreshed)")
            let status = try await run(state, "auth", "status")
            #expect(status.text.contains("can be refreshed"), "\(status)")
            let shown = [login, account, refreshed, status].map { $0.text + $0.errors }.joined()
            for secret in secrets { #expect(!shown.contains(secret)) }

            let logout = try await run(state, "auth", "logout", "work")
            #expect(logout.status == 0 && logout.text.hasPrefix("signed out of work"), "\(logout)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).isEmpty)
            let gone = try await run(state, "--auth", "work", "\(base)/v1/account")
            #expect(gone.status == 64 && gone.errors.contains("there is no login of this name"), "\(gone)")
        }
    }

    @Test func aClientGetsItsOwnToken() async throws {
        try await withFolder { state, base in
            let login = try await run(
                state, "auth", "login", "--token-url", "\(base)/oauth/token", "--client-id", "x", "--client-secret", "hunter2hunter2",
                "--client-credentials")
            #expect(login.status == 0 && !(login.text + login.errors).contains("hunter2"), "\(login)")
            _ = try await run(state, "post", "\(base)/oauth/expire")
            let account = try await run(state, "--auth", "default", "\(base)/v1/account")
            #expect(account.status == 0, "\(account)")
        }
    }

    @Test func failuresOfTheSignInAreDescribed() async throws {
        try await withFolder { state, base in
            let slow = try await run(state, "auth", "login", "--issuer", base, "--client-id", "x", "--wait", "1")
            #expect(slow.status == 6 && slow.errors.hasSuffix("errand: nobody has signed in within 1 s\n"), "\(slow)")
            // Somebody else's redirect is ignored.
            let forged = try await run(
                state, "auth", "login", "--issuer", base, "--client-id", "x", "--redirect-port", "0", "--wait", "1", "--browser",
                "f() { curl -s \"$(printf '%s' \"$1\" | sed 's/.*redirect_uri=//; s/&.*//')?code=x&state=forged\"; }; f")
            #expect(forged.status == 6 && forged.errors.hasSuffix("errand: nobody has signed in within 1 s\n"), "\(forged)")
            let name = try await run(state, "auth", "login", "../x", "--issuer", base, "--client-id", "x")
            #expect(name.status == 64 && name.errors.contains("the name of a login has letters"), "\(name)")
            let both = try await run(state, "auth", "login", "--client-id", "x")
            #expect(both.status == 64 && both.errors.contains("--issuer or --token-url is needed"), "\(both)")
            let unknown = try await run(state, "auth", "logout", "nobody")
            #expect(unknown.status == 64 && unknown.errors.contains("See 'errand auth logout --help'"), "\(unknown)")
            let nobody = try await run(state, "auth", "status")
            #expect(nobody.status == 0 && nobody.errors.contains("nobody is signed in"), "\(nobody)")
        }
    }
}
