#if Telemetry
public import ErrandCore
public import Metrics

/// Measures each request that is sent, by OpenTelemetry's conventions for HTTP clients, through swift-metrics.
///
/// **Place:** just around the transport, inside `retry`, `redirect`, the cache and the limits: each attempt is measured by itself, without
/// the time in which it waited for its turn. `HTTPStack.default` follows redirects by itself, so begin with `HTTPStack.bare`.
///
/// | Name | Kind | Unit | Attributes beside the common ones |
/// |---|---|---|---|
/// | `http.client.request.duration` | `Recorder` that aggregates | seconds | `http.response.status_code`, `error.type`, `network.protocol.version` |
/// | `http.client.active_requests` | `Meter` | requests | `url.scheme` |
/// | `http.client.request.body.size` | `Recorder` that aggregates | bytes | as for the duration |
/// | `http.client.response.body.size` | `Recorder` that aggregates | bytes | as for the duration |
/// | `http.client.open_connections` | `Meter` | connections | `http.connection.state` (`active`, `idle`), without a method |
///
/// Common are `http.request.method` (`_OTHER` for an unknown one), `server.address` (an IPv6 address without brackets) and `server.port`;
/// on demand, ``Attributes-swift.struct``. `network.protocol.name` is always `http`, and therefore left out. The path is never among them.
///
/// **A duration** ends when the exchange ends on the wire: with the last byte of the response, or when the response is given up; for a
/// change of protocol, with the head. A stream is measured to its end. Of a typed call, the attempt whose response is decoded ends when that
/// is done.
///
/// **Sizes** are of exchanges that came to their end: the bytes on the wire, coded as they were, where the transport counts them or a
/// length is declared; of a body that the transport itself decodes, none. Requests without a body have none.
///
/// **`error.type`** is a status that the request's own rule refuses (`validateStatus`, wherever it stands), or one from 400 up where there is
/// no rule; `timeout` and the other codes of ``TransportError`` in snake case (`cannot_connect`,
/// `connection_lost`), or the name of another failure's type. A call that its caller cancelled, or a response that was given up, has none.
///
/// **Bounds:** back ends keep each series for ever, and servers choose names and statuses. After 1,000 sets of the common attributes, further servers are
/// counted together as `server.address` `_OTHER`, without a port and the attributes on demand. After 100 sets of the other attributes of one server, further
/// ones are counted together as `error.type` `_OTHER`, without a status.
///
/// swift-metrics can't tell a back end of buckets or units: give ``durationBuckets`` to yours.
///
/// **Per request:** `request.options.metrics = .off`.
public struct MetricsMiddleware: HTTPMiddleware {
    /// The bounds of the buckets that the conventions want for `http.client.request.duration`, in seconds.
    public static let durationBuckets: [Double] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

    /// Attributes that are not there unless asked for.
    public struct Attributes: OptionSet, Sendable, Hashable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// `url.scheme`, on every metric.
        public static let urlScheme = Attributes(rawValue: 1)
        /// `url.template`, on every metric, where a request has one: as many series as there are endpoints.
        public static let urlTemplate = Attributes(rawValue: 2)
    }

    /// How many connections are open.
    public struct ConnectionCount: Sendable, Hashable {
        /// With an exchange under way.
        public var active: Int
        /// Kept for the next one.
        public var idle: Int

        public init(active: Int, idle: Int) { (self.active, self.idle) = (active, idle) }
    }

    private let instruments: Instruments
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - factory: of the instruments; nil, the default, stands for `MetricsSystem.factory` as it is when the first request is measured.
    ///   - attributes: none of them by default.
    ///   - knownMethods: those that are named; nil stands for RFC 9110's and PATCH.
    ///   - openConnections: asked at each end of an exchange how many connections there are to its origin; nil where it is not known. Without it, the default, `http.client.open_connections` is not reported. Quick, as it is called where
    ///     the end is told.
    ///   - clock: what durations are measured by.
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
            // A response all the same: `validateStatus` may stand on either side.
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
    /// It changes nothing of the exchange.
    static func identity(of value: OptionOverride<Never>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// `.off` leaves this request out of the metrics.
    public var metrics: OptionOverride<Never> {
        get { self[MetricsOptionKey.self] }
        set { self[MetricsOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Measures each request that is sent. See ``MetricsMiddleware``.
    public func metrics(
        factory: (any MetricsFactory)? = nil, attributes: MetricsMiddleware.Attributes = [],
        openConnections: (@Sendable (_ origin: Origin) -> MetricsMiddleware.ConnectionCount?)? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        wrapped(by: MetricsMiddleware(factory: factory, attributes: attributes, openConnections: openConnections, clock: clock))
    }
}
#endif
