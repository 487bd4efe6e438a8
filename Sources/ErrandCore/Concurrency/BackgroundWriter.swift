internal import Synchronization

/// Runs the writes of an owner to its store in the background, one write at a time.
///
/// The owner records a change under its own lock, and then calls ``begin(_:)``. Changes during a write are written together in the next
/// write. If a write fails, the next call of ``begin(_:)`` or ``finish(_:)`` starts the write again. If there was already a call during the
/// failed write, the write is repeated immediately.
///
/// All calls pass the same function `write`, which writes the changes that the store lacks. This object does not keep the function, because
/// the function keeps the owner.
package final class BackgroundWriter: Sendable {
    private struct State: Sendable {
        /// The number of calls of ``begin(_:)`` and ``finish(_:)`` so far.
        var calls = 0
        /// The number of the run in progress: of one or more writes, one after the other.
        var run: Int?
        var lastRun = 0
        /// The error of the last write.
        var failure: (any Error)?

        /// Counts a call. Returns the number of the run in progress, or of a new run.
        mutating func count() -> (run: Int, isNew: Bool) {
            calls += 1
            if let run { return (run, false) }
            lastRun += 1
            run = lastRun
            return (lastRun, true)
        }

        /// Records the end of a write that has begun after `count` calls. Returns whether the run has ended.
        mutating func end(after count: Int, _ result: Result<Void, any Error>) -> Bool {
            if case .failure(let error) = result { failure = error } else { failure = nil }
            guard calls == count else { return false }
            run = nil
            return true
        }
    }

    private let state = Mutex(State())
    private let runs = SingleFlight<Int, Void>()

    package init() {}

    /// The error of the last write; `nil` if the last write succeeded, or if there was no write.
    package var failure: (any Error)? { state.withLock(\.failure) }

    /// The number of callers that wait in ``finish(_:)``.
    package var waiterCount: Int { state.withLock(\.run).map { runs.waiterCount(of: $0) } ?? 0 }

    /// Begins to write, without a wait. If a write is in progress, another write follows.
    package func begin(_ write: @escaping @Sendable () async throws -> Void) {
        let (run, isNew) = state.withLock { $0.count() }
        if isNew { runs.begin(run) { [self] in try await perform(run, write) } }
    }

    /// Writes, and waits for the end of the last write. If the caller is cancelled, the caller leaves, and the write continues.
    ///
    /// - Throws: the error of the last write. The failure of a write that began before this call is not the result of this call.
    ///   `CancellationError` if the caller is cancelled.
    package func finish(_ write: @escaping @Sendable () async throws -> Void) async throws {
        let run = state.withLock { $0.count().run }
        try await runs.run(run, mustFinish: true) { [self] in try await perform(run, write) }
    }

    /// Repeats the write until ``begin(_:)`` and ``finish(_:)`` were not called during a write.
    private func perform(_ run: Int, _ write: @Sendable () async throws -> Void) async throws {
        while let calls = state.withLock({ $0.run == run ? $0.calls : nil }) {
            let result = await Result(of: write)
            if state.withLock({ $0.end(after: calls, result) }) { return try result.get() }
        }
        // Another caller has ended the run after `finish` has counted its call.
        if let failure { throw failure }
    }
}
