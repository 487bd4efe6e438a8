#if NIO && MockServer
public import ErrandCore
internal import ErrandNIO
#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import ErrandAsyncHTTPClient
internal import NIOCore
internal import NIOSSL
#endif

/// The transports with sockets that the traits build, for tests that hold for each of them.
public enum TestedTransport: String, CaseIterable, Sendable {
    case nio
    #if AsyncHTTPClient
    /// Over a client that the transport borrows.
    case asyncHTTPClient
    #endif

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
        #if AsyncHTTPClient
        case .asyncHTTPClient:
            return try await Self.withClient(settings) { client in
                try await withTransport(AsyncHTTPClientTransport(borrowing: client)) { try await body($0) }
            }
        #endif
        }
    }

    #if AsyncHTTPClient
    /// Runs `body` with a client, which is shut down afterwards.
    private static func withClient<Result>(_ settings: Settings, _ body: (HTTPClient) async throws -> Result) async throws -> Result {
        let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: try configuration(settings))
        do {
            let result = try await body(client)
            try await client.shutdown()
            return result
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private static func configuration(_ settings: Settings) throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = amount(settings.connectTimeout)
        configuration.connectionPool.idleTimeout = amount(settings.idleTimeout)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = settings.maxConnections
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = settings.allowsHTTP2 ? .automatic : .http1Only
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.additionalTrustRoots = try settings.tls.extraRootsPEMFiles.map { .certificates(try NIOSSLCertificate.fromPEMFile($0)) }
        if let identity = settings.tls.clientCertificate {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(identity.chainPEMFile).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: identity.keyPEMFile, format: .pem))
        }
        configuration.tlsConfiguration = tls
        return configuration
    }

    /// At most 100 years, which can be added to a clock's reading.
    private static func amount(_ duration: Duration) -> TimeAmount {
        let (seconds, attoseconds) = duration.components
        guard seconds < 3_000_000_000 else { return .hours(24 * 365 * 100) }
        return .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
    #endif
}
#endif
