import CAllocations

/// A measured function of the library, and a peer that does the smallest possible part of the same work.
struct Measured: Sendable {
    let name: String
    /// A short description of the peer's work.
    let peerName: String
    /// The bytes that one call of `run` reads or writes.
    let bytes: Int
    /// What `run` reads or writes: so many events, lines or fields.
    let units: Int
    /// The largest ratio and the most allocations for one unit that `--check` accepts.
    let budget: (ratio: Double, allocations: Double)
    let run: @Sendable () async throws -> Int
    let peer: @Sendable () throws -> Int

    struct Figures {
        /// 1,000,000 bytes a second, in the best round.
        let megabytesPerSecond: Double
        let peerMegabytesPerSecond: Double
        let nanosecondsPerUnit: Double
        let allocationsPerUnit: Double
        /// The time of the best round, divided by the peer's.
        let ratio: Double
    }

    func isWithinBudget(_ figures: Figures) -> Bool {
        figures.ratio <= budget.ratio && figures.allocationsPerUnit <= budget.allocations
    }

    /// Each round measures both, one after the other. Both must do the same: their results are compared.
    func figures(rounds: Int) async throws -> Figures {
        guard try await run() == peer() else { throw DifferentResults(name: name) }
        var (best, peerBest) = (Double.infinity, Double.infinity)
        var allocations = Int.max
        for _ in 0..<rounds {
            let before = errand_allocation_count()
            let start = ContinuousClock.now
            _ = try await run()
            let middle = ContinuousClock.now
            allocations = min(allocations, errand_allocation_count() - before)
            let peerStart = ContinuousClock.now
            _ = try peer()
            let (time, peerTime) = ((middle - start) / .nanoseconds(1), (ContinuousClock.now - peerStart) / .nanoseconds(1))
            (best, peerBest) = (min(best, time), min(peerBest, peerTime))
        }
        return Figures(
            megabytesPerSecond: Double(bytes) * 1000 / best, peerMegabytesPerSecond: Double(bytes) * 1000 / peerBest,
            nanosecondsPerUnit: best / Double(units), allocationsPerUnit: Double(allocations) / Double(units),
            ratio: best / peerBest)
    }
}

/// The library and the peer did not find the same.
struct DifferentResults: Error {
    let name: String
}
