#if NIO
internal import Synchronization

/// Holds the task that reads a request's body, while the connection has more of it than it can write.
final class UploadWindow: Sendable {
    /// How many bytes may be on their way to the network: 256 KiB.
    static let limitBytes = 256 * 1024

    private struct State: Sendable {
        var bytes = 0
        var isClosed = false
        var waiter: CheckedContinuation<Void, any Error>?
    }

    private let state = Mutex(State())

    /// Returns when there is room for more.
    ///
    /// - Throws: `CancellationError` when the window is closed, or the task is cancelled.
    func add(_ count: Int) async throws {
        let isFull = try state.withLock { state in
            if state.isClosed { throw CancellationError() }
            state.bytes += count
            return state.bytes > Self.limitBytes
        }
        guard isFull else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    if state.isClosed { return .failure(CancellationError()) }
                    if state.bytes <= Self.limitBytes { return .success(()) }
                    state.waiter = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            close()
        }
    }

    /// These bytes have left.
    func remove(_ count: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.bytes -= count
            guard state.bytes <= Self.limitBytes else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(throwing: CancellationError())
    }
}
#endif
