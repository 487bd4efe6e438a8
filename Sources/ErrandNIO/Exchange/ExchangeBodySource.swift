#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// The body of a response that was not complete when its head was delivered.
///
/// The connection's event loop appends the received data, one batch for each turn of the loop. A reader takes the data chunk by chunk.
/// While the queue is full, the connection does not read.
final class ExchangeBodySource: ReadyBodySource {
    private enum End: Sendable {
        case complete(trailers: HTTPFields?)
        case failed(any Error)
    }

    private struct State: Sendable {
        var queue = ReadQueue()
        var end: End?
        var waiter: UnsafeContinuation<Data?, any Error>?
        /// The time at which the reader began to wait. The time is kept only if the wait is limited.
        var waitingSince: NIODeadline?
    }

    private let exchange: Exchange
    private let connection: Connection
    private let attempt: AttemptID
    let lifetime = ExchangeLifetime()
    private let state = Mutex(State())

    init(_ exchange: Exchange, _ attempt: AttemptID, on connection: Connection) {
        (self.exchange, self.attempt, self.connection) = (exchange, attempt, connection)
    }

    // MARK: - On the event loop

    /// Appends received data.
    ///
    /// - Returns: whether the connection must wait before it reads more.
    func append(_ batch: inout [Data]) -> Bool {
        guard !batch.isEmpty else { return false }
        let (waiter, first, holdsBack) = state.withLock { state in
            let waiter = state.waiter.take()
            var rest = batch[...]
            let first = waiter == nil ? nil : rest.popFirst()
            guard state.end == nil else { return (waiter, nil as Data?, false) }
            return (waiter, first, state.queue.append(rest))
        }
        batch.removeAll(keepingCapacity: true)
        waiter?.resume(returning: first)
        return holdsBack
    }

    /// The time at which the reader began to wait; `nil` if no reader waits.
    var waitingSince: NIODeadline? { state.withLock { $0.waiter == nil ? nil : $0.waitingSince } }

    /// Whether the end of the body was received.
    var isComplete: Bool { state.withLock { state in if case .complete? = state.end { true } else { false } } }

    func complete(_ trailers: HTTPFields?) { end(.complete(trailers: trailers)) }
    /// Ends the body with an error, after the queued data.
    func fail(_ error: any Error) { end(.failed(error)) }

    private func end(_ end: End) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as UnsafeContinuation<Data?, any Error>? }
            state.end = end
            return state.waiter.take()
        }
        switch end {
        case .complete: waiter?.resume(returning: nil)
        case .failed(let error): waiter?.resume(throwing: error)
        }
    }

    // MARK: - The reader

    private enum Read: Sendable {
        case chunk(Data, isFree: Bool)
        case end
        case failure(any Error)
        case wait
    }

    private func read(orWait waiter: UnsafeContinuation<Data?, any Error>? = nil) -> Read {
        state.withLock { state in
            if let (chunk, isFree) = state.queue.popFirst() { return .chunk(chunk, isFree: isFree) }
            switch state.end {
            case .complete?: return .end
            case .failed(let error)?: return .failure(error)
            case nil: break
            }
            if state.waiter != nil { return .failure(BodyAlreadyUsedError()) }  // one reader at a time
            state.waiter = waiter
            if waiter != nil, exchange.limits?.idleRead != nil { state.waitingSince = .now() }
            return .wait
        }
    }

    /// Returns the result of a read; `nil` if the reader must wait.
    private func result(of read: Read) -> Result<Data?, any Error>? {
        switch read {
        case .chunk(let chunk, let isFree):
            if isFree { connection.readOn(attempt) }
            return .success(chunk)
        case .end: return .success(nil)
        case .failure(let error): return .failure(error)
        case .wait: return nil
        }
    }

    func next() async throws -> Data? {
        // A reader that finds a chunk does not wait, and needs no cancellation handler.
        if !Task.isCancelled, let result = result(of: read()) { return try result.get() }
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            return try await withUnsafeThrowingContinuation { continuation in
                if let result = result(of: read(orWait: continuation)) { continuation.resume(with: result) }
            }
        } onCancel: {
            end(because: CancellationError())
        }
    }

    func takeReadyChunk() -> Data? {
        guard !Task.isCancelled else { return nil }
        guard state.withLock({ !$0.queue.isEmpty }), case .success(let chunk)? = result(of: self.read()) else { return nil }
        return chunk
    }

    var trailers: HTTPFields? {
        state.withLock { state in if case .complete(let trailers)? = state.end { trailers } else { nil } }
    }

    // MARK: - Giving up

    func abandon() { end(because: nil) }
    func fail(with error: any Error) { end(because: error) }

    /// Ends the exchange, and drops the queued data.
    ///
    /// - Parameter error: the reason of the end; `nil` if the rest of the body is not needed.
    private func end(because error: (any Error)?) {
        let (waiter, isOver) = state.withLock { state in
            defer { state.waiter = nil }
            let wasRead = state.queue.isEmpty
            state.queue.removeAll()
            switch state.end {
            // After queued data was dropped, a reader must not see a complete body.
            case .complete? where !wasRead: state.end = .failed(error ?? CancellationError())
            case .complete?, .failed?: break
            case nil:
                state.end = .failed(error ?? CancellationError())
                return (state.waiter, false)
            }
            return (state.waiter, true)
        }
        waiter?.resume(throwing: error ?? CancellationError())
        if !isOver { connection.end(attempt, because: error) }
    }
}
#endif
