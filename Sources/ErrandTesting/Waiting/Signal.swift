internal import ErrandCore
internal import Synchronization

/// An event that happens once, and that tasks can wait for.
package final class Signal: Sendable {
    private struct State {
        var hasCome = false
        var waiters: [QueueTicket: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package var hasCome: Bool { state.withLock(\.hasCome) }

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
        try await waitInQueue { ticket, continuation in
            add(ticket, continuation)
        } leave: { [self] ticket in
            state.withLock { $0.waiters.removeValue(forKey: ticket) }
        }
    }

    /// Returns when the event has happened. Cancellation of the task does not end the wait.
    package func waitIgnoringCancellation() async {
        // Only the event resumes this waiter.
        try? await withCheckedThrowingContinuation { continuation in
            if let result = add(QueueTicket(), continuation) { continuation.resume(with: result) }
        }
    }

    /// Queues a waiter. Returns success if the event has already happened.
    private func add(_ ticket: QueueTicket, _ continuation: CheckedContinuation<Void, any Error>) -> Result<Void, any Error>? {
        state.withLock { state in
            if state.hasCome { return .success(()) }
            state.waiters[ticket] = continuation
            return nil
        }
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
