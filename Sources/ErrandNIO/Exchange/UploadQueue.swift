#if NIO
internal import ErrandCore
internal import Synchronization

/// The pieces of a request's body between the task that reads it and the connection that writes it.
final class UploadQueue: Sendable {
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
        var isClosed = false
    }

    /// Counts what is queued, and what was written but has not left.
    let window = WriteWindow()
    private let state = Mutex(State())

    // MARK: - The task that reads the body

    /// Adds a piece.
    ///
    /// - Returns: whether the connection has to be told: it knows already if something was queued before.
    /// - Throws: `CancellationError` if the queue is closed.
    func add(_ piece: Data) throws -> Bool {
        try window.count(piece.count)
        return state.withLock { state in
            defer {
                state.batch.pieces.append(piece)
                state.batch.bytes += piece.count
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

    // MARK: - The connection

    /// Takes all that is queued.
    func takeBatch() -> Batch {
        state.withLock { state in
            defer { state.batch = Batch() }
            return state.batch
        }
    }

    /// Drops what is queued. The task that reads the body ends.
    func close() {
        state.withLock { $0 = State(isClosed: true) }
        window.close()
    }
}
#endif
