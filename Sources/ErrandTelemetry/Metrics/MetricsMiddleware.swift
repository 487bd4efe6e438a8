#if Telemetry
public import ErrandCore
public import Metrics

/// Measures each attempt according to OpenTelemetry's conventions for HTTP clients, with swift-metrics.
///
/// ```swift
/// let stack = HTTPStack.bare.metrics().redirect().retry()
/// // http.client.request.duration
/// //   http.request.method=GET server.address=a.example server.port=443
/// //   http.response.status_code=200 network.protocol.version=1.1
/// ```
///
/// **Place:** next to the transport, inside `retry`, `redirect`, the cache and the limits. At this place, each attempt is measured
/// separately, without the time in a queue. `HTTPStack.default` puts the middleware at this position, regardless of where you write
/// `metrics`. Around a transport and `HTTPStack.bare`, write `metrics` before `redirect` and `retry`.
///
/// The metrics:
///
/// - `http.client.request.duration`: a `Recorder` that aggregates, in seconds. Additional attributes: `http.response.status_code`,
///   `error.type`, `network.protocol.version`.
/// - `http.client.active_requests`: a `Meter`, in requests. Additional attribute: `url.scheme`.
/// - `http.client.request.body.size`: a `Recorder` that aggregates, in bytes. Additional attributes: `http.response.status_code`,
///   `error.type`, `network.protocol.version`.
/// - `http.client.response.body.size`: a `Recorder` that aggregates, in bytes. Additional attributes: `http.response.status_code`,
///   `error.type`, `network.protocol.version`.
/// - `http.client.open_connections`: a `Meter`, in connections. Additional attribute: `http.connection.state` (`active` or `idle`).
/// - `http.client.connection.duration`: a `Recorder` that aggregates, in seconds. Only for transports that report each closed connection.
///   Additional attributes: `network.peer.address`, `network.protocol.version`. OpenTelemetry has not declared this metric stable.
///
/// All metrics have `server.address` (an IPv6 address without brackets) and `server.port`, unless the request has no server. All except the
/// two metrics of connections have `http.request.method` (`_OTHER` for an unknown method). For optional attributes, see
/// ``Attributes-swift.struct``. For servers beyond the bounds, see below.
/// `network.protocol.name` is not an attribute, because it would always be `http`. The path is never an attribute.
///
/// **A duration** ends when the exchange ends on the wire: with the last byte of the response, or when the response is abandoned. For a
/// protocol upgrade, the duration ends with the head. A stream is measured to its end. In a typed call, the attempt whose response is
/// decoded ends after decoding.
///
/// **Sizes** are recorded for exchanges that were complete. A size is the number of encoded bytes on the wire, if the transport
/// counts the bytes or a length is declared. A body that the transport itself decodes, and a request without a body, have no size.
///
/// **`error.type`** is the status code if a `validateStatus` of the stack refuses the status. Without `validateStatus`,
/// `error.type` is the status code if this code is at least 400. For a failure, `error.type` is `timeout`, another code of
/// ``/ErrandCore/TransportError`` in snake case (`cannot_connect`, `connection_lost`), or the name of the error's type. A call that
/// its caller cancelled, and a response that was abandoned, have no `error.type`.
///
/// **Bounds:** backends keep each series forever, and servers choose names and statuses. After 1,000 sets of the common attributes, further
/// servers are counted together, with the `server.address` `_OTHER`, without a port, and without optional attributes. Each set has at most
/// 100 instruments, up to three for each outcome. Further outcomes are counted together, with the `error.type` `_OTHER` and without a
/// status. After 1,000 sets of the attributes of connections, further servers are counted together, too.
///
/// swift-metrics can't pass buckets or units to a backend. Therefore, configure ``durationBuckets`` in your backend.
///
/// **Per request:** with `request.options.metrics = .off`, no metric includes the request.
public struct MetricsMiddleware: HTTPMiddleware {
    /// The bounds of the buckets that the conventions recommend for `http.client.request.duration`, in seconds.
    public static let durationBuckets: [Double] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

