internal import Synchronization

/// Only one of these at a time: callers with an equal key share one run of the work.
///
/// The work belongs to no caller. Who is cancelled leaves at once with `CancellationError`, and the others stay; when the last one
/// has left, the work is cancelled, unless it must finish. Its result or its error reaches every caller that stayed.
///
/// The work keeps the priority of the caller that began it: a more urgent caller that joins does not raise it, as the systems that this
/// library supports can't raise the priority of a task that runs.
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
    }

    private let state = Mutex(State())

    public init() {}

    /// How many runs are under way.
    public var count: Int { state.withLock { $0.flights.count } }

    /// How many wait for the run with `key`.
    func waiterCount(of key: Key) -> Int { state.withLock { $0.flights[key]?.waiters.count ?? 0 } }

    /// The result of the run with `key` that is under way, or of a new one.
    ///
    /// - Parameters:
    ///   - mustFinish: whether the work goes on when nobody waits for it any more, as a token refresh does, whose result would be
    ///     lost otherwise. What the first caller says holds for the run.
    ///   - work: run in a task of its own; it keeps the first caller's priority and task-local values.
    /// - Throws: what the work throws; `CancellationError` when the caller is cancelled.
    public func run(
        _ key: Key, mustFinish: Bool = false, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let waiter = newNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // With its continuation at once: between the two, the run could end without this caller.
                let newFlight = join(continuation, as: waiter, key, mustFinish: mustFinish)
                if Task.isCancelled { leave(waiter, of: key) }  // the handler may have come before the caller had joined
                if let newFlight { start(work, flight: newFlight, of: key) }
            }
        } onCancel: {
            leave(waiter, of: key)
        }
    }

    /// Begins a run that nobody waits for here, unless one with `key` is under way. It goes on until it is over, or ``cancelAll()``.
    ///
    /// It keeps the caller's priority and task-local values.
    package func begin(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) {
        let number = newNumber()
        let isNew = state.withLock { state in
            guard state.flights[key] == nil else { return false }
            state.flights[key] = Flight(number: number, mustFinish: true, waiters: [:])
            return true
        }
        if isNew { start(work, flight: number, of: key) }
    }

    /// Cancels every run, also one that must finish. Who waits leaves at once with `CancellationError`; a later caller begins anew.
    package func cancelAll() {
        let flights = state.withLock { state in
            defer { state.flights = [:] }
            return Array(state.flights.values)
        }
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

    /// The number of the flight if it is a new one, which is named after its first waiter; nil if it was under way.
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

    /// The one unstructured task: it belongs to its flight, which ends it when the last waiter has left.
    private func start(_ work: @escaping @Sendable () async throws -> Value, flight: Int, of key: Key) {
        guard state.withLock({ $0.flights[key]?.number == flight }) else { return }  // every waiter has left already, or it was cancelled
        LiveWork.flight.begin()
        let task = Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
            LiveWork.flight.end()
            finish(flight, of: key, with: result)
        }
        let isForgotten = state.withLock { state in
            guard state.flights[key]?.number == flight else { return true }
            state.flights[key]?.task = task
            return false
        }
        if isForgotten { task.cancel() }  // every waiter left before the task was known, or it is over
    }

    private func finish(_ flight: Int, of key: Key, with result: Result<Value, any Error>) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.flights[key]?.number == flight else { return [] }
            return state.flights.removeValue(forKey: key)?.waiters.values.map { $0 } ?? []
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func leave(_ waiter: Int, of key: Key) {
        let (continuation, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let continuation = state.flights[key]?.waiters.removeValue(forKey: waiter), let flight = state.flights[key]
            else { return (nil, nil) }
            guard flight.waiters.isEmpty, !flight.mustFinish else { return (continuation, nil) }
            state.flights[key] = nil  // a later caller begins anew
            return (continuation, flight.task)
        }
        continuation?.resume(throwing: CancellationError())
        task?.cancel()
    }
}
