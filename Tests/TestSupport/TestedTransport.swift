#if AsyncHTTPClient && NIO
internal import ErrandAsyncHTTPClient
public import ErrandCore
internal import ErrandNIO

/// The transports with sockets, for tests that hold for each of them.
public enum TestedTransport: String, CaseIterable, Sendable {
    case asyncHTTPClient, nio

    /// The settings that both transports have, with the same defaults for both.
    public struct Settings: Sendable {
        public var tls = TLSSettings()
        public var connectTimeout: Duration = .seconds(10)
        public var idleTimeout: Duration = .seconds(60)
        /// The number of connections to one origin.
        public var maxConnections = 8
        /// Whether HTTP/2 is used where a server offers it. The transport over SwiftNIO speaks HTTP/1.1 in any case.
        public var allowsHTTP2 = true
        /// Whether content codings are decoded. The transport over SwiftNIO never decodes them.
        public var decompresses = false
    }

    /// Whether the transport speaks HTTP/2 with servers that offer it.
    public var speaksHTTP2: Bool { self == .asyncHTTPClient }

    /// Creates a transport, which the caller shuts down.
    public func make(_ configure: (inout Settings) -> Void = { _ in }) throws -> any HTTPTransport & ConnectionSource {
        var settings = Settings()
        configure(&settings)
        switch self {
        case .asyncHTTPClient:
            var configuration = AsyncHTTPClientTransport.Configuration()
            configuration.tls = settings.tls
            configuration.connectTimeout = settings.connectTimeout
            configuration.idleTimeout = settings.idleTimeout
            configuration.maxConnectionsPerHost = settings.maxConnections
            configuration.allowsHTTP2 = settings.allowsHTTP2
            configuration.decompresses = settings.decompresses
            return try AsyncHTTPClientTransport(configuration)
        case .nio:
            var configuration = NIOTransport.Configuration()
            configuration.tls = settings.tls
            configuration.connectTimeout = settings.connectTimeout
            configuration.idleTimeout = settings.idleTimeout
            configuration.maxConnectionsPerOrigin = settings.maxConnections
            return try NIOTransport(configuration)
        }
    }

    /// Runs `body` with a transport of its own, which is shut down afterwards.
    public func run<Result>(
        _ configure: (inout Settings) -> Void = { _ in }, _ body: (any HTTPTransport & ConnectionSource) async throws -> Result
    ) async throws -> Result {
        try await Self.run(make(configure), body)
    }

    /// Gives the transport's type a name, which `withTransport` needs.
    private static func run<Result>(
        _ transport: some HTTPTransport & ConnectionSource, _ body: (any HTTPTransport & ConnectionSource) async throws -> Result
    ) async throws -> Result {
        try await withTransport(transport) { try await body($0) }
    }
}
#endif
