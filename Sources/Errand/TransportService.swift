#if ServiceLifecycle
public import ErrandCore
public import ServiceLifecycle

/// A service that shuts a transport down when its service group shuts down gracefully.
///
/// ```swift
/// let transport = NIOTransport()
/// let group = ServiceGroup(services: [TransportService(transport), server], logger: logger)
/// try await group.run()
/// ```
///
/// Services are shut down in reverse order. List this service before the services that send requests through the transport. The
/// service requires the trait `ServiceLifecycle`.
public struct TransportService: Service {
    private let transport: any HTTPTransport
    private let drainingTime: Duration

    /// Creates a service that shuts `transport` down.
    ///
    /// - Parameters:
    ///   - transport: the transport.
    ///   - limit: the longest time, at least zero, that exchanges in progress may take after the graceful shutdown has begun.
    ///     Default: 10 s. A `URLSessionTransport` does not wait: its exchanges fail immediately.
    public init(_ transport: some HTTPTransport, drainingFor limit: Duration = .seconds(10)) {
        precondition(limit >= .zero, "drainingFor must be at least zero (is \(limit.inWords))")
        (self.transport, drainingTime) = (transport, limit)
    }

    /// Waits for the graceful shutdown, lets the exchanges in progress end, and then shuts the transport down. If the task is
    /// cancelled, shuts the transport down immediately.
    public func run() async throws {
        // Cancellation ends the wait with an error. If the wait is cancelled, the transport must be shut down too.
        try? await gracefulShutdown()
        try await transport.shutdown(drainingFor: drainingTime)
    }
}
#endif
