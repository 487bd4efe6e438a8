#if MockServer && SWIFT_NIO
import Errand
import ErrandMockServer
import ErrandTesting
import TestSupport
import Testing

/// Rate limits over a real socket, against a server that refuses and fails.
@Suite(.timeLimit(.minutes(5))) struct RateLimitFaultTests {
    private let clock = ManualClock()

    @Test func theServerNeverSeesMoreThanTheLimit() async throws {
        try await withMockServer { server in
            server.dispatch { _ in .text("fine") }
            try await withTransport(NIOTransport()) { transport async throws in
                let middleware = RateLimitMiddleware(.perSecond(5), per: .all, clock: clock)
                let stack = transport.wrapped(by: middleware)
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<20 {
                        group.addTask {
                            let response = try await stack.send(Request(.get, url: server.url("/\(number)")))
                            return try await response.body.collect() == Data("fine".utf8)
                        }
                    }
                    for round in 1...4 {
                        try await poll(
                            "the others to wait", value: { (server.requests.count, middleware.queued(for: ""), clock.sleeperCount) }
                        ) {
                            $0 == (round * 5, 20 - round * 5, round < 4 ? 1 : 0)
                        }
                        clock.advance(by: .seconds(1))
                    }
                    for try await isRight in group { #expect(isRight) }
                }
                #expect(server.requests.count == 20)
            }
        }
    }

    /// If the head of the response came, its values apply, even if the body failed. If the head did not come, no request waits.
    @Test(arguments: Fault.all, FaultPoint.all) func aBrokenRefusalIsObeyedIfItsHeadArrived(_ fault: Fault, at point: FaultPoint)
        async throws
    {
        try await withMockServer { server in
            let refusal = MockResponse.data(Data(count: 200_000), status: .tooManyRequests, headers: [.retryAfter: "30"])
            server.enqueue(refusal.fault(fault, at: point))
            server.dispatch { _ in .text("fine") }
            try await withTransport(NIOTransport()) { transport async throws in
                let middleware = RateLimitMiddleware(.perSecond(100), per: .all, clock: clock)
                let stack = transport.phaseTimeouts(attempt: .milliseconds(500)).wrapped(by: middleware)
                var broken = try Request(.post, url: server.url("/broken"), body: .data(Data(count: 100_000)))
                broken.deadline = Deadline(after: .milliseconds(200))
                var isRefused = false
                do {
                    let response = try await stack.send(broken)
                    isRefused = response.status == .tooManyRequests
                    _ = try await response.body.collect()
                } catch is TransportError {
                }
                let next = try Request(.get, url: server.url("/next"))
                let task = Task {
                    // What the broken exchange left on its connection may fail the next ones as well.
                    for _ in 0..<5 {
                        do {
                            return try await stack.send(next).body.collect()
                        } catch is TransportError {
                        }
                    }
                    return Data()
                }
                if isRefused {
                    try await clock.sleepers(atLeast: 1)
                    #expect(middleware.queued(for: "") == 1 && clock.nextSleeper == .seconds(30))
                    #expect(!server.requests.contains { $0.path == "/next" })
                    clock.advance(by: .seconds(30))
                }
                #expect(try await task.value == Data("fine".utf8))
                #expect(middleware.queued(for: "") == 0 && clock.sleeperCount == 0)
            }
        }
    }
}
#endif
