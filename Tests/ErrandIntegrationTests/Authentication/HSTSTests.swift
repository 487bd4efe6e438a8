#if SWIFT_NIO && Auth && MockServer
internal import Errand
internal import ErrandConformance
internal import ErrandMockServer
internal import Foundation
internal import TestSupport
internal import Testing

/// HSTS over real sockets: what reaches a server, and what never does.
@Suite(.serialized, .timeLimit(.minutes(5)), .leavesNothingBehind(inParallelRuns: false)) struct HSTSTests {
    private static let field: HTTPFields = [.strictTransportSecurity: "max-age=600"]

    /// Runs `body` with a TLS server, and a stack that trusts the server.
    private func withServer(
        protocols: [MockServer.ApplicationProtocol] = [.http2, .http1_1], _ hosts: HSTSList,
        _ body: (MockServer, HTTPStack) async throws -> Void
    ) async throws {
        let files = try FileAuthority()
        try await withMockServer(.tls(try files.authority.certificate(), protocols: protocols)) { server in
            try await withNIO {
                $0.tls.extraRootsPEMFiles = [files.path]
            } _: { transport in
                let stack = transport.timeout(.seconds(20)).authenticate(.basic(user: "joe", password: "secret"))
                try await body(server, stack.hsts(hosts).redirect(RedirectPolicy(allowsDowngrade: false)))
            }
        }
    }

    @Test(arguments: [[MockServer.ApplicationProtocol.http1_1], [.http2]])
    func aKnownHostIsReachedByTLSAlone(protocols: [MockServer.ApplicationProtocol]) async throws {
        let hosts = HSTSList()
        try await withServer(protocols: protocols, hosts) { server, stack in
            server.dispatch { _ in .text("hidden", headers: Self.field) }
            let plain = server.url("/x").replacing("https:", with: "http:")
            // Nobody knows the host yet, and the server does not understand plain HTTP.
            await #expect(throws: TransportError.self) { try await stack.send(Request(.get, url: plain)) }
            #expect(hosts.hosts.isEmpty && server.requests.isEmpty)
            let first = try await stack.send(Request(.get, url: server.url("/first")))
            #expect(try await first.body.collect() == Data("hidden".utf8) && !first.metadata.serverIsUnverified)
            #expect(hosts.hosts.map(\.name) == ["localhost"])
            let second = try await stack.send(Request(.get, url: plain, headers: [.cookie: "a=b"]))
            #expect(try await second.body.collect() == Data("hidden".utf8))
            let record = RedirectRecord(status: .temporaryRedirect, from: plain, to: server.url("/x"), reason: .hsts)
            #expect(second.metadata.redirects == [record])
            let seen = try #require(server.requests.last)
            #expect(seen.serverName == "localhost" && seen.headers[.cookie] == "a=b" && seen.headers[.authorization] != nil)
        }
    }

    /// A proxy in front of the server takes TLS away, and the app behind it names its own URLs by http.
    @Test func aRedirectToHTTPKeepsTLSAndCredentials() async throws {
        let hosts = HSTSList(preloaded: [try HSTSHost("localhost")])
        try await withServer(hosts) { server, stack in
            let next = server.url("/next").replacing("https:", with: "http:")
            server.dispatch { $0.path == "/start" ? .status(.found, headers: [.location: next]) : .text("next") }
            let response = try await stack.send(Request(.get, url: server.url("/start")))
            #expect(try await response.body.collect() == Data("next".utf8))
            #expect(server.requests.map { $0.headers[.authorization] != nil } == [true, true])
            #expect(response.metadata.redirects.map(\.reason) == [.redirect, .hsts])
            #expect(response.metadata.redirects.map(\.to) == [next, server.url("/next")])
        }
    }

    @Test func aPlainServerOfAKnownHostSeesNoRequest() async throws {
        let received = Watched<[UInt8]>([])
        let server = try RawServer { connection in
            let bytes = try connection.read()
            received.change { $0 += bytes }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let hosts = HSTSList(preloaded: [try HSTSHost("localhost")])
        try await withNIO { transport in
            let stack = transport.timeout(.seconds(20)).authenticate(.basic(user: "joe", password: "secret")).hsts(hosts)
            let request = try Request(.post, url: "http://localhost:\(server.port)/private?key=s3cret", body: .text("s3cret"))
            let error = try await transportError { try await stack.send(request) }
            #expect(error.code == .tls && error.request?.url?.scheme == "https", "\(error)")
        }
        let bytes = try await received.wait { !$0.isEmpty }
        // The handshake of TLS begins with this octet, and nothing else was sent.
        #expect(bytes.first == 0x16)
        let text = String(decoding: bytes, as: UTF8.self)
        for word in ["POST", "private", "s3cret", "am9lOnNlY3JldA"] { #expect(!text.contains(word)) }
    }

    @Test func theURLChangesBeforeTheProxyIsChosen() async throws {
        let seen = Watched<[String]>([])
        let chosen = Watched<[String]>([])
        let proxy = try RawServer.responding { connection, request, _ in
            seen.change { $0.append("\(request.method) \(request.target)") }
            try connection.respond("502 No")
        }
        defer { proxy.stop() }
        let port = proxy.port
        let hosts = HSTSList(preloaded: [try HSTSHost("a.example")])
        try await withNIO {
            $0.proxy = .byOrigin { origin in
                chosen.change { $0.append(origin.description) }
                return .http(host: "127.0.0.1", port: port)
            }
        } _: { transport in
            let stack = transport.timeout(.seconds(20)).hsts(hosts)
            for url in ["http://a.example/x", "http://b.a.example:8080/x"] {
                await #expect(throws: TransportError.self) { try await stack.send(Request(.get, url: url)) }
            }
        }
        #expect(Set(chosen.value) == ["https://a.example", "https://b.a.example:8080"])
        #expect(Set(seen.value) == ["CONNECT a.example:443", "CONNECT b.a.example:8080"])
    }

    @Test func aServerWhoseCertificateWasNotCheckedIsNotNoted() async throws {
        let hosts = HSTSList()
        let files = try FileAuthority()
        try await withMockServer(.tls(try files.authority.certificate())) { server in
            server.dispatch { _ in .text("x", headers: Self.field) }
            try await withNIO {
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                let response = try await transport.timeout(.seconds(20)).hsts(hosts).send(Request(.get, url: server.url()))
                #expect(response.status == .ok && response.metadata.serverIsUnverified && hosts.hosts.isEmpty)
            }
        }
    }
}
#endif
