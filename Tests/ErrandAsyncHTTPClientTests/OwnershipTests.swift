#if AsyncHTTPClient && NIO
internal import AsyncHTTPClient
internal import Errand
internal import Foundation
internal import TestSupport
internal import Testing

extension AsyncHTTPClientTransportTests {
    /// Who made a client ends it.
    @Suite
    struct OwnershipTests {
        private func answeringServer() throws -> RawServer {
            try RawServer.answering { connection, _, _ in try connection.respond(body: Data("ok".utf8)) }
        }

        @Test func aBorrowedClientOutlivesTheTransport() async throws {
            let server = try answeringServer()
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

        @Test func aBorrowedClientThatIsShutDownIsToldOf() async throws {
            let server = try answeringServer()
            defer { server.stop() }
            let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup)
            let transport = AsyncHTTPClientTransport(borrowing: client)
            try await client.shutdown()
            let failure = try await transportError { try await transport.send(Request(.get, url: server.url())) }
            #expect(failure.code == .shutDown)
            #expect(failure.delivery == .notSent)
        }

        @Test(arguments: TestedTransport.allCases) func aClientOfItsOwnIsShutDownWhenTheTransportGoesAway(by tested: TestedTransport)
            async throws
        {
            let server = try answeringServer()
            defer { server.stop() }
            func use() async throws {
                let transport = try tested.make()
                let copy = transport
                _ = try await copy.send(Request(.get, url: server.url())).body.collect()
                #expect(server.counts.value.open == 1)
            }
            try await use()
            try await server.counts.wait("its connection to be closed") { $0.open == 0 }
        }

        @Test(arguments: TestedTransport.allCases) func aTransportThatWasNeverUsedGoesAway(by tested: TestedTransport) async throws {
            for _ in 0..<20 { _ = try tested.make() }
            let transport = try tested.make()
            try await transport.shutdown()
        }

        /// Whoever has a response can read it, whatever became of the transport.
        @Test(arguments: TestedTransport.allCases) func aResponseOutlivesTheTransport(by tested: TestedTransport) async throws {
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
                try await tested.make().send(Request(.get, url: server.url()))
            }
            let response = try await send()
            mayGoOn.change { $0 = true }
            #expect(try await response.body.collect() == body)
            try await server.counts.wait("the connection to be closed behind it") { $0.open == 0 }
        }

        @Test func withTransportShutsDownAlsoBehindAnError() async throws {
            let server = try answeringServer()
            defer { server.stop() }
            await #expect(throws: SourceBroke.self) {
                try await withTransport(AsyncHTTPClientTransport()) { transport in
                    _ = try await transport.send(Request(.get, url: server.url())).body.collect()
                    throw SourceBroke()
                }
            }
            try await server.counts.wait("its connection to be closed") { $0.open == 0 }
        }

        @Test func whatIsNotInTheConfigurationIsSetOnTheClientItself() async throws {
            let server = try answeringServer()
            defer { server.stop() }
            try await withAHC {
                $0.customize = { $0.maximumUsesPerConnection = 1 }
            } _: { transport in
                for count in 1...3 {
                    _ = try await transport.send(Request(.get, url: server.url())).body.collect()
                    #expect(server.counts.value.accepted == count)
                }
            }
        }
    }
}
#endif
