#if AsyncHTTPClient && NIO
internal import ErrandAsyncHTTPClient
public import ErrandCore
internal import ErrandNIO

/// The transports with sockets, for tests that hold for each of them.
public enum TestedTransport: String, CaseIterable, Sendable {
    case asyncHTTPClient, nio

    /// Runs `body` with a transport of its own, which is shut down afterwards.
    ///
    /// - Parameter authorities: the paths of PEM files with more authorities to trust.
    public func run<Result>(
        trusting authorities: [String] = [], maxConnections: Int = 8, _ body: (any HTTPTransport) async throws -> Result
    ) async throws -> Result {
        switch self {
        case .asyncHTTPClient:
            var configuration = AsyncHTTPClientTransport.Configuration()
            configuration.tls.extraRootsPEMFiles = authorities
            configuration.maxConnectionsPerHost = maxConnections
            return try await withTransport(try AsyncHTTPClientTransport(configuration)) { try await body($0) }
        case .nio:
            var configuration = NIOTransport.Configuration()
            configuration.tls.extraRootsPEMFiles = authorities
            configuration.maxConnectionsPerOrigin = maxConnections
            return try await withTransport(try NIOTransport(configuration)) { try await body($0) }
        }
    }
}
#endif
