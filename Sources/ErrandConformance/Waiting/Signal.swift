internal import Synchronization

/// An event that happens once, and that tasks can wait for.
final class Signal: Sendable {
    private struct State {
        var hasCome = false
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var nextID = 0
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
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let hasCome = state.withLock { state in
                    if !state.hasCome { state.waiters[id] = continuation }
                    return state.hasCome
                }
                if hasCome { continuation.resume() }
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    private func leave(_ id: Int) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }
}

/// A counter of events.
final class Counter: Sendable {
    private let state = Mutex(0)
    var value: Int { state.withLock { $0 } }
    func count() { state.withLock { $0 += 1 } }
}
