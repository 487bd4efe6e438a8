import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5)))
struct SingleFlightTests {
    private let flight = SingleFlight<String, Int>()
    private let runs = RecordingList<Int>()

    /// Work that counts its runs, reports its start, and continues when the test permits.
    private func work(_ begun: Signal = Signal(), until go: Signal, _ result: Int = 1) -> @Sendable () async throws -> Int {
        { [runs] in
            runs.record(result)
            begun.signal()
            await go.waitIgnoringCancellation()
            return result
        }
    }

    /// Work that ends only by cancellation.
    private func endless(_ begun: Signal, cancelled: Signal) -> @Sendable () async throws -> Int {
        {
            begun.signal()
            do { try await untilCancelled() } catch {
                cancelled.signal()
                throw error
            }
        }
    }

    /// Callers that all have joined one run.
    private func callers(
        _ count: Int, mustFinish: Bool = false, _ work: @escaping @Sendable () async throws -> Int
    ) async throws -> [Task<Int, any Error>] {
        let tasks = (0..<count).map { _ in Task { try await flight.run("key", mustFinish: mustFinish, work) } }
        try await poll("all to join", value: { flight.waiterCount(of: "key") }) { $0 >= count }
        return tasks
    }

    @Test(arguments: [1, 2, 10_000])
    func manyCallersShareOneRun(_ count: Int) async throws {
        let go = Signal()
        let tasks = try await callers(count, work(until: go))
        #expect(flight.count == 1)
        go.signal()
        for task in tasks { #expect(try await task.value == 1) }
        #expect(runs.all.count == 1 && flight.count == 0)
    }

    // MARK: Until nothing runs

    @Test func waitUntilIdleReturnsImmediatelyWithoutARun() async throws { try await flight.waitUntilIdle() }

    @Test(arguments: ["ends", "fails", "is cancelled", "is left"])
    func drainedWaitsForTheLastRun(_ end: String) async throws {
        let (go, isDrained) = (Signal(), RecordingList<Int>())
        flight.begin("other", work(until: go))
        let caller = Task {
            try await flight.run("key") {
                await go.waitIgnoringCancellation()
                if end == "fails" { throw TestError("x") }
                if end == "is left" || end == "is cancelled" { try await untilCancelled() }
                return 1
            }
        }
        try await poll("both to run", value: { flight.count }) { $0 == 2 }
        let drains = (0..<3).map { _ in
            Task {
                try await flight.waitUntilIdle()
                isDrained.record(flight.count)
            }
        }
        #expect(isDrained.all.isEmpty)
        go.signal()
        try await poll("one to run", value: { flight.count }) { $0 <= 1 }
        if end == "is cancelled" { flight.cancelAll() }
        if end == "is left" { caller.cancel() }
        for drain in drains { try await drain.value }
        #expect(isDrained.all == [0, 0, 0])
        _ = await caller.result
    }

    @Test func aCancelledCallerOfDrainedLeavesAndTheOthersStay() async throws {
        let go = Signal()
        flight.begin("key", work(until: go))
        let (leaving, staying) = (Task { try await flight.waitUntilIdle() }, Task { try await flight.waitUntilIdle() })
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        go.signal()
        try await staying.value
    }

    @Test func anErrorReachesEveryCaller() async throws {
        let go = Signal()
        let tasks = try await callers(5) {
            await go.waitIgnoringCancellation()
            throw TestError("x")
        }
        go.signal()
        for task in tasks { await #expect(throws: TestError("x")) { try await task.value } }
        #expect(flight.count == 0)
    }

    @Test func keysRunSeparatelyAndALaterRunIsNew() async throws {
        let go = Signal()
        go.signal()
        async let other = flight.run("other", work(until: go, 2))
        #expect(try await flight.run("key", work(until: go, 1)) == 1)
        #expect(try await flight.run("key", work(until: go, 3)) == 3)
        #expect(try await other == 2)
        #expect(Set(runs.all) == [1, 2, 3] && flight.count == 0)
    }

    @Test func aCancelledCallerLeavesImmediatelyAndTheOthersStay() async throws {
        let go = Signal()
        let tasks = try await callers(3, work(until: go))
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        #expect(flight.count == 1)
        go.signal()
        for task in tasks.dropFirst() { #expect(try await task.value == 1) }
        #expect(runs.all.count == 1)
    }

    @Test func theLastCancelledCallerCancelsTheWork() async throws {
        let (begun, cancelled) = (Signal(), Signal())
        let tasks = try await callers(2, endless(begun, cancelled: cancelled))
        await begun.waitIgnoringCancellation()
        for task in tasks { task.cancel() }
        await cancelled.waitIgnoringCancellation()
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(flight.count == 0)
        #expect(try await flight.run("key") { 5 } == 5)
    }

    @Test func workThatMustFinishContinuesWithoutCallers() async throws {
        let (begun, go) = (Signal(), Signal())
        let isCancelled = RecordingList<Bool>()
        let tasks = try await callers(2, mustFinish: true) {
            begun.signal()
            await go.waitIgnoringCancellation()
            isCancelled.record(Task.isCancelled)
            return 1
        }
        await begun.waitIgnoringCancellation()
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(flight.count == 1 && flight.waiterCount(of: "key") == 0)
        let late = try await callers(1) { 2 }
        go.signal()
        #expect(try await late[0].value == 1)
        #expect(isCancelled.all == [false])
    }

    @Test func anUnawaitedRunContinuesAndCanBeJoined() async throws {
        let go = Signal()
        flight.begin("key", work(until: go))
        flight.begin("key", work(until: go, 2))
        let late = try await callers(1) { 3 }
        go.signal()
        #expect(try await late[0].value == 1)
        #expect(runs.all == [1] && flight.count == 0)
    }

    @Test func allRunsAreCancelledAndLaterRunsAreNew() async throws {
        let (begun, cancelled) = (Signal(), Signal())
        let tasks = try await callers(2, mustFinish: true, endless(begun, cancelled: cancelled))
        flight.begin("other", endless(Signal(), cancelled: Signal()))
        await begun.waitIgnoringCancellation()
        flight.cancelAll()
        await cancelled.waitIgnoringCancellation()
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(flight.count == 0)
        #expect(try await flight.run("key") { 5 } == 5)
    }

    @Test func aCallerThatIsCancelledAlreadyStartsNothing() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await flight.run("key", work(until: Signal()))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(runs.all.isEmpty && flight.count == 0)
    }

    @Test func randomCancellationsLoseNoCaller() async throws {
        var random = SeededGenerator(seed: 11)
        for round in 0..<300 {
            let mustFinish = round % 3 == 0
            let cancels = (0..<8).map { _ in Int.random(in: 0..<4, using: &random) }
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                for (index, cancel) in cancels.enumerated() {
                    group.addTask {
                        let task = Task {
                            try await flight.run("key \(index % 2)", mustFinish: mustFinish) {
                                for _ in 0..<3 { await Task.yield() }
                                try Task.checkCancellation()
                                return round
                            }
                        }
                        for _ in 0..<cancel { await Task.yield() }
                        if cancel < 3 { task.cancel() }
                        switch await task.result {
                        case .success(let value): return value == round || mustFinish
                        case .failure(let error): return error is CancellationError && cancel < 3
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 }, "round \(round)")
            // A run that must finish may outlive its callers. A last caller waits for the end of the run.
            for key in ["key 0", "key 1"] { _ = try? await flight.run(key) { round } }
            #expect(flight.count == 0, "round \(round)")
        }
    }
}
