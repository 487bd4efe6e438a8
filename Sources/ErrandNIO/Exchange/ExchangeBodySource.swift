#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore
internal import Synchronization

/// The body of a response that was not complete when its head was delivered.
///
/// The connection's event loop appends the received data, one batch for each turn of the loop. A reader takes the data chunk by chunk.
/// While the queue is full, the connection does not read.
final class ExchangeBodySource: ReadyBodySource {
    private typealias Body = UnreadBody<UnsafeContinuation<Data?, any Error>>

    private struct State: Sendable {
        var body = Body()
        /// The trailers of a complete body.
        var trailers: HTTPFields?
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
        let (delivery, isHeldBack) = state.withLock { $0.body.append(batch) }
        batch.removeAll(keepingCapacity: true)
        if let (waiter, chunk) = delivery { waiter.resume(returning: chunk) }
        return isHeldBack
    }

    /// The time at which the reader began to wait; `nil` if no reader waits.
    var waitingSince: NIODeadline? { state.withLock { $0.body.hasWaiter ? $0.waitingSince : nil } }

    /// Whether the end of the body was received.
    var isComplete: Bool { state.withLock(\.body.isComplete) }

    func complete(_ trailers: HTTPFields?) {
        let end = state.withLock { state in
            if !state.body.hasEnded { state.trailers = trailers }
            return state.body.end()
        }
        if let (waiter, result) = end { waiter.resume(with: result) }
    }

    /// Ends the body with an error, after the queued data.
    func fail(_ error: any Error) {
        if let (waiter, result) = state.withLock({ $0.body.end(because: error) }) { waiter.resume(with: result) }
    }

    // MARK: - The reader

    /// Returns the result of a read; `nil` if the reader must wait.
    private func read(orWait waiter: UnsafeContinuation<Data?, any Error>? = nil) -> Body.Read? {
        let (result, isFree) = state.withLock { state in
            let read = state.body.read(orWait: waiter)
            if read.result == nil, waiter != nil, exchange.limits?.idleRead != nil { state.waitingSince = .now() }
            return read
        }
        if isFree { connection.readOn(attempt) }
        return result
    }

    func next() async throws -> Data? {
        // If a chunk is queued, the reader does not wait, and needs no cancellation handler.
        if !Task.isCancelled, let result = read() { return try result.get() }
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            return try await withUnsafeThrowingContinuation { continuation in
                if let result = read(orWait: continuation) { continuation.resume(with: result) }
            }
        } onCancel: {
            end(because: CancellationError())
        }
    }

    func takeReadyChunk() -> Data? {
        guard !Task.isCancelled, case .success(let chunk)? = read() else { return nil }
        return chunk
    }

    var trailers: HTTPFields? { state.withLock { $0.body.isComplete ? $0.trailers : nil } }

    // MARK: - Giving up

    func abandon() { end(because: nil) }
    func fail(with error: any Error) { end(because: error) }

    /// Ends the exchange, and drops the queued data.
    ///
    /// - Parameter error: the reason for the end; `nil` if the rest of the body is not needed.
    private func end(because error: (any Error)?) {
        let reason = error ?? CancellationError()
        let (end, isOver) = state.withLock { state in
            let isOver = state.body.hasEnded
            state.body.drop(because: reason)
            return (state.body.end(because: reason), isOver)
        }
        if let (waiter, result) = end { waiter.resume(with: result) }
        if !isOver { connection.end(attempt, because: error) }
    }
}
#endif
