#if NIO
internal import ErrandCore
internal import Synchronization

/// The pieces of a request's body between the task that reads it and the connection that writes it.
final class UploadQueue: Sendable {
    /// How many bytes may be queued and on their way to the network together: 256 KiB. One more piece may come.
    static let limitBytes = 256 * 1024

    enum End: Sendable {
        case complete(trailers: HTTPFields?)
        /// The body could not be read.
        case failed(any Error)
    }

    /// What the connection writes next.
    struct Batch: Sendable {
        fileprivate(set) var pieces: [Data] = []
        fileprivate(set) var bytes = 0
        fileprivate(set) var end: End?

        fileprivate var isEmpty: Bool { pieces.isEmpty && end == nil }
    }

    private struct State {
        var batch = Batch()
        /// What is queued, and what was written but has not left.
        var bytes = 0
        var isClosed = false
        var waiter: CheckedContinuation<Void, any Error>?
    }

    private let state = Mutex(State())

    // MARK: - The task that reads the body

    /// Adds a piece.
    ///
    /// - Returns: whether the connection has to be told: it knows already if something was queued before.
    /// - Throws: `CancellationError` if the queue is closed.
    func add(_ piece: Data) throws -> Bool {
        try state.withLock { state in
            if state.isClosed { throw CancellationError() }
            defer {
                state.batch.pieces.append(piece)
                state.batch.bytes += piece.count
                state.bytes += piece.count
            }
            return state.batch.isEmpty
        }
    }

    /// Nothing is added any more. Returns whether the connection has to be told.
    func finish(_ end: End) -> Bool {
        state.withLock { state in
            defer { state.batch.end = end }
            return state.batch.isEmpty && !state.isClosed
        }
    }

    /// Returns when there is room for more.
    ///
    /// - Throws: `CancellationError` when the queue is closed, or the task is cancelled.
    func waitForRoom() async throws {
        if state.withLock({ !$0.isClosed && $0.bytes <= Self.limitBytes }) { return }
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

    // MARK: - The connection

    /// Takes all that is queued.
    func takeBatch() -> Batch {
        state.withLock { state in
            defer { state.batch = Batch() }
            return state.batch
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

    /// Drops what is queued. The task that reads the body ends.
    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            state.batch = Batch()
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(throwing: CancellationError())
    }
}
#endif
