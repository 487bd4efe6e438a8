internal import ErrandCore
internal import Synchronization

/// A test procedure that runs a scenario many times, and cancels each run at a different point. The runs cover every point at which the
/// scenario can be cancelled.
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
/// print(report)      // 38 runs: 31 cancelled, 5 cancelled but finished, 2 uncancelled, the last with 19 jobs
/// ```
///
/// The scenario runs on its own queue, one job after another. A job is the work of a task from one suspension to the next
/// suspension. For k = 1, 2, …, there are two runs:
/// - In the first run, the scenario is cancelled just before the k-th job, when the scenario is about to continue.
/// - In the second run, the scenario is cancelled just after the k-th job, while the scenario is suspended.
///
/// The procedure ends when several runs in a row finish with fewer than k jobs.
///
/// A cancelled run must end with a correct result or with `CancellationError`, but with no other error. An uncancelled run must end with a
/// correct result. Each run must end within ``hangLimit``. A cancelled run must end within ``lateJobs`` further jobs. If reads ignore
/// cancellation, a run needs more jobs. Use `check` for all other conditions after a run.
///
/// The procedure counts only the jobs of the scenario's task and of its child tasks. Other jobs are not counted: jobs of actors
/// with their own executors (such as the main actor), of unstructured tasks, and of event loops. Therefore, a scenario that works in
/// unstructured tasks has only a few points of cancellation. ``leastCancelled`` is the number of runs that must end with
/// `CancellationError`. The procedure detects reads that ignore cancellation only if more
/// than ``lateJobs`` jobs run after the cancellation. Therefore, write a scenario with more reads than ``lateJobs``.
///
/// With a real network, the number of jobs varies from run to run. Therefore the runs cover many points of cancellation, but not every
/// point. For a scenario with a real network, set ``uncancelledRuns`` to more than 2.
public struct CancellationTorture: Sendable {
    /// The moment at which a run is cancelled.
    public enum Moment: Sendable, Hashable, CaseIterable {
        /// The run is cancelled just before the k-th job.
        case before
        /// The run is cancelled just after the k-th job, when the task of the job is suspended or has ended.
        case after
    }

    /// The largest k: the number of the last job at which a run is cancelled. A scenario with more jobs fails the test.
    public let limit: Int
    /// The maximum duration of one run, by the wall clock. If a run takes longer, the run fails: its task is cancelled, and the
    /// procedure does not wait for the task.
    public let hangLimit: Duration
    /// The number of runs in a row that must end uncancelled.
    public let uncancelledRuns: Int
    /// The number of runs that must end with `CancellationError`.
    public let leastCancelled: Int
    /// The maximum number of jobs that a run may need after its cancellation.
    public let lateJobs: Int

    /// Creates a test procedure.
    ///
    /// - Parameters:
    ///   - limit: the largest k, at least 1. Default: 2,000.
    ///   - hangLimit: the maximum duration of one run, more than zero. Default: 10 seconds.
    ///   - uncancelledRuns: the number of runs in a row that must end uncancelled, at least 1. Default: 2. The default fits a
    ///     scenario whose runs are all alike.
    ///   - leastCancelled: the number of runs that must end with `CancellationError`, at least 0. Default: 1. Use a larger number
    ///     for a scenario with many waits.
    ///   - lateJobs: the maximum number of jobs after the cancellation, at least 0. Default: 100. The default is enough for most
    ///     cleanup.
    public init(
        limit: Int = 2_000, hangLimit: Duration = .seconds(10), uncancelledRuns: Int = 2, leastCancelled: Int = 1, lateJobs: Int = 100
    ) {
        precondition(limit >= 1, "limit must be at least 1 (is \(limit))")
        precondition(hangLimit > .zero, "hangLimit must be more than zero (is \(hangLimit.inWords))")
        precondition(uncancelledRuns >= 1, "uncancelledRuns must be at least 1 (is \(uncancelledRuns))")
        precondition(leastCancelled >= 0, "leastCancelled must be at least 0 (is \(leastCancelled))")
        precondition(lateJobs >= 0, "lateJobs must be at least 0 (is \(lateJobs))")
        (self.limit, self.hangLimit, self.uncancelledRuns) = (limit, hangLimit, uncancelledRuns)
        (self.leastCancelled, self.lateJobs) = (leastCancelled, lateJobs)
    }

    /// Runs `scenario` again and again, until enough runs in a row end uncancelled.
    ///
    /// - Parameters:
    ///   - scenario: the code to cancel, which must begin in the same state each time.
    ///   - accepts: a closure that returns whether a result is correct.
    ///   - check: a closure that is called after each run, in the caller's task. For example, test in `check` that no body is open, and
    ///     that the next request succeeds.
    /// - Returns: a summary of the runs.
    /// - Throws: ``TortureError`` if a run fails, if `check` throws, or if too few runs were cancelled; `CancellationError` if
    ///   the caller is cancelled.
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
                        what: "only \(counts.cancelled) of \(counts.runs.counted("run")) ended in CancellationError, "
                            + "but `leastCancelled` is \(leastCancelled): the scenario ignores cancellation, works in unstructured tasks, "
                            + "or has too few jobs (then lower `leastCancelled`)", underlying: nil, isOfOneRun: false)
                }
                return TortureReport(counts: counts, value: value, jobs: run.jobs)
            }
        }
        throw TortureError(
            jobNumber: limit, moment: .after, what: "the scenario has more jobs than the limit of \(limit)", underlying: nil,
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
            throw violation("the run did not end within \(hangLimit.inWords) (\(executor.jobs.counted("job")))")
        }
        // The number of late jobs is read before the queue is drained, because cleanup jobs after the end of the scenario do not count.
        let late = executor.hasCancelled ? executor.jobs - k : nil
        await executor.drain()
        let wasCancelled = executor.hasCancelled
        let outcome: TortureRun<Value>.Outcome
        switch result {
        case .success(let value) where accepts(value): outcome = wasCancelled ? .finished(value) : .uncancelled(value)
        case .success(let value): throw violation("the result was not accepted\(wasCancelled ? "" : ", uncancelled"): \(value)")
        case .failure(is CancellationError) where wasCancelled: outcome = .cancelled
        case .failure(let error): throw violation("\(wasCancelled ? "not CancellationError, but" : "uncancelled, but") \(error)", error)
        }
        if let late, late > lateJobs {
            throw violation(
                "\(late.counted("job")) ran after the cancellation, but `lateJobs` is \(lateJobs): a wait ignores cancellation, "
                    + "or the cleanup takes more jobs (then raise `lateJobs`)")
        }
        return TortureRun(jobNumber: k, moment: moment, outcome: outcome, jobs: executor.jobs, lateJobs: late)
    }

    /// Returns the result of the scenario; `nil` if it takes longer than the limit.
    private func result<Value: Sendable>(
        of scenario: @escaping @Sendable () async throws -> Value, on executor: CancellationTortureExecutor
    ) async throws -> Result<Value, any Error>? {
        let end = FirstValue<Result<Value, any Error>?>()
        let task = Task(executorPreference: executor) {
            // The executor must outlive its tasks.
            defer { withExtendedLifetime(executor) {} }
            end.set(await Result(of: scenario))
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

/// The first value that is set. One task waits for this value.
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
            return state.waiter.take()
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
