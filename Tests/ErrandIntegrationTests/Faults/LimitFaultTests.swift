#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Limits and the circuit breaker over a real socket, against a server that fails them.
@Suite(.timeLimit(.minutes(5))) struct LimitFaultTests {
    private final class Occupancy: Sendable {
        private let state = Mutex((now: 0, most: 0))
        var most: Int { state.withLock(\.most) }
        func enter() {
            state.withLock { state in
                state.now += 1
                state.most = max(state.most, state.now)
            }
        }
        func leave() { state.withLock { $0.now -= 1 } }
    }

    @Test func theServerNeverSeesMoreThanTheLimit() async throws {
        try await withMockServer { server in
            let (handlers, mayRespond) = (Occupancy(), Watched(false))
            server.dispatch { _ in
                handlers.enter()
                defer { handlers.leave() }
                try await mayRespond.wait { $0 }
                return .text("fine")
            }
            try await withTransport(NIOTransport()) { transport async throws in
                let middleware = ConcurrencyLimitMiddleware(.fixed(3), per: .all)
                let stack = transport.wrapped(by: middleware)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<60 {
                        group.addTask {
                            let response = try await stack.send(Request(.get, url: server.url("/\(number)")))
                            return try await response.body.collect() == Data("fine".utf8)
                        }
                    }
                    // No request gets a response before all requests have met.
                    try await poll("all requests", value: { (middleware.state.queued, handlers.most) }) { $0.0 == 57 && $0.1 >= 3 }
                    mayRespond.change { $0 = true }
                    for try await isRight in group { #expect(isRight) }
                }
            }
            #expect(handlers.most == 3 && server.requests.count == 60)
        }
    }

    /// However the exchange with the only slot ends, the next exchange gets the slot.
    @Test(arguments: Fault.all, FaultPoint.all) func everyFaultFreesItsSlot(_ fault: Fault, at point: FaultPoint) async throws {
        try await withMockServer { server in
            server.enqueue(.data(Data(count: 200_000)).fault(fault, at: point))
            server.dispatch { _ in .text("fine") }
            try await withTransport(NIOTransport()) { transport async throws in
                let middleware = ConcurrencyLimitMiddleware(.fixed(1), per: .all)
                let stack = transport.wrapped(by: middleware)
                var broken = try Request(.post, url: server.url("/broken"), body: .data(Data(count: 100_000)))
                broken.deadline = Deadline(after: .milliseconds(200))
                do {
                    let response = try await stack.send(broken)
                    _ = try await response.body.collect()
                } catch is TransportError {
                }
                let next = try Request(.get, url: server.url("/next"))
                // What the broken exchange left on its connection may fail the next one as well: the slot is there all the same.
                let bounded = stack.phaseTimeouts(attempt: .milliseconds(500))
                var body: Data?
                for _ in 0..<5 where body == nil {
                    do {
                        body = try await bounded.send(next).body.collect()
                    } catch is TransportError {
                    }
                }
                #expect(body == Data("fine".utf8))
                // Told on an event loop, which may be a moment behind the reader.
                try await poll("the slot to be free", value: { middleware.state.inFlight + middleware.state.queued }) {
                    $0 == 0
                }
            }
        }
    }

    @Test(arguments: [Fault.reset, .close, .garbage]) func aBrokenOriginGetsNoRequests(_ fault: Fault) async throws {
        try await withMockServer { server in
            let isBroken = Mutex(true)
            server.dispatch { _ in isBroken.withLock { $0 } ? .text("x").fault(fault, at: .responseStart) : .text("fine") }
            try await withTransport(NIOTransport()) { transport async throws in
                let clock = ManualClock()
                let stack = transport.circuitBreaker(CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 5, probeCount: 1), clock: clock))
                for _ in 0..<5 {
                    await #expect(throws: TransportError.self) { () async throws -> Void in
                        _ = try await stack.send(Request(.get, url: server.url("/x")))
                    }
                }
                let asked = server.requests.count
                await #expect(throws: CircuitBreakerError.self) { () async throws -> Void in
                    _ = try await stack.send(Request(.get, url: server.url("/x")))
                }
                #expect(server.requests.count == asked)
                isBroken.withLock { $0 = false }
                clock.advance(by: .seconds(5))
                #expect(try await stack.send(Request(.get, url: server.url("/x"))).status == .ok)
            }
        }
    }
}
#endif
