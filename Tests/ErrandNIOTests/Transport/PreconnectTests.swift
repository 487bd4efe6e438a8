#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Connections that are opened before they are needed.
    @Suite(.timeLimit(.minutes(5))) struct PreconnectTests {
        private func server() throws -> RawServer {
            try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
        }

        @Test func requestsUseTheConnectionsThatWereOpened() async throws {
            let server = try self.server()
            defer { server.stop() }
            try await withNIO { transport in
                try await transport.preconnect(to: server.url("/any?path"), count: 2)
                #expect(transport.openConnections.map(\.exchangesStarted) == [0, 0])
                let connection = try #require(transport.openConnections.first)
                #expect(connection.scheme == "http" && connection.authority == "127.0.0.1:\(server.port)")
                #expect(connection.peerAddress == "127.0.0.1" && connection.peerPort == server.port)
                #expect(connection.isIdle)
                let age = connection.age ?? .zero
                let later = transport.openConnections.first?.age ?? .zero
                #expect(age > .zero && later > age)
                try await transport.preconnect(to: try Origin(server.url("")), count: 2)
                try await transport.preconnect(to: server.url())
                try await transport.preconnect(to: server.url(), count: 0)
                for _ in 0..<3 {
                    let data = try await transport.send(Request(.get, url: server.url()).within(.seconds(10))).body.collect()
                    #expect(data == Data("ok".utf8))
                }
                #expect(transport.openConnections.count == 2)
            }
            #expect(server.counts.value.accepted == 2)
        }

        @Test func noMoreConnectionsThanAllowedAreOpened() async throws {
            let server = try self.server()
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 3
            } _: { transport in
                try await transport.preconnect(to: server.url(), count: 10)
                #expect(transport.openConnections.count == 3)
            }
        }

        @Test func aRefusedConnectionIsAFailureWithoutARequest() async throws {
            let port = try LoopbackPorts.refused()
            try await withNIO { transport in
                let error = await #expect(throws: TransportError.self) {
                    try await transport.preconnect(to: "http://127.0.0.1:\(port)/", count: 2)
                }
                #expect(error?.code == .cannotConnect)
                #expect(error?.phase == .connect)
                #expect(error?.request == nil)
                let reason = "cannot connect: 127.0.0.1:\(port): connection refused"
                #expect(error?.description == "http://127.0.0.1:\(port): \(reason) (not sent)")
                #expect(error?.localizedDescription == "Could not connect to the server.")
                #expect(error?.delivery == .notSent)
                await #expect(throws: InvalidURLError.self) { try await transport.preconnect(to: "no URL") }
            }
        }

        @Test func aFailedHandshakeNamesTheAddress() async throws {
            let server = try RawServer { connection in
                _ = try connection.read()
                try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO {
                $0.tls.uncheckedHostsForTesting = .loopback
            } _: { transport in
                let error = await #expect(throws: TransportError.self) {
                    try await transport.preconnect(to: server.url(scheme: "https"))
                }
                #expect(error?.code == .tls)
                #expect(error?.message.hasSuffix(", during the TLS handshake with 127.0.0.1:\(server.port)") == true)
            }
        }

        @Test(.enabled(if: ClientSockets.areKnown, Comment(rawValue: ClientSockets.unknown)))
        func cancellingEndsTheAttempt() async throws {
            let port = try HangingPort()
            // Those that fill the queue.
            let others = try ClientSockets.count(to: port.port)
            try await withNIO { transport in
                let task = Task { try await transport.preconnect(to: "http://127.0.0.1:\(port.port)", count: 2) }
                try await poll("two attempts", value: { try ClientSockets.count(to: port.port) }) { $0 == others + 2 }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await poll("the attempts to end", value: { try ClientSockets.count(to: port.port) }) { $0 == others }
            }
        }

        @Test func shuttingDownEndsTheAttempt() async throws {
            let port = try HangingPort()
            let resolver = StubResolver("127.0.0.1")
            var configuration = NIOTransport.Configuration()
            configuration.resolver = resolver
            let transport = try NIOTransport(configuration)
            let others = try ClientSockets.areKnown ? ClientSockets.count(to: port.port) : 0
            let task = Task { try await transport.preconnect(to: "http://x.example:\(port.port)") }
            try await resolver.asked.wait("the attempt") { !$0.isEmpty }
            if ClientSockets.areKnown {
                try await poll("the socket", value: { try ClientSockets.count(to: port.port) }) { $0 == others + 1 }
            }
            try await transport.shutdown()
            let error = await #expect(throws: TransportError.self) { try await task.value }
            #expect(error?.code == .shutDown)
            let late = await #expect(throws: TransportError.self) { try await transport.preconnect(to: "http://127.0.0.1:\(port.port)") }
            #expect(late?.code == .shutDown)
        }
    }
}
#endif
