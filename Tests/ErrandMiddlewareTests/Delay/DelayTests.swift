import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DelayMiddlewareTests {
    @Test(arguments: [
        (OptionOverride<Duration>.inherited, Duration.seconds(3)), (.use(.milliseconds(10)), .milliseconds(10)),
        (.use(.seconds(30)), .seconds(30)),
    ])
    func theDelayPassesBeforeTheRequestIsSent(_ override: OptionOverride<Duration>, expected: Duration) async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let response = Task {
            var request = try request()
            request.options.delay = override
            return try await stub.delay(by: .seconds(3), clock: clock).send(request)
        }
        try await clock.sleepers(atLeast: 1)
        #expect(stub.requests.isEmpty)
        #expect(clock.advanceToNextSleeper() == expected)
        #expect(try await response.value.status == .ok)
    }

    @Test func aHugeDelayIsCapped() async throws {
        let clock = ManualClock()
        let stack = StubTransport(Stub().responds(.status(.ok))).delay(by: .seconds(Int64.max), clock: clock)
        let task = Task { try await stack.send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .longest)
        task.cancel()
        _ = await task.result
    }

    @Test func aDelayOfZeroDoesNotWait() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        for (own, override) in [(Duration.zero, OptionOverride<Duration>.inherited), (.seconds(3), .off), (.seconds(3), .use(.zero))] {
            var request = try request()
            request.options.delay = override
            #expect(try await stub.delay(by: own, clock: ManualClock()).send(request).status == .ok)
        }
    }

    @Test func aWaitThatWouldPassTheDeadlineIsNotBegun() async throws {
        for (left, mayWait) in [(Duration.seconds(3), false), (.seconds(2), false), (.zero, false), (.seconds(4), true)] {
            let (waits, deadlines) = (ManualClock(), ManualClock())
            let stub = StubTransport(Stub().responds(.status(.ok)))
            let task = Task {
                var request = try request()
                request.deadline = Deadline(after: left, clock: deadlines)
                return try await stub.delay(by: .seconds(3), clock: waits).send(request)
            }
            guard !mayWait else {
                try await waits.sleepers(atLeast: 1)
                waits.advanceToNextSleeper()
                #expect(try await task.value.status == .ok)
                continue
            }
            let error = await #expect(throws: TransportError.self) { try await task.value }
            #expect(error?.code == .timedOut && error?.phase == .queue && error?.delivery == .notSent)
            #expect(stub.requests.isEmpty && waits.sleeperCount == 0)
        }
    }

    @Test func aDelayInsideRetryDelaysEachAttempt() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let stack = stub.delay(by: .seconds(3), clock: clock).retry(clock: clock, random: { 0 })
        let response = Task { try await stack.send(try request()) }
        for _ in 0..<2 {
            try await clock.sleepers(atLeast: 1)
            #expect(clock.advanceToNextSleeper() == .seconds(3))
        }
        #expect(try await response.value.metadata.attempts.count == 1)
    }

    @Test func cancellingEndsTheWait() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let task = Task { try await stub.delay(by: .seconds(3), clock: clock).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0 && stub.requests.isEmpty)
    }

    @Test func theDescriptionNamesTheDelay() {
        #expect(StubTransport().delay(by: .seconds(3)).description == "delay(3 s) > StubTransport")
    }
}
