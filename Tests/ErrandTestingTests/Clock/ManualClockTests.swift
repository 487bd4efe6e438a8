import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManualClockTests {
    private let clock = ManualClock()

    /// A sleeper that writes down its name when it wakes; it sleeps when this returns.
    private func sleeper(_ name: String, _ duration: Duration, into woken: RecordingList<String> = RecordingList()) async throws -> Task<
        Void, any Error
    > {
        let count = clock.sleeperCount
        let until = clock.now.advanced(by: duration)
        let task = Task {
            try await clock.sleep(until: until, tolerance: nil)
            woken.record(name)
        }
        try await clock.sleepers(atLeast: count + 1)
        return task
    }

    @Test func timeAdvancesByHandOnly() {
        let start = clock.now
        #expect(clock.now == start && clock.minimumResolution == .zero)
        clock.advance(by: .seconds(3))
        #expect(start.duration(to: clock.now) == .seconds(3) && start < clock.now)
        clock.advance(by: .zero)
        #expect(start.advanced(by: .seconds(3)) == clock.now)
    }

    @Test func dueSleepersWakeAndOthersContinue() async throws {
        let woken = RecordingList<String>()
        let (first, second) = (try await sleeper("1 s", .seconds(1), into: woken), try await sleeper("2 s", .seconds(2), into: woken))
        clock.advance(by: .milliseconds(999))
        #expect(clock.sleeperCount == 2)
        clock.advance(by: .milliseconds(1))
        try await first.value
        #expect(woken.all == ["1 s"] && clock.sleeperCount == 1)
        clock.advance(by: .seconds(60))
        try await second.value
        #expect(woken.all == ["1 s", "2 s"] && clock.sleeperCount == 0)
    }

    @Test func sleepersWakeInTheOrderOfTheirInstants() async throws {
        let woken = RecordingList<String>()
        var tasks: [String: Task<Void, any Error>] = [:]
        for seconds in [3, 1, 4, 2] { tasks["\(seconds)"] = try await sleeper("\(seconds)", .seconds(seconds), into: woken) }
        for expected in ["1", "2", "3", "4"] {
            #expect(clock.advanceToNextSleeper() == .seconds(1))
            try await tasks[expected]?.value
        }
        #expect(woken.all == ["1", "2", "3", "4"])
        #expect(clock.advanceToNextSleeper() == nil)
    }

    @Test func sleepersOfOneInstantWakeTogether() async throws {
        let tasks = [try await sleeper("a", .seconds(1)), try await sleeper("b", .seconds(1))]
        #expect(clock.advanceToNextSleeper() == .seconds(1) && clock.sleeperCount == 0)
        for task in tasks { try await task.value }
    }

    @Test func aPastInstantNeedsNoSleep() async throws {
        try await clock.sleep(until: clock.now)
        clock.advance(by: .seconds(5))
        try await clock.sleep(for: .zero)
        try await clock.sleep(for: .seconds(-1))
    }

    @Test func aCancelledSleeperWakesImmediately() async throws {
        let task = try await sleeper("a", .seconds(1))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(clock.sleeperCount == 0 && clock.advanceToNextSleeper() == nil)
    }

    @Test func waitingForSleepersEndsWithTheirNumberOrWithTheTask() async throws {
        try await clock.sleepers(atLeast: 0)
        let three = Task { try await clock.sleepers(atLeast: 3) }
        let nine = Task { try await clock.sleepers(atLeast: 9) }
        var tasks: [Task<Void, any Error>] = []
        for number in 1...3 { tasks.append(try await sleeper("\(number)", .seconds(number))) }
        try await three.value
        nine.cancel()
        await #expect(throws: CancellationError.self) { try await nine.value }
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleepers(atLeast: 9)
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        clock.advance(by: .seconds(3))
        for task in tasks { try await task.value }
    }

    @Test func concurrentCancellationsLoseNoSleeper() async throws {
        for round in 0..<200 {
            let task = Task { try await clock.sleep(for: .seconds(1)) }
            if round % 2 == 0 { try await clock.sleepers(atLeast: 1) }
            async let cancelled: Void = task.cancel()
            clock.advance(by: .seconds(1))
            await cancelled
            _ = await task.result
            #expect(clock.sleeperCount == 0)
        }
    }

    @Test func timeAdvancesAutomaticallyDuringABody() async throws {
        let start = clock.now
        let sum = try await clock.advancingToSleepers {
            try await clock.sleep(for: .seconds(1800))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seconds in 1...5 { group.addTask { try await clock.sleep(for: .seconds(seconds)) } }
                try await group.waitForAll()
            }
            return 7
        }
        #expect(sum == 7 && start.duration(to: clock.now) >= .seconds(1805) && clock.sleeperCount == 0)
        // Afterwards, it is moved by hand again.
        let task = try await sleeper("a", .seconds(1))
        for _ in 0..<100 { await Task.yield() }
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        try await task.value
    }

    @Test func anErrorOrACancellationEndsTheAdvanceOfTime() async throws {
        await #expect(throws: TestError.self) {
            try await clock.advancingToSleepers {
                try await clock.sleep(for: .seconds(1))
                throw TestError()
            }
        }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.advancingToSleepers { try await clock.sleep(for: .seconds(1)) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func timesWithoutAnEndDoNotOverflow() async throws {
        let clock = ManualClock()
        let longest = Duration(attoseconds: .max)
        clock.advance(by: longest)
        clock.advance(by: longest)
        #expect(clock.now == clock.now.advanced(by: longest))
        try await clock.sleep(for: longest)
    }
}
