import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TimeoutMiddlewareTests {
    @Test func aTimeoutFailsACallWithoutAResponse() async throws {
        let clock = ManualClock()
        let stack = StubTransport(Stub().responds(.never)).timeout(.seconds(30), clock: clock)
        let response = Task { try await stack.send(try request()) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        let error = await #expect(throws: TransportError.self) { try await response.value }
        #expect(error?.code == .timedOut)
        #expect(error?.phase == .response)
        #expect(error?.elapsed == .seconds(30))
    }

    @Test func aTimeoutCoversTheWaitsOfARetryInside() async throws {
        let (waits, deadlines) = (ManualClock(), ManualClock())  // two, as the transport's boundary sleeps on the deadline's
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let policy = RetryPolicy(maxAttempts: 100, backoff: .exponential(base: .seconds(4), maxDelay: .seconds(4)))
        let stack = stub.retry(policy, clock: waits, random: { 0.999 }).timeout(.seconds(10), clock: deadlines)
        let response = Task { try await stack.send(try request()) }
        for _ in 0..<2 {
            try await waits.sleepers(atLeast: 1)
            deadlines.advance(by: .seconds(4))
            waits.advanceToNextSleeper()
        }
        #expect(try await response.value.status == .serviceUnavailable, "the last response, once a wait would pass the deadline")
        #expect(stub.requests.count == 3)
    }

    @Test func theEarlierOfTwoDeadlinesHolds() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.timeout(.seconds(5), clock: clock).timeout(.seconds(30), clock: clock)
        _ = try await stack.send(try request())
        _ = try await stub.timeout(.seconds(30), clock: clock).timeout(.seconds(5), clock: clock).send(try request())
        #expect(stub.requests.map { $0.request.deadline?.remaining } == [.seconds(5), .seconds(5)])
    }

    @Test func aRequestReplacesTheTimeout() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = try request()
        request.options.timeout = .use(.seconds(90))
        _ = try await stub.timeout(.seconds(30), clock: clock).send(request)
        #expect(stub.requests.first?.request.deadline?.remaining == .seconds(90))
    }

    @Test func aTimeoutInsideRetryBoundsEachAttempt() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.never, .status(.ok)))
        let stack = stub.timeout(.seconds(2), clock: clock).retry(clock: clock, random: { 0 })
        let response = Task { try await stack.send(try request()) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(2))
        let received = try await response.value
        #expect(received.status == .ok)
        #expect(received.metadata.attempts.count == 1)
    }
}
