#if Telemetry
public import ErrandCore
public import Tracing

/// Makes a span of each attempt, by OpenTelemetry's conventions for HTTP clients, and sends its context along, through
/// swift-distributed-tracing.
///
/// **Place:** just around the transport, inside `retry`, `redirect`, the cache and the limits: each attempt has a span and a context of its
/// own, decided after each redirect. `HTTPStack.default` follows redirects by itself, so begin with `HTTPStack.bare`. For a span around the
/// whole call, see ``TraceCallMiddleware``.
///
/// ```swift
/// let stack = HTTPStack.bare.metrics().trace().redirect().retry().log(to: logger).traceCall()
/// ```
///
/// **The span** is a child of the caller's, of the kind `client`, and its name is `GET /users/{id}`: the method, and the template of a
/// typed endpoint if there is one (`request.options.urlTemplate`), never the path. It ends when the exchange ends on the wire: with the
/// last byte of the response, or when the response is given up; for a change of protocol, with the head. Of a typed call, the attempt whose
/// response is decoded ends when that is done.
///
/// Attributes: `http.request.method` (`_OTHER` for an unknown one, with `http.request.method_original`), `server.address`, `server.port`,
/// `url.full` (without secrets), `url.template`, `http.request.resend_count` for whatever is sent again, `http.response.status_code`,
/// `network.protocol.version`, `error.type`; and as in logs, `errand.request.id`, `errand.request.number`, and `errand.tag.NAME` for each
/// of `request.options.tags`. `network.protocol.name` is always `http`, and therefore left out. On demand, ``TraceOptions``.
///
/// **Errors:** a status that the request's own rule refuses (`validateStatus`, wherever it stands), or one from 400 up where there is no
/// rule, with its number as `error.type`; a failure, also one that breaks the body off or that decoding meets, with `timeout`, another
/// code of ``TransportError`` in snake case (`cannot_connect`, `connection_lost`), or the name of its type. An attempt that its caller
/// cancelled, or a response that was given up, is no error.
///
/// **Context:** the tracer injects the fields that it knows, such as `traceparent`. They replace the caller's own of the same name, and a
/// `tracestate` that belonged to another `traceparent`. A tracer that injects nothing leaves the caller's fields as they are.
///
/// **Per request:** `request.options.trace = .off`, or `.use(TraceOptions(bodySizes: true))`.
public struct TraceMiddleware: HTTPMiddleware {
    private let tracer: (any Tracer)?
    private let options: TraceOptions

    /// - Parameter tracer: nil, the default, stands for `InstrumentationSystem.tracer` as it is when a request is sent.
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
        // The system's, where the app has set none.
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
    /// Makes a span of each attempt, and sends its context along. See ``TraceMiddleware``.
    public func trace(tracer: (any Tracer)? = nil, options: TraceOptions = .standard) -> HTTPStack {
        wrapped(by: TraceMiddleware(tracer: tracer, options: options))
    }
}
#endif
