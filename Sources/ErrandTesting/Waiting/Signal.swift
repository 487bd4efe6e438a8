internal import Synchronization

/// An event that happens once, and that tasks can wait for.
package final class Signal: Sendable {
    private struct State {
        var hasCome = false
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var hasCome: Bool { state.withLock(\.hasCome) }

    /// The number of tasks that wait for the event.
    package var waiterCount: Int { state.withLock(\.waiters.count) }

    package func signal() {
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
    package func wait() async throws {
        let id = newID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(id, continuation)
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    /// Returns when the event has happened. Cancellation of the task does not end the wait.
    package func waitIgnoringCancellation() async {
        // Nothing but the event resumes this waiter.
        try? await withCheckedThrowingContinuation { add(newID(), $0) }
    }

    private func newID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    private func add(_ id: Int, _ continuation: CheckedContinuation<Void, any Error>) {
        let hasCome = state.withLock { state in
            if !state.hasCome { state.waiters[id] = continuation }
            return state.hasCome
        }
        if hasCome { continuation.resume() }
    }

    private func leave(_ id: Int) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }
}

/// Waits until the task is cancelled.
///
/// - Throws: `CancellationError`, always.
package func untilCancelled() async throws -> Never {
    let stream = AsyncStream<Never> { _ in }
    for await _ in stream {}
    throw CancellationError()
}
