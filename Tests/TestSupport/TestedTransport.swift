#if SWIFT_NIO && MockServer
public import ErrandCore
internal import ErrandNIO

/// The transports with sockets that the traits build, for tests that hold for each of them.
public enum TestedTransport: String, CaseIterable, Sendable {
    case nio

    /// The settings that all transports have, with the same defaults for each.
    public struct Settings: Sendable {
        public var tls = TLSSettings()
        public var connectTimeout: Duration = .seconds(10)
        public var idleTimeout: Duration = .seconds(60)
        /// The number of connections to one origin.
        public var maxConnections = 8
        /// Whether HTTP/2 is used where a server offers it.
        public var allowsHTTP2 = true
    }

    /// Runs `body` with a transport of its own, which is shut down afterwards.
    public func run<Result>(
        _ configure: (inout Settings) -> Void = { _ in }, _ body: (any HTTPTransport) async throws -> Result
    ) async throws -> Result {
        var settings = Settings()
        configure(&settings)
        switch self {
        case .nio:
            var configuration = NIOTransport.Configuration()
            configuration.tls = settings.tls
            configuration.connectTimeout = settings.connectTimeout
            configuration.idleTimeout = settings.idleTimeout
            configuration.maxConnectionsPerOrigin = settings.maxConnections
            configuration.allowsHTTP2 = settings.allowsHTTP2
            return try await withTransport(try NIOTransport(configuration)) { try await body($0) }
        }
    }
}
#endif
