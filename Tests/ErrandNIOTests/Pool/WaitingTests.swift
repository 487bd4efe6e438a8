#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import TestSupport
import Testing

extension NIOTransportTests {
    /// The events that end a wait for a connection, and the state after the wait.
    @Suite(.timeLimit(.minutes(5))) struct WaitingTests {
        @Test func theEarlierOfDeadlineAndLimitEndsTheWait() async throws {
            try await BusyTransport.with { busy in
                let (transport, request) = (busy.transport, busy.request)
                var limited = request.within(.milliseconds(40))
                limited.options.phaseTimeouts = .use(PhaseTimeouts(queue: .seconds(100)))
                let byDeadline = try await transportError { try await transport.send(limited) }
                #expect(byDeadline.phase == .queue)
                limited = request.within(.seconds(100))
                limited.options.phaseTimeouts = .use(PhaseTimeouts(queue: .milliseconds(40)))
                let byLimit = try await transportError { try await transport.send(limited) }
                #expect(byLimit.phase == .queue)
                try await busy.respond()
            }
        }

        @Test func aRequestWhoseDeadlineHasPassedIsNotSentOverAKeptConnection() async throws {
            let server = try RawServer.ok()
            defer { server.stop() }
            try await withNIO { transport in
                let request = try Request(.get, url: server.url())
                _ = try await transport.send(request).body.collect()
                let error = try await transportError { try await transport.send(request.within(.zero)) }
                #expect(error.phase == .queue)
                #expect(error.delivery == .notSent)
                #expect(server.counts.value.requests == 1)
            }
        }

        @Test func aConnectionCountsTheExchangesThatHaveEnded() async throws {
            let server = try RawServer.ok()
            defer { server.stop() }
            try await withNIO { transport in
                for _ in 0..<2 { _ = try await transport.send(Request(.get, url: server.url())).body.collect() }
                #expect(transport.openConnections.map(\.exchanges) == [0])
                #expect(transport.openConnections.map(\.exchangesStarted) == [2])
            }
        }

        /// The one connection that is allowed is being opened for nobody when a request to another origin comes.
        @Test func anUnusedConnectionMakesRoomWhenItOpens() async throws {
            let (unused, wanted) = (try RawServer.ok(), try RawServer.ok())
            defer {
                unused.stop()
                wanted.stop()
            }
            let isKnown = Watched(false)
            let resolver = StubResolver { _ in
                try await isKnown.wait { $0 }
                return [try IPAddress("127.0.0.1")]
            }
            try await withNIO {
                $0.maxConnections = 1
                $0.resolver = resolver
            } _: { transport in
                let preconnect = Task { try await transport.preconnect(to: "http://unused.example:\(unused.port)") }
                try await resolver.asked.wait { !$0.isEmpty }
                let request = try Request(.get, url: wanted.url()).within(.seconds(20))
                let data = Task { try await transport.send(request).body.collect() }
                try await transport.waitForQueue()
                isKnown.change { $0 = true }
                #expect(try await data.value == Data("ok".utf8))
                try await preconnect.value
            }
        }

        /// Each cancellation comes at another moment: during the lookup, before the channel opens, or while the channel connects.
        @Test func aCancelledRequestDiscardsNoAddresses() async throws {
            let hanging = try HangingPort()
            let resolver = StubResolver("127.0.0.1")
            try await withNIO {
                $0.resolver = resolver
            } _: { transport in
                let request = try Request(.get, url: "http://x.example:\(hanging.port)/")
                for round in 1...300 {
                    let task = Task { try await transport.send(request) }
                    try await resolver.asked.wait { $0.count == round }
                    task.cancel()
                    await #expect(throws: CancellationError.self) { _ = try await task.value }
                }
            }
            // The transport is shut down: nothing is done later.
            #expect(resolver.discarded.value.isEmpty)
        }
    }
}
#endif
