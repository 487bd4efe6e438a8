#if MockServer
internal import ErrandCore

extension MockServer {
    /// The settings of a server.
    public struct Configuration: Sendable {
        /// The address to listen on: `127.0.0.1`, the default, or `::1`.
        public var host = "127.0.0.1"
        /// The TLS settings; `nil`, the default: clear text.
        public var tls: TLS?
        /// The protocols; HTTP/1.1 by default. With TLS, ALPN selects one of several, the first preferred. Without TLS, HTTP/2 is used if
        /// it is the only one, with clients that know it beforehand ([RFC 9113, section
        /// 3.3](https://www.rfc-editor.org/rfc/rfc9113#section-3.3)).
        public var protocols: [HTTPVersion] = [.http1]
        /// Whether a client that expects `100 Continue` gets it as soon as its body is read; true by default.
        public var sendsContinue = true
        /// Whether connections are never accepted; false by default. The queue of the system is then full, and connecting hangs.
        public var neverAccepts = false
        /// The size of the system's buffer for unread request bytes; `nil`, the default, leaves it to the system.
        public var receiveBufferBytes: Int?
        /// The clock for delays, pauses and slow sending.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Creates settings for HTTP/1.1 in clear text.
        public init() {}

        /// Returns settings for TLS with a certificate. HTTP/2 is preferred by default.
        public static func tls(_ certificate: TestCertificate, protocols: [HTTPVersion] = [.http2, .http1]) -> Configuration {
            var configuration = Configuration()
            configuration.tls = TLS(certificate)
            configuration.protocols = protocols
            return configuration
        }

        /// Settings for HTTP/2 in clear text.
        public static var http2: Configuration {
            var configuration = Configuration()
            configuration.protocols = [.http2]
            return configuration
        }
    }

    /// A version of HTTP.
    public enum HTTPVersion: String, Sendable, Hashable {
        /// HTTP/1.1.
        case http1 = "http/1.1"
        /// HTTP/2.
        case http2 = "h2"
    }

    /// The TLS settings of a server.
    public struct TLS: Sendable {
        /// The certificate that the server presents.
        public var certificate: TestCertificate
        /// The authority that must have signed clients' certificates; `nil`, the default: no certificate is required.
        public var clientAuthority: TestAuthority?
        /// The offered versions: 1.2 and 1.3 by default.
        public var versions: ClosedRange<Version> = .tls12 ... .tls13

        /// Creates settings with a certificate.
        public init(_ certificate: TestCertificate) { self.certificate = certificate }

        /// A version of TLS.
        public enum Version: Int, Sendable, Comparable {
            /// TLS 1.2 or TLS 1.3.
            case tls12, tls13
            /// Whether the first version is older.
            public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
        }
    }
}
#endif
