#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandMiddleware
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// How long a transport and its connections last, and what it shows of itself.
    @Suite(.timeLimit(.minutes(5))) struct OwnershipTests {
        private func respondingServer() throws -> RawServer {
            try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
        }

        @Test func connectionsOfAReleasedTransportAreClosed() async throws {
            let server = try respondingServer()
            defer { server.stop() }
            func use() async throws {
                let transport = NIOTransport()
                let copy = transport
                _ = try await copy.send(Request(.get, url: server.url())).body.collect()
                #expect(server.counts.value.open == 1)
            }
            try await use()
            try await server.counts.wait("its connection to be closed") { $0.open == 0 }
        }

        @Test func anUnusedTransportIsReleased() async throws {
            for _ in 0..<20 { _ = NIOTransport() }
            let transport = NIOTransport()
            try await transport.shutdown()
        }

        /// A response can be read to its end after the last copy of its transport is gone.
        @Test func aResponseOutlivesTheTransport() async throws {
            let mayGoOn = Watched(false)
            let body = Data.seeded(4 * 1024 * 1024)
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                try mayGoOn.waitBlocking { $0 }
                try connection.write(body)
                connection.waitForEnd()
            }
            defer { server.stop() }
            func send() async throws -> Response {
                try await NIOTransport().send(Request(.get, url: server.url()))
            }
            let response = try await send()
            mayGoOn.change { $0 = true }
            #expect(try await response.body.collect() == body)
            try await server.counts.wait("the connection to be closed behind it") { $0.open == 0 }
        }

        @Test func withTransportShutsDownAfterAnError() async throws {
            let server = try respondingServer()
            defer { server.stop() }
            await #expect(throws: TestError.self) {
                try await withTransport(NIOTransport()) { transport in
                    _ = try await transport.send(Request(.get, url: server.url())).body.collect()
                    throw TestError()
                }
            }
            try await server.counts.wait("its connection to be closed") { $0.open == 0 }
        }

        @Test func noRequestIsSentAfterShutdown() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond() }
            defer { server.stop() }
            let transport = NIOTransport()
            #expect(try await transport.send(Request(.get, url: server.url())).status == .ok)
            try await transport.shutdown()
            let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
            #expect(failure.code == .shutDown)
            #expect(failure.delivery == .notSent)
            #expect(server.counts.value.requests == 1)
        }

        /// A request that was sent without a stack must not ignore the option.
        @Test(
            arguments: [
                { $0.onServerTrust = { _ in .systemVerdict } }, { $0.networkAccess = [] }, { $0.waitsForConnectivity = true },
            ] as [@Sendable (inout RequestOptions) -> Void])
        func aRequestWithAnUnsupportedOptionIsRefused(change: @Sendable (inout RequestOptions) -> Void) async throws {
            var request = try Request(.get, url: "https://a.invalid/")
            change(&request.options)
            let sent = request
            try await withNIO { transport in
                let alone = await #expect(throws: UnsupportedOptionError.self) { try await transport.send(sent) }
                let stacked = await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(transport).send(sent) }
                #expect(alone?.delivery == .notSent && alone?.phase == .request)
                #expect(alone?.option == stacked?.option && alone?.missingCapabilities == stacked?.missingCapabilities)
            }
        }

        @Test func shutdownFailsExchangesInProgress() async throws {
            let server = try RawServer { connection in
                let request = try connection.readHead()
                if request.target == "/body" { try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nas far as here") }
                connection.waitForEnd()
            }
            defer { server.stop() }
            let transport = NIOTransport()
            let head = Task { try await transport.send(Request(.get, url: server.url("/head"))) }
            let sink = RecordingEventSink()
            let body = Task {
                let response = try await transport.send(Request(.get, url: server.url("/body")).telling(sink))
                return try await response.body.collect()
            }
            try await server.counts.wait { $0.requests == 2 }
            try await sink.wait(for: .responseHead)
            try await transport.shutdown()
            let failures = [
                try await transportError { try await head.value }, try await transportError { try await body.value },
            ]
            #expect(failures.map(\.code) == [.shutDown, .shutDown])
            #expect(failures.map(\.delivery) == [.unknown, .sent])
            try await server.counts.wait("the connections to be closed") { $0.open == 0 }
        }

        @Test func shutdownClosesEveryConnection() async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
            defer { server.stop() }
            let transport = NIOTransport()
            let mayGo = Watched(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        _ = try await transport.send(Request(.get, url: server.url())).body.collect()
                        try await mayGo.wait { $0 }
                    }
                }
                try await server.counts.wait { $0.requests == 4 }
                mayGo.change { $0 = true }
                try await group.waitForAll()
            }
            #expect(server.counts.value.open > 0)
            try await transport.shutdown()
            try await transport.shutdown()
            try await server.counts.wait("every connection to be closed") { $0.open == 0 }
        }

        @Test func credentialsOfAProxyAreNotShown() async throws {
            var configuration = NIOTransport.Configuration()
            let proxy = ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "joe", password: "hunter2hunter2"))
            configuration.proxy = .all(proxy)
            let transport = try NIOTransport(configuration)
            var texts = ["\(configuration)", "\(proxy)", String(reflecting: proxy), String(reflecting: configuration), "\(transport)"]
            for value in [configuration, proxy, transport, transport.timeout(.seconds(1))] as [Any] {
                var text = ""
                dump(value, to: &text)
                texts.append(text)
            }
            let encoded = Data("joe:hunter2hunter2".utf8).base64EncodedString()
            for text in texts {
                #expect(!text.contains("hunter2") && !text.contains("joe") && !text.contains(encoded), "\(text)")
            }
            #expect(texts[0].contains("proxy.example:3128"))
            try await transport.shutdown()
        }

        @Test func eventsDistinguishNewConnectionsFromReusedConnections() async throws {
            let sink = RecordingEventSink()
            let server = try RawServer.responding { connection, _, _ in
                try connection.respond(body: Data("fine".utf8))
            }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let before = transport.openConnections.count
                #expect(before == 0)
                for _ in 0..<3 {
                    _ = try await transport.send(Request(.get, url: server.url()).telling(sink)).body.collect()
                }
                let connections = sink.events.compactMap(\.connection)
                #expect(connections.map(\.isReused) == [false, true, true] && connections.map(\.number) == [1, 1, 1])
                #expect(connections.allSatisfy { $0.peerAddress == "127.0.0.1" && $0.peerPort == server.port })
                // The end is reported on an event loop, possibly a moment after the reader has its result.
                try await poll("an idle connection", value: { transport.openConnections }) {
                    $0.map(\.exchangesStarted) == [3] && $0.allSatisfy(\.isIdle)
                }
                let connection = try #require(transport.openConnections.first)
                #expect(connection.number == 1)
                #expect(connection.scheme == "http" && connection.authority == "127.0.0.1:\(server.port)")
                #expect(connection.peerAddress == "127.0.0.1" && connection.peerPort == server.port)
                let age = connection.age ?? .zero
                #expect(age > .zero)
                server.stop()
                try await poll("no connection", value: { transport.openConnections }) { $0.isEmpty }
            }
        }
    }
}
#endif
