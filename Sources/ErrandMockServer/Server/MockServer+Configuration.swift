#if MockServer
internal import ErrandCore

extension MockServer {
    /// The settings of a server.
    public struct Configuration: Sendable {
        /// The address to listen on: `127.0.0.1` (the default) or `::1`.
        public var host = "127.0.0.1"
        /// The TLS settings. `nil`, the default: the server uses clear text.
        public var tls: TLS?
        /// The protocols that clients may use; HTTP/1.1 by default. With TLS, ALPN selects one of the protocols, and the first
        /// protocol is preferred. Without TLS, HTTP/2 must be the only protocol, and clients must use HTTP/2 with prior
        /// knowledge ([RFC 9113, section 3.3](https://www.rfc-editor.org/rfc/rfc9113#section-3.3)).
        public var protocols: [ApplicationProtocol] = [.http1_1]
        /// Whether the first read of the body sends `100 Continue` to a client that expects this response: true by default.
        public var sendsContinue = true
        /// Whether the server never accepts connections: false by default. If true, the server keeps the operating system's
        /// connection queue full. Therefore, new connections are never established.
        public var neverAccepts = false
        /// The size of the operating system's receive buffer for requests, in bytes. `nil`, the default: the operating system
        /// chooses the size.
        public var receiveBufferBytes: Int?
        /// The clock for delays, pauses and slow drips.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Creates settings with the default values.
        public init() {}

        /// Returns settings for TLS with a certificate. HTTP/2 is preferred, unless `protocols` has another order.
        ///
        /// - Parameters:
        ///   - certificate: the server's certificate.
        ///   - protocols: the protocols to offer. The first protocol is preferred.
        public static func tls(_ certificate: TestCertificate, protocols: [ApplicationProtocol] = [.http2, .http1_1]) -> Configuration {
            var configuration = Configuration()
            configuration.tls = TLS(certificate)
            configuration.protocols = protocols
            return configuration
        }

        /// The settings for HTTP/2 in clear text.
        public static var http2: Configuration {
            var configuration = Configuration()
            configuration.protocols = [.http2]
            return configuration
        }
    }

    /// A protocol that a server can speak. The raw value is the protocol's ALPN identifier
    /// ([RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)).
    public enum ApplicationProtocol: String, Sendable, Hashable {
        // swift-format-ignore: AlwaysUseLowerCamelCase
        /// HTTP/1.1.
        case http1_1 = "http/1.1"
        /// HTTP/2.
        case http2 = "h2"
    }

    /// The TLS settings of a server.
    public struct TLS: Sendable {
        /// The server's certificate and its key.
        public var certificate: TestCertificate
        /// The authority that must have signed the clients' certificates. `nil`, the default: no client certificate is requested.
        public var clientAuthority: TestAuthority?
        /// The TLS versions to offer: 1.2 and 1.3 by default.
        public var versions: ClosedRange<Version> = .tls12 ... .tls13

        /// Creates settings with a certificate, TLS 1.2 and 1.3, and no client certificates.
        public init(_ certificate: TestCertificate) { self.certificate = certificate }

        /// A TLS version.
        public enum Version: Int, Sendable, Comparable {
            /// TLS 1.2 and TLS 1.3.
            case tls12, tls13
            /// Returns whether the first version is older than the second version.
            public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
        }
    }
}
#endif
