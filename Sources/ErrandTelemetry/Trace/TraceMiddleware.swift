#if Telemetry
public import ErrandCore
public import Tracing

/// Creates a span for each attempt, according to OpenTelemetry's conventions for HTTP clients, and sends its context, through
/// swift-distributed-tracing.
///
/// **Place:** next to the transport, inside `retry`, `redirect`, the cache and the limits: each attempt has its own span and context,
/// decided after each redirect. `HTTPStack.default` contains `redirect`, so begin with `HTTPStack.bare`. For a span around the whole call,
/// see ``TraceCallMiddleware``.
///
/// ```swift
/// let stack = HTTPStack.bare.metrics().trace().redirect().retry().log(to: logger).traceCall()
/// // A span, for example:
/// // GET /users/{id}, client, 84 ms, http.request.method=GET server.address=a.example server.port=443
/// //   url.full=https://a.example/users/7 url.template=/users/{id} http.response.status_code=200
/// ```
///
/// **The span** is a child of the caller's span, and its kind is `client`. Its name is `GET /users/{id}`: the method, and the template of a
/// typed endpoint if there is one (`request.options.urlTemplate`), never the path. It ends when the exchange ends on the wire: with the
/// last byte of the response, or when the response is abandoned; for a change of protocol, with the head. In a typed call, the attempt
/// whose response is decoded ends after decoding.
///
/// **Attributes:** `http.request.method` (`_OTHER` for an unknown method, with `http.request.method_original`), `server.address`,
/// `server.port`, `url.full` (without secrets), `url.template`, `http.request.resend_count` for a request that is sent again,
/// `http.response.status_code`, `network.protocol.version`, `error.type`; and as in logs, `errand.request.id`, `errand.request.number`, and
/// `errand.tag.NAME` for each of `request.options.tags`. `network.protocol.name` is always `http`, and is left out. ``TraceOptions`` lists
/// the optional ones.
///
/// **Errors:** a status that the request's own rule refuses (of `validateStatus`, wherever it is in the stack), or a status from 400 if
/// there is no rule, with its number as `error.type`; a failure, including one in the body or in decoding, with `timeout`, another code of
/// ``TransportError`` in snake case (`cannot_connect`, `connection_lost`), or the name of its type. An attempt that its caller cancelled,
/// and a response that was abandoned, are not errors.
///
/// **Context:** the tracer injects the fields that it knows, such as `traceparent`. They replace the caller's own fields of the same name,
/// and a `tracestate` that belongs to another `traceparent`. If a tracer injects nothing, the caller's fields stay unchanged.
///
/// **Per request:** `request.options.trace = .off`, or `.use(TraceOptions(bodySizes: true))`.
public struct TraceMiddleware: HTTPMiddleware {
    private let tracer: (any Tracer)?
    private let options: TraceOptions

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - tracer: creates the spans; `nil`, the default, is `InstrumentationSystem.tracer` when a request is sent.
    ///   - options: the optional attributes; none by default.
    public init(tracer: (any Tracer)? = nil, options: TraceOptions = .standard) { (self.tracer, self.options) = (tracer, options) }

    public var place: MiddlewarePlace? { .trace }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the span would not know the server"),
            .inside(.retry, because: "what is sent again would have one span for all"),
            .inside(.redirect, because: "what is sent again would have one span for all"),
            .inside(.authenticate, because: "what is sent again would have one span for all"),
            .inside(.cache, because: "a hit would pass for a request"),
            .inside(.coalesce, because: "a shared exchange would have several spans"),
        ]
    }

    public var label: String { "trace" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let options = request.options.trace.resolved(options) else { return try await next.send(request) }
        let tracer = tracer ?? InstrumentationSystem.tracer
        // The default tracer of the system, if the app has set none.
        if tracer is NoOpTracer { return try await next.send(request) }
        return try await send(request, to: next, by: tracer, options)
    }

    private func send(
        _ request: Request, to next: some HTTPSender, by tracer: some Tracer, _ options: TraceOptions
    ) async throws -> Response {
        let span = RequestSpan(of: request, by: tracer, options, isAttempt: true)
        var traced = request
        traced.inject(span.context, by: tracer, baggage: options.baggage)
        return try await span.send(traced, to: next)
    }
}

extension HTTPSender {
    /// Creates a span for each attempt, and sends its context. See ``TraceMiddleware``.
    public func trace(tracer: (any Tracer)? = nil, options: TraceOptions = .standard) -> HTTPStack {
        wrapped(by: TraceMiddleware(tracer: tracer, options: options))
    }
}
#endif
