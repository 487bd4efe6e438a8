#if Telemetry
public import ErrandCore
public import Metrics

extension MetricsMiddleware.ConnectionCount {
    /// Counts the connections of `source` to one origin.
    public init(_ source: some ConnectionSource, of origin: Origin) {
        let connections = source.openConnections.filter { $0.authority == origin.authority }
        let active = connections.count { $0.exchanges > 0 }
        self.init(active: active, idle: connections.count - active)
    }
}

extension HTTPSender where Self: ConnectionSource {
    /// Measures each request that is sent, and the open connections of this transport. See ``MetricsMiddleware``.
    ///
    /// ```swift
    /// let stack = AsyncHTTPClientTransport().metrics().retry()
    /// ```
    ///
    /// - Parameters:
    ///   - factory: creates the instruments; `nil`, the default, is `MetricsSystem.factory` when the first request is measured.
    ///   - attributes: the optional attributes; none by default.
    ///   - clock: the clock that measures durations.
    public func metrics(
        factory: (any MetricsFactory)? = nil, attributes: MetricsMiddleware.Attributes = [], clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        metrics(
            factory: factory, attributes: attributes, openConnections: { [self] in MetricsMiddleware.ConnectionCount(self, of: $0) },
            clock: clock)
    }
}
#endif
