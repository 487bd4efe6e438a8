import ArgumentParser
import Errand
import Foundation
import Testing

@testable import ErrandCommand

struct ProxyArgumentTests {
    private func proxy(_ words: [String], _ environment: [String: String] = [:], url: String = "http://a.example/") throws -> String? {
        let policy = try RequestArguments.parse(words + [url]).proxyPolicy(environment: environment)
        let origin = try #require(try Request(.get, url: url).origin)
        return try policy.proxy(for: origin).map { proxy in
            "\(proxy.kind) \(proxy)" + (proxy.credentials.map { " \($0.user):\($0.password)" } ?? "")
                + (proxy.authenticator == nil ? "" : " asks")
        }
    }

    @Test(
        arguments: [
            ([], [:], nil), (["-x", "p.example"], [:], "HTTP p.example:1080"),
            (["-x", "https://p.example"], [:], "HTTPS p.example:443"),
            (["-x", "socks5://me:a%3Ab@p.example"], [:], "SOCKS 5 p.example:1080 me:a:b"),
            (["-x", "socks5h://p.example:9050"], [:], "SOCKS 5 p.example:9050"),
            // The environment.
            ([], ["http_proxy": "http://e.example:8080"], "HTTP e.example:8080"), ([], ["HTTP_PROXY": "http://e.example"], nil),
            ([], ["ALL_PROXY": "socks5://e.example"], "SOCKS 5 e.example:1080"), (["-x", ""], ["http_proxy": "http://e.example"], nil),
            (["-x", "p.example"], ["http_proxy": "http://e.example"], "HTTP p.example:1080"),
            (["--unix-socket", "/s"], ["http_proxy": "http://e.example"], nil),
            // Exceptions. As with curl, NO_PROXY also applies to the option, and --noproxy replaces it.
            (["-x", "p.example"], ["NO_PROXY": "a.example"], nil), (["-x", "p.example", "--noproxy", "example"], [:], nil),
            (["-x", "p.example", "--noproxy", "b.example"], ["no_proxy": "*"], "HTTP p.example:1080"),
            (["-x", "p.example", "--noproxy", ""], ["NO_PROXY": "*"], "HTTP p.example:1080"),
            (["--noproxy", "*"], ["http_proxy": "http://e.example"], nil),
            // Authentication.
            (["-x", "p.example", "-U", "me:a%25"], [:], "HTTP p.example:1080 me:a%"),
            (["-x", "u:v@p.example", "-U", "me:pw"], [:], "HTTP p.example:1080 me:pw"),
            (["-x", "u:v@p.example", "--proxy-digest"], [:], "HTTP p.example:1080 asks"),
            (["-U", "me:pw", "--proxy-anyauth"], ["http_proxy": "https://e.example"], "HTTPS e.example:443 asks"),
            (["-x", "socks5://u:v@p.example", "--proxy-digest"], [:], "SOCKS 5 p.example:1080 u:v"),
        ] as [([String], [String: String], String?)])
    func theProxyFollowsFromTheOptionsAndTheEnvironment(
        words: [String], environment: [String: String], expected: String?
    ) throws {
        #expect(try proxy(words, environment) == expected)
    }

    @Test func anUncheckedHostIsNeverReachedByTheEnvironmentsProxy() throws {
        let environment = ["https_proxy": "http://e.example"]
        #expect(try proxy(["-k"], environment, url: "https://localhost:8443/") == nil)
        #expect(try proxy(["-k"], environment, url: "https://a.example/") == "HTTP e.example:1080")
    }

    @Test func equalProxiesShareTheirConnections() throws {
        let policy = try RequestArguments.parse(["-x", "u:v@p.example", "--proxy-digest", "a.example"]).proxyPolicy(environment: [:])
        let origin = try #require(try Request(.get, url: "http://a.example/").origin)
        #expect(try policy.proxy(for: origin) == policy.proxy(for: origin))
    }

    @Test(
        arguments: [
            (["-x", "ftp://p.example"], [:], "--proxy can't be used"), (["-x", "http://"], [:], "--proxy can't be used"),
            (["-U", "me", "-x", "p"], [:], "--proxy-user must"),
        ] as [([String], [String: String], String)])
    func invalidProxiesAreRefused(words: [String], environment: [String: String], expected: String) throws {
        let arguments = try RequestArguments.parse(words + ["a.example"])
        let error = #expect(throws: ValidationError.self) { try arguments.proxyPolicy(environment: environment) }
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }

    /// As with curl: desktops set variables that are for other programs.
    @Test func anInvalidVariableIsRefusedOnlyIfUsed() throws {
        let environment = ["http_proxy": "ftp://e.example"]
        #expect(try proxy([], environment, url: "https://a.example/") == nil)
        #expect(try proxy(["--noproxy", "a.example"], environment) == nil)
        let error = #expect(throws: ProxySettingsError.self) { try proxy([], environment) }
        #expect(error?.description.contains("in the variable http_proxy") == true)
    }
}

/// What a server sends after the body.
@Suite(.timeLimit(.minutes(5))) struct TrailerTests {
    private static let response = """
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nfine\r\n0\r\nX-Sum: 7\r\n\r\n
        """

    @Test func trailersFollowTheBodyIfTheHeadIsShown() async throws {
        try await withRawServer(response: Self.response) { (server: RawServer) async throws in
            let included = try await CommandProcess.run("get", "-i", server.url)
            #expect(included.text.hasSuffix("\r\n\r\nfineX-Sum: 7\r\n"), "\(included.text)")
            let dumped = try await CommandProcess.run("get", "-D", "-", "-o", "/dev/null", server.url)
            #expect(dumped.text.hasSuffix("\r\n\r\nX-Sum: 7\r\n"), "\(dumped.text)")
            let shown = try await CommandProcess.run("get", "-v", server.url)
            #expect(shown.text == "fine" && shown.errors.hasSuffix("<\n< X-Sum: 7\n"), "\(shown.errors)")
            #expect(try await CommandProcess.run("get", server.url).text == "fine")
        }
    }

    @Test func trailersAreInTheFilesOfTheHead() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-trailers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withRawServer(response: Self.response) { (server: RawServer) async throws in
            let outcome = try await CommandProcess.run("get", "-D", "head", "-o", "body", server.url, in: folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        let head = try String(contentsOf: folder.appendingPathComponent("head"), encoding: .utf8)
        let body = try String(contentsOf: folder.appendingPathComponent("body"), encoding: .utf8)
        #expect(head.hasSuffix("\r\n\r\nX-Sum: 7\r\n") && body == "fine")
    }
}
