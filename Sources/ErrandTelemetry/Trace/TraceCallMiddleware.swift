#if Telemetry
public import ErrandCore
public import Tracing

/// Makes a span of each call, around all its attempts and the waits between them.
///
/// **Place:** outside `retry` and `timeout`, and outside `log`, whose lines then carry the span where the logger asks the tracer for it.
/// With ``TraceMiddleware`` inside, the attempts are its children. It sends nothing along by itself.
///
/// The span is of the kind `internal`, as the conventions want no HTTP span around those of the attempts. Its name, its end and what is an
/// error are as there. Attributes: `http.request.method`, `url.template`, `http.response.status_code`, `error.type`, `errand.request.id`,
/// `errand.request.number`, `errand.tag.NAME`.
///
/// **Per request:** `request.options.trace = .off`.
public struct TraceCallMiddleware: HTTPMiddleware {
    private let tracer: (any Tracer)?

    /// - Parameter tracer: nil, the default, stands for `InstrumentationSystem.tracer` as it is when a request is sent.
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
    /// Makes a span of each call. See ``TraceCallMiddleware``.
    public func traceCall(tracer: (any Tracer)? = nil) -> HTTPStack { wrapped(by: TraceCallMiddleware(tracer: tracer)) }
}
#endif
