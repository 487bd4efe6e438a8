#if SWIFT_NIO && MockServer
import ErrandConformance
import ErrandCore
import ErrandNIO
import ErrandTesting
import Foundation
import TestSupport
import Testing

extension NIOTransportTests {
    /// Requests that a server refuses as misdirected (421; RFC 9110, section 15.5.20).
    @Suite(.timeLimit(.minutes(5))) struct MisdirectedTests {
        /// A server that refuses every request on its first `count` connections, and notes what it gets.
        private func server(refusing count: Int, _ requests: Watched<[String]>) throws -> RawServer {
            try RawServer { connection in
                while true {
                    let request = try connection.readHead()
                    let body = try connection.readBody(of: request)
                    let number = connection.number
                    requests.change { $0.append("\(number) \(request.method) \(String(decoding: body, as: UTF8.self))") }
                    if number <= count {
                        try connection.respond("421 Misdirected Request", body: Data("not here".utf8))
                    } else {
                        try connection.respond(body: Data("ok".utf8))
                    }
                }
            }
        }

        @Test(arguments: [HTTPRequest.Method.get, .post])
        func aMisdirectedRequestIsSentOnceMoreOverAnotherConnection(method: HTTPRequest.Method) async throws {
            let requests = Watched<[String]>([])
            let server = try self.server(refusing: 1, requests)
            defer { server.stop() }
            let sink = RecordingEventSink()
            try await withNIO { transport in
                var request = try Request(method, url: server.url(), body: method == .post ? .text("pay") : .empty).within(.seconds(10))
                request.options.eventSink = sink
                let response = try await transport.send(request)
                #expect(response.status == .ok)
                #expect(try await response.body.collect() == Data("ok".utf8))
                try await server.counts.wait("the end of the first connection") { $0.seenEnds == 1 }
                try await poll("the pool to forget it", value: { transport.openConnections.map(\.number) }) { $0 == [2] }
            }
            let body = method == .post ? "pay" : ""
            #expect(requests.value == ["1 \(method.rawValue) \(body)", "2 \(method.rawValue) \(body)"])
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            #expect(sink.events.filter { $0.kind == .responseHead }.map { $0.response?.status.code } == [421, 200])
            #expect(sink.events.filter { $0.kind == .connectionAcquired }.map { $0.connection?.number } == [1, 2])
            #expect(sink.events.filter { $0.kind == .end }.map { $0.failure == nil } == [false, true])
        }

        @Test func theSecondRefusalIsTheResponse() async throws {
            let requests = Watched<[String]>([])
            let server = try self.server(refusing: 9, requests)
            defer { server.stop() }
            try await withNIO { transport in
                let response = try await transport.send(Request(.get, url: server.url()).within(.seconds(10)))
                #expect(response.status.code == 421)
                #expect(try await response.body.collect() == Data("not here".utf8))
            }
            #expect(requests.value.count == 2)
        }

        @Test func aOneShotBodyIsNotSentOnceMore() async throws {
            let requests = Watched<[String]>([])
            let server = try self.server(refusing: 1, requests)
            defer { server.stop() }
            let once = AsyncStream<Data> { continuation in
                continuation.yield(Data("once".utf8))
                continuation.finish()
            }
            try await withNIO { transport in
                let request = try Request(.put, url: server.url(), body: .stream(once)).within(.seconds(10))
                let response = try await transport.send(request)
                #expect(response.status.code == 421)
            }
            #expect(requests.value == ["1 PUT once"])
        }

        @Test func aRefusalDuringTheUploadSendsAllOfItAgain() async throws {
            let data = Data.seeded(2_000_000)
            let server = try RawServer { connection in
                let request = try connection.readHead()
                if connection.number == 1 {
                    try connection.respond("421 Misdirected Request")
                    connection.waitForEnd()
                } else {
                    try connection.respond(body: try connection.readBody(of: request))
                    connection.waitForEnd()
                }
            }
            defer { server.stop() }
            try await withNIO { transport in
                let request = try Request(.post, url: server.url(), body: .data(data)).within(.seconds(10))
                let isEqual = try await transport.send(request).body.collect() == data
                #expect(isEqual)
            }
        }

        @Test func aRepeatedRequestIsTwoExchanges() async throws {
            // The server closes each connection when its second request comes.
            let server = try RawServer { connection in
                _ = try connection.readHead()
                try connection.respond(body: Data("ok".utf8))
                _ = try connection.readHead()
            }
            defer { server.stop() }
            let sink = RecordingEventSink()
            try await withNIO { transport in
                _ = try await transport.send(Request(.get, url: server.url()).within(.seconds(10))).body.collect()
                var request = try Request(.get, url: server.url()).within(.seconds(10))
                request.options.eventSink = sink
                #expect(try await transport.send(request).body.collect() == Data("ok".utf8))
            }
            #expect(EventGrammar.violations(sink.events, isCall: false) == [])
            let exchanges = Set(sink.events.compactMap(\.exchange))
            #expect(exchanges.count == 2)
            let first = sink.events.first { $0.kind == .end }?.failure as? TransportError
            #expect(first?.code == .connectionLost)
        }
    }
}
#endif
