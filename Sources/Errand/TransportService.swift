#if ServiceLifecycle
public import ErrandCore
public import ServiceLifecycle

/// A transport as a service of a server: it runs until the graceful shutdown of the server, which shuts it down.
///
/// ```swift
/// let transport = NIOTransport()
/// let group = ServiceGroup(services: [TransportService(transport), server], logger: logger)
/// try await group.run()
/// ```
///
/// Services are shut down in reverse order, so list it before the services that send requests by it. It needs the trait `ServiceLifecycle`.
public struct TransportService: Service {
    private let transport: any HTTPTransport

    /// A service that shuts `transport` down.
    public init(_ transport: some HTTPTransport) { self.transport = transport }

    /// Waits for the graceful shutdown, or for the task to be cancelled, and then shuts the transport down.
    public func run() async throws {
        // A task that is cancelled shuts the transport down as well.
        try? await gracefulShutdown()
        try await transport.shutdown()
    }
}
#endif
