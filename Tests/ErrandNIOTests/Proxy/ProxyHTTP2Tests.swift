#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// The version of HTTP, where a proxy is on the way.
    @Suite(.timeLimit(.minutes(5))) struct ProxyHTTP2Tests {
        /// A proxy that opens each tunnel to `server`, whatever its target.
        private func tunnels(to server: MockServer, seeing seen: Watched<[RawRequest]>) throws -> RawServer {
            let port = server.port
            return try RawServer { connection in
                let request = try connection.readHead()
                seen.change { $0.append(request) }
                try connection.write("HTTP/1.1 200 OK\r\n\r\n")
                try connection.relay(to: port)
            }
        }

        @Test func exchangesShareATunnel() async throws {
            try await withMockServer(.tls(try TestAuthority().certificate())) { server in
                server.dispatch { .text($0.path) }
                let seen = Watched<[RawRequest]>([])
                let proxy = try tunnels(to: server, seeing: seen)
                defer { proxy.stop() }
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                    $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "pw")))
                } _: { transport in
                    let fields: HTTPFields = [.proxyAuthorization: "Own x"]
                    let first = try await transport.send(Request(.get, url: server.url("/0"), headers: fields).within(.seconds(10)))
                    #expect(first.metadata.httpVersion == .http2)
                    let text = try await first.body.collect()
                    #expect(text == Data("/0".utf8))
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 1...20 {
                            group.addTask {
                                let request = try Request(.get, url: server.url("/\(number)"), headers: fields)
                                let text = try await transport.send(request.within(.seconds(10))).body.collect()
                                #expect(text == Data("/\(number)".utf8))
                            }
                        }
                        try await group.waitForAll()
                    }
                    #expect(transport.openConnections.map(\.httpVersion) == [.http2])
                    #expect(transport.openConnections.first?.peerPort == proxy.port)
                }
                #expect(seen.value.map { "\($0.method) \($0.target)" } == ["CONNECT localhost:\(server.port)"])
                #expect(seen.value.first?.value("proxy-authorization") == "Basic am9lOnB3")
                #expect(server.requests.count == 21)
                let secrets = server.requests.compactMap { $0.headers[.proxyAuthorization] }
                #expect(secrets == [])
            }
        }

        /// HTTP/2 can't change the protocol of a connection.
        @Test func anUpgradeHasItsOwnTunnel() async throws {
            try await withMockServer(.tls(try TestAuthority().certificate())) { server in
                server.dispatch { _ in .text("no") }
                let seen = Watched<[RawRequest]>([])
                let proxy = try tunnels(to: server, seeing: seen)
                defer { proxy.stop() }
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                    $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port))
                } _: { transport in
                    let plain = try Request(.get, url: server.url("/")).within(.seconds(10))
                    var upgrade = plain
                    upgrade.options.upgrade = UpgradeRequest(protocolName: "echo")
                    for (request, version) in [(plain, HTTPVersion.http2), (upgrade, .http1_1), (plain, .http2)] {
                        let response = try await transport.send(request)
                        #expect(response.metadata.httpVersion == version)
                        _ = try await response.body.collect()
                    }
                }
                #expect(server.requests.map(\.negotiatedProtocol) == ["h2", "http/1.1", "h2"])
                #expect(seen.value.count == 2)
            }
        }

        @Test func aProxyWithoutATunnelGetsRequestsByHTTP1() async throws {
            let server = try RawServer.responding { connection, request, _ in try connection.respond(body: Data(request.target.utf8)) }
            defer { server.stop() }
            try await withNIO {
                $0.usesHTTP2WithoutTLS = true
                $0.proxy = .all(.http(host: "127.0.0.1", port: server.port))
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "http://a.invalid/x").within(.seconds(10)))
                #expect(response.metadata.httpVersion == .http1_1)
                let target = try await response.body.collect()
                #expect(target == Data("http://a.invalid/x".utf8))
            }
        }

        @Test(.enabled(if: RealServer.microsocks.isHere, Comment(rawValue: RealServer.microsocks.missing)))
        func http2WithoutTLSGoesThroughATunnel() async throws {
            let port = try RealServer.microsocks.port()
            try await withMockServer(.http2) { server in
                server.dispatch { .text($0.path) }
                try await withNIO {
                    $0.usesHTTP2WithoutTLS = true
                    $0.proxy = .all(.socks5(host: "127.0.0.1", port: port, credentials: ("joe", "pw")))
                } _: { transport in
                    for path in ["/1", "/2"] {
                        let response = try await transport.send(Request(.get, url: server.url(path)).within(.seconds(10)))
                        #expect(response.metadata.httpVersion == .http2)
                        let text = try await response.body.collect()
                        #expect(text == Data(path.utf8))
                    }
                    #expect(transport.openConnections.count == 1)
                }
            }
        }
    }
}
#endif
