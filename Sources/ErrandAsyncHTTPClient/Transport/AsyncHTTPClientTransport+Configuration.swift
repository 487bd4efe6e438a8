#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOCore
internal import NIOHTTPCompression
internal import NIOSSL

extension AsyncHTTPClientTransport {
    /// The settings of the client that the transport creates.
    public struct Configuration: Sendable {
        /// The trusted certificates, and the client's own certificate.
        public var tls = TLSSettings()
        /// The timeout of connecting, including TLS: 10 s by default; more than zero. A request's deadline also applies.
        public var connectTimeout: Duration = .seconds(10)
        /// The time for which an unused connection is kept: 60 s by default.
        public var idleTimeout: Duration = .seconds(60)
        /// The number of HTTP/1.1 connections to one host at a time: 8 by default, at least 1. Further requests queue.
        public var maxConnectionsPerHost = 8
        /// Whether HTTP/2 is allowed: true by default. True: TLS negotiates the version (ALPN,
        /// [RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)). False: HTTP/1.1 only.
        public var allowsHTTP2 = true
        /// The proxy; `nil` (the default): direct connections.
        public var proxy: ProxySettings?
        /// Whether the transport requests and decodes bodies in gzip or deflate: false by default. A request that sets `Accept-Encoding` or
        /// `Range` gets undecoded bytes. See also ``maxDecompressionRatio``.
        public var decompresses = false
        /// The number of decoded bytes that one encoded byte may produce before the body fails: 200 by default, at least 1. It protects
        /// against decompression bombs.
        public var maxDecompressionRatio = 200
        /// Changes the client's settings after all others were applied, for settings that are missing here. Redirects and decompression are
        /// off unless this closure sets them. By default it changes nothing.
        public var customize: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }

        /// Creates settings with the default values.
        public init() {}
    }
}

extension AsyncHTTPClientTransport.Configuration {
    func clientConfiguration(tls: TLSConfiguration, decompressing: Bool, _ watch: ConnectionWatch) -> HTTPClient.Configuration {
        precondition(maxDecompressionRatio > 0, "maxDecompressionRatio must be at least 1 (is \(maxDecompressionRatio))")
        precondition(maxConnectionsPerHost > 0, "maxConnectionsPerHost must be at least 1 (is \(maxConnectionsPerHost))")
        precondition(connectTimeout > .zero, "connectTimeout must be more than zero (is \(connectTimeout.inWords))")
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.decompression = decompressing ? .enabled(limit: .ratio(maxDecompressionRatio)) : .disabled
        settings.tracing.tracer = nil  // spans are made by a middleware
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
    /// Returns the settings as a configuration of NIOSSL.
    ///
    /// - Throws: `NIOSSLError` and other errors for certificates and keys that can't be read.
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
    /// The duration in nanoseconds. It is limited to 100 years in either direction, so that it can be added to a clock's reading.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
#endif
