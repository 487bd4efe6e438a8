internal import ErrandCore
internal import Synchronization

/// A lock for one holder at a time. Waiters get the lock in the order of their requests. A cancelled waiter is removed from the queue.
final class FairLock: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var isTaken = false
        var waiters = WaitQueue<Waiter>(lanes: 1)
    }

    private let state = Mutex(State())

    /// The number of waiters.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Returns when the caller has the lock. The caller must release the lock with ``unlock()``.
    ///
    /// - Throws: `CancellationError`. A caller that gets the error does not have the lock.
    func lock() async throws {
        try await waitInQueue { ticket, waiter in
            state.withLock { state -> Result<Void, any Error>? in
                if Task.isCancelled { return .failure(CancellationError()) }
                guard state.isTaken else {
                    state.isTaken = true
                    return .success(())
                }
                state.waiters.append(waiter, lane: 0, ticket: ticket)
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { $0.waiters.cancel(ticket) }
        }
    }

    /// Passes the lock to the next waiter.
    func unlock() {
        let next = state.withLock { state -> Waiter? in
            let next = state.waiters.popFirst()
            state.isTaken = next != nil
            return next
        }
        next?.resume()
    }
}
