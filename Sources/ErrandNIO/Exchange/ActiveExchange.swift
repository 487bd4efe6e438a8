#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The state of an exchange that a connection has begun: the bytes sent and received, and the deadlines. The connection's handler holds
/// the value, in every version of HTTP.
///
/// A sink of events may end the exchange while the handler calls the sink. When a response is dropped, its release can also end the
/// exchange. Therefore, no mutating method of this type reports an event or drops a response. The handler
///
/// - calls ``reportSent()`` and ``reportReceived()`` on a copy,
/// - resumes the exchange after ``deliver(on:)``,
/// - removes the value from its own state before ``complete(_:)`` or ``settle(_:on:)``.
struct ActiveExchange {
    /// The head of the final response.
    struct Head {
        let response: HTTPResponse
        /// The HTTP version.
        let version: HTTPVersion
        /// The length of the body; `nil` if the length is not known before the end of the body.
        let expectedLength: Int64?
    }

    let exchange: Exchange
    /// The identity of this attempt at the exchange.
    let attempt: AttemptID
    /// The deadline; `nil` if the request has no deadline, or if the connection has changed to another protocol.
    var deadline: NIODeadline?
    var upload = UploadSource.none
    /// The time at which the body is sent even if the server has not sent 100 (Continue).
    var continueDue: NIODeadline?
    /// The limit for sending the rest of the request; `nil` until the whole response has been received.
    var rest: RestLimit?
    /// The number of bytes of the request that the network had taken at the last check of `rest`. Used only over HTTP/1.1.
    var restProgressBytes: Int64 = 0
    var head: Head?
    /// The received parts of the body that have not yet been appended to the stream.
    private var chunks: [Data] = []
    /// The body; `nil` until the head is delivered.
    private(set) var stream: ExchangeBodySource?
    private(set) var sentBytes: Int64 = 0
    private(set) var receivedBytes: Int64 = 0
    /// The limit of the current phase; `nil` if the phase has no limit.
    private var limit: PhaseLimit?
    /// The limit of the writes in progress; `nil` if there is no limit. This limit and the limit of the phase apply at the same time,
    /// because a response may begin during the upload.
    private var writeLimit: PhaseLimit?
    /// The number of writes of the body that are in progress.
    private var pendingWrites = 0

    init(_ taken: TakenExchange, _ attempt: AttemptID) {
        (exchange, deadline, self.attempt) = (taken.exchange, taken.deadline, attempt)
    }

    var sizes: ExchangeLifetime.BodySizes { .init(requestBytes: sentBytes, responseBytes: receivedBytes) }

    // MARK: - The request

    mutating func countSent(_ count: Int) { sentBytes += Int64(count) }

    func reportSent() { exchange.events?.record(.requestBytesSent, bytes: sentBytes) }

    /// Removes the source of the request body, because the rest of the body is no longer needed. The caller must call
    /// ``UploadSource/stop()`` on the result.
    mutating func takeUpload() -> UploadSource {
        defer { (upload, writeLimit, continueDue, rest) = (.none, nil, nil, nil) }
        return upload
    }

    /// Records a write of a piece of the body. The limit `idleWrite` bounds the time until the network makes progress.
    mutating func beginWrite() {
        pendingWrites += 1
        if pendingWrites == 1 { writeLimit = PhaseLimit(.idleWrite, of: exchange.limits) }
    }

    /// Records that the network has taken a piece.
    mutating func endWrite() {
        // If the rest of the request is not needed, the writes have no limit.
        guard writeLimit != nil else { return }
        pendingWrites -= 1
        writeLimit = pendingWrites == 0 ? nil : PhaseLimit(.idleWrite, of: exchange.limits)
    }

    // MARK: - The response

    /// Keeps a part of the body until ``deliver(on:)`` is called. Small parts are joined.
    mutating func receive(_ data: Data) {
        receivedBytes += Int64(data.count)
        if let last = chunks.indices.last, chunks[last].count + data.count <= 16 * 1024 {
            chunks[last].append(data)
        } else {
            chunks.append(data)
        }
    }

    func reportReceived() { exchange.events?.record(.responseBytesReceived, bytes: receivedBytes) }

    /// Appends the received parts of the body to its stream, if the head was received.
    ///
    /// - Returns: the response, and whether the connection must stop receiving for now. Only the first call with a head returns the
    ///   response. The caller resumes the exchange with the response.
    mutating func deliver(on connection: Connection) -> (response: Response?, mustWait: Bool) {
        guard let head else { return (nil, false) }
        enter(.idleRead)
        if let stream { return (nil, stream.append(&chunks)) }
        let stream = ExchangeBodySource(exchange, attempt, on: connection)
        self.stream = stream
        let mustWait = stream.append(&chunks)
        let body = ResponseBody(stream, expectedLength: head.expectedLength, request: exchange.request)
        return (response(head, body, stream.lifetime), mustWait)
    }

