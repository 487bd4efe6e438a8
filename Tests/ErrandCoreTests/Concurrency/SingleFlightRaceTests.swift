import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// Shared work whose callers leave at any moment.
@Suite(.timeLimit(.minutes(10))) struct SingleFlightRaceTests {
    @Test func flightsSurviveCancellation() async throws {
        let flights = SingleFlight<Int, Int>()
        let (running, most) = (Counter(), Watched(0))
        let problems = RecordingList<String>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4_000 {
                group.addTask {
                    let key = number % 5
                    let caller = Task {
                        try await flights.run(key, mustFinish: number % 3 == 0) {
                            let now = running.add(1)
                            defer { running.add(-1) }
                            most.change { $0 = max($0, now) }
                            for _ in 0..<Int.random(in: 0..<5) { await Task.yield() }
                            if number % 7 == 0 { throw TestError() }
                            return key
                        }
                    }
                    if number % 2 == 0 {
                        for _ in 0..<Int.random(in: 0..<4) { await Task.yield() }
                        caller.cancel()
                    }
                    if number % 501 == 0 { flights.cancelAll(where: { $0 == key }) }
                    switch await caller.result {
                    case .success(let value): if value != key { problems.record("\(value) for \(key)") }
                    case .failure(let error):
                        if !(error is CancellationError || error is TestError) { problems.record("\(error)") }
                    }
                }
            }
        }
        try await flights.waitUntilIdle()
        #expect(flights.count == 0 && problems.all == [])
        await eventually { running.value == 0 }
    }

    /// If a task waits for the end of all flights, the task continues when the last flight was abandoned or cancelled.
    @Test(arguments: [false, true]) func drainedReturnsWhenTheLastCallerLeaves(cancelsAll: Bool) async throws {
        let flights = SingleFlight<Int, Int>()
        let begun = Signal()
        let caller = Task {
            try await flights.run(1) {
                begun.signal(); try await untilCancelled()
            }
        }
        await begun.waitIgnoringCancellation()
        let drained = Watched(false)
        let waiting = Task {
            try await flights.waitUntilIdle()
            drained.change { $0 = true }
        }
        for _ in 0..<100 { await Task.yield() }
        if cancelsAll { flights.cancelAll() } else { caller.cancel() }
        try await drained.wait(upTo: .seconds(10)) { $0 }
        _ = try? await (caller.value, waiting.value)
    }

    /// Work whose callers have all left before its task was stored is cancelled.
    @Test func unawaitedWorkIsCancelled() async throws {
        let running = Counter()
        for _ in 0..<3_000 {
            let flights = SingleFlight<Int, Int>()
            let caller = Task {
                try await flights.run(1) {
                    running.add(1)
                    defer { running.add(-1) }
                    try await untilCancelled()
                }
            }
            if Bool.random() { await Task.yield() }
            caller.cancel()
            _ = try? await caller.value
        }
        await eventually { running.value == 0 }
    }
}
