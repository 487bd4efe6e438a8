#if SWIFT_NIO && MockServer
import ErrandCore
import ErrandNIO
import ErrandTesting
import TestSupport
import Testing

extension NIOTransportTests {
    /// How exchanges wait for a connection.
    @Suite(.timeLimit(.minutes(5))) struct PoolTests {
        @Test func eachDeadlineEndsItsOwnWait() async throws {
            try await BusyTransport.with { busy in
                let (transport, request) = (busy.transport, busy.request)
                let patient = Task { try await transport.send(request.within(.seconds(100))).body.collect() }
                try await transport.waitForQueue()
                let phases = try await withThrowingTaskGroup(of: ExchangePhase.self) { group in
                    for timeout in [90, 30, 60] {
                        group.addTask {
                            let limited = request.within(.milliseconds(timeout))
                            return try await transportError { try await transport.send(limited) }.phase
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(phases == [.queue, .queue, .queue])
                try await busy.respond()
                #expect(try await patient.value == Data("ok".utf8))
                #expect(busy.server.counts.value.requests == 2)
            }
        }

        /// Twenty tasks use the one connection without a pause. Another origin would wait until its deadline.
        @Test func aBusyOriginMakesRoomForAnotherOrigin() async throws {
            let (busy, other) = (try RawServer.ok(), try RawServer.ok())
            defer {
                busy.stop()
                other.stop()
            }
            try await withNIO {
                $0.maxConnections = 1
            } _: { transport in
                let (request, rare) = (try Request(.get, url: busy.url()), try Request(.get, url: other.url()))
                let data = try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            while !Task.isCancelled { _ = try? await transport.send(request).body.collect() }
                        }
                    }
                    try await busy.counts.wait { $0.requests > 40 }
                    let data = try await transport.send(rare.within(.seconds(20))).body.collect()
                    group.cancelAll()
                    return data
                }
                #expect(data == Data("ok".utf8))
            }
        }

        /// The exchange queues first. A lookup that never ends begins when the connection in use is closed.
        @Test(arguments: [
            PhaseTimeouts(connect: .milliseconds(60)), PhaseTimeouts(queue: .seconds(2), connect: .milliseconds(2_400)),
        ])
        func theLimitForConnectingBeginsWithTheAttempt(limits: PhaseTimeouts) async throws {
            let isOpen = Watched(false)
            let server = try RawServer.responding { connection, _, _ in
                try isOpen.waitBlocking { $0 }
                try connection.respond(fields: ["Connection: close"], body: Data("ok".utf8))
            }
            defer { server.stop() }
            try await withNIO {
                $0.maxConnectionsPerOrigin = 1
                $0.resolver = StubResolver { _ in
                    if isOpen.value { try await untilCancelled() }
                    return [try IPAddress("127.0.0.1")]
                }
            } _: { transport in
                let request = try Request(.get, url: "http://x.example:\(server.port)/")
                let first = Task { try await transport.send(request).body.collect() }
                try await server.counts.wait { $0.requests == 1 }
                var second = request
                second.options.phaseTimeouts = .use(limits)
                let limited = second
                let failing = Task { try await transportError { try await transport.send(limited) } }
                try await transport.waitForQueue()
                isOpen.change { $0 = true }
                #expect(try await first.value == Data("ok".utf8))
                let error = try await failing.value
                #expect(error.phase == .connect)
                #expect(error.message.hasPrefix("the limit connect is "))
                #expect(error.message.hasSuffix(", during the lookup of 'x.example'"))
            }
        }

        /// What an observer holds may use the transport when it goes.
        @Test func aReplacedObserverIsReleasedOutsideTheLock() async throws {
            let isGone = Watched(false)
            try await withNIO { transport in
                transport.observeClosedConnections(as: "test", TransportUser.observer(transport, isGone))
                #expect(!isGone.value)
                transport.observeClosedConnections(as: "test") { _ in }
                #expect(isGone.value)
            }
        }
    }
}

/// Uses a transport when it goes.
private final class TransportUser: Sendable {
    private let transport: NIOTransport
    private let isGone: Watched<Bool>

    init(_ transport: NIOTransport, _ isGone: Watched<Bool>) { (self.transport, self.isGone) = (transport, isGone) }

    static func observer(_ transport: NIOTransport, _ isGone: Watched<Bool>) -> @Sendable (ClosedConnection) -> Void {
        let user = TransportUser(transport, isGone)
        return { _ in withExtendedLifetime(user) {} }
    }

    deinit {
        let isIdle = transport.openConnections.isEmpty
        isGone.change { $0 = isIdle }
    }
}
#endif
