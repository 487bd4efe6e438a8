import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    @Test func theRemainingTimeFollowsItsClock() {
        let clock = ManualClock()
        let deadline = Deadline(after: .seconds(10), clock: clock)
        #expect(deadline.remaining == .seconds(10) && !deadline.hasPassed && deadline.continuousInstant == nil)
        #expect(deadline.description == "in 10 s")
        clock.advance(by: .seconds(4))
        #expect(deadline.remaining == .seconds(6))
        clock.advance(by: .seconds(6))
        #expect(deadline.remaining == .zero && deadline.hasPassed)
        clock.advance(by: .seconds(1))
        #expect(deadline.remaining == .seconds(-1))
    }

    @Test func theEarlierDeadlineHolds() throws {
        let clock = ManualClock()
        let (soon, late) = (Deadline(after: .seconds(1), clock: clock), Deadline(after: .seconds(2), clock: clock))
        #expect(Deadline.earlier(soon, late)?.remaining == .seconds(1) && Deadline.earlier(late, soon)?.remaining == .seconds(1))
        #expect(Deadline.earlier(nil, late)?.remaining == .seconds(2) && Deadline.earlier(late, nil)?.remaining == .seconds(2))
        #expect(Deadline.earlier(nil, nil) == nil)
        let now = ContinuousClock.now
        let (first, second) = (Deadline(now + .seconds(60)), Deadline(now + .seconds(90)))
        #expect(Deadline.earlier(second, first)?.continuousInstant == now + .seconds(60))
        #expect(Deadline.earlier(second, soon)?.continuousInstant == nil, "clocks are compared by what is left")
        #expect(Deadline.earlier(second, Deadline(after: .seconds(7200), clock: clock))?.continuousInstant == now + .seconds(90))
    }

    @Test func theContinuousClockIsTheDefault() {
        #expect(Deadline(after: .seconds(60)).continuousInstant != nil)
        #expect(Deadline(after: .seconds(60), clock: ContinuousClock()).continuousInstant != nil)
        #expect(Deadline(after: .zero).hasPassed && Deadline(after: .seconds(-1)).hasPassed && !Deadline(after: .seconds(60)).hasPassed)
        #expect(!Deadline(after: .seconds(Int64.max)).hasPassed)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 18, .seconds(9_223_372_036.9), .seconds(292 * 366 * 86_400)])
    func durationsAreBoundedToAHundredYears(_ duration: Duration) async throws {
        let clock = ManualClock()
        #expect(Deadline(after: duration, clock: clock).remaining == .longest)
        #expect(Deadline(after: .zero - duration, clock: clock).remaining == .zero - .longest)
        #expect(Deadline(after: .zero - duration).hasPassed && Deadline(.now - duration).hasPassed)
        for deadline in [Deadline(after: duration), Deadline(.now + duration), Deadline(after: duration, clock: SuspendingClock())] {
            let task = Task { try await deadline.wait() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        try await Deadline(after: .zero - duration).wait()
        try await Deadline(after: .zero - duration, clock: SuspendingClock()).wait()
    }

    @Test func waitingEndsWhenTheTimeHasCome() async throws {
        let clock = ManualClock()
        let deadline = Deadline(after: .seconds(10), clock: clock)
        async let waited: Void = deadline.wait()
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(10))
        try await waited
        try await deadline.wait()
        try await Deadline(after: .zero).wait()
    }

    @Test func waitingEndsWhenTheTaskIsCancelled() async throws {
        let clock = ManualClock()
        for deadline in [Deadline(after: .seconds(10), clock: clock), Deadline(after: .seconds(1_000_000))] {
            let task = Task { try await deadline.wait() }
            if deadline.continuousInstant == nil { try await clock.sleepers(atLeast: 1) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(clock.sleeperCount == 0)
    }
}
