internal import Synchronization

extension HTTPStack {
    /// Returns the request as the transport would get it, without sending it.
    ///
    /// ```swift
    /// let request = try Request(.get, "/users", query: ["page": 2])
    /// print(try await stack.prepared(request).curl())
    /// // curl -X GET --path-as-is --globoff 'https://api.example/users?page=2' -H 'Accept: application/json' …
    /// ```
    ///
    /// The request goes through the layers that take part in preparing (``HTTPMiddleware/takesPartInPreparing``): `server`, `transformRequest`, `retry`
    /// (which may attach an `Idempotency-Key`), `timeout`, and middleware of your own. A layer that gets a token or another value for the request
    /// gets it now.
    ///
    /// It goes past the layers that record, wait, store or share: `log`, `events`, `profile`, `metrics`, `trace`, `traceCall`, `number`, `cache`,
    /// `coalesce`, `hedge`, `circuitBreaker`, `rateLimit`, `concurrencyLimit`, `delay`, `fallback` (the first way counts) and `record`. They record
    /// nothing, and nothing is taken from a limit. So a field that such a layer adds, the `traceparent` of `trace`, is missing, and so is what the
    /// transport adds by itself, such as `Host`.
    ///
    /// To a middleware, the exchange looks as if the call had been cancelled after the request left. The body of the request is not read. Another
    /// request that a middleware makes and sends, to get a token, for example, is sent, and so is a request that it sends to another sender than
    /// `next`. Copies keep the identity of the request. The first one that reaches the transport is returned.
    ///
    /// To send the call afterwards, send the original request: the layers would change a prepared one twice. The prepared request has the deadline
    /// and the event sink of the original.
    ///
    /// - Returns: the request as it reaches the transport, or a sender of your own that stands in its place.
    /// - Throws: ``InvalidURLError`` and ``UnservedOptionError`` as ``send(_:)`` does; ``PreparationError`` if a middleware returns a response of its
    ///   own instead of passing the request on; `CancellationError`; and what a middleware throws.
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

/// A middleware returned a response of its own, so the request never reached the transport: ``HTTPStack/prepared(_:)`` has nothing to return.
public struct PreparationError: RequestFailure {
    public var request: Request?
    public var attempts: [AttemptRecord] = []

    /// The request was being built.
    public var phase: ExchangePhase { .request }
    /// Nothing was sent.
    public var delivery: Delivery { attempts.delivery }

    init(request: Request) { self.request = request }

    public var description: String {
        "\(request.map { "\($0): " } ?? "")the request cannot be prepared: a middleware returned a response of its own and did not pass the "
            + "request on; send the request, or prepare it without that middleware (not sent)"
    }

    /// A sentence for people.
    public var errorDescription: String? { "The request to \(shownServer) cannot be shown before it is sent." }
    public var failureReason: String? { "A middleware returned a response of its own and did not pass the request on." }
}

/// Keeps the request that reaches the end of a stack while it is prepared.
final class Preparation: Sendable {
    /// The identity of the request that is prepared: a middleware may send others.
    let id: RequestID
    private let kept = Mutex<Request?>(nil)

    init(of id: RequestID) { self.id = id }

    /// The first request that was kept; `nil` before that.
    var request: Request? { kept.withLock { $0 } }

    func keep(_ request: Request) { kept.withLock { if $0 == nil { $0 = request } } }
}

/// A middleware that the request that is prepared goes past. Others pass it.
struct Bypassed<Middleware: HTTPMiddleware>: HTTPMiddleware {
    let middleware: Middleware
    let id: RequestID

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        request.id == id ? try await next.send(request) : try await middleware.send(request, to: next)
    }
}

/// Keeps the request that is prepared, in place of a transport or of a sender; sends any other.
struct PreparationEnd: HTTPSender {
    private let preparation: Preparation
    private let sender: any HTTPSender
    private let isTransport: Bool

    init(_ preparation: Preparation, at sender: any HTTPSender, isTransport: Bool) {
        (self.preparation, self.sender, self.isTransport) = (preparation, sender, isTransport)
    }

    /// - Throws: `CancellationError` for the request that is prepared: layers neither repair nor record a call that was cancelled.
    func send(_ request: Request) async throws -> Response {
        guard request.id == preparation.id else { return try await sender.send(request) }
        try Task.checkCancellation()
        var request = request
        if isTransport { try request.completeForTransport() }
        preparation.keep(request)
        throw CancellationError()
    }
}
