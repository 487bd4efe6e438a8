#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Proxies that stall, end or refuse at each point of their dialog.
    @Suite(.timeLimit(.minutes(5))) struct ProxyFaultTests {
        enum Kind: String, CaseIterable { case connect, socks }

        private func settings(_ kind: Kind, _ proxy: RawServer) -> ProxySettings {
            kind == .connect ? .http(host: "127.0.0.1", port: proxy.port) : .socks5(host: "127.0.0.1", port: proxy.port)
        }

        /// Reads what the transport says, and writes at most `limit` bytes of what opens a tunnel.
        private static func openTunnel(_ kind: Kind, _ connection: RawConnection, upTo limit: Int = .max) throws {
            switch kind {
            case .connect:
                try connection.readHead()
                try connection.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8.prefix(limit)))
            case .socks:
                _ = try connection.read(exactly: 3)
                try connection.write(Array([5, 0].prefix(limit)))
                guard limit >= 2 else { return }
                _ = try connection.read(exactly: 4 + 1 + 9 + 2)
                try connection.write(Array([5, 0, 0, 1, 127, 0, 0, 1, 0, 80].prefix(limit - 2)))
            }
        }

        private static let rows: [(Kind, Int)] = (0..<19).map { (.connect, $0) } + (0..<12).map { (.socks, $0) }

        @Test(arguments: Kind.allCases) func theConnectionToAStallingProxyIsClosed(kind: Kind) async throws {
            // The rows wait for their timeouts at the same time.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (_, bytes) in Self.rows.filter({ $0.0 == kind }) { group.addTask { try await self.expectEnd(kind, bytes: bytes) } }
                try await group.waitForAll()
            }
        }

        /// Expects that the connection to a proxy is closed that sends some bytes of its reply and then stalls.
        private func expectEnd(_ kind: Kind, bytes: Int) async throws {
            let proxy = try RawServer { connection in
                try Self.openTunnel(kind, connection, upTo: bytes)
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = settings(kind, proxy)
            try await withNIO {
                $0.proxy = .all(settings)
                $0.connectTimeout = .seconds(3)
                // Reading the roots of the system takes longer.
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                let error = try await transportError { try await transport.send(Request(.get, url: "https://a.invalid/")) }
                #expect(error.code == .timedOut && error.phase == .connect && error.delivery == .notSent, "\(bytes) bytes: \(error)")
                #expect(error.message.contains("the \(ProxyAddress(settings))"), "\(bytes) bytes: \(error)")
                // A proxy that has been asked to connect, and has sent nothing of its reply, may wait for the origin.
                if bytes == (kind == .connect ? 0 : 2) {
                    #expect(error.proxy == nil && error.failureNumber == .connectTimedOut, "\(bytes) bytes: \(error)")
                } else {
                    #expect(error.proxy == ProxyAddress(settings), "\(bytes) bytes: \(error)")
                    #expect(error.failureNumber == .proxyConnectTimedOut, "\(bytes) bytes: \(error)")
                }
                try await poll("no connection", value: { proxy.counts.value.open }) { $0 == 0 }
            }
        }

        /// A proxy that reads the requests, and whose TLS ends without a `close_notify`.
        @Test(arguments: [FaultPoint.responseStart, .responseBody])
        func anHTTPSProxyWhoseConnectionBreaksIsNamed(point: FaultPoint) async throws {
            try await withMockServer(.tls(try TestAuthority().certificate(), protocols: [.http1_1])) { server in
                server.dispatch { _ in MockResponse.text("four").fault(.close, at: point) }
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                    $0.proxy = .all(.https(host: "localhost", port: server.port))
                } _: { transport in
                    let request = try Request(.post, url: "http://a.invalid/", body: .text("x")).within(.seconds(10))
                    let error = try await transportError { try await transport.send(request).body.collect() }
                    #expect(error.proxy?.kind == .https && error.failureNumber == .proxyConnectionLost, "\(error)")
                    #expect(error.delivery == (point == .responseStart ? .unknown : .sent), "\(error)")
                }
            }
        }

        @Test(arguments: rows) func aProxyThatEndsWithinItsReplyIsNamed(kind: Kind, bytes: Int) async throws {
            let proxy = try RawServer { try Self.openTunnel(kind, $0, upTo: bytes) }
            defer { proxy.stop() }
            let settings = settings(kind, proxy)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let request = try Request(.get, url: "https://a.invalid/").within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.code == .proxy && error.phase == .connect && error.delivery == .notSent, "\(error)")
                #expect(error.message.contains("the \(ProxyAddress(settings))"), "\(error)")
                #expect(error.proxy == ProxyAddress(settings) && error.failureNumber == .proxyRefused, "\(error)")
            }
        }

        /// The tunnel is open, and ends before TLS is complete: immediately, or within the handshake.
        @Test(arguments: Kind.allCases, [false, true])
        func aTunnelThatEndsBeforeTLSIsAFailureOfConnecting(kind: Kind, readsFirst: Bool) async throws {
            let proxy = try RawServer { connection in
                try Self.openTunnel(kind, connection)
                if readsFirst { _ = try connection.read() }
            }
            defer { proxy.stop() }
            let settings = settings(kind, proxy)
            try await withNIO {
                $0.proxy = .all(settings)
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                let request = try Request(.get, url: "https://a.invalid/").within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.phase == .connect && error.delivery == .notSent, "\(error)")
                #expect([.tls, .proxy, .connectionLost, .cannotConnect].contains(error.code), "\(error)")
                await eventually { transport.openConnections.isEmpty }
            }
        }

        /// The refusal has a body, which is not read, and the connection is left.
        @Test(arguments: ["403 Forbidden", "407 Proxy Authentication Required", "502 Bad Gateway"])
        func theConnectionOfARefusalWithABodyIsClosed(status: String) async throws {
            let proxy = try RawServer { connection in
                try connection.readHead()
                try connection.respond(status, body: Data(repeating: 1, count: 100_000))
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            let settings = settings(.connect, proxy)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let request = try Request(.get, url: "https://a.invalid/").within(.seconds(10))
                let error = try await transportError { try await transport.send(request) }
                #expect(error.code == .proxy && error.delivery == .notSent && error.message.hasSuffix(": \(status)"), "\(error)")
                #expect(error.proxyCredentials == (status.hasPrefix("407") ? .missing : nil))
                try await poll("no connection", value: { proxy.counts.value.open }) { $0 == 0 }
                #expect(transport.openConnections.isEmpty)
            }
        }

        /// What the tunnel carries ends in the middle of a body: over HTTP/1.1, without TLS.
        @Test func aTunnelThatEndsWithinABodyIsALostConnection() async throws {
            let proxy = try RawServer { connection in
                try Self.openTunnel(.socks, connection)
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
            }
            defer { proxy.stop() }
            let settings = settings(.socks, proxy)
            try await withNIO {
                $0.proxy = .all(settings)
            } _: { transport in
                let response = try await transport.send(Request(.get, url: "http://a.invalid/").within(.seconds(10)))
                let error = try await transportError { try await response.body.collect() }
                #expect(error.code == .connectionLost && error.delivery == .sent, "\(error)")
                #expect(proxy.counts.value.accepted == 1)
            }
        }

        /// The tunnel carries three streams of HTTP/2 when it ends. No POST is sent again, and the next request has a tunnel of its own.
        @Test func aTunnelThatEndsEndsAllItsStreams() async throws {
            try await withMockServer(.tls(try TestAuthority().certificate())) { server in
                let asked = Watched(0)
                server.dispatch { request in
                    guard request.path == "/held" else { return .text("fine") }
                    asked.change { $0 += 1 }
                    try await untilCancelled()
                }
                let port = server.port
                let ended = try RawServer { connection in
                    try Self.openTunnel(.connect, connection)
                    try connection.relay(to: port)
                }
                let second = try RawServer { connection in
                    try Self.openTunnel(.connect, connection)
                    try connection.relay(to: port)
                }
                defer { second.stop() }
                let ports = Watched(ended.port)
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                    $0.proxy = .byOrigin { _ in .http(host: "127.0.0.1", port: ports.value) }
                } _: { transport in
                    _ = try await transport.send(Request(.get, url: server.url("/")).within(.seconds(10))).body.collect()
                    try await withThrowingTaskGroup(of: TransportError.self) { group in
                        for _ in 0..<3 {
                            group.addTask {
                                try await transportError {
                                    try await transport.send(Request(.post, url: server.url("/held")).within(.seconds(10)))
                                }
                            }
                        }
                        try await asked.wait { $0 == 3 }
                        ended.stop()
                        for try await error in group {
                            #expect(error.code == .connectionLost && error.delivery == .unknown, "\(error)")
                        }
                    }
                    ports.change { $0 = second.port }
                    let next = try await transport.send(Request(.get, url: server.url("/")).within(.seconds(10))).body.collect()
                    #expect(next == Data("fine".utf8))
                    #expect(asked.value == 3)
                }
            }
        }
    }
}
#endif
