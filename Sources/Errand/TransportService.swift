#if ServiceLifecycle
public import ErrandCore
public import ServiceLifecycle

/// A transport as one of a server's services: it lives until the graceful shutdown, and is shut down by it.
///
/// ```swift
/// let transport = AsyncHTTPClientTransport()
/// let group = ServiceGroup(services: [TransportService(transport), server], logger: logger)
/// try await group.run()
/// ```
///
/// Services are shut down in reverse order, so put it before those that send by it. It needs the trait `ServiceLifecycle`.
public struct TransportService: Service {
    private let transport: any HTTPTransport

    public init(_ transport: some HTTPTransport) { self.transport = transport }

    public func run() async throws {
        // Cancelled instead of asked: the transport is shut down all the same.
        try? await gracefulShutdown()
        try await transport.shutdown()
    }
}
#endif
