#if Telemetry
public import ErrandCore
public import Tracing

/// Creates a span for each call, around all its attempts and the waits between them.
///
/// ```swift
/// let stack = HTTPStack.bare.trace().redirect().retry().log(to: logger).traceCall()
/// // GET /users/{id}         internal   http.response.status_code=200
/// //   GET /users/{id}       client     http.response.status_code=503
/// //   GET /users/{id}       client     http.response.status_code=200 http.request.resend_count=1
/// ```
///
/// **Place:** outside `retry`, `timeout` and `log`. At this place, log messages contain the span, if the logger gets the span from the
/// tracer. With ``TraceMiddleware`` inside, the spans of the attempts are children of this span. This middleware does not send a context
/// itself.
///
/// The span has the kind `internal`, because the conventions define no HTTP span around the spans of the attempts. The name, the end and
/// the errors of the span follow the rules of ``TraceMiddleware``. The attributes are `http.request.method`, `url.template`,
/// `http.response.status_code`, `error.type`, `errand.request.id`, `errand.request.number`, `errand.tag.NAME`.
///
/// **Per request:** with `request.options.trace = .off`, the call has no span.
public struct TraceCallMiddleware: HTTPMiddleware {
    private let tracer: (any Tracer)?

    /// Creates the middleware.
    ///
    /// - Parameter tracer: the tracer; `nil`, the default: `InstrumentationSystem.tracer` at the time of each request.
    public init(tracer: (any Tracer)? = nil) { self.tracer = tracer }

    public var place: MiddlewarePlace { .traceCall }
    /// This middleware also obeys the options of `trace`, so the span of a call has the same options as the spans of its
    /// attempts.
    public var supportedPlaces: Set<MiddlewarePlace> { [.traceCall, .trace] }
    /// False, because a prepared request does not pass this middleware.
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.retry, because: "each attempt would be recorded as a call"),
            .outside(.trace, because: "the call's span would be a child of an attempt's span"),
        ]
    }

    public var label: String { "traceCall" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let options = request.options.trace.resolved(.standard) else { return try await next.send(request) }
        let tracer = tracer ?? InstrumentationSystem.tracer
        if tracer is NoOpTracer { return try await next.send(request) }
        return try await RequestSpan(of: request, by: tracer, options, isAttempt: false).send(request, to: next)
    }
}

extension HTTPSender {
    /// Creates a span for each call. See ``TraceCallMiddleware``.
    ///
    /// ```swift
    /// HTTPStack.bare.trace().retry().traceCall()
    /// ```
    ///
    /// - Parameter tracer: the tracer; `nil`, the default: `InstrumentationSystem.tracer` at the time of each request.
    public func traceCall(tracer: (any Tracer)? = nil) -> HTTPStack { wrapped(by: TraceCallMiddleware(tracer: tracer)) }
}
#endif
