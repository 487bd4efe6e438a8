#if SWIFT_NIO && MockServer
internal import Errand
internal import ErrandConformance
internal import ErrandTesting
internal import Foundation
internal import TestSupport
internal import Testing

extension TransportTests {
    /// A sink is told of an exchange from its start to its one end, in order.
    @Suite
    struct EventTests {
        private let sink = RecordingEventSink()

        /// How an exchange over a new connection begins. The transport over SwiftNIO reports the steps of connecting.
        private static func beginning(_ tested: TestedTransport) -> [ExchangeEvent.Kind] {
            tested == .nio ? [.start, .connectStart, .connectEnd] : [.start]
        }

        /// Only a transport with connections of its own reports them.
        private static func acquired(_ tested: TestedTransport) -> [ExchangeEvent.Kind] { tested == .nio ? [.connectionAcquired] : [] }

        /// Waits for the end, and then for that of the transport, behind which nothing comes any more.
        private func kinds(
            _ transport: any HTTPTransport, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> [ExchangeEvent.Kind] {
            try await sink.wait(for: .end)
            try await transport.shutdown()
            let events = sink.events
            #expect(events.map(\.instant) == events.map(\.instant).sorted(), sourceLocation: sourceLocation)
            #expect(events.filter { $0.kind == .end }.count == 1, sourceLocation: sourceLocation)
            #expect(events.last?.kind == .end, sourceLocation: sourceLocation)
            return sink.steps
        }

        /// Without the progress of the body.
        private func whole(_ transport: any HTTPTransport) async throws -> [ExchangeEvent.Kind] {
            try await kinds(transport).filter { $0 != .responseBytesReceived }
        }

        @Test(arguments: [RequestBody.empty, .data(Data.seeded(1_000)), .data(Data.seeded(500_000))], TestedTransport.allCases)
        func aWholeExchangeIsReported(body: RequestBody, by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data.seeded(300_000)) }
            defer { server.stop() }
            try await tested.run { transport in
                let request = try Request(.post, url: server.url(), body: body).telling(sink)
                let response = try await transport.send(request)
                #expect(try await response.body.collect().count == 300_000)
                let kinds = try await kinds(transport)
                // A response may begin before the request is known to be written.
                let others = kinds.filter { $0 != .requestSent && $0 != .responseBytesReceived }
                #expect(others == Self.beginning(tested) + Self.acquired(tested) + [.requestHeadSent, .responseHead, .end])
                #expect(EventGrammar.violations(sink.events, isCall: false) == [])
                #expect(sink.events.last { $0.kind == .responseBytesReceived }?.bytes == 300_000)
                #expect(kinds.count { $0 == .requestSent } <= 1)
                #expect(sink.events.allSatisfy { $0.request == request.id })
                #expect(sink.events.last?.failure == nil)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aRefusedConnectionIsReported(by tested: TestedTransport) async throws {
            let port = try LoopbackPorts.refused()
            try await tested.run { transport in
                let request = try Request(.get, url: "http://127.0.0.1:\(port)/").telling(sink)
                _ = try await transportError { try await transport.send(request) }
                #expect(try await kinds(transport) == Self.beginning(tested) + [.end])
                #expect((sink.events.last?.failure as? TransportError)?.code == .cannotConnect)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aBrokenBodyIsReported(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nas far as here")
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()).telling(sink))
                _ = try await transportError { try await response.body.collect() }
                let sent = Self.acquired(tested) + [.requestHeadSent, .requestSent, .responseHead, .end]
                #expect(try await whole(transport) == Self.beginning(tested) + sent)
                #expect((sink.events.last?.failure as? TransportError)?.code == .connectionLost)
            }
        }

        @Test(arguments: TestedTransport.allCases) func anAbandonedBodyIsReported(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try? connection.respond(body: Data(count: 16 * 1024 * 1024))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let response = try await transport.send(Request(.get, url: server.url()).telling(sink))
                response.body.abandon()
                let sent = Self.acquired(tested) + [.requestHeadSent, .requestSent, .responseHead, .end]
                #expect(try await whole(transport) == Self.beginning(tested) + sent)
            }
        }

        @Test(arguments: TestedTransport.allCases) func aCancelledExchangeIsReported(by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let request = try Request(.get, url: server.url()).telling(sink)
                let task = Task { try await transport.send(request) }
                try await server.counts.wait { $0.requests == 1 }
                try await sink.wait(for: .requestSent)
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                let sent = Self.acquired(tested) + [.requestHeadSent, .requestSent, .end]
                #expect(try await kinds(transport) == Self.beginning(tested) + sent)
                #expect(sink.events.last?.failure is CancellationError)
            }
        }

        /// Wherever the cancellation falls, nothing comes behind the end.
        @Test(arguments: TestedTransport.allCases) func aCancellationAtAnyMomentIsReported(by tested: TestedTransport) async throws {
            let server = try RawServer.responding { connection, _, _ in try connection.respond(body: Data.seeded(100_000)) }
            defer { server.stop() }
            let sent = Self.acquired(tested) + [.requestHeadSent, .responseHead]
            var generator = SeededGenerator(seed: 5)
            try await tested.run { transport in
                for _ in 0..<200 {
                    let sink = RecordingEventSink()
                    let request = try Request(.put, url: server.url(), body: .data(Data.seeded(100_000))).telling(sink)
                    let task = Task { try await transport.send(request).body.collect() }
                    let delay = Duration.microseconds(Int.random(in: 0..<2_000, using: &generator))
                    try await Task.sleep(for: delay)
                    task.cancel()
                    _ = await task.result
                    guard !sink.steps.isEmpty else { continue }  // cancelled before it began
                    try await sink.wait(for: .end)
                    #expect(sink.steps.last == .end)
                    #expect(EventGrammar.violations(sink.events, isCall: false) == [])
                    // A response may begin before the request is known to be written.
                    let others = sink.steps.dropLast().filter { $0 != .requestSent && $0 != .responseBytesReceived }
                    // A kept connection has no steps of connecting.
                    let wholes = [Self.beginning(tested) + sent, [.start] + sent]
                    #expect(wholes.contains { Array($0.prefix(others.count)) == others }, "\(others)")
                    #expect(sink.steps.count { $0 == .requestSent } <= 1)
                }
            }
        }

        /// A sink is not called under a lock: it may end the exchange that it hears of.
        @Test(arguments: [ExchangeEvent.Kind.start, .requestHeadSent, .requestSent, .responseHead], TestedTransport.allCases)
        func aSinkMayCancelTheExchange(kind: ExchangeEvent.Kind, by tested: TestedTransport) async throws {
            let server = try RawServer { connection in
                try connection.readHead()
                try? connection.respond(body: Data(count: 16 * 1024 * 1024))
                connection.waitForEnd()
            }
            defer { server.stop() }
            try await tested.run { transport in
                let sink = CancellingEventSink(at: kind)
                var request = try Request(.get, url: server.url())
                request.options.eventSink = sink
                let task = Task { [request] in try await transport.send(request).body.collect() }
                sink.cancels(task)
                await #expect(throws: CancellationError.self) { try await task.value }
                try await sink.hasEnded.wait { $0 }
            }
        }
    }
}
#endif
