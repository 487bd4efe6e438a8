#if SWIFT_NIO
internal import ErrandCore
internal import Synchronization

/// The queue between the task that reads a request's body and the connection that writes the body.
final class UploadQueue: Sendable {
    enum End: Sendable {
        case complete(trailers: HTTPFields?)
        /// The body could not be read.
        case failed(any Error)
    }

    /// The pieces that the connection writes next, and the end of the body if the body ends after these pieces.
    struct Batch: Sendable {
        fileprivate(set) var pieces: [Data] = []
        fileprivate(set) var bytes = 0
        fileprivate(set) var end: End?

        fileprivate var isEmpty: Bool { pieces.isEmpty && end == nil }
    }

    /// The contents of the queue: a value without locks.
    struct State {
        private(set) var batch = Batch()
        private(set) var isClosed = false

        /// Adds a piece.
        ///
        /// - Returns: whether the connection must be notified; `nil` if the queue is closed. A closed queue drops the piece.
        mutating func add(_ piece: Data) -> Bool? {
            guard !isClosed else { return nil }
            defer {
                batch.pieces.append(piece)
                batch.bytes += piece.count
            }
            return batch.isEmpty
        }

        /// Marks the body as ended. Returns whether the connection must be notified. A closed queue ignores the call.
        mutating func finish(_ end: End) -> Bool {
            guard !isClosed else { return false }
            defer { batch.end = end }
            return batch.isEmpty
        }

        mutating func takeBatch() -> Batch {
            defer { batch = Batch() }
            return batch
        }

        mutating func close() { (batch, isClosed) = (Batch(), true) }
    }

    /// Counts the bytes that are queued, and the bytes that were written but not yet sent.
    let window = WriteWindow()
    private let state = Mutex(State())

    // MARK: - The task that reads the body

    /// Adds a piece.
    ///
    /// - Returns: whether the connection must be notified. If the queue was not empty, the connection has already been notified.
    /// - Throws: `CancellationError` if the queue is closed.
    func add(_ piece: Data) throws -> Bool {
        try window.count(piece.count)
        // The queue may have been closed after the bytes were counted. Only the check under the lock of `state` is reliable.
        guard let mustNotify = state.withLock({ $0.add(piece) }) else { throw CancellationError() }
        return mustNotify
    }

    /// Marks the body as ended. Returns whether the connection must be notified.
    func finish(_ end: End) -> Bool { state.withLock { $0.finish(end) } }

    // MARK: - The connection

    /// Removes everything from the queue, and returns the removed batch.
    func takeBatch() -> Batch { state.withLock { $0.takeBatch() } }

    /// Drops everything from the queue. The task that reads the body ends.
    func close() {
        state.withLock { $0.close() }
        window.close()
    }
}
#endif
