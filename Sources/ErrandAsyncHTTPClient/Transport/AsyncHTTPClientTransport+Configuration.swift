#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOCore
internal import NIOHTTPCompression
internal import NIOSSL

extension AsyncHTTPClientTransport {
    /// Settings of the client that the transport makes.
    public struct Configuration: Sendable {
        /// Which certificates are believed, and which one is shown.
        public var tls = TLSSettings()
        /// The longest that connecting may take, TLS included: 10 s. A request's deadline holds as well.
        public var connectTimeout: Duration = .seconds(10)
        /// How long an unused connection is kept: 60 s.
        public var idleTimeout: Duration = .seconds(60)
        /// HTTP/1.1 connections to one host at a time: 8. Requests beyond them wait their turn.
        public var maxConnectionsPerHost = 8
        /// False for HTTP/1.1 alone; true (the default) lets TLS choose (ALPN, RFC 7301).
        public var allowsHTTP2 = true
        /// Nil (the default) connects directly.
        public var proxy: ProxySettings?
        /// Whether bodies in gzip or deflate are asked for and decoded: false. A request that names `Accept-Encoding` or `Range` by
        /// itself gets the bytes as they are. The settings for it are ``maxDecompressionRatio``.
        public var decompresses = false
        /// How many bytes may come of one compressed byte before the body fails: 200. Guards against decompression bombs.
        public var maxDecompressionRatio = 200
        /// The last word on the client's settings, for what is not here. Redirects and decompression stay off unless set here.
        public var customize: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }

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
        settings.tracing.tracer = nil  // spans are a middleware's work
        settings.timeout.connect = .nanoseconds(connectTimeout.wholeNanoseconds)
        settings.connectionPool.idleTimeout = .nanoseconds(idleTimeout.wholeNanoseconds)
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = maxConnectionsPerHost
        // A refused connection is told at once; retry is a middleware's work.
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
    /// - Throws: `NIOSSLError` and the like for certificates and keys that can't be read.
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
    /// In nanoseconds; more than 100 years, either way, count as that, so that a clock's reading can be added.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
#endif