    /// The optional attributes.
    public struct Attributes: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int
        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Adds `url.scheme` to every metric.
        public static let urlScheme = Attributes(rawValue: 1)
        /// Adds `url.template` to every metric of a request with a template. With this attribute, there are as many series as
        /// endpoints.
        public static let urlTemplate = Attributes(rawValue: 2)
    }

    /// The numbers of open connections.
    public struct ConnectionCount: Sendable, Hashable {
        /// The number of connections with an exchange in progress.
        public var active: Int
        /// The number of connections that are kept for the next exchange.
        public var idle: Int

        /// Creates a count.
        public init(active: Int, idle: Int) { (self.active, self.idle) = (active, idle) }
    }

    let instruments: Instruments
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - factory: the factory of the instruments; `nil`, the default: `MetricsSystem.factory` at the first measured request.
    ///   - attributes: the optional attributes to add. Default: none.
    ///   - knownMethods: the methods that are reported by name; `nil`, the default: the methods of RFC 9110, and PATCH.
    ///   - openConnections: the closure that returns the number of connections to an origin, or `nil` if the number is not known.
    ///     The closure is called at the end of each exchange, and must return quickly. Default: no closure, and
    ///     `http.client.open_connections` is not reported.
    ///   - clock: the clock that measures durations.
    public init(
        factory: (any MetricsFactory)? = nil, attributes: Attributes = [], knownMethods: Set<HTTPRequest.Method>? = nil,
        openConnections: (@Sendable (_ origin: Origin) -> ConnectionCount?)? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        instruments = Instruments(
            factory: factory, attributes: attributes, knownMethods: knownMethods ?? Conventions.knownMethods,
            openConnections: openConnections)
        self.clock = clock
    }

    public var place: MiddlewarePlace { .metrics }
    /// False, because a prepared request does not pass this middleware.
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the metrics would not contain the server"),
            .inside(.retry, because: "all attempts would be counted as one attempt"),
            .inside(.redirect, because: "all attempts would be counted as one attempt"),
            .inside(.authenticate, because: "all attempts would be counted as one attempt"),
            .inside(.cache, because: "a cache hit would be counted as a request"),
            .inside(.coalesce, because: "a shared exchange would be counted several times"),
        ]
    }

    public var label: String { "metrics" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.metrics.isOff else { return try await next.send(request) }
        let series = instruments.series(of: request)
        series.active.increment()
        return try await next.send(
            request, observedBy: MeasuredAttempt(series: series, elapsed: makeStopwatch(on: clock), body: request.body))
    }
}

/// Records the measurements of an attempt at its end.
private struct MeasuredAttempt: CallObserver {
    let series: Series
    let elapsed: @Sendable () -> Duration
    let sendsBody: Bool
    /// The declared length of the request's body.
    let declared: Int64?

    init(series: Series, elapsed: @escaping @Sendable () -> Duration, body: RequestBody) {
        self.series = series
        self.elapsed = elapsed
        sendsBody = !body.isEmpty
        declared = body.length
    }

    func mark() -> Duration { elapsed() }

    func end(_ call: CallOutcome, at elapsed: Duration) {
        let outcome = Series.Outcome(
            status: call.response?.head.status.code, errorType: Conventions.errorType(of: call),
            version: call.response?.metadata.httpVersion)
        if case .complete? = call.exchange {
            series.recordSizes(sendsBody ? declared ?? call.sizes.requestBytes : nil, call.sizes.responseBytes, of: outcome)
        }
        series.end(outcome, after: elapsed)
    }
}

private enum MetricsOptionKey: SwitchOptionKey {
    /// Requests with and without metrics may share an exchange, because the option does not change the exchange.
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { .ignored }
}

extension RequestOptions {
    /// Whether this request is measured. `.off`: no metric includes the request.
    public var metrics: OptionOverride<Never> {
        get { self[MetricsOptionKey.self] }
        set { self[MetricsOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Measures each attempt. See ``MetricsMiddleware``.
    ///
    /// ```swift
    /// HTTPStack.bare.metrics().redirect().retry()
    /// ```
    ///
    /// - Parameters:
    ///   - factory: the factory of the instruments; `nil`, the default: `MetricsSystem.factory` at the first measured request.
    ///   - attributes: the optional attributes to add. Default: none.
    ///   - openConnections: the closure that returns the number of connections to an origin, or `nil` if the number is not known. The
    ///     closure must return quickly.
    ///   - clock: the clock that measures durations.
    public func metrics(
        factory: (any MetricsFactory)? = nil, attributes: MetricsMiddleware.Attributes = [],
        openConnections: (@Sendable (_ origin: Origin) -> MetricsMiddleware.ConnectionCount?)? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        wrapped(by: MetricsMiddleware(factory: factory, attributes: attributes, openConnections: openConnections, clock: clock))
    }
}
#endif
