#if NIO
internal import ErrandCore
internal import NIOCore

/// An exchange that a connection has begun: what was sent and received of it, and until when. A value of the connection's handler, in every
/// version of HTTP.
///
/// A sink of events may end the exchange from within, and so does a response that nobody keeps. Therefore no method reports an event or
/// drops a response while it changes the value in place: the handler calls ``reportSent()`` and ``reportReceived()`` on a copy, resumes the
/// exchange after ``deliver(on:)``, and takes the value out before it calls ``complete(_:)`` or ``settle(_:on:)``.
struct ActiveExchange {
    /// The head of the final response.
    struct Head {
        let response: HTTPResponse
        /// The version of HTTP: `1.1`.
        let version: String
        /// The length of the body, if it is known before its end.
        let expectedLength: Int64?
    }

    let exchange: Exchange
    /// The attempt at the exchange.
    let attempt: AttemptID
    /// `nil` without one, and after the protocol was changed.
    var deadline: NIODeadline?
    var upload = UploadSource.none
    /// When the body is sent although the server has not asked for it.
    var continueDue: NIODeadline?
    /// The limit of the rest of the request, whose whole response was received; `nil` before.
    var rest: RestLimit?
    /// How many bytes of the request the network had taken when `rest` was looked at last, over HTTP/1.1.
    var restProgressBytes: Int64 = 0
    var head: Head?
    /// What was received, and not given to the stream.
    private var chunks: [Data] = []
    /// The body, once the head was delivered.
    private(set) var stream: ExchangeBodySource?
    private(set) var sentBytes: Int64 = 0
    private(set) var receivedBytes: Int64 = 0
    /// The limit of the phase that the exchange is in; `nil` if there is none.
    private var limit: PhaseLimit?
    /// The limit of the writes in progress, which holds beside that of the phase: a response may begin during the upload. `nil` if
    /// there is none.
    private var writeLimit: PhaseLimit?
    /// Writes of the body that the network has not taken.
    private var pendingWrites = 0

    init(_ taken: TakenExchange, _ attempt: AttemptID) {
        (exchange, deadline, self.attempt) = (taken.exchange, taken.deadline, attempt)
    }

    var sizes: ExchangeLifetime.BodySizes { .init(requestBytes: sentBytes, responseBytes: receivedBytes) }

    // MARK: - The request

    mutating func countSent(_ count: Int) { sentBytes += Int64(count) }

    func reportSent() { exchange.events?.record(.requestBytesSent, bytes: sentBytes) }

    /// Takes the rest of the body out, which is not wanted any more. The caller ends it by ``UploadSource/stop()``.
    mutating func takeUpload() -> UploadSource {
        defer { (upload, writeLimit, continueDue, rest) = (.none, nil, nil, nil) }
        return upload
    }

    /// A piece of the body is written; how long the network may take for the next progress is limited.
    mutating func writeBegins(limit: Duration) {
        pendingWrites += 1
        if pendingWrites == 1 { writeLimit = PhaseLimit("idleWrite", limit) }
    }

    /// The network has taken a piece.
    mutating func writeEnds(limit: Duration) {
        // There is no limit when the rest of the request is not wanted.
        guard writeLimit != nil else { return }
        pendingWrites -= 1
        writeLimit = pendingWrites == 0 ? nil : PhaseLimit("idleWrite", limit)
    }

    // MARK: - The response

    /// Keeps a part of the body, until ``deliver(on:)``. Small parts are joined.
    mutating func receive(_ data: Data) {
        receivedBytes += Int64(data.count)
        if let last = chunks.indices.last, chunks[last].count + data.count <= 16 * 1024 {
            chunks[last].append(data)
        } else {
            chunks.append(data)
        }
    }

    func reportReceived() { exchange.events?.record(.responseBytesReceived, bytes: receivedBytes) }

    /// Gives the stream of the body what was received, if the head was received.
    ///
    /// - Returns: the response to resume the exchange with, the first time; and whether the connection must wait before it receives more.
    mutating func deliver(on connection: Connection) -> (response: Response?, mustWait: Bool) {
        guard let head else { return (nil, false) }
        enter("idleRead", exchange.limits?.idleRead)
        if let stream { return (nil, stream.append(&chunks)) }
        let stream = ExchangeBodySource(exchange, attempt, on: connection)
        self.stream = stream
        let mustWait = stream.append(&chunks)
        let body = ResponseBody(stream, expectedLength: head.expectedLength, request: exchange.request)
        return (response(head, body, stream.lifetime), mustWait)
    }

    /// The response is complete, and the exchange is over.
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

    /// The exchange has ended before its response was complete. What was received before is delivered.
    ///
    /// - Parameter error: `nil` if the rest of the response is not wanted.
    func settle(_ error: (any Error)?, on connection: Connection) {
        if case .upgraded(let output) = upload { return settle(upgraded: output, error) }
        var done = self
        // The head may have been received in the same turn.
        if stream == nil, error != nil, let response = done.deliver(on: connection).response { exchange.resume(returning: response) }
        guard let stream = done.stream else { return exchange.resume(throwing: error ?? CancellationError()) }
        if stream.isComplete {
            // Only the rest of the request was not sent, which the server did not want to wait for.
            exchange.events?.record(.end)
            return stream.lifetime.end(.complete, sizes: sizes)
        }
        _ = stream.append(&done.chunks)
        exchange.events?.record(.end, failure: error ?? CancellationError())
        stream.lifetime.end(error.map { .failed($0) } ?? .abandoned, sizes: sizes)
        stream.fail(error ?? CancellationError())
    }

    // MARK: - Another protocol

    /// The protocol was changed: the deadline and the limits were those of HTTP.
    mutating func upgrade(_ head: Head, _ input: ExchangeBodySource, _ output: UpgradedOutput) {
        (deadline, limit) = (nil, nil)
        (self.head, stream, upload) = (head, input, .upgraded(output))
    }

    // MARK: - Times

    /// The exchange enters a phase.
    ///
    /// - Parameter duration: `nil`: its time is not limited.
    mutating func enter(_ name: String, _ duration: Duration?) { limit = PhaseLimit(name, duration) }

    /// The phase is over.
    mutating func endLimit() { limit = nil }

    /// When the first of its times is over.
    var due: NIODeadline {
        let due = min(deadline ?? .distantFuture, continueDue ?? .distantFuture, rest?.due ?? .distantFuture)
        guard exchange.limits != nil else { return due }
        return min(due, limit?.due ?? .distantFuture, writeLimit?.due ?? .distantFuture)
    }

    /// Returns the failure of the time that is over at `now`; `nil` if none is.
    mutating func timeout(at now: NIODeadline, _ position: ExchangePosition?) -> TransportError? {
        let phase = position?.phase ?? .response
        let delivery = position?.delivery ?? .unknown
        if let deadline, deadline <= now {
            return exchange.deadlinePassed(phase, response: head?.response, delivery: delivery)
        }
        if let limit, limit.due <= now {
            // A reader that does not wait has all the time it wants.
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

    /// The body of the request could not be read.
    func bodyFailure(_ error: any Error, at position: ExchangePosition?) -> any Error {
        if error is CancellationError { return error }
        return exchange.failure(
            .requestBody, phase: .send, message: FailureText.of(error), underlying: error, response: head?.response,
            delivery: position?.delivery ?? .unknown)
    }
}
#endif
