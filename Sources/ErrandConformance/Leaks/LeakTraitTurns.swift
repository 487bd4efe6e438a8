internal import Synchronization

/// A lock for one holder at a time. Waiters get the lock in the order in which they asked. A cancelled waiter leaves the queue.
final class Turns: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var isTaken = false
        var waiters: [(id: Int, waiter: Waiter)] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// The number of waiters.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Returns when the caller has the lock. The caller must pass the lock on with ``pass()``.
    ///
    /// - Throws: `CancellationError`. The caller then does not have the lock.
    func take() async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    // Checked under the mutex: the cancellation handler has already run, or will find the waiter.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.isTaken else {
                        state.isTaken = true
                        return .success(())
                    }
                    state.waiters.append((id, waiter))
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).waiter }
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Passes the lock to the next waiter.
    func pass() {
        let next = state.withLock { state -> Waiter? in
            guard !state.waiters.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiters.removeFirst().waiter
        }
        next?.resume()
    }
}
