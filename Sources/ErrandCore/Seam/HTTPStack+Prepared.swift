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
    /// The request goes through the layers that change requests: `server`, `transformRequest`, `retry` (which may attach an `Idempotency-Key`),
    /// `timeout`, and middleware of your own. A layer that gets a token or another value for the request gets it now.
    ///
    /// It goes past the layers that record, wait, store or share: `log`, `events`, `profile`, `metrics`, `trace`, `traceCall`, `number`, `cache`,
    /// `coalesce`, `hedge`, `circuitBreaker`, `rateLimit`, `concurrencyLimit`, `delay`, `fallback` (the first way counts) and `record`, and those that
    /// return false for ``HTTPMiddleware/takesPartInPreparing``. They record nothing, and nothing is taken from a limit. So a field that such a layer
    /// adds, the `traceparent` of `trace`, is missing, and so is what the transport adds by itself, such as `Host`.
    ///
    /// To a middleware, the exchange looks as if the call had been cancelled after the request left. The body of the request is not read. Another
    /// request that a middleware makes and sends, to get a token, for example, is sent. Copies keep the identity of the request. The
    /// first one that reaches the transport is returned.
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
        entered.options.call.isPreparing = true
        entered.options.preparation = preparation
        do {
            let response = try await top.send(entered)
            response.discard()
        } catch {
            if preparation.request == nil { throw error.preparedError(of: request) }
        }
        guard var prepared = preparation.request else { throw PreparationError(request: request) }
        prepared.restoreCall(of: request)
        prepared.options.restorePreparation(of: request.options)
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

extension PreparationError: CustomReflectable {
    /// The description alone: the request may hold secrets.
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}

/// Keeps the request that reaches the end of a stack while it is prepared.
package final class Preparation: Sendable {
    /// The identity of the request that is prepared: a middleware may send others with the same options.
    let id: RequestID
    private let kept = Mutex<Request?>(nil)

    init(of id: RequestID) { self.id = id }

    /// The first request that was kept; `nil` before that.
    var request: Request? { kept.withLock { $0 } }

    func keep(_ request: Request) { kept.withLock { if $0 == nil { $0 = request } } }
}

private enum PreparationKey: OptionKey {
    static var defaultValue: Preparation? { nil }
    /// No other request may share the end of a request that is not sent.
    static func identity(of value: Preparation?) -> OptionIdentity { value == nil ? .none : .unique }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// Where a request is kept while it is prepared; `nil` otherwise.
    package var preparation: Preparation? {
        get { self[PreparationKey.self] }
        set { self[PreparationKey.self] = newValue }
    }

    fileprivate mutating func restorePreparation(of outer: RequestOptions) { restore(PreparationKey.self, of: outer) }
}

extension Request {
    /// Whether the request passes the layers to be looked at, and is not sent. A request that a middleware sends in between is sent.
    var isPreparing: Bool { options.call.isPreparing && options.preparation?.id == id }

    /// Keeps the request that is prepared, at the end of its way; any other continues as if nothing were prepared.
    ///
    /// - Throws: `CancellationError` for the request that is prepared: layers neither repair nor record a call that was cancelled.
    mutating func endPreparation() throws(CancellationError) {
        if isPreparing {
            options.preparation?.keep(self)
            throw CancellationError()
        }
        options.call.isPreparing = false
        options.preparation = nil
    }
}

extension Error {
    /// The error of a preparation, without its notes.
    fileprivate func preparedError(of request: Request) -> any Error {
        guard var failure = self as? any RequestFailure, var failed = failure.request else { return self }
        failed.options.restorePreparation(of: request.options)
        failure.request = failed
        return failure.restoringCall(of: request)
    }
}

extension MiddlewarePlace {
    /// The places whose middleware records, waits, stores or shares, and changes nothing of a request that a server would see.
    static let passedWhilePreparing: Set<MiddlewarePlace> = [
        .log, .events, .profile, .metrics, .trace, .traceCall, .number, .cache, .coalesce, .hedge, .circuitBreaker, .rateLimit,
        .concurrencyLimit, .delay, .fallback,
    ]
}

/// A sender in place of a transport, which keeps a request that is prepared.
struct PreparationBoundary<Sender: HTTPSender>: HTTPSender {
    let sender: Sender

    func send(_ request: Request) async throws -> Response {
        guard request.options.call.isPreparing else { return try await sender.send(request) }
        var other = request
        try other.endPreparation()
        return try await sender.send(other)
    }
}
