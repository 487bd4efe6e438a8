#if Telemetry
public import ErrandCore
public import Tracing

/// Creates a span for each attempt according to OpenTelemetry's conventions for HTTP clients, and sends the span's context with the
/// request. The middleware uses swift-distributed-tracing.
///
/// **Place:** next to the transport, inside `retry`, `redirect`, the cache and the limits. At this place, each attempt and each hop of a
/// redirect has its own span and its own context. `HTTPStack.default` puts the middleware at this position, regardless of where you write
/// `trace`. Around a transport and `HTTPStack.bare`, write `trace` before `redirect` and `retry`. For a span around the whole call, see
/// ``TraceCallMiddleware``.
///
/// ```swift
/// let stack = HTTPStack.bare.metrics().trace().redirect().retry().log(to: logger).traceCall()
/// // A span, for example:
/// // GET /users/{id}, client, 84 ms, http.request.method=GET server.address=a.example server.port=443
/// //   url.full=https://a.example/users/7 url.template=/users/{id} http.response.status_code=200
/// ```
///
/// **The span** is a child of the caller's span and has the kind `client`. The name of the span is the method and the template of a typed
/// endpoint, such as `GET /users/{id}` (`request.options.urlTemplate`). Without a template, the name is only the method. For an unknown
/// method, the name has `HTTP` in place of the method. The name never contains the path. The span ends when the exchange ends on the wire:
/// with the last byte of the response, or when the response is abandoned. For a protocol upgrade, the span ends with the head. In a typed
/// call, the attempt whose response is decoded ends after decoding.
///
/// **Attributes:**
/// - `http.request.method`. For an unknown method, the value is `_OTHER`, and `http.request.method_original` has the method.
/// - `server.address`, `server.port`, `url.full` (without secrets), `url.template`
/// - `http.request.resend_count` for a request that is sent again
/// - `http.response.status_code`, `network.protocol.version`, `error.type`
/// - as in logs, `errand.request.id`, `errand.request.number`, and `errand.tag.NAME` for each of `request.options.tags`
///
/// `network.protocol.name` is not an attribute, because it would always be `http`. For optional attributes, see ``TraceOptions``.
///
/// **Errors:** a status is an error if the request's own rule rejects the status (`validateStatus`, at any place). Without a rule, a
/// status code of at least 400 is an error. For a status, `error.type` is the status code. A failure is also an error, even if the
/// failure happens while the body is read or decoded. For a failure, `error.type` is `timeout`, another code of
/// ``/ErrandCore/TransportError`` in snake case (`cannot_connect`, `connection_lost`), or the name of the error's type. An attempt that
/// its caller cancelled, or a response that was abandoned, is not an error.
///
/// **Context:** the tracer adds the header fields that it defines, such as `traceparent`. The added fields replace the caller's fields
/// of the same name, and a `tracestate` that belongs to another `traceparent`. A tracer that adds nothing leaves the caller's fields
/// unchanged.
///
/// **Per request:** set `request.options.trace` to `.off`, or to a value such as `.use(TraceOptions(recordsBodySizes: true))`.
public struct TraceMiddleware: HTTPMiddleware {
    private let tracer: (any Tracer)?
    private let options: TraceOptions

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - tracer: the tracer; `nil`, the default: `InstrumentationSystem.tracer` at the time of each request.
    ///   - options: the optional attributes, and the servers to which baggage is sent. Default: ``TraceOptions/standard``.
    public init(tracer: (any Tracer)? = nil, options: TraceOptions = .standard) { (self.tracer, self.options) = (tracer, options) }

    public var place: MiddlewarePlace { .trace }
    /// False, because a prepared request does not pass this middleware.
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the span would not contain the server"),
            .inside(.retry, because: "all attempts would share one span"),
            .inside(.redirect, because: "all attempts would share one span"),
            .inside(.authenticate, because: "all attempts would share one span"),
            .inside(.cache, because: "a cache hit would be recorded as a request"),
            .inside(.coalesce, because: "a shared exchange would have several spans"),
        ]
    }

    public var label: String { "trace" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let options = request.options.trace.resolved(options) else { return try await next.send(request) }
        let tracer = tracer ?? InstrumentationSystem.tracer
        // If the app has set no tracer, the system's tracer is a `NoOpTracer`.
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
    /// Creates a span for each attempt, and sends the span's context with the request. See ``TraceMiddleware``.
    ///
    /// ```swift
    /// HTTPStack.bare.trace().redirect().retry()
    /// ```
    ///
    /// - Parameters:
    ///   - tracer: the tracer; `nil`, the default: `InstrumentationSystem.tracer` at the time of each request.
    ///   - options: the optional attributes, and the servers to which baggage is sent.
    public func trace(tracer: (any Tracer)? = nil, options: TraceOptions = .standard) -> HTTPStack {
        wrapped(by: TraceMiddleware(tracer: tracer, options: options))
    }
}
#endif
