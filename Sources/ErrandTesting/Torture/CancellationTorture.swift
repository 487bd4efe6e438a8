internal import ErrandCore
internal import Synchronization

/// Cancels a scenario at every point at which it can be cancelled, one run after the other.
///
/// ```swift
/// let report = try await CancellationTorture().run {
///     let response = try await stack.send(request)
///     return try await response.body.collect()
/// } accepts: { data in
///     data == expected
/// } check: { run in
///     #expect(stub.openBodyCount == 0, "\(run)")
///     _ = try await stack.send(request)       // the next request is fine
/// }
/// print(report)      // 38 runs: 31 cancelled, 5 finished before it told, 2 uncancelled with 19 jobs
/// ```
///
/// The scenario runs on a queue of its own, one job after the other: a job is what a task does from one suspension to the next. For
/// k = 1, 2, … it is cancelled just before the k-th job, which is when it is about to go on, and in another run just after it, which
/// is while it is suspended: until it comes through, several runs in a row, without having had a k-th job.
///
/// A run that was cancelled must end with `CancellationError` (no other error, whatever it was caused by) or with a right result; one
/// that was not, with a right result. Each must end within ``hangLimit``, and a cancelled one within ``lateJobs`` jobs: reads that ignore
/// cancellation go on for longer. What else must hold afterwards is for `check` to say.
///
/// Counted are the jobs of the scenario's task and of its child tasks. What runs elsewhere is not: actors with executors of their own
/// (the main actor), unstructured tasks, event loops. So a scenario that does its work in unstructured tasks has next to no jobs at which
/// to cancel it: ``leastCancelled`` says how many runs must have been cancelled. For ``lateJobs`` to see a deaf read, the scenario needs
/// more reads than that.
///
/// At a real network the jobs vary from run to run: such a scenario is tried at many points, not at all of them, and should come
/// through more often than twice.
public struct CancellationTorture: Sendable {
    /// When a run is cancelled.
    public enum Moment: Sendable, Hashable, CaseIterable {
        /// Just before the k-th job runs.
        case before
        /// Just after the k-th job ran: its task is suspended, or is over.
        case after
    }

    /// The largest k. A scenario with more jobs is a violation.
    public let limit: Int
    /// How long one run may take, by the wall clock. The task of one that takes longer is cancelled, and left to itself.
    public let hangLimit: Duration
    /// How many runs in a row must end uncancelled.
    public let uncancelledRuns: Int
    /// How many runs must end in `CancellationError`.
    public let leastCancelled: Int
    /// How many jobs a run may have after the one at which it was cancelled.
    public let lateJobs: Int

    /// - Parameters:
    ///   - limit: the largest k, at least 1; 2,000 by default.
    ///   - hangLimit: more than zero; 10 seconds by default.
    ///   - uncancelledRuns: at least 1; two by default, as suits a scenario whose runs are all alike.
    ///   - leastCancelled: at least 0; one by default. A scenario that waits a lot should ask for more.
    ///   - lateJobs: at least 0; 100 by default, enough for most of what must be cleaned up.
    public init(
        limit: Int = 2_000, hangLimit: Duration = .seconds(10), uncancelledRuns: Int = 2, leastCancelled: Int = 1, lateJobs: Int = 100
    ) {
        precondition(limit >= 1, "limit must be at least 1 (is \(limit))")
        precondition(hangLimit > .zero, "hangLimit must be more than zero (is \(hangLimit))")
        precondition(uncancelledRuns >= 1, "uncancelledRuns must be at least 1 (is \(uncancelledRuns))")
        precondition(leastCancelled >= 0, "leastCancelled must be at least 0 (is \(leastCancelled))")
        precondition(lateJobs >= 0, "lateJobs must be at least 0 (is \(lateJobs))")
        (self.limit, self.hangLimit, self.uncancelledRuns) = (limit, hangLimit, uncancelledRuns)
        (self.leastCancelled, self.lateJobs) = (leastCancelled, lateJobs)
    }

