#if AsyncHTTPClient
public import AsyncHTTPClient
internal import ErrandCore
internal import NIOCore
internal import NIOHTTPCompression
internal import NIOSSL

extension AsyncHTTPClientTransport {
    /// Settings of the client that the transport makes.
    public struct Configuration: Sendable {
        /// Which certificates are believed, and which one is shown.
        public var tls = TLS()
        /// The longest that connecting may take, TLS included: 10 s. A request's deadline holds as well.
        public var connectTimeout: Duration = .seconds(10)
        /// How long an unused connection is kept: 60 s.
        public var idleTimeout: Duration = .seconds(60)
        /// HTTP/1.1 connections to one host at a time: 8. Requests beyond them wait their turn.
        public var maxConnectionsPerHost = 8
        /// False for HTTP/1.1 alone; true (the default) lets TLS choose (ALPN, RFC 7301).
        public var allowsHTTP2 = true
        /// Nil (the default) connects directly.
        public var proxy: Proxy?
        /// Whether bodies in gzip or deflate are asked for and decoded: false. A request that names `Accept-Encoding` or `Range` by
        /// itself gets the bytes as they are. The settings for it are ``maxDecompressionRatio``.
        public var decompresses = false
        /// How many bytes may come of one compressed byte before the body fails: 200. Guards against decompression bombs.
        public var maxDecompressionRatio = 200
        /// The last word on the client's settings, for what is not here. Redirects and decompression stay off unless set here.
        public var customize: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }

        public init() {}
    }

    /// What the transport believes, and how it shows itself, in TLS. Verification is on and stays
    /// on; TLS 1.2 is the least (RFC 8996).
    public struct TLS: Sendable {
        /// Authorities to believe beside the system's, each PEM file with one or more certificates.
        public var extraRootsPEMFiles: [String] = []
        /// What is shown to a server that asks for a certificate; nil shows none.
        public var clientCertificate: ClientCertificate?

        public init() {}
    }

    /// A certificate with its chain, and its key: paths of PEM files.
    public struct ClientCertificate: Sendable, Hashable {
        public var chainPEMFile: String
        public var keyPEMFile: String

        public init(chainPEMFile: String, keyPEMFile: String) {
            (self.chainPEMFile, self.keyPEMFile) = (chainPEMFile, keyPEMFile)
        }
    }

    /// An intermediary.
    public struct Proxy: Sendable, CustomStringConvertible, CustomReflectable {
        fileprivate enum Kind: Sendable {
            case http(credentials: (user: String, password: String)?)
            case socks5
        }

        fileprivate let kind: Kind
        public let host: String
        public let port: Int

        /// An HTTP proxy, with Basic credentials if it wants them. Every request goes through a tunnel (CONNECT), one without TLS as
        /// well: a proxy that allows tunnels to port 443 alone refuses that.
        public static func http(host: String, port: Int, credentials: (user: String, password: String)? = nil) -> Proxy {
            Proxy(kind: .http(credentials: credentials), host: host, port: port)
        }

        /// A SOCKS 5 proxy without credentials; it looks the host up (RFC 1928).
        public static func socks5(host: String, port: Int = 1080) -> Proxy { Proxy(kind: .socks5, host: host, port: port) }

        public var description: String { "\(host):\(port)" }
        /// Without the credentials.
        public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }
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
            switch proxy.kind {
            case .http(let credentials):
                .server(
                    host: proxy.host, port: proxy.port,
                    authorization: credentials.map { .basic(username: $0.user, password: $0.password) })
            case .socks5: .socksServer(host: proxy.host, port: proxy.port)
            }
        }
        customize(&settings)
        settings.guardConnections(watch)
        return settings
    }
}

extension AsyncHTTPClientTransport.TLS {
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
