#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOCore
internal import NIOHTTPCompression
internal import NIOSSL

extension AsyncHTTPClientTransport {
    /// The settings of the client that the transport creates.
    ///
    /// ```swift
    /// var configuration = AsyncHTTPClientTransport.Configuration()
    /// configuration.maxConnectionsPerHost = 4
    /// configuration.decompresses = true
    /// let transport = try AsyncHTTPClientTransport(configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The certificates to trust, and the one to present.
        public var tls = TLSSettings()
        /// The timeout of connecting, including TLS: more than zero, 10 s by default. A request's deadline applies too.
        public var connectTimeout: Duration = .seconds(10)
        /// How long an idle connection is kept: 60 s by default.
        public var idleTimeout: Duration = .seconds(60)
        /// The largest number of HTTP/1.1 connections to one host: at least 1, 8 by default. Further requests queue.
        public var maxConnectionsPerHost = 8
        /// Whether TLS may select HTTP/2 (ALPN, [RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)); true by default. If false, only
        /// HTTP/1.1 is used.
        public var allowsHTTP2 = true
        /// The proxy; `nil`, the default, connects directly.
        public var proxy: ProxySettings?
        /// Whether bodies in gzip or deflate are requested and decoded; false by default. A request with its own `Accept-Encoding` or
        /// `Range` gets the bytes as they are. ``maxDecompressionRatio`` limits the result.
        public var decompresses = false
        /// The largest number of bytes from one compressed byte: at least 1, 200 by default. Beyond it, the body fails. It protects from
        /// decompression bombs.
        public var maxDecompressionRatio = 200
        /// Changes the client's settings, for those that are not here. Called last; it does nothing by default. Redirects and decompression
        /// stay off unless it sets them.
        public var customize: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }

        /// Creates the default settings.
        public init() {}
    }
}

extension AsyncHTTPClientTransport.Configuration {
    func clientConfiguration(tls: TLSConfiguration, decompressing: Bool, _ watch: ConnectionWatch) -> HTTPClient.Configuration {
        precondition(maxDecompressionRatio > 0, "maxDecompressionRatio must be at least 1 (is \(maxDecompressionRatio))")
        precondition(maxConnectionsPerHost > 0, "maxConnectionsPerHost must be at least 1 (is \(maxConnectionsPerHost))")
        precondition(connectTimeout > .zero, "connectTimeout must be more than zero (is \(connectTimeout))")
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.decompression = decompressing ? .enabled(limit: .ratio(maxDecompressionRatio)) : .disabled
        settings.tracing.tracer = nil  // spans are the work of a middleware
        settings.timeout.connect = .nanoseconds(connectTimeout.wholeNanoseconds)
        settings.connectionPool.idleTimeout = .nanoseconds(idleTimeout.wholeNanoseconds)
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = maxConnectionsPerHost
        // A refused connection is reported immediately: retrying is the work of a middleware.
        settings.connectionPool.retryConnectionEstablishment = false
        settings.httpVersion = allowsHTTP2 ? .automatic : .http1Only
        settings.tlsConfiguration = tls
        settings.tlsConfiguration?.minimumTLSVersion = .tlsv12  // RFC 8996
        settings.proxy = proxy.map { proxy in
            guard proxy.kind == .http else { return .socksServer(host: proxy.host, port: proxy.port) }
            let authorization = proxy.credentials.map { HTTPClient.Authorization.basic(username: $0.user, password: $0.password) }
            return .server(host: proxy.host, port: proxy.port, authorization: authorization)
        }
        customize(&settings)
        settings.guardConnections(watch)
        return settings
    }
}

extension TLSSettings {
    /// Returns the settings for SwiftNIO.
    ///
    /// - Throws: `NIOSSLError` and similar errors for certificates and keys that can't be read.
    func nioConfiguration() throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = try extraRootsPEMFiles.map { .certificates(try NIOSSLCertificate.fromPEMFile($0)) }
        if let clientCertificate {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(clientCertificate.chainPEMFile).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: clientCertificate.keyPEMFile, format: .pem))
        }
        return tls
    }
}

extension Duration {
    /// The duration in nanoseconds, limited to 100 years in either direction, so that a clock's reading can be added.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
#endif