    /// Completes the response and ends the exchange.
    func complete(_ trailers: HTTPFields?) {
        var done = self
        exchange.events?.record(.end)
        if let stream {
            _ = stream.append(&done.chunks)
            stream.lifetime.end(.complete, sizes: sizes)
            return stream.complete(trailers)
        }
        guard let head else { return }
        let data = chunks.count == 1 ? chunks[0] : Data(chunks.joined())
        let body = ResponseBody(data, trailers: trailers, expectedLength: head.expectedLength)
        exchange.resume(returning: response(head, body, ExchangeLifetime(outcome: .complete, sizes: sizes)))
    }

    private func response(_ head: Head, _ body: ResponseBody, _ lifetime: ExchangeLifetime) -> Response {
        var response = Response(head: head.response, body: body, request: exchange.request, exchange: lifetime)
        response.metadata.httpVersion = head.version
        return response
    }

    /// Ends the exchange before its response is complete. The data received so far is delivered.
    ///
    /// - Parameter error: the reason; `nil` if the rest of the response is not needed.
    func settle(_ error: (any Error)?, on connection: Connection) {
        if case .upgraded(let output) = upload { return settle(upgraded: output, error) }
        var done = self
        // If the head was received in this turn of the event loop, the head is not delivered yet.
        if stream == nil, error != nil, let response = done.deliver(on: connection).response { exchange.resume(returning: response) }
        guard let stream = done.stream else { return exchange.resume(throwing: error ?? CancellationError()) }
        if stream.isComplete {
            // The whole response was received before the whole request was sent. The rest of the request is never sent.
            exchange.events?.record(.end)
            return stream.lifetime.end(.complete, sizes: sizes)
        }
        _ = stream.append(&done.chunks)
        exchange.events?.record(.end, failure: error ?? CancellationError())
        stream.lifetime.end(error.map { .failed($0) } ?? .abandoned, sizes: sizes)
        stream.fail(error ?? CancellationError())
    }

    // MARK: - Another protocol

    /// Changes to another protocol. The deadline and the limits end, because both apply only to HTTP.
    mutating func upgrade(_ head: Head, _ input: ExchangeBodySource, _ output: UpgradedOutput) {
        (deadline, limit) = (nil, nil)
        (self.head, stream, upload) = (head, input, .upgraded(output))
    }

    // MARK: - Times

    /// Starts the limit of a phase, if the time of the phase is limited.
    mutating func enter(_ kind: PhaseTimeouts.Limit) { limit = PhaseLimit(kind, of: exchange.limits) }

    /// Ends the limit of the current phase.
    mutating func endLimit() { limit = nil }

    /// The deadline, or the end of a limit, whichever comes first.
    var due: NIODeadline {
        let due = min(deadline ?? .distantFuture, continueDue ?? .distantFuture, rest?.due ?? .distantFuture)
        guard exchange.limits != nil else { return due }
        return min(due, limit?.due ?? .distantFuture, writeLimit?.due ?? .distantFuture)
    }

    /// Returns the failure for the deadline or limit that has passed at `now`; `nil` if neither has passed.
    mutating func timeout(at now: NIODeadline, _ position: ExchangePosition?) -> TransportError? {
        let phase = position?.phase ?? .response
        let delivery = position?.delivery ?? .unknown
        if let deadline, deadline <= now {
            return exchange.deadlinePassed(phase, response: head?.response, delivery: delivery)
        }
        if let limit, limit.due <= now {
            // After the head was received, the limit applies only while a reader waits.
            let since = head == nil ? nil : stream?.waitingSince ?? now
            if since.map({ $0 + limit.duration.timeAmount <= now }) ?? true {
                return exchange.limitPassed(limit, phase, response: head?.response, delivery: delivery)
            }
            self.limit?.due = (since ?? now) + limit.duration.timeAmount
        }
        if let writeLimit, writeLimit.due <= now {
            return exchange.limitPassed(writeLimit, .send, response: head?.response, delivery: delivery)
        }
        return nil
    }

    // MARK: - Failures

    func failure(
        _ code: TransportError.Code, at position: ExchangePosition?, message: String = "", underlying: (any Error)? = nil
    ) -> TransportError {
        exchange.failure(
            code, phase: position?.phase ?? .response, message: message, underlying: underlying, response: head?.response,
            delivery: position?.delivery ?? .unknown)
    }

    /// Returns the failure of an exchange whose request body could not be read.
    func bodyFailure(_ error: any Error, at position: ExchangePosition?) -> any Error {
        if error is CancellationError { return error }
        return exchange.failure(
            .requestBody, phase: .send, message: FailureText.of(error), underlying: error, response: head?.response,
            delivery: position?.delivery ?? .unknown)
    }
}
#endif
