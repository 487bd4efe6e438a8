#if AsyncHTTPClient
public import AsyncHTTPClient
public import ErrandCore
internal import NIOCore
internal import NIOHTTPCompression
internal import NIOSSL

extension AsyncHTTPClientTransport {
    /// The settings of the client that the transport creates.
    public struct Configuration: Sendable {
        /// The trusted certificates, the client's own certificate, and the versions of TLS. ``/ErrandCore/TLSSettings/pins`` are not supported:
        /// AsyncHTTPClient does not show the chain of certificates.
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
        /// The proxy; `nil` (the default): direct connections. Not supported are proxies over TLS, passwords for SOCKS 5, and
        /// ``/ErrandCore/ProxySettings/authenticator``.
        public var proxy: ProxySettings?
        /// Whether the transport requests and decodes bodies in gzip or deflate: false by default. A request that sets `Accept-Encoding` or
        /// `Range` gets undecoded bytes. See also ``maxDecompressionRatio``.
        public var decompresses = false
        /// The number of decoded bytes that one encoded byte may produce before the body fails: 200 by default, at least 1. It protects
        /// against decompression bombs.
        public var maxDecompressionRatio = 200
        /// Changes the client's settings after all others were applied, for settings that are missing here. Redirects and decompression are
        /// off unless this closure sets them; redirects are always off while ``/ErrandCore/TLSSettings/trustsAnyCertificateForTesting`` names
        /// a host, whose settings they would carry to another host. By default it changes nothing.
        public var customize: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }

        /// Creates settings with the default values.
        public init() {}
    }
}

extension AsyncHTTPClientTransport.Configuration {
    /// - Throws: ``/ErrandCore/ProxySettingsError`` for settings that AsyncHTTPClient does not support.
    func checkProxy() throws(ProxySettingsError) {
        guard let proxy else { return }
        func refused(_ what: String) -> ProxySettingsError {
            ProxySettingsError("AsyncHTTPClient does not support \(what); use NIOTransport of ErrandNIO")
        }
        if proxy.kind == .https { throw refused("proxies over TLS") }
        if proxy.kind == .socks5, proxy.credentials != nil { throw refused("passwords for SOCKS 5") }
        if proxy.authenticator != nil { throw refused("an authenticator for proxies") }
    }

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
        settings.proxy = proxy.map { proxy in
            guard proxy.kind == .http else { return .socksServer(host: proxy.host, port: proxy.port) }
            let authorization = proxy.credentials.map { HTTPClient.Authorization.basic(username: $0.user, password: $0.password) }
            return .server(host: proxy.host, port: proxy.port, authorization: authorization)
        }
        customize(&settings)
        if self.tls.trustsAnyCertificateForTesting != .none { settings.redirectConfiguration = .disallow }
        settings.guardConnections(watch)
        return settings
    }
}

extension TLSSettings {
    /// The settings that need no file.
    var baseConfiguration: TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        return tls
    }

    /// Returns the settings as a configuration of NIOSSL.
    ///
    /// - Throws: ``/ErrandCore/TLSSettingsError`` for a setting that AsyncHTTPClient does not support, and for certificates and keys that can't
    ///   be read.
    func nioConfiguration() throws -> TLSConfiguration {
        if pins != nil {
            throw TLSSettingsError(
                .unsupported, of: "pins", "AsyncHTTPClient does not show the chain of certificates; use NIOTransport of ErrandNIO")
        }
        var tls = baseConfiguration
        tls.additionalTrustRoots = try extraRootsPEMFiles.map { file in
            .certificates(try Self.read(file) { try NIOSSLCertificate.fromPEMFile(file) })
        }
        if let clientCertificate {
            let (chain, key) = (clientCertificate.chainPEMFile, clientCertificate.keyPEMFile)
            tls.certificateChain = try Self.read(chain) { try NIOSSLCertificate.fromPEMFile(chain) }.map { .certificate($0) }
            tls.privateKey = .privateKey(try Self.read(key) { try NIOSSLPrivateKey(file: key, format: .pem) })
        }
        return tls
    }

    private static func read<Value>(_ file: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            let reason = (error as? IOError).map { systemErrorText($0.errnoCode) } ?? tlsErrorText(String(describing: error))
            throw TLSSettingsError(.unreadableFile, of: file, reason)
        }
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
