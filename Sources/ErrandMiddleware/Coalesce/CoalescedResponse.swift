public import ErrandCore

/// A caller's request, and the time that remained until the deadline when the request reached this layer.
struct Caller: Sendable {
    var request: Request
    /// The head of the response; `nil` before the head arrives.
    var head: HTTPResponse?
    private let before: Duration?

    init(_ request: Request) { (self.request, before) = (request, request.deadline?.remaining) }

    /// - Throws: ``/ErrandCore/TransportError`` if the deadline has passed.
    func checkDeadline(_ phase: ExchangePhase, _ delivery: Delivery) throws {
        guard let deadline = request.deadline, deadline.hasPassed else { return }
        throw deadline.timeoutError(in: phase, since: before, request: request, response: head, delivery: delivery)
    }

    /// Returns the result of `operation`, if `operation` ends before the deadline.
    func race<Result: Sendable>(
        _ phase: ExchangePhase, _ delivery: Delivery, late: @escaping @Sendable (Result) -> Void = { _ in },
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await request.withinDeadline(
            phase, delivery: delivery, since: before, response: head, discard: late, operation: operation)
    }
}

/// A caller's membership in a shared exchange.
struct SharedSeat: Sendable {
    let exchange: SharedExchange
    let member: Int
    /// Whether this caller has started the exchange.
    let isFirst: Bool

    /// Waits for the caller's own response.
    ///
    /// - Throws: the failure of the exchange; ``CancelledBelowError``; ``SlowReaderError``; ``/ErrandCore/TransportError`` if the caller's
    ///   deadline passes; `CancellationError` when the task is cancelled.
    func response(to caller: Caller) async throws -> Response {
        let shared: Response
        let lifetime: ExchangeLifetime
        do {
            (shared, lifetime) = try await caller.race(.response, .unknown, late: { _ in leave(.abandoned) }) {
                try await exchange.response(for: member)
            }
        } catch {
            throw callersError(error, caller.request)
        }
        let request = callersRequest(shared.request, caller.request)
        let body: ResponseBody
        if let data = shared.body.bufferedData {
            body = ResponseBody(data, trailers: shared.body.bufferedTrailers)
            shared.body.countAsRead()
            shared.exchange.onEnd { lifetime.end($0) }
            leave(nil)
        } else {
            var caller = caller
            (caller.request, caller.head) = (request, shared.head)
            body = ResponseBody(BodyView(self, caller), expectedLength: shared.body.expectedLength, request: request)
        }
        var response = Response(head: shared.head, body: body, request: request, exchange: lifetime)
        response.metadata = shared.metadata
        if !isFirst { response.metadata.coalescedInto = exchange.sent }
        if shared.head.status.code >= 400 { response.metadata.sharedRetry = exchange.retry }
        return response
    }

    func leave(_ end: ExchangeLifetime.Outcome?) { exchange.leave(member, end) }

    /// Returns the caller's own request. If an inner layer sent the request to another URL, the returned request has that URL.
    private func callersRequest(_ sent: Request, _ request: Request) -> Request {
        if isFirst {
            // The shared exchange has no deadline, because each caller has its own deadline.
            var sent = sent
            sent.deadline = request.deadline
            return sent
        }
        var own = request
        let isElsewhere =
            sent.head.method != own.head.method || sent.head.path != own.head.path || sent.head.authority != own.head.authority
            || sent.head.scheme != own.head.scheme
        if isElsewhere { (own.head, own.body) = (sent.head, sent.body) }
        return own
    }

    /// Returns the failure. If the error is a ``/ErrandCore/RequestFailure``, the returned failure has the caller's own request.
    fileprivate func callersError(_ error: any Error, _ request: Request) -> any Error {
        if error is CancellationError, !isFirst, !Task.isCancelled { return CancelledBelowError() }
        guard var failure = error as? any RequestFailure else { return error }
        failure.request = failure.request.map { callersRequest($0, request) } ?? request
        if error is TransportError { failure.request?.options.sharedRetry = exchange.retry }
        return failure
    }
}

/// The error that callers get if an inner layer has cancelled their shared exchange. The first caller gets a `CancellationError` instead of
/// this error.
struct CancelledBelowError: Error {
    func failure(of request: Request, _ phase: ExchangePhase) -> TransportError {
        TransportError(
            .connectionLost, phase: phase, message: "the shared exchange was cancelled", underlying: CancellationError(), request: request,
            delivery: phase == .body ? .sent : .unknown)
    }
}

/// One caller's view of a shared body.
private final class BodyView: BodySource {
    private let seat: SharedSeat
    private let caller: Caller

    init(_ seat: SharedSeat, _ caller: Caller) { (self.seat, self.caller) = (seat, caller) }

    var trailers: HTTPFields? { seat.exchange.trailers }

    func next() async throws -> Data? {
        do {
            guard caller.request.deadline != nil else { return try await seat.exchange.next(for: seat.member) }
            try caller.checkDeadline(.body, .sent)
            // A buffered chunk is taken directly, because a wait with a deadline costs more.
            if let chunk = seat.exchange.takeBufferedChunk(for: seat.member) { return chunk }
            return try await caller.race(.body, .sent) { [seat] in try await seat.exchange.next(for: seat.member) }
        } catch {
            seat.leave(error is CancellationError ? .abandoned : .failed(error))
            let error = seat.callersError(error, caller.request)
            throw (error as? CancelledBelowError)?.failure(of: caller.request, .body) ?? error
        }
    }

    func abandon() { seat.leave(.abandoned) }
    func fail(with error: any Error) { seat.leave(.failed(error)) }
}

/// The error of a caller that read a shared body too slowly. The buffer for this caller would have exceeded the limit. The other callers
/// continue.
public struct SlowReaderError: RequestFailure, NumberedFailure {
    /// The largest number of bytes that is buffered for one caller.
    public let limitBytes: Int
    /// The caller's request.
    public var request: Request?
    /// The head of the response whose body was read.
    public let response: HTTPResponse?
    /// The earlier attempts of the call; empty if the stack has no `retry`.
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .body }
    public var delivery: Delivery { .sent }

    init(limitBytes: Int, request: Request?, response: HTTPResponse?) {
        (self.limitBytes, self.request, self.response) = (limitBytes, request, response)
    }

    public var description: String {
        "\(shownRequest)another caller reads the shared body faster than this caller, and more than \(limitBytes.counted("byte")) "
            + "are waiting; read the body without pauses, or set request.options.coalesce to off (sent)" + shownAttempts
    }

    public var failureNumber: FailureNumber { .slowReader }
    public var failureReason: String? {
        "Another caller reads the shared body faster: more than \(limitBytes.counted("byte")) would have to be kept."
    }
    public var recoverySuggestion: String? { "Try again." }
}
