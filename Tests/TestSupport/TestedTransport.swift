#if SWIFT_NIO && MockServer
public import ErrandCore
internal import ErrandNIO
internal import ErrandURLSession
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The transports with sockets that the traits build, for tests that hold for each of them.
public enum TestedTransport: String, CaseIterable, Sendable {
    case nio
    case urlSession

    /// Whether this process tests `URLSession`: the variable `ERRAND_URL_SESSION` is set. `scripts/test` sets the variable in a process of
    /// its own, because `URLSession` on Linux can end its process.
    public static let isOverURLSession = ProcessInfo.processInfo.environment["ERRAND_URL_SESSION"] != nil

    /// The transports that this process tests.
    public static let allCases: [TestedTransport] = isOverURLSession ? [.urlSession] : [.nio]

    /// The prefixes of the names of descriptors that may outlive a transport, for the trait that finds leaks. `URLSession` on Linux closes
    /// its sockets at some time after its end.
    public static let outlivingDescriptors = isOverURLSession ? ["socket:", "pipe:"] : []

    /// The settings that all transports have, with the same defaults for each.
    public struct Settings: Sendable {
        public var tls = TLSSettings()
        /// `URLSession` has no such setting.
        public var connectTimeout: Duration = .seconds(10)
        /// The time after which an unused connection is closed. `URLSession` has no such setting.
        public var idleTimeout: Duration = .seconds(60)
        /// The number of connections to one origin.
        public var maxConnections = 8
        /// Whether HTTP/2 is used where a server offers it. `URLSession` has no such setting.
        public var allowsHTTP2 = true
        /// The port of a proxy on 127.0.0.1 that responds in place of every server; `nil` for no proxy. `URLSession` on Linux takes no
        /// proxy from its settings. Therefore the transport over `URLSession` sends each request to this port as if the port belonged to
        /// the server.
        public var proxyPort: Int?
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
            if let port = settings.proxyPort { configuration.proxy = .all(.http(host: "127.0.0.1", port: port)) }
            return try await withTransport(try NIOTransport(configuration)) { try await body($0) }
        case .urlSession:
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = settings.maxConnections
            let transport = try URLSessionTransport(configuration, tls: settings.tls, configure: settings.proxyPort.map(Self.redirecting))
            return try await withTransport(transport) { try await body(StackedTransport(base: $0)) }
        }
    }

    /// Returns a closure that sends a request to a port on 127.0.0.1.
    private static func redirecting(to port: Int) -> @Sendable (inout URLRequest) -> Void {
        { request in
            guard let url = request.url, var components = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return }
            (components.host, components.port) = ("127.0.0.1", port)
            request.url = components.url
        }
    }
}

/// A transport whose missing abilities, such as deadlines, a stack replaces.
private struct StackedTransport<Base: HTTPTransport>: HTTPTransport {
    let base: Base

    var capabilities: TransportCapabilities { base.capabilities }
    func send(_ request: Request) async throws -> Response { try await HTTPStack(base).send(request) }
    func shutdown() async throws { try await base.shutdown() }
}
#endif
