internal import ErrandCore
internal import Synchronization

/// An event that happens once, and that tasks can wait for.
final class Signal: Sendable {
    private struct State {
        var hasCome = false
        var waiters: [Ticket: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Mutex(State())

    var hasCome: Bool { state.withLock(\.hasCome) }

    func signal() {
        let waiters = state.withLock { state in
            state.hasCome = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the event has happened.
    ///
    /// - Throws: `CancellationError`.
    func wait() async throws {
        try await parked { ticket, continuation in
            state.withLock { state -> Result<Void, any Error>? in
                if state.hasCome { return .success(()) }
                state.waiters[ticket] = continuation
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { $0.waiters.removeValue(forKey: ticket) }
        }
    }
}

/// A counter of events.
final class Counter: Sendable {
    private let state = Mutex(0)
    var value: Int { state.withLock { $0 } }
    func count() { state.withLock { $0 += 1 } }
}
