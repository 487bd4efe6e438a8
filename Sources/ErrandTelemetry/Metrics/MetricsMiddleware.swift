#if Telemetry
public import ErrandCore
public import Metrics

/// Measures each request that is sent, according to OpenTelemetry's conventions for HTTP clients, through swift-metrics.
///
/// ```swift
/// let stack = HTTPStack.bare.metrics().redirect().retry()
/// // A back end for Prometheus shows, for example:
/// // http_client_request_duration_count{http_request_method="GET",server_address="a.example",server_port="443",…} 12
/// ```
///
/// **Place:** next to the transport, inside `retry`, `redirect`, the cache and the limits: each attempt is measured on its own, without the
/// time that it was queued. `HTTPStack.default` contains `redirect`, so begin with `HTTPStack.bare`.
///
/// | Name | Kind | Unit | Attributes besides the common ones |
/// |---|---|---|---|
/// | `http.client.request.duration` | aggregating `Recorder` | s | `http.response.status_code`, `error.type`, `network.protocol.version` |
/// | `http.client.active_requests` | `Meter` | requests | `url.scheme` |
/// | `http.client.request.body.size` | aggregating `Recorder` | bytes | as for the duration |
/// | `http.client.response.body.size` | aggregating `Recorder` | bytes | as for the duration |
/// | `http.client.open_connections` | `Meter` | connections | `http.connection.state` (`active`, `idle`), without a method |
///
/// The common attributes are `http.request.method` (`_OTHER` for an unknown method), `server.address` (an IPv6 address without brackets)
/// and `server.port`. ``Attributes-swift.struct`` lists the optional ones. `network.protocol.name` is always `http`, and is left out. The
/// path is never an attribute.
///
/// **A duration** ends when the exchange ends on the wire: with the last byte of the response, or when the response is abandoned; for a
/// change of protocol, with the head. A stream is measured to its end. In a typed call, the attempt whose response is decoded ends after
/// decoding.
///
/// **Sizes** are recorded for complete exchanges: the number of bytes on the wire, as they were encoded, if the transport counts them or a
/// length is declared. No size is recorded for a body that the transport itself decodes, or for a request without a body.
///
/// **`error.type`** is a status that the request's own rule refuses (of `validateStatus`, wherever it is in the stack), or a status from
/// 400 if there is no rule; `timeout` and the other codes of ``TransportError`` in snake case (`cannot_connect`, `connection_lost`); or the
/// name of another error's type. A call that its caller cancelled, and a response that was abandoned, have none.
///
/// **Limits:** back ends keep each series forever, and servers choose names and statuses. After 1,000 sets of the common attributes,
/// further servers are counted together, with the `server.address` `_OTHER`, without a port and the optional attributes. After 100 sets of
/// the other attributes of one server, further ones are counted together, with the `error.type` `_OTHER`, without a status.
///
/// swift-metrics does not pass buckets or units to a back end: configure yours with ``durationBuckets``.
///
/// **Per request:** `request.options.metrics = .off`.
public struct MetricsMiddleware: HTTPMiddleware {
    /// The bounds of the buckets for `http.client.request.duration` in the conventions, in seconds.
    public static let durationBuckets: [Double] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

    /// Optional attributes, which are off by default.
    public struct Attributes: OptionSet, Sendable, Hashable {
        /// The attributes as bits.
        public let rawValue: Int
        /// Creates a set from bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// `url.scheme`, on every metric.
        public static let urlScheme = Attributes(rawValue: 1)
        /// `url.template`, on every metric, if a request has one. There is a series for each endpoint.
        public static let urlTemplate = Attributes(rawValue: 2)
    }

    /// The number of open connections.
    public struct ConnectionCount: Sendable, Hashable {
        /// The connections with an exchange in progress.
        public var active: Int
        /// The connections that are kept for later exchanges.
        public var idle: Int

        /// Creates a count.
        public init(active: Int, idle: Int) { (self.active, self.idle) = (active, idle) }
    }

    private let instruments: Instruments
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - factory: creates the instruments; `nil`, the default, is `MetricsSystem.factory` when the first request is measured.
    ///   - attributes: the optional attributes; none by default.
    ///   - knownMethods: the methods that are named; `nil`, the default, means those of RFC 9110 and PATCH.
    ///   - openConnections: called at each end of an exchange. Returns the number of connections to its origin, or `nil` if it is unknown.
    ///     It must return quickly. Without it, which is the default, `http.client.open_connections` is not recorded.
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

    public var place: MiddlewarePlace? { .metrics }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.server, because: "the metrics would not know the server"),
            .inside(.retry, because: "what is sent again would be counted once"),
            .inside(.redirect, because: "what is sent again would be counted once"),
            .inside(.authenticate, because: "what is sent again would be counted once"),
            .inside(.cache, because: "a hit would be counted as a request"),
            .inside(.coalesce, because: "a shared exchange would be counted several times"),
        ]
    }

    public var label: String { "metrics" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.metrics.isOff else { return try await next.send(request) }
        let series = instruments.series(of: request)
        let elapsed = stopwatch(clock)
        series.active.increment()
        let (sendsBody, declared) = (!request.body.isEmpty, request.body.length)
        @Sendable func end(_ report: CallReport<Duration>, _ outcome: Series.Outcome) {
            var outcome = outcome
            if let failure = report.failure, !(failure is CancellationError) { outcome.errorType = Conventions.errorType(of: failure) }
            if case .complete = report.exchange {
                let sentBytes = sendsBody ? declared ?? report.sizes.requestBytes : nil
                series.recordSizes(sentBytes, report.sizes.responseBytes, of: outcome)
            }
            series.end(outcome, after: report.mark)
        }
        do {
            var response = try await next.send(request)
            let outcome = Series.Outcome(
                status: response.head.status.code, errorType: Conventions.errorType(of: response, to: request),
                version: response.metadata.httpVersion)
            guard response.upgrade == nil else {
                series.end(outcome, after: elapsed())
                return response
            }
            response.onCallEnd(of: request, mark: elapsed) { end($0, outcome) }
            return response
        } catch let error as StatusError {
            // A response too: `validateStatus` may be on either side.
            let outcome = Series.Outcome(
                status: error.status.code, errorType: "\(error.status.code)", version: error.refused.metadata.httpVersion)
            error.refused.exchange.onEnd { exchange, sizes in
                end(CallReport(exchange: exchange, sizes: sizes, mark: elapsed()), outcome)
            }
            throw error
        } catch {
            let type = Conventions.isCancellation(error) ? nil : Conventions.errorType(of: error)
            series.end(Series.Outcome(status: nil, errorType: type, version: nil), after: elapsed())
            throw error
        }
    }
}

private enum MetricsOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Never> { .inherited }
    /// It does not change the exchange.
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// Whether metrics are recorded for this request: `.off` leaves it out.
    public var metrics: OptionOverride<Never> {
        get { self[MetricsOptionKey.self] }
        set { self[MetricsOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Measures each request that is sent. See ``MetricsMiddleware``.
    ///
    /// ```swift
    /// let stack = HTTPStack.bare.metrics().redirect().retry()
    /// ```
    ///
    /// - Parameters:
    ///   - factory: creates the instruments; `nil`, the default, is `MetricsSystem.factory` when the first request is measured.
    ///   - attributes: the optional attributes; none by default.
    ///   - openConnections: returns the number of connections to an origin, or `nil` if it is unknown. Without it,
    ///     `http.client.open_connections` is not recorded.
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
