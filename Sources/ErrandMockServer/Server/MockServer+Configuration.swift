#if MockServer
internal import ErrandCore

extension MockServer {
    /// Settings of a server.
    public struct Configuration: Sendable {
        /// `127.0.0.1` (the default) or `::1`.
        public var host = "127.0.0.1"
        /// Nil (the default) speaks in clear text.
        public var tls: TLS?
        /// What is spoken: HTTP/1.1 by default. With TLS, several are chosen from by ALPN, the first preferred. Without it, HTTP/2 is spoken if it
        /// stands alone, to clients that know so beforehand (RFC 9113, 3.3).
        public var protocols: [HTTPVersion] = [.http1]
        /// Whether a client that asks for it is sent `100 Continue` as soon as its body is read: true.
        public var sendsContinue = true
        /// Whether connections are never accepted: false. The queue of the system is full then, and connecting hangs.
        public var neverAccepts = false
        /// What the system holds of requests that were not read yet; nil leaves it to the system.
        public var receiveBufferBytes: Int?
        /// For delays, pauses and drips.
        public var clock: any Clock<Duration> = ContinuousClock()

        public init() {}

        /// With TLS, by a certificate; HTTP/2 is preferred, unless `protocols` says otherwise.
        public static func tls(_ certificate: TestCertificate, protocols: [HTTPVersion] = [.http2, .http1]) -> Configuration {
            var configuration = Configuration()
            configuration.tls = TLS(certificate)
            configuration.protocols = protocols
            return configuration
        }

        /// HTTP/2 in clear text.
        public static var http2: Configuration {
            var configuration = Configuration()
            configuration.protocols = [.http2]
            return configuration
        }
    }

    public enum HTTPVersion: String, Sendable, Hashable {
        case http1 = "http/1.1"
        case http2 = "h2"
    }

    /// How a server shows itself in TLS.
    public struct TLS: Sendable {
        public var certificate: TestCertificate
        /// Who must have signed the certificates of clients; nil (the default) asks for none.
        public var clientAuthority: TestAuthority?
        /// The versions that are offered: 1.2 and 1.3.
        public var versions: ClosedRange<Version> = .tls12 ... .tls13

        public init(_ certificate: TestCertificate) { self.certificate = certificate }

        public enum Version: Int, Sendable, Comparable {
            case tls12, tls13
            public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
        }
    }
}
#endif
