#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandNIO

extension NIOTransportTests {
    /// A request that is sent again is a new attempt: after 417, after the challenge of a proxy, and after both.
    @Suite(.timeLimit(.minutes(5))) struct RepeatedAttemptTests {
        private static let challenge = ["Proxy-Authenticate: N nonce=1"]
        private static let authenticator = ProxyAuthenticator { _ in "N good" }

        private static func via(_ proxy: RawServer) -> ProxySettings {
            .http(host: "127.0.0.1", port: proxy.port).authenticated(by: authenticator)
        }

        private static func request(_ body: RequestBody, expects: Bool) throws -> Request {
            var request = try Request(.post, url: "http://a.invalid/", body: body).within(.seconds(10))
            if expects { request.headers[.expect] = "100-continue" }
            return request
        }

        // MARK: - Through a proxy

        enum Order: CaseIterable, Sendable {
            /// The proxy refuses the expectation first, and then asks for credentials.
            case expectationFirst
            case credentialsFirst
        }

        /// The first line of `expected` is the connection of the request, and what the request had.
        @Test(arguments: Order.allCases, [false, true])
        func anExpectationIsRefusedAndCredentialsAreRequested(order: Order, hasLength: Bool) async throws {
            let (count, seen, bodies) = (1000, Watched<[String]>([]), Watched<[[UInt8]]>([]))
            let proxy = try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    let expects = request.value("expect") != nil
                    let hasCredentials = request.value("proxy-authorization") != nil
                    let number = connection.number
                    seen.change { $0.append("\(number)\(expects ? " expects" : "")\(hasCredentials ? " good" : "")") }
                    let body = expects ? Data() : try connection.readBody(of: request)
                    if !expects { bodies.change { $0.append(Array(body)) } }
                    if expects, order == .expectationFirst || hasCredentials {
                        try connection.respond("417 Expectation Failed")
                    } else if !hasCredentials {
                        try connection.respond("407 No", fields: Self.challenge)
                    } else {
                        try connection.respond(body: Data("ok".utf8))
                    }
                }
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(Self.via(proxy))
            } _: { transport in
                let body = NumberedPieces.body(count, hasLength: hasLength)
                let response = try await transport.send(Self.request(body, expects: true))
                #expect(try await response.body.collect() == Data("ok".utf8))
            }
            let whole = NumberedPieces.bytes(count)
            switch order {
            case .expectationFirst:
                // A body of unknown length may be long: after its refusal, the connection is not used again.
                #expect(seen.value == ["1 expects", "2", hasLength ? "2 good" : "3 good"])
                #expect(bodies.value == [whole, whole])
            case .credentialsFirst:
                #expect(seen.value == ["1 expects", "2 expects good", "3 good"])
                #expect(bodies.value == [whole])
            }
        }

        /// The second attempt gets its whole response early, on the connection of the first one. Its rest is limited.
        @Test func theRestOfARepeatedRequestIsLimited() async throws {
            let count = 1000
            let proxy = try RawServer { connection in
                let first = try connection.readHead()
                _ = try connection.readBody(of: first)
                try connection.respond("407 No", fields: Self.challenge)
                _ = try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                connection.waitForEnd()
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(Self.via(proxy))
                $0.restTimes = .init(withoutProgress: .milliseconds(200))
            } _: { transport in
                let (opened, second) = (Watched(0), ScriptedBodySource(["first"], then: .stall))
                let body = RequestBody.stream(length: Int64(8 * count)) { _ in
                    opened.change { $0 += 1 }
                    return opened.value == 1 ? NumberedPieces(count) as any BodySource : second
                }
                let response = try await transport.send(Self.request(body, expects: false))
                #expect(try await response.body.collect() == Data("ok".utf8))
                #expect(try await response.end().isComplete)
                try await second.abandonments.wait("the second source to be given up") { $0 > 0 }
                try await proxy.counts.wait("the end of the connection") { $0.accepted == 1 && $0.seenEnds == 1 }
            }
        }

        /// Another program may see the end of such a challenge elsewhere.
        @Test func aChallengeWithLFLinesIsMetOnAnotherConnection() async throws {
            let (count, bodies) = (100, Watched<[[UInt8]]>([]))
            let proxy = try RawServer.responding { connection, request, body in
                bodies.change { $0.append(Array(body)) }
                if request.value("proxy-authorization") == nil {
                    try connection.write("HTTP/1.1 407 No\n\(Self.challenge[0])\nContent-Length: 0\n\n")
                } else {
                    try connection.respond(body: Data("ok".utf8))
                }
            }
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(Self.via(proxy))
            } _: { transport in
                let response = try await transport.send(Self.request(NumberedPieces.body(count, hasLength: true), expects: false))
                #expect(response.status == .ok)
            }
            let whole = NumberedPieces.bytes(count)
            #expect(bodies.value == [whole, whole] && proxy.counts.value.accepted == 2)
        }

        // MARK: - The limit of a rest

        /// The limit of an exchange does not apply to the next exchange on the connection.
        @Test func theLimitOfARestEndsWithItsExchange() async throws {
            let server = try RawServer { connection in
                let first = try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                _ = try connection.readBody(of: first)
                try connection.readHead()
                connection.pause(milliseconds: 1_200)  // longer than the limit, which is a time of the event loop
                try connection.respond(body: Data("late".utf8))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await withNIO {
                $0.restTimes = .init(withoutProgress: .seconds(1))
                $0.maxConnectionsPerOrigin = 1
            } _: { transport in
                let gate = Signal()
                let body = RequestBody.stream(length: 8) { _ in
                    ScriptedBodySource(chunks: [Data(count: 8)]) { await gate.waitIgnoringCancellation() }
                }
                let first = try await transport.send(Request(.post, url: server.url(), body: body))
                #expect(try await first.body.collect() == Data("ok".utf8))
                gate.signal()
                let second = try await transport.send(Request(.get, url: server.url()).within(.seconds(20)))
                #expect(try await second.body.collect() == Data("late".utf8))
                #expect(server.counts.value.accepted == 1)
            }
        }

        // MARK: - Over HTTP/2

        @Test(arguments: [false, true])
        func anExpectationAndAStreamOverHTTP2AreRefused(hasLength: Bool) async throws {
            let (count, runs) = (500, 60)
            let refusals = StreamRefusals { [.accepted, .expectationRefused, .dataRefused][$0 % 3] }
            try await FrameServer.with(
                opening: [.settings([(3, 100), (4, 0x7FFF_FFFF)]), .windowUpdate(0, by: 0x3FFF_FFFF), .settingsAck],
                responding: { refusals.respond(to: $0) }, all: true
            ) { transport, server in
                for _ in 0..<runs {
                    var request = try server.request(.post, body: NumberedPieces.body(count, hasLength: hasLength))
                    request.headers[.expect] = "100-continue"
                    let response = try await transport.send(request)
                    #expect(try await response.body.collect() == Data("ok".utf8))
                }
                #expect(server.server.acceptedConnections == 1)
            }
            let expected = NumberedPieces.bytes(count)
            #expect(refusals.whole.count == runs && refusals.unexpected.isEmpty)
            let corrupt = refusals.whole.filter { $0 != expected }
            #expect(corrupt.isEmpty, "\(corrupt.count) of \(runs), the first with \(corrupt.first?.count ?? 0) bytes")
        }

        @Test func theRestOfARepeatedRequestOverHTTP2IsLimited() async throws {
            try await FrameServer.with(
                responding: { frame in
                    guard frame.stream == 1 else { return FrameServer.ok(frame.stream, "ok") }
                    return [H2Frame.headers(1, H2Frame.status("417"), ends: true)].together
                }, configure: { $0.restTimes = .init(withoutProgress: .milliseconds(200)) }
            ) { transport, server in
                let source = ScriptedBodySource(["first"], then: .stall)
                var request = try server.request(.post, body: .stream(length: 1000) { _ in source })
                request.headers[.expect] = "100-continue"
                let response = try await transport.send(request)
                #expect(try await response.body.collect() == Data("ok".utf8))
                #expect(try await response.end().isComplete)
                try await source.abandonments.wait("the source to be given up") { $0 > 0 }
                try await server.frames.wait("the reset of the second stream") { frames in
                    frames.contains { $0.type == 3 && $0.stream == 3 && $0.payload.last == 8 }
                }
                #expect(try await transport.send(server.request()).status == .ok)
                #expect(server.server.acceptedConnections == 1)
            }
        }
    }
}
#endif
