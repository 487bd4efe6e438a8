#if Telemetry
public import ErrandCore
public import Metrics

extension MetricsMiddleware.ConnectionCount {
    /// Those of `source` to one origin.
    public init(_ source: some ConnectionSource, of origin: Origin) {
        let connections = source.openConnections.filter { $0.authority == origin.authority }
        let active = connections.count { $0.exchanges > 0 }
        self.init(active: active, idle: connections.count - active)
    }
}

extension HTTPSender where Self: ConnectionSource {
    /// Measures each request that is sent, and the connections that this transport has open. See ``MetricsMiddleware``.
    public func metrics(
        factory: (any MetricsFactory)? = nil, attributes: MetricsMiddleware.Attributes = [], clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        metrics(
            factory: factory, attributes: attributes, openConnections: { [self] in MetricsMiddleware.ConnectionCount(self, of: $0) },
            clock: clock)
    }
}
#endif
