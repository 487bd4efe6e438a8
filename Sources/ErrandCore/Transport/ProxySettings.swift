/// The proxy through which a transport connects.
///
/// Descriptions and mirrors show the host and the port, never the credentials.
public struct ProxySettings: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The protocol that a proxy speaks. More may be added.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// An HTTP proxy that opens tunnels (RFC 9110, 9.3.6).
        public static let http = Kind(description: "HTTP")
        /// A SOCKS 5 proxy (RFC 1928).
        public static let socks5 = Kind(description: "SOCKS 5")

        public let description: String
    }

    /// A user and a password, for Basic authentication (RFC 7617).
    public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        public let user: String
        public let password: String

        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// Neither the user nor the password.
        public var description: String { "credentials" }
        /// Empty.
        public var customMirror: Mirror { Mirror(self, children: [:]) }
    }

    public let kind: Kind
    public let host: String
    public let port: Int
    /// What the proxy asks for; nil for none.
    public let credentials: Credentials?

    private init(_ kind: Kind, _ host: String, _ port: Int, _ credentials: Credentials? = nil) {
        (self.kind, self.host, self.port, self.credentials) = (kind, host, port, credentials)
    }

    /// An HTTP proxy, with Basic credentials if it requires them.
    ///
    /// Every request goes through a tunnel (CONNECT), also one without TLS: a proxy that allows tunnels to port 443 alone refuses that.
    public static func http(host: String, port: Int, credentials: (user: String, password: String)? = nil) -> ProxySettings {
        ProxySettings(.http, host, port, credentials.map { Credentials(user: $0.user, password: $0.password) })
    }

    /// A SOCKS 5 proxy without credentials. It resolves the host's name (RFC 1928). The default port is 1080.
    public static func socks5(host: String, port: Int = 1080) -> ProxySettings { ProxySettings(.socks5, host, port) }

    /// Host and port.
    public var description: String { "\(host):\(port)" }
    /// Without the credentials.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind, "host": host, "port": port]) }
}
