import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

#if canImport(Glibc)
import Glibc
#endif

/// Shared work and tables.
extension HostileTests {
    // MARK: Single flights

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
                            if number % 7 == 0 { throw Refusal() }
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
                        if !(error is CancellationError || error is Refusal) { problems.record("\(error)") }
                    }
                }
            }
        }
        try await flights.waitUntilIdle()
        #expect(flights.count == 0 && problems.all == [])
        await eventually { running.value == 0 }
    }

    /// Whoever waits for the flights to end goes on when the last one was given up or cancelled.
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

    // MARK: Tables

    @Test func aTableAgreesWithAModelForAllWeights() {
        struct Value: Sendable { var weight: Int; var pinned: Bool }
        for limit in [0, 1, 10, 1 << 60] {
            var table = BoundedTable<Int, Value>(limit: 8, weightLimit: limit, weight: { $0.weight }, isPinned: { $0.pinned })
            var order: [(key: Int, value: Value)] = []
            for _ in 0..<5_000 {
                let key = Int.random(in: 0..<14)
                let value = Value(weight: [0, 1, 3, 9, .max, .min, 1 << 60].randomElement()!, pinned: Int.random(in: 0..<4) == 0)
                if Int.random(in: 0..<5) == 0 {
                    table.removeValue(forKey: key)
                    order.removeAll { $0.key == key }
                } else {
                    table.update(key, default: value) { $0 = value }
                    order.removeAll { $0.key == key }
                    order.append((key, value))
                    func counted(_ value: Value) -> Int { value.pinned ? 0 : min(max(0, value.weight), limit + 1) }
                    while order.filter({ !$0.value.pinned }).count > 8 || order.reduce(0, { $0 + counted($1.value) }) > limit,
                        let oldest = order.firstIndex(where: { !$0.value.pinned }), oldest != order.count - 1
                    {
                        order.remove(at: oldest)
                    }
                    #expect(table.totalWeight == order.reduce(0) { $0 + counted($1.value) })
                }
                #expect(table.count == order.count && order.allSatisfy { table[$0.key]?.weight == $0.value.weight })
            }
        }
    }
}
