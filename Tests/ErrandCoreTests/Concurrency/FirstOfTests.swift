import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct FirstOfTests {
    @Test func theResultOfTheFirstOperationIsReturnedAfterTheOtherHasEnded() async throws {
        let (clock, ends) = (ManualClock(), Counter())
        let slow: @Sendable @isolated(any) () async throws -> Int = {
            defer { ends.add() }
            try await clock.sleep(for: .seconds(1))
            return 2
        }
        #expect(try await firstOf({ 1 }, slow) == 1)
        #expect(try await firstOf(slow, { 1 }) == 1)
        #expect(ends.value == 2 && clock.sleeperCount == 0)
    }

    @Test func theErrorOfTheFirstOperationIsThrown() async {
        let clock = ManualClock()
        await #expect(throws: TestError.self) {
            try await firstOf({ try await clock.sleep(for: .seconds(1)) }, { throw TestError() })
        }
        #expect(clock.sleeperCount == 0)
    }

    @Test func aCancelledCallerCancelsBothOperations() async throws {
        let clock = ManualClock()
        let waiting = Task { try await firstOf({ try await clock.sleep(for: .seconds(1)) }, { try await clock.sleep(for: .seconds(2)) }) }
        try await clock.sleepers(atLeast: 2)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(clock.sleeperCount == 0)
    }
}
