internal import Synchronization

/// Only one of these at a time: callers with an equal key share one run of the work.
///
/// The work belongs to no caller. Who is cancelled leaves at once with `CancellationError`, and the others stay; when the last one
/// has left, the work is cancelled, unless it must finish. Its result or its error reaches every caller that stayed.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct Flight {
        let number: Int
        let mustFinish: Bool
        var task: Task<Void, Never>?
        var waiters: [Int: Waiter?] = [:]  // nil: joined, but its continuation is not there yet
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var nextNumber = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// How many runs are under way.
    public var count: Int { state.withLock { $0.flights.count } }

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
        let (flight, waiter, isNew) = join(key, mustFinish: mustFinish)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = !attach(continuation, as: waiter, to: flight, of: key)
                if isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else if isNew {
                    start(work, flight: flight, of: key)
                }
            }
        } onCancel: {
            leave(waiter, of: flight, key: key)
        }
    }

    private func join(_ key: Key, mustFinish: Bool) -> (flight: Int, waiter: Int, isNew: Bool) {
        state.withLock { state in
            let waiter = state.nextNumber
            state.nextNumber += 1
            if state.flights[key] != nil {
                state.flights[key]?.waiters[waiter] = .some(nil)
                return (state.flights[key]?.number ?? waiter, waiter, false)
            }
            var flight = Flight(number: waiter, mustFinish: mustFinish)
            flight.waiters[waiter] = .some(nil)
            state.flights[key] = flight
            return (waiter, waiter, true)
        }
    }

    /// False if the waiter has left already.
    private func attach(_ continuation: Waiter, as waiter: Int, to flight: Int, of key: Key) -> Bool {
        state.withLock { state in
            guard state.flights[key]?.number == flight, state.flights[key]?.waiters[waiter] != nil else { return false }
            state.flights[key]?.waiters[waiter] = continuation
            return true
        }
    }

    /// The one unstructured task: it belongs to its flight, which ends it when the last waiter has left.
    private func start(_ work: @escaping @Sendable () async throws -> Value, flight: Int, of key: Key) {
        let task = Task {
            let result: Result<Value, any Error>
            do {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
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
            return state.flights.removeValue(forKey: key)?.waiters.values.compactMap { $0 } ?? []
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    private func leave(_ waiter: Int, of flight: Int, key: Key) {
        let (continuation, task) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard var current = state.flights[key], current.number == flight,
                let continuation = current.waiters.removeValue(forKey: waiter)
            else { return (nil, nil) }
            if current.waiters.isEmpty && !current.mustFinish {
                state.flights[key] = nil  // a later caller begins anew
                return (continuation, current.task)
            }
            state.flights[key] = current
            return (continuation, nil)
        }
        continuation?.resume(throwing: CancellationError())
        task?.cancel()
    }
}
