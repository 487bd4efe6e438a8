/// The proxy through which a transport connects to servers.
///
/// ```swift
/// ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "me", password: password))
/// try ProxySettings("socks5h://me:secret@proxy.example:1080")
/// ```
///
/// Descriptions and mirrors show the host and the port, never the credentials. A ``ProxyPolicy`` chooses the proxy for each request.
public struct ProxySettings: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    /// The protocol of a proxy. Other protocols may be added.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// An HTTP proxy ([RFC 9110, section 3.7](https://www.rfc-editor.org/rfc/rfc9110#section-3.7)).
        public static let http = Kind(description: "HTTP")
        /// An HTTP proxy. Connections to the proxy are encrypted by TLS.
        public static let https = Kind(description: "HTTPS")
        /// A SOCKS 5 proxy ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)).
        public static let socks5 = Kind(description: "SOCKS 5")

        /// The name of the protocol.
        public let description: String
    }

    /// A user and a password, for Basic authentication ([RFC 7617](https://www.rfc-editor.org/rfc/rfc7617)) or for SOCKS 5
    /// ([RFC 1929](https://www.rfc-editor.org/rfc/rfc1929)).
    public struct Credentials: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        /// The name of the user.
        public let user: String
        /// The password.
        public let password: String

        /// Creates credentials.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// The value of `Proxy-Authorization` in the scheme Basic
        /// ([RFC 7617, section 2](https://www.rfc-editor.org/rfc/rfc7617#section-2)).
        public var basicField: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }

        /// The word `credentials`, without the user and the password.
        public var description: String { "credentials" }
    }

    /// The protocol.
    public let kind: Kind
    /// The name or the address of the proxy. An IPv6 address has no brackets.
    public let host: String
    /// The port of the proxy.
    public let port: Int
    /// The credentials for the proxy; `nil` if the proxy requires no credentials.
    ///
    /// The credentials are sent to an HTTP proxy before the proxy asks for credentials: with every request that the proxy reads, and with
    /// every CONNECT. If ``authenticator`` gives a value, that value is sent instead. Sending the credentials early saves a round trip, and
    /// is safe, because the credentials are for this proxy alone. Without TLS to the proxy, everybody on the path to the proxy can read the
    /// credentials.
    public let credentials: Credentials?
    /// The authenticator for the challenges of an HTTP proxy, for schemes other than Basic; with `nil`, the default, challenges
    /// get no response. See ``ProxyAuthenticator``.
    public var authenticator: ProxyAuthenticator?

    init(_ kind: Kind, _ host: String, _ port: Int, _ credentials: Credentials? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    private init(_ kind: Kind, _ host: String, _ port: Int, _ credentials: (user: String, password: String)?) {
        self.init(kind, host, port, credentials.map { Credentials(user: $0.user, password: $0.password) })
    }

    /// Returns an HTTP proxy, with Basic credentials if the proxy requires credentials.
    ///
    /// Requests with TLS go through a tunnel (CONNECT, [RFC 9110, section 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6)).
    /// For a request without TLS, the proxy gets the whole URL ([RFC 9112, section
    /// 3.2.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2)).
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy.
    ///   - credentials: the credentials for Basic authentication. Default: `nil`, for a proxy that requires no credentials.
    public static func http(host: String, port: Int, credentials: (user: String, password: String)? = nil) -> ProxySettings {
        ProxySettings(.http, host, port, credentials)
    }

    /// Returns an HTTP proxy with connections that are encrypted by TLS. In all other respects, the proxy works like
    /// ``http(host:port:credentials:)``.
    ///
    /// The certificate of the proxy is checked like the certificate of a server. The chain of the certificate must lead to an authority of
    /// the system or of ``TLSSettings/extraRootsPEMFiles``, and the certificate must be valid for the host of the proxy.
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy. Default: 443.
    ///   - credentials: the credentials for Basic authentication. Default: `nil`, for a proxy that requires no credentials.
    public static func https(host: String, port: Int = 443, credentials: (user: String, password: String)? = nil) -> ProxySettings {
        ProxySettings(.https, host, port, credentials)
    }

    /// Returns a SOCKS 5 proxy, which resolves host names itself ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)).
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy. Default: 1080.
    ///   - credentials: a user and a password of 1 to 255 bytes each. Everybody on the path to the proxy can read the user and
    ///     the password ([RFC 1929](https://www.rfc-editor.org/rfc/rfc1929)). Default: `nil`, for a proxy that requires no
    ///     credentials.
    public static func socks5(
        host: String, port: Int = 1080, credentials: (user: String, password: String)? = nil
    ) -> ProxySettings { ProxySettings(.socks5, host, port, credentials) }

    /// Returns a copy with an authenticator that responds to the challenges of the proxy.
    public func authenticated(by authenticator: ProxyAuthenticator) -> ProxySettings {
        var settings = self
        settings.authenticator = authenticator
        return settings
    }

    /// The host and the port, an IPv6 address in brackets.
    public var description: String { hostIsURL ? "an invalid host" : authority }
    /// The host and the port, without the credentials.
    package var shownFields: KeyValuePairs<String, Any> { ["kind": kind, "host": hostIsURL ? "invalid" : host, "port": port] }

    private var authority: String { "\(Self.bracketed(host)):\(port)" }
    /// Whether the host contains a slash, an at sign or a colon, and is not an IPv6 address. A host with one of these characters may be a
    /// URL with a password, and is not shown.
    var hostIsURL: Bool { !Host.isIPv6(host[...]) && host.utf8.contains { "/@:".utf8.contains($0) } }

    static func bracketed(_ host: String) -> String { Host.isIPv6(host[...]) ? "[\(host)]" : host }

    /// Returns the origin for connections to the proxy. For transports.
    ///
    /// - Throws: ``ProxySettingsError`` if the host, the port or the credentials are invalid.
    public func address() throws(ProxySettingsError) -> Origin {
        if kind == .socks5, let credentials {
            guard (1...255).contains(credentials.user.utf8.count), (1...255).contains(credentials.password.utf8.count) else {
                throw ProxySettingsError("the user and the password for SOCKS 5 must have 1 to 255 bytes each")
            }
        }
        guard !credentialsHaveColon else { throw ProxySettingsError("the user for Basic authentication must not have a colon") }
        guard (1...65_535).contains(port) else { throw ProxySettingsError("its port must be from 1 to 65535 (is \(port))") }
        do {
            if hostIsURL { throw ProxySettingsError("its host is a URL, or has a user or a port: use ProxySettings(_:) for a URL") }
            return try Origin(scheme: kind == .https ? "https" : "http", authority: authority, in: description)
        } catch let error as ProxySettingsError {
            throw error
        } catch {
            throw ProxySettingsError("its host '\(host.shownSafely())' is neither a name nor an address")
        }
    }

    /// Whether the user name has a colon, which Basic does not allow (RFC 7617, section 2).
    private var credentialsHaveColon: Bool { kind != .socks5 && credentials?.user.utf8.contains(UInt8(ascii: ":")) ?? false }
}
