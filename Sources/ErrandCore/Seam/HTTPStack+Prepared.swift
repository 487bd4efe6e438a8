internal import Synchronization

extension HTTPStack {
    /// Returns the request that the transport would get, but does not send the request.
    ///
    /// ```swift
    /// let request = try Request(.get, "/users", query: ["page": 2])
    /// print(try await stack.prepared(request).curl())
    /// // curl -X GET --path-as-is --globoff 'https://api.example/users?page=2' -H 'Accept: application/json' …
    /// ```
    ///
    /// The request goes through the layers that apply to prepared requests (``HTTPMiddleware/appliesToPreparedRequests``). Examples are
    /// `server`, `transformRequest`, `authenticate`, `retry` (which may attach an `Idempotency-Key`), and middleware of your own. If a
    /// layer fetches a token or another value for each request, the layer also fetches the value for a prepared request.
    ///
    /// The request bypasses these layers: `log`, `events`, `profile`, `metrics`, `trace`, `traceCall`, `number`, `cache`, `coalesce`,
    /// `hedge`, `circuitBreaker`, `rateLimit`, `waitForNetwork`, `concurrencyLimit`, `delay`, `fallback` (its first sender is used) and
    /// `record`. These layers record nothing, and the request uses up no limit. The fields of these layers are missing, such as the
    /// `traceparent` of `trace`. The fields of the transport, such as `Host`, are missing too.
    ///
    /// To a middleware, the exchange looks like a call that is cancelled after the request was sent. The body of the request is
    /// not read. If a middleware makes another request, for example for a token, the other request is sent. If a middleware sends the
    /// request to a sender other than `next`, that sender gets the request. If a middleware sends several copies of the request, the first
    /// copy that reaches the transport is returned.
    ///
    /// To send the call later, send the original request. The layers would change a prepared request a second time. The prepared request
    /// has the deadline and the event sink of the original request.
    ///
    /// - Returns: the request as it reaches the innermost sender, usually the transport.
    /// - Throws: ``InvalidURLError`` and ``UnsupportedOptionError``, as ``send(_:)`` does; `CancellationError`; any error of a
    ///   middleware. ``PreparationError`` if a middleware returns a response without passing the request on.
    @concurrent public func prepared(_ request: Request) async throws -> Request {
        try Task.checkCancellation()
        let preparation = Preparation(of: request.id)
        var entered = try entering(request)
        entered.options.eventSink = nil
        do {
            let response = try await preparing(preparation).send(entered)
            response.discard()
        } catch {
            if preparation.request == nil { throw error.restoringCall(of: request) }
        }
        guard var prepared = preparation.request else { throw PreparationError(request: request) }
        prepared.restoreCall(of: request)
        return prepared
    }
}

/// The error of ``HTTPStack/prepared(_:)`` if a middleware returns its own response, so that the request never reaches the transport.
public struct PreparationError: RequestFailure, NumberedFailure {
    public var request: Request?
    public var attempts: [AttemptRecord] = []

    /// The phase is ``ExchangePhase/request``: the error is thrown before anything is sent.
    public var phase: ExchangePhase { .request }
    /// Nothing was sent.
    public var delivery: Delivery { attempts.delivery }

    init(request: Request) { self.request = request }

    public var description: String {
        "\(shownRequest)the request cannot be prepared: a middleware returned a response and "
            + "did not pass the request on; send the request, or prepare it without that middleware (not sent)"
    }

    public var failureNumber: FailureNumber { .preparation }
    public var failureReason: String? { "A middleware returned a response and did not pass the request on." }
}

/// A store for the prepared request that reaches the end of a stack.
final class Preparation: Sendable {
    /// The ID of the prepared request. A middleware may also send other requests, which have other IDs.
    let id: RequestID
    private let kept = Mutex<Request?>(nil)

    init(of id: RequestID) { self.id = id }

    /// The first stored request; `nil` if no request was stored yet.
    var request: Request? { kept.withLock { $0 } }

    func keep(_ request: Request) { kept.withLock { if $0 == nil { $0 = request } } }
}

/// A middleware that the prepared request bypasses. Other requests go through the middleware.
struct Bypassed<Middleware: HTTPMiddleware>: HTTPMiddleware {
    let middleware: Middleware
    let id: RequestID

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        request.id == id ? try await next.send(request) : try await middleware.send(request, to: next)
    }
}

/// The sender that replaces a transport, or another sender, while a request is prepared. It stores the prepared request, and passes all
/// other requests to the replaced sender.
struct PreparationEnd: HTTPSender {
    private let preparation: Preparation
    private let sender: any HTTPSender
    private let isTransport: Bool

    init(_ preparation: Preparation, at sender: any HTTPSender, isTransport: Bool) {
        (self.preparation, self.sender, self.isTransport) = (preparation, sender, isTransport)
    }

    /// Stores the request if it is the prepared request. Sends any other request.
    ///
    /// - Throws: `CancellationError` for the prepared request, because no layer handles or records a cancelled call as a failure.
    func send(_ request: Request) async throws -> Response {
        guard request.id == preparation.id else { return try await sender.send(request) }
        try Task.checkCancellation()
        var request = request
        if isTransport { try request.completeForTransport() }
        preparation.keep(request)
        throw CancellationError()
    }
}
