#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Requests with `Expect: 100-continue` (RFC 9110, section 10.1.1).
    @Suite(.timeLimit(.minutes(5))) struct ExpectTests {
        private static func server(_ requests: Watched<[String]>) throws -> RawServer {
            try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    let number = connection.number
                    if let expect = request.value("expect") {
                        requests.change { $0.append("\(number) \(expect)") }
                        try connection.respond("417 Expectation Failed", body: Data("no".utf8))
                    } else {
                        let body = try connection.readBody(of: request)
                        requests.change { $0.append("\(number) \(String(decoding: body, as: UTF8.self))") }
                        try connection.respond(body: Data("ok".utf8))
                    }
                }
            }
        }

        private static func request(_ url: String, _ body: RequestBody) throws -> Request {
            var request = try Request(.post, url: url, body: body).within(.seconds(10))
            request.headers[.expect] = "100-Continue"
            return request
        }

        /// A body that can be sent once, too: nothing of it was sent.
        @Test(arguments: [false, true])
        func aRefusedExpectationIsLeftOut(isStream: Bool) async throws {
            let requests = Watched<[String]>([])
            let server = try Self.server(requests)
            defer { server.stop() }
            let sink = RecordingEventSink()
            try await withNIO { transport in
                let once = AsyncStream<Data> { continuation in
                    continuation.yield(Data("pay".utf8))
                    continuation.finish()
                }
                var request = try Self.request(server.url(), isStream ? .stream(once) : .text("pay"))
                request.options.eventSink = sink
                let response = try await transport.send(request)
                #expect(response.status == .ok)
                #expect(try await response.body.collect() == Data("ok".utf8))
                try await server.counts.wait("the end of the first connection") { $0.seenEnds == 1 }
            }
            #expect(requests.value == ["1 100-Continue", "2 pay"])
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            #expect(sink.events.filter { $0.kind == .responseHead }.map { $0.response?.status.code } == [417, 200])
        }

        @Test func aRefusedExpectationThroughAProxyIsLeftOut() async throws {
            let requests = Watched<[String]>([])
            let proxy = try Self.server(requests)
            defer { proxy.stop() }
            try await withNIO {
                $0.proxy = .all(.http(host: "127.0.0.1", port: proxy.port, credentials: ("joe", "pw")))
            } _: { transport in
                let response = try await transport.send(Self.request("http://a.invalid/", .text("pay")))
                #expect(response.status == .ok)
            }
            #expect(requests.value == ["1 100-Continue", "2 pay"])
        }

        /// 417 without an expectation, or to a body that was sent, is the response.
        @Test func anotherUseOf417IsTheResponse() async throws {
            let server = try RawServer.responding { connection, _, _ in
                try connection.respond("417 Expectation Failed", body: Data("no".utf8))
            }
            defer { server.stop() }
            try await withNIO { transport in
                for field in [nil, "something", "100-continue"] {
                    var request = try Self.request(server.url(), .text("pay"))
                    request.headers[.expect] = field
                    let response = try await transport.send(request)
                    #expect(response.status.code == 417)
                }
            }
        }

        @Test func aRefusedExpectationOverHTTP2IsLeftOut() async throws {
            try await FrameServer.with(
                responding: { frame in
                    guard frame.stream == 1 else { return FrameServer.ok(frame.stream, "ok") }
                    return [H2Frame.headers(1, H2Frame.status("417"), ends: true)].together
                }
            ) { transport, server in
                let response = try await transport.send(Self.request(server.url, .text("pay")))
                #expect(response.status == .ok)
                #expect(try await response.body.collect() == Data("ok".utf8))
                let bodies = server.frames.value.filter { $0.type == 0 && !$0.payload.isEmpty }
                #expect(bodies.map(\.stream) == [3] && server.server.acceptedConnections == 1)
                // `expect` is in no static table: without it, the head is shorter.
                let sizes = server.frames.value.filter { $0.type == 1 }.map(\.payload.count)
                #expect(sizes.count == 2 && sizes[1] < sizes[0])
            }
        }
    }
}
#endif
