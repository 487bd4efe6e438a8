internal import Synchronization

/// The first of several possible results. One task waits for this result.
package final class FirstResult<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        /// There is a result. `nil` after the task has got the result.
        case decided(Result<Value, any Error>?)
    }

    private let state = Mutex(State.open)

    package init() {}

    package var isDecided: Bool {
        state.withLock { if case .decided = $0 { true } else { false } }
    }

    /// Returns the first result. Only one task may wait, and only once.
    ///
    /// - Parameter begin: called when the task waits, or if there is already a result.
    /// - Throws: the error of the result. If the task is cancelled first, the result is a `CancellationError`.
    package func wait(_ begin: () -> Void = {}) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
                    guard case .decided(let result) = state else {
                        state = .awaited(continuation)
                        return nil
                    }
                    state = .decided(nil)
                    return result
                }
                if let result { continuation.resume(with: result) }
                begin()
            }
        } onCancel: {
            decide(.failure(CancellationError()))
        }
    }

    /// Sets the result. Only the first call has an effect.
    package func decide(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .open:
                state = .decided(result)
                return nil
            case .awaited(let continuation):
                state = .decided(nil)
                return continuation
            case .decided: return nil
            }
        }
        continuation?.resume(with: result)
    }
}