    /// Runs `scenario` until it comes through uncancelled.
    ///
    /// - Parameters:
    ///   - scenario: begins from the same state each time.
    ///   - accepts: whether a result is right.
    ///   - check: called after each run, in the caller's task: that nothing is left, and that the next request is fine.
    /// - Throws: ``TortureError`` for the first run that is not as it must be, also for an error of `check`, and for too few runs that
    ///   were cancelled; `CancellationError` if the caller is cancelled.
    public func run<Value: Sendable>(
        _ scenario: @escaping @Sendable () async throws -> Value, accepts: (Value) -> Bool = { _ in true },
        check: (TortureRun<Value>) async throws -> Void = { _ in }
    ) async throws -> TortureReport<Value> {
        var counts = TortureCounts()
        var uncancelledInARow = 0
        for k in 1...limit {
            for moment in Moment.allCases {
                let run = try await once(k, moment, scenario, accepts)
                counts.add(run)
                do {
                    try await check(run)
                } catch {
                    try Task.checkCancellation()
                    throw TortureError(jobNumber: k, moment: moment, what: "afterwards: \(error)", underlying: error)
                }
                guard case .uncancelled(let value) = run.outcome else {
                    uncancelledInARow = 0
                    continue
                }
                uncancelledInARow += 1
                guard uncancelledInARow == uncancelledRuns else { continue }
                guard counts.cancelled >= leastCancelled else {
                    throw TortureError(
                        jobNumber: k, moment: moment,
                        what: "only \(counts.cancelled) of \(counts.runs) runs ended in CancellationError, and at least \(leastCancelled) "
                            + "must: the scenario ignores cancellation, works in tasks of its own, or has too few jobs (lower "
                            + "`leastCancelled`)", underlying: nil, isOfOneRun: false)
                }
                return TortureReport(counts: counts, value: value, jobs: run.jobs)
            }
        }
        throw TortureError(
            jobNumber: limit, moment: .after, what: "the scenario has more than \(limit) jobs, the limit", underlying: nil,
            isOfOneRun: false)
    }

    private func once<Value: Sendable>(
        _ k: Int, _ moment: Moment, _ scenario: @escaping @Sendable () async throws -> Value, _ accepts: (Value) -> Bool
    ) async throws -> TortureRun<Value> {
        func violation(_ what: String, _ underlying: (any Error)? = nil) -> TortureError {
            TortureError(jobNumber: k, moment: moment, what: what, underlying: underlying)
        }
        let executor = CancellationTortureExecutor(k: k, moment: moment)
        guard let result = try await result(of: scenario, on: executor) else {
            throw violation("no end within \(hangLimit), after \(executor.jobs) jobs")
        }
        // Before the drain: what still cleans up after the end is not waited for by the scenario.
        let late = executor.hasCancelled ? executor.jobs - k : nil
        await executor.drain()
        let wasCancelled = executor.hasCancelled
        let outcome: TortureRun<Value>.Outcome
        switch result {
        case .success(let value) where accepts(value): outcome = wasCancelled ? .finished(value) : .uncancelled(value)
        case .success(let value): throw violation("a wrong result\(wasCancelled ? "" : ", uncancelled"): \(value)")
        case .failure(is CancellationError) where wasCancelled: outcome = .cancelled
        case .failure(let error): throw violation("\(wasCancelled ? "not CancellationError, but" : "uncancelled, but") \(error)", error)
        }
        if let late, late > lateJobs {
            throw violation(
                "\(late) jobs ran after the cancellation, \(lateJobs) are allowed: a wait ignores it, or cleaning up takes more (raise "
                    + "`lateJobs`)")
        }
        return TortureRun(jobNumber: k, moment: moment, outcome: outcome, jobs: executor.jobs, lateJobs: late)
    }

    /// Nil where it takes longer than the limit.
    private func result<Value: Sendable>(
        of scenario: @escaping @Sendable () async throws -> Value, on executor: CancellationTortureExecutor
    ) async throws -> Result<Value, any Error>? {
        let end = FirstValue<Result<Value, any Error>?>()
        let task = Task(executorPreference: executor) {
            // The executor has to outlive its tasks.
            defer { withExtendedLifetime(executor) {} }
            do {
                end.set(.success(try await scenario()))
            } catch {
                end.set(.failure(error))
            }
        }
        let timer = Task {
            try await Task.sleep(for: hangLimit.bounded)
            end.set(nil)
        }
        defer { timer.cancel() }
        executor.start { task.cancel() }
        let result = await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            task.cancel()
        }
        if result == nil { task.cancel() }
        try Task.checkCancellation()
        return result
    }
}

/// What comes first of several; one waits for it.
private final class FirstValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiter: CheckedContinuation<Value, Never>?
    }

    private let state = Mutex(State())

    func set(_ value: Value) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, Never>? in
            guard state.value == nil else { return nil }
            state.value = .some(value)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: value)
    }

    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state -> Value? in
                    if state.value == nil { state.waiter = continuation }
                    return state.value
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}
