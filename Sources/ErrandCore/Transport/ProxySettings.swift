/// The proxy through which a transport connects.
///
/// ```swift
/// ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "me", password: password))
/// ```
///
/// Descriptions and mirrors show the host and the port, never the credentials.
public struct ProxySettings: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The protocol of a proxy. An open set.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// An HTTP proxy that opens tunnels ([RFC 9110, section 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6)).
        public static let http = Kind(description: "HTTP")
        /// A SOCKS 5 proxy ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)).
        public static let socks5 = Kind(description: "SOCKS 5")

        /// The name of the protocol.
        public let description: String
    }

    /// A user and a password, for Basic authentication ([RFC 7617](https://www.rfc-editor.org/rfc/rfc7617)).
    public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The name of the user.
        public let user: String
        /// The password.
        public let password: String

        /// Creates credentials.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// The word `credentials`: neither the user nor the password.
        public var description: String { "credentials" }
        /// Empty.
        public var customMirror: Mirror { Mirror(self, children: [:]) }
    }

    /// The protocol.
    public let kind: Kind
    /// The name or the address of the proxy.
    public let host: String
    /// The port of the proxy.
    public let port: Int
    /// The credentials for the proxy; `nil` if it requires none.
    public let credentials: Credentials?

    private init(_ kind: Kind, _ host: String, _ port: Int, _ credentials: Credentials? = nil) {
        (self.kind, self.host, self.port, self.credentials) = (kind, host, port, credentials)
    }

    /// Returns an HTTP proxy, with Basic credentials if it requires them.
    ///
    /// Every request goes through a tunnel (CONNECT), even without TLS. A proxy that allows tunnels only to port 443 refuses requests
    /// without TLS.
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy.
    ///   - credentials: for Basic authentication; `nil`, the default, if the proxy requires none.
    public static func http(host: String, port: Int, credentials: (user: String, password: String)? = nil) -> ProxySettings {
        ProxySettings(.http, host, port, credentials.map { Credentials(user: $0.user, password: $0.password) })
    }

    /// Returns a SOCKS 5 proxy without credentials, which resolves host names ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)). The
    /// default port is 1080.
    public static func socks5(host: String, port: Int = 1080) -> ProxySettings { ProxySettings(.socks5, host, port) }

    /// The host and the port.
    public var description: String { "\(host):\(port)" }
    /// The host and the port, without the credentials.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind, "host": host, "port": port]) }
}
