#if Telemetry
public import ErrandCore
public import Metrics

extension MetricsMiddleware.ConnectionCount {
    /// Counts the connections of `source` to one origin.
    public init(_ source: some ConnectionReporter, of origin: Origin) {
        let connections = source.openConnections.filter { $0.isOpen(to: origin) }
        let active = connections.count { !$0.isIdle }
        self.init(active: active, idle: connections.count - active)
    }
}

extension HTTPSender where Self: ConnectionReporter {
    /// Measures each attempt and the open connections of this transport. If the transport reports closed connections
    /// (``/ErrandCore/ClosedConnectionReporter``), the middleware also measures the lifetime of each connection. See ``MetricsMiddleware``.
    ///
    /// If several stacks around one transport have the same factory, the stack that was created last reports the changes of
    /// connections between attempts.
    ///
    /// ```swift
    /// let stack = NIOTransport().metrics().redirect().retry()
    /// ```
    ///
    /// - Parameters:
    ///   - factory: the factory of the instruments. `nil`, the default: the value of `MetricsSystem.factory` at the first measured
    ///     request.
    ///   - attributes: the optional attributes to add. Default: none.
    ///   - clock: the clock that measures durations.
    public func metrics(
        factory: (any MetricsFactory)? = nil, attributes: MetricsMiddleware.Attributes = [], clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        let middleware = MetricsMiddleware(
            factory: factory, attributes: attributes, openConnections: { [self] in MetricsMiddleware.ConnectionCount(self, of: $0) },
            clock: clock)
        if let source = self as? any ClosedConnectionReporter {
            let durations = ConnectionDurations(factory: factory, attributes: attributes)
            // The transport holds this closure, and the instruments hold the transport. The weak reference prevents a reference cycle.
            source.observeClosedConnections(as: durations.id) { [weak instruments = middleware.instruments] closed in
                durations.record(closed)
                instruments?.updateConnections(of: closed.origin)
            }
        }
        return wrapped(by: middleware)
    }
}
#endif
