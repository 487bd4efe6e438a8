/// The proxy through which a transport connects.
///
/// ```swift
/// ProxySettings.http(host: "proxy.example", port: 3128, credentials: (user: "me", password: password))
/// try ProxySettings("socks5h://me:secret@proxy.example:1080")
/// ```
///
/// Descriptions and mirrors show the host and the port, never the credentials. Which requests go through which proxy, ``ProxyPolicy`` says.
public struct ProxySettings: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    /// The protocol of a proxy. An open set.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// An HTTP proxy ([RFC 9110, section 3.7](https://www.rfc-editor.org/rfc/rfc9110#section-3.7)).
        public static let http = Kind(description: "HTTP")
        /// An HTTP proxy to which the connections are encrypted by TLS.
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

        /// The value of `Proxy-Authorization` in the scheme Basic ([RFC 7617, section 2](https://www.rfc-editor.org/rfc/rfc7617#section-2)).
        public var basicField: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }

        /// The word `credentials`: neither the user nor the password.
        public var description: String { "credentials" }
    }

    /// The protocol.
    public let kind: Kind
    /// The name or the address of the proxy. An IPv6 address has no brackets.
    public let host: String
    /// The port of the proxy.
    public let port: Int
    /// The credentials for the proxy; `nil` if it requires none.
    ///
    /// An HTTP proxy gets them with every request, before it asks for them: they can be for nobody else, and a round trip is saved. An HTTP
    /// proxy without TLS gets them readable for everybody on the way to it.
    public let credentials: Credentials?
    /// Answers the challenges of an HTTP proxy, for schemes other than Basic; `nil`, the default: none is answered. See
    /// ``ProxyAuthenticator``.
    public var authenticator: ProxyAuthenticator?

    init(_ kind: Kind, _ host: String, _ port: Int, _ credentials: Credentials? = nil) {
        (self.kind, self.host, self.port, self.credentials) = (kind, host, port, credentials)
    }

    private init(_ kind: Kind, _ host: String, _ port: Int, _ credentials: (user: String, password: String)?) {
        self.init(kind, host, port, credentials.map { Credentials(user: $0.user, password: $0.password) })
    }

    /// Returns an HTTP proxy, with Basic credentials if it requires them.
    ///
    /// Requests with TLS go through a tunnel (CONNECT, [RFC 9110, section 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6)).
    /// Without TLS, the whole URL is sent to the proxy
    /// ([RFC 9112, section 3.2.2](https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2)).
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy.
    ///   - credentials: for Basic authentication; `nil`, the default, if the proxy requires none.
    public static func http(host: String, port: Int, credentials: (user: String, password: String)? = nil) -> ProxySettings {
        ProxySettings(.http, host, port, credentials)
    }

    /// Returns an HTTP proxy to which connections are encrypted by TLS. Otherwise it works as ``http(host:port:credentials:)``.
    ///
    /// The proxy's certificate is checked as that of a server is: by the system's authorities and ``TLSSettings/extraRootsPEMFiles``, and
    /// for the proxy's host.
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy; 443 by default.
    ///   - credentials: for Basic authentication; `nil`, the default, if the proxy requires none.
    public static func https(host: String, port: Int = 443, credentials: (user: String, password: String)? = nil) -> ProxySettings {
        ProxySettings(.https, host, port, credentials)
    }

    /// Returns a SOCKS 5 proxy, which resolves host names itself ([RFC 1928](https://www.rfc-editor.org/rfc/rfc1928)).
    ///
    /// - Parameters:
    ///   - host: the name or the address of the proxy.
    ///   - port: the port of the proxy; 1080 by default.
    ///   - credentials: a user and a password of 1 to 255 bytes each, which are sent readable for everybody on the way to the proxy
    ///     ([RFC 1929](https://www.rfc-editor.org/rfc/rfc1929)); `nil`, the default, if the proxy requires none.
    public static func socks5(
        host: String, port: Int = 1080, credentials: (user: String, password: String)? = nil
    ) -> ProxySettings { ProxySettings(.socks5, host, port, credentials) }

    /// Returns a copy whose challenges `authenticator` answers.
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
    /// Whether the host is, or may be, a URL, or has a user or a port: it is not shown then.
    var hostIsURL: Bool { !Host.isIPv6(host[...]) && host.utf8.contains { "/@:".utf8.contains($0) } }

    static func bracketed(_ host: String) -> String { Host.isIPv6(host[...]) ? "[\(host)]" : host }

    /// Returns the origin that connections to the proxy go to. For transports.
    ///
    /// - Throws: ``ProxySettingsError`` for a host, a port or credentials that can't be used.
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

    /// RFC 7617, section 2
    private var credentialsHaveColon: Bool { kind != .socks5 && credentials?.user.utf8.contains(UInt8(ascii: ":")) ?? false }
}
