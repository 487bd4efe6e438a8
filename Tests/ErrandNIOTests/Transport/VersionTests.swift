#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandMockServer
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// How the version of HTTP is found: in a burst to an origin of which nothing is known, and when a server refuses HTTP/2.
    @Suite(.timeLimit(.minutes(5))) struct VersionTests {
        private static let certificate = Result { try TestAuthority().certificate() }

        private func with<Result>(
            _ protocols: [MockServer.ApplicationProtocol] = [.http2, .http1_1],
            _ respond: @escaping @Sendable (IncomingRequest) -> MockResponse,
            _ body: (NIOTransport, MockServer) async throws -> Result
        ) async throws -> Result {
            try await withMockServer(.tls(Self.certificate.get(), protocols: protocols)) { server in
                server.dispatch { respond($0) }
                return try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: {
                    try await body($0, server)
                }
            }
        }

        /// SETTINGS and GOAWAY come in place of a status line, in one piece or in several.
        @Test(
            arguments: [
                ([[0, 0, 0, 4, 0, 0, 0, 0, 0]], "the server speaks HTTP/2, not HTTP/1.1; set usesHTTP2WithoutTLS"),
                ([[0, 0], [0, 4, 0], [0, 0, 0], [0]], "the server speaks HTTP/2, not HTTP/1.1; set usesHTTP2WithoutTLS"),
                (
                    [[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
                    "the server speaks HTTP/2, not HTTP/1.1; set usesHTTP2WithoutTLS"
                ),
                ([[0x15, 3, 1, 0, 2, 2, 22]], "the server speaks TLS, not HTTP/1.1; use https in the URL"),
            ] as [([[UInt8]], String)]) func aServerOfAnotherProtocolIsRecognized(pieces: [[UInt8]], message: String) async throws
        {
            let server = try RawServer { connection in
                try connection.readHead()
                for piece in pieces { try connection.write(piece) }
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO { transport in
                let error = try await transportError { try await transport.send(Request(.get, url: server.url()).within(.seconds(10))) }
                #expect(error.code == .invalidResponse && error.message == "\(message) (127.0.0.1:\(server.port))", "\(error)")
            }
        }

        private func burst(_ count: Int, _ transport: NIOTransport, _ server: MockServer) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count {
                    group.addTask { _ = try await transport.send(Request(.get, url: server.url()).within(.seconds(10))).body.collect() }
                }
                try await group.waitForAll()
            }
        }

        // MARK: - Bursts

        @Test func aColdBurstOpensOneConnectionOfHTTP2() async throws {
            try await with { _ in
                .text("ok")
            } _: { transport, server in
                try await burst(50, transport, server)
                #expect(server.acceptedConnectionCount == 1)
                #expect(transport.openConnections.map(\.httpVersion) == [.http2])
            }
        }

        @Test func aColdBurstToAnHTTP1ServerOpensMoreConnectionsAfterTheFirst() async throws {
            try await with([.http1_1]) { _ in
                MockResponse.text("ok").with { $0.headDelay = .milliseconds(30) }
            } _: { transport, server in
                try await burst(8, transport, server)
                let opened = server.acceptedConnectionCount
                #expect((2...8).contains(opened), "\(opened)")
                #expect(server.requests.count == 8)
            }
        }

        /// The deadline of a request that waits for an attempt of another.
        @Test func theFailureNamesTheStepOfTheOtherAttempt() async throws {
            try await withMockServer(.tls(Self.certificate.get())) { server in
                server.failConnections(.stall, next: 9)
                try await withNIO {
                    $0.tls.uncheckedHostsForTesting = .loopback
                } _: { transport in
                    let url = server.url()
                    let first = Task { try await transport.send(Request(.get, url: url).within(.seconds(1))) }
                    try await poll("the first attempt", value: { transport.waitingExchanges.count }) { $0 == 1 }
                    let failure = try await transportError { try await transport.send(Request(.get, url: url).within(.milliseconds(300))) }
                    #expect(failure.code == .timedOut && failure.delivery == .notSent)
                    // On a slow machine, the certificates are still read.
                    #expect(failure.message.contains("TLS handshake") || failure.message.contains(", while the "), "\(failure)")
                    let result = await first.result
                    #expect((try? result.get()) == nil)
                }
            }
        }

        // MARK: - HTTP_1_1_REQUIRED

        private static func refusing(_ request: IncomingRequest) -> MockResponse {
            let response = MockResponse.text("over \(request.httpVersion.number)")
            return request.httpVersion == .http2 ? response.fault(.resetStream(code: 13), at: .requestStart) : response
        }

        @Test(arguments: [HTTPRequest.Method.get, .post])
        func aRequestThatNeedsHTTP1IsSentOnceMoreOverIt(method: HTTPRequest.Method) async throws {
            let sink = RecordingEventSink()
            try await with([.http2, .http1_1], Self.refusing) { transport, server in
                var request = try Request(method, url: server.url(), body: method == .post ? .text("pay") : .empty).within(.seconds(10))
                request.options.eventSink = sink
                let response = try await transport.send(request)
                #expect(response.metadata.httpVersion == .http1_1)
                #expect(try await response.body.collect() == Data("over 1.1".utf8))
                #expect(Set(transport.openConnections.map(\.httpVersion)) == [.http2, .http1_1])
            }
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            let first = sink.events.first { $0.kind == .end }?.failure as? TransportError
            #expect(first?.message.contains("HTTP_1_1_REQUIRED") == true, "\(String(describing: first))")
        }

        /// They ask no more.
        @Test func laterRequestsUseHTTP1Immediately() async throws {
            try await with([.http2, .http1_1], Self.refusing) { transport, server in
                for _ in 0..<3 { _ = try await transport.send(Request(.get, url: server.url()).within(.seconds(10))).body.collect() }
                let exchanges = transport.openConnections.sorted { $0.number < $1.number }.map(\.exchangesStarted)
                #expect(exchanges == [1, 3])
            }
        }

        @Test func aOneShotBodyIsNotSentOnceMore() async throws {
            let once = AsyncStream<Data> { continuation in
                continuation.yield(Data("once".utf8))
                continuation.finish()
            }
            try await with { request in
                MockResponse.text("").fault(.resetStream(code: 13), at: .responseStart)
            } _: { transport, server in
                let request = try Request(.put, url: server.url(), body: .stream(once)).within(.seconds(10))
                let failure = try await transportError { try await transport.send(request) }
                #expect(failure.code == .connectionLost)
                #expect(failure.message.contains("HTTP_1_1_REQUIRED"), "\(failure)")
                #expect(transport.openConnections.map(\.httpVersion) == [.http2])
            }
        }

        @Test func aGoAwayThatAsksForHTTP1IsObeyed() async throws {
            try await with { request in
                let response = MockResponse.text("over \(request.httpVersion.number)")
                return request.httpVersion == .http2
                    ? response.fault(.goAway(includesStream: false, code: 13), at: .responseStart) : response
            } _: { transport, server in
                let response = try await transport.send(Request(.post, url: server.url(), body: .text("pay")).within(.seconds(10)))
                #expect(try await response.body.collect() == Data("over 1.1".utf8))
            }
        }

        // MARK: - Alternative services

        private static let altSvc = HTTPField.Name("Alt-Svc")!

        @Test(arguments: [[MockServer.ApplicationProtocol.http2], [.http1_1]])
        func alternativeServicesAreRemembered(protocols: [MockServer.ApplicationProtocol]) async throws {
            try await with(protocols) { request in
                switch request.path {
                case "/h3": .text("", headers: [Self.altSvc: #"h3=":443"; ma=3600"#])
                case "/clear": .text("", headers: [Self.altSvc: "clear"])
                case "/421": .text("", status: 421, headers: [Self.altSvc: #"h3=":444""#])
                default: .text("")
                }
            } _: { transport, server in
                let origin = try HTTPURL(server.url()).origin
                func get(_ path: String) async throws -> [AlternativeService] {
                    _ = try await transport.send(Request(.get, url: server.url(path)).within(.seconds(10))).body.collect()
                    return transport.alternativeServices(for: origin)
                }
                #expect(try await get("/") == [])
                let found = try await get("/h3")
                #expect(found.map(\.protocolID) == ["h3"] && found.map(\.port) == [443])
                let age = try #require(found.first?.maxAge)
                #expect(age <= .seconds(3600) && age > .seconds(3500))
                #expect(try await get("/").count == 1)
                #expect(try await get("/421").map(\.port) == [443])
                let other = transport.alternativeServices(for: Origin("https://other.example"))
                #expect(other.isEmpty)
                #expect(try await get("/clear") == [])
            }
        }
    }
}
#endif
