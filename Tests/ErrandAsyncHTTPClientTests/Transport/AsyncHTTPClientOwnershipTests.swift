#if AsyncHTTPClient && NIO && MockServer
internal import AsyncHTTPClient
internal import Errand
internal import ErrandAsyncHTTPClient
internal import Foundation
internal import TestSupport
internal import Testing

extension AsyncHTTPClientTransportTests {
    /// Who made the client ends it.
    @Suite
    struct AsyncHTTPClientOwnershipTests {
        private func respondingServer() throws -> RawServer {
            try RawServer.responding { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
        }

        @Test func aBorrowedClientOutlivesTheTransport() async throws {
            let server = try respondingServer()
            defer { server.stop() }
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup)
            do {
                let transport = AsyncHTTPClientTransport(borrowing: client)
                #expect(try await transport.send(Request(.get, url: server.url())).body.collect() == Data("ok".utf8))
                try await transport.shutdown()
                let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
                #expect(failure.code == .shutDown)
            }
            do {
                let transport = AsyncHTTPClientTransport(borrowing: client)
                #expect(try await transport.send(Request(.get, url: server.url())).body.collect() == Data("ok".utf8))
            }
            try await client.shutdown()  // throws, had it been shut down
        }

        /// What is in progress belongs to its caller: the connections are not the transport's to close.
        @Test func anExchangeInProgressOutlivesTheShutdown() async throws {
            let mayGoOn = Watched(false)
            let server = try RawServer.responding { connection, _, _ in
                try mayGoOn.waitBlocking { $0 }
                try connection.respond(body: Data("ok".utf8))
            }
            defer { server.stop() }
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup)
            let transport = AsyncHTTPClientTransport(borrowing: client)
            async let response = transport.send(Request(.get, url: server.url()))
            try await server.counts.wait("the request") { $0.requests == 1 }
            try await transport.shutdown()
            mayGoOn.change { $0 = true }
            #expect(try await response.body.collect() == Data("ok".utf8))
            try await client.shutdown()
        }

        /// The client's settings may hold the credentials of a proxy.
        @Test func settingsOfTheClientAreNotShown() async throws {
            var settings = HTTPClient.Configuration()
            settings.proxy = .server(
                host: "proxy.example", port: 3128, authorization: .basic(username: "joe", password: "hunter2hunter2"))
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: settings)
            let transport = AsyncHTTPClientTransport(borrowing: client)
            for value in [transport, transport.timeout(.seconds(1))] as [Any] {
                var text = ""
                dump(value, to: &text)
                text += "\(value)" + String(reflecting: value)
                #expect(!text.contains("hunter2") && !text.contains("joe") && text.contains("AsyncHTTPClientTransport"), "\(text)")
            }
            try await client.shutdown()
        }

        @Test func theErrorOfAClosedBorrowedClientNamesTheShutdown() async throws {
            let server = try respondingServer()
            defer { server.stop() }
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup)
            let transport = AsyncHTTPClientTransport(borrowing: client)
            try await client.shutdown()
            let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
            #expect(failure.code == .shutDown)
            #expect(failure.delivery == .notSent)
        }
    }
}
#endif
