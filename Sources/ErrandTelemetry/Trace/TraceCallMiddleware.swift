#if Telemetry
public import ErrandCore
public import Tracing

/// Creates a span for each call, around all its attempts and the waits between them.
///
/// ```swift
/// let stack = HTTPStack.bare.trace().redirect().retry().log(to: logger).traceCall()
/// // GET /users/{id}      internal, the call
/// //   GET /users/{id}    client, the first attempt
/// //   GET /users/{id}    client, the second attempt
/// ```
///
/// **Place:** outside `retry` and `timeout`, and outside `log`, whose lines then contain the span if the logger gets it from the tracer.
/// With ``TraceMiddleware`` inside, the spans of the attempts are its children. It does not send the context itself.
///
/// The kind of the span is `internal`, because the conventions allow no HTTP span around those of the attempts. Its name, its end and its
/// errors are those of ``TraceMiddleware``. Its attributes are `http.request.method`, `url.template`, `http.response.status_code`,
/// `error.type`, `errand.request.id`, `errand.request.number` and `errand.tag.NAME`.
///
/// **Per request:** `request.options.trace = .off`.
public struct TraceCallMiddleware: HTTPMiddleware {
    private let tracer: (any Tracer)?

    /// Creates the middleware.
    ///
    /// - Parameter tracer: creates the spans; `nil`, the default, is `InstrumentationSystem.tracer` when a request is sent.
    public init(tracer: (any Tracer)? = nil) { self.tracer = tracer }

    public var place: MiddlewarePlace? { .traceCall }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(.retry, because: "each attempt would pass for a call"),
            .outside(.trace, because: "the call's span would be within that of an attempt"),
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
    public func traceCall(tracer: (any Tracer)? = nil) -> HTTPStack { wrapped(by: TraceCallMiddleware(tracer: tracer)) }
}
#endif
