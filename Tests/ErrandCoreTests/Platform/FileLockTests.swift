import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct FileLockTests {
    private static let (limit, interval): (Duration, Duration) = (.milliseconds(30), .milliseconds(10))

    @Test(arguments: [1, 3, 4]) func aLockIsTriedUntilItIsFree(tries: Int) {
        var pauses: [Duration] = []
        let lock = FileLock.poll(within: Self.limit, every: Self.interval, by: { pauses.append($0) }) {
            pauses.count == tries - 1 ? "lock" : nil
        }
        #expect(lock == "lock" && pauses == Array(repeating: .milliseconds(10), count: tries - 1))
    }

    @Test func theThreadIsBlockedAtMostForTheLimit() {
        var (pauses, tries) = (0, 0)
        let lock = FileLock.poll(within: Self.limit, every: Self.interval, by: { _ in pauses += 1 }) { () -> String? in
            tries += 1
            return nil
        }
        #expect(lock == nil && pauses == 3 && tries == 4)
    }

    @Test func theFirstErrorEndsTheTries() {
        var tries = 0
        #expect(throws: TestError.self) {
            try FileLock.poll(within: Self.limit, every: Self.interval, by: { _ in }) { () throws -> String? in
                tries += 1
                throw TestError()
            }
        }
        #expect(tries == 1)
    }

    @Test func aWaitingTaskTriesUntilTheLimit() async throws {
        let (clock, tries) = (ManualClock(), Counter())
        let waiting = Task {
            try await FileLock.poll(within: Self.limit, every: Self.interval, on: clock) { () -> String? in
                tries.add()
                return nil
            }
        }
        for count in 1...3 {
            try await clock.sleepers(atLeast: 1)
            #expect(tries.value == count && clock.nextSleeper == .milliseconds(10))
            clock.advance(by: .milliseconds(10))
        }
        #expect(try await waiting.value == nil)
        #expect(tries.value == 4 && clock.sleeperCount == 0)
    }

    @Test func aCancelledWaitEnds() async throws {
        let clock = ManualClock()
        let waiting = Task { try await FileLock.poll(within: Self.limit, every: Self.interval, on: clock) { () -> String? in nil } }
        try await clock.sleepers(atLeast: 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    /// The time is only bounded below, because a busy machine may wake the thread late.
    @Test func theSystemsPauseTakesItsDuration() {
        let elapsed = makeStopwatch(on: ContinuousClock())
        FileLock.sleep(.milliseconds(2))
        #expect(elapsed() >= .milliseconds(2))
    }
}
