internal import Synchronization

/// A type that shares work between callers: callers with equal keys share one run.
///
/// ```swift
/// let flights = SingleFlight<Origin, Token>()
/// let token = try await flights.run(origin) { try await fetchToken() }
/// ```
///
/// The work belongs to no single caller. A cancelled caller leaves immediately with `CancellationError`, and the other callers
/// continue to wait. When the last caller has left, the work is cancelled, unless the work must finish. The result or the error of the work
/// reaches every caller that has not left.
///
/// The work keeps the priority of the caller that began it. If a more urgent caller joins, the priority stays unchanged, because
/// the systems that this library supports can't raise the priority of a running task.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct Flight {
        let number: Int
        let mustFinish: Bool
        var task: Task<Void, Never>?
        var waiters: [Int: Waiter]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var nextNumber = 0
        /// The callers of ``waitUntilIdle()``, by ticket.
        var drains: [QueueTicket: CheckedContinuation<Void, any Error>] = [:]

        /// Removes and returns the callers of ``waitUntilIdle()`` if no run is in progress.
        mutating func endedDrains() -> [CheckedContinuation<Void, any Error>] {
            guard flights.isEmpty, !drains.isEmpty else { return [] }
            defer { drains = [:] }
            return Array(drains.values)
        }
    }

    private let state = Mutex(State())
    private let executor: (any TaskExecutor)?

    /// Creates an object without runs.
    public init() { executor = nil }

    /// Creates an object whose runs prefer an executor.
    ///
    /// - Parameter executor: the executor of the runs; `nil` means the default executor. A test can pass an executor that
    ///   determines the order of the work.
    public init(executor: (any TaskExecutor)?) { self.executor = executor }

    /// The number of runs in progress.
    public var count: Int { state.withLock { $0.flights.count } }

    /// Returns the number of callers that wait for the run with `key`.
    func waiterCount(of key: Key) -> Int { state.withLock { $0.flights[key]?.waiters.count ?? 0 } }

    /// Returns the result of the run in progress with `key`, or of a new run.
    ///
    /// - Parameters:
    ///   - key: identifies the work.
    ///   - mustFinish: whether the work continues if no caller waits for it any more. Default: `false`. A token refresh, for example, must
    ///     finish, because its result must not be lost. The value of the first caller applies to the run.
    ///   - work: the work. The work runs in a separate task, with the first caller's priority and task-local values.
    /// - Throws: the error of the work; `CancellationError` if the caller is cancelled.
    public func run(
        _ key: Key, mustFinish: Bool = false, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let waiter = newNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // The caller joins and stores its continuation in one step. If there were two steps, the run could end between the steps,
                // and the caller would wait forever.
                let newFlight = join(continuation, as: waiter, key, mustFinish: mustFinish)
                if Task.isCancelled { leave(waiter, of: key) }  // the handler may run before the caller has joined
                if let newFlight { start(work, flight: newFlight, of: key) }
            }
        } onCancel: {
            leave(waiter, of: key)
        }
    }

    /// Begins a run without a waiting caller. If a run with `key` is already in progress, does nothing.
    ///
    /// The run continues until the work ends or ``cancelAll(where:)`` is called. The run has the priority and the task-local
    /// values of the caller.
    ///
    /// - Parameters:
    ///   - key: identifies the work.
    ///   - work: the work. The callers that join the run get the result or the error of the work.
    public func begin(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) {
        let number = newNumber()
        let isNew = state.withLock { state in
            guard state.flights[key] == nil else { return false }
            state.flights[key] = Flight(number: number, mustFinish: true, waiters: [:])
            return true
        }
        if isNew { start(work, flight: number, of: key) }
    }

    /// Begins a run. If `isNeeded` returns false when the run is registered, the run is cancelled.
    ///
    /// If the run is no longer needed, another task changes the state that `isNeeded` reads, and then calls ``cancelAll(where:)``.
    /// ``cancelAll(where:)`` can't cancel a run that is registered later. For a run that is registered later, `isNeeded` returns false.
    package func begin(_ key: Key, while isNeeded: () -> Bool, _ work: @escaping @Sendable () async throws -> Value) {
        begin(key, work)
        if !isNeeded() { cancelAll { $0 == key } }
    }

    /// Waits until no run is in progress.
    ///
    /// The wait includes runs that begin during the wait, and runs for which no caller waits. Cancelled runs are ignored.
    /// ``cancelAll(where:)`` cancels runs. If the `mustFinish` of a run is false, the run is also cancelled when its last caller leaves.
    ///
    /// - Throws: `CancellationError` if the caller is cancelled.
    public func waitUntilIdle() async throws {
        try await waitInQueue { (ticket, continuation: CheckedContinuation<Void, any Error>) in
            state.withLock { state -> Result<Void, any Error>? in
                if Task.isCancelled { return .failure(CancellationError()) }
                if state.flights.isEmpty { return .success(()) }
                state.drains[ticket] = continuation
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { $0.drains.removeValue(forKey: ticket) }
        }
    }

    /// Cancels every run whose key is chosen, including runs that must finish.
    ///
    /// Waiting callers leave immediately with `CancellationError`. A later caller begins a new run.
    ///
    /// - Parameter isChosen: returns whether to cancel the run with a given key. Default: every run.
    public func cancelAll(where isChosen: (Key) -> Bool = { _ in true }) {
        let (flights, drains) = state.withLock { state in
            let chosen = state.flights.filter { isChosen($0.key) }
            for key in chosen.keys { state.flights[key] = nil }
            return (Array(chosen.values), state.endedDrains())
        }
        for drain in drains { drain.resume() }
        for flight in flights {
            flight.task?.cancel()
            for waiter in flight.waiters.values { waiter.resume(throwing: CancellationError()) }
        }
    }

    private func newNumber() -> Int {
        state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
    }

    /// Joins the run with `key`, or registers a new run. Returns the number of a new run, which is the number of its first waiter; `nil` if
    /// a run was already in progress.
    private func join(_ continuation: Waiter, as waiter: Int, _ key: Key, mustFinish: Bool) -> Int? {
        state.withLock { state in
            if state.flights[key] != nil {
                state.flights[key]?.waiters[waiter] = continuation
                return nil
            }
            state.flights[key] = Flight(number: waiter, mustFinish: mustFinish, waiters: [waiter: continuation])
            return waiter
        }
    }

    /// Starts the work. The task of the work is the only unstructured task of this type. The run owns the task, and cancels the task when
    /// the last waiter has left, unless the work must finish.
    private func start(_ work: @escaping @Sendable () async throws -> Value, flight: Int, of key: Key) {
        guard state.withLock({ $0.flights[key]?.number == flight }) else { return }  // every waiter has left, or the flight was cancelled
        LiveWork.flight.begin()
        let task = Task(executorPreference: executor) {
            let result = await Result(of: work)
            LiveWork.flight.end()
            self.finish(flight, of: key, with: result)
        }
        let isForgotten = state.withLock { state in
            guard state.flights[key]?.number == flight else { return true }
            state.flights[key]?.task = task
            return false
        }
        if isForgotten { task.cancel() }  // every waiter left before the task was stored, or the flight has ended
    }

    private func finish(_ flight: Int, of key: Key, with result: Result<Value, any Error>) {
        let (waiters, drains) = state.withLock { state -> ([Waiter], [CheckedContinuation<Void, any Error>]) in
            guard state.flights[key]?.number == flight else { return ([], []) }
            return (state.flights.removeValue(forKey: key)?.waiters.values.map { $0 } ?? [], state.endedDrains())
        }
        for waiter in waiters { waiter.resume(with: result) }
        for drain in drains { drain.resume() }
    }

    private func leave(_ waiter: Int, of key: Key) {
        let (continuation, task, drains) = state.withLock {
            state -> (Waiter?, Task<Void, Never>?, [CheckedContinuation<Void, any Error>]) in
            guard let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter), let flight = state.flights[key]
            else { return (nil, nil, []) }
            guard flight.waiters.isEmpty, !flight.mustFinish else { return (continuation, nil, []) }
            state.flights[key] = nil  // a later caller begins a new run
            return (continuation, flight.task, state.endedDrains())
        }
        continuation?.resume(throwing: CancellationError())
        task?.cancel()
        for drain in drains { drain.resume() }
    }
}
