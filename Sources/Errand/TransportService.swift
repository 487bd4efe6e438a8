#if ServiceLifecycle
public import ErrandCore
public import ServiceLifecycle

/// A service that shuts a transport down when its server shuts down gracefully.
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

    /// Creates a service that shuts `transport` down.
    public init(_ transport: some HTTPTransport) { self.transport = transport }

    /// Waits for the graceful shutdown, or for the task to be cancelled, and then shuts the transport down.
    public func run() async throws {
        // Cancellation ends the wait with an error, and must shut the transport down, too.
        try? await gracefulShutdown()
        try await transport.shutdown()
    }
}
#endif
