#if Auth
public import ErrandCore
public import ErrandFormats

/// A cookie, as a ``CookieJar`` keeps it ([RFC 6265bis, section
/// 5.7](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.7)).
///
/// Descriptions and mirrors show the name and the attributes. They never show the value.
public struct Cookie: Sendable, Hashable {
    /// The attribute `SameSite`.
    public enum SameSite: String, Sendable, Hashable, CaseIterable {
        /// The cookie is sent in every context. The attribute `Secure` is required.
        case none = "None"
        /// The cookie is sent to its own site, and when a person follows a link from another site.
        case lax = "Lax"
        /// The cookie is sent only in requests that its own site makes.
        case strict = "Strict"
    }

    /// The name. May be empty.
    public let name: String
    /// The value, which is secret.
    public let value: String
    /// The host or the domain, in lower case and ASCII, without a leading dot.
    public let domain: String
    /// Whether the cookie is sent only to the host ``domain``, and not to its subdomains.
    public let isHostOnly: Bool
    /// The path, which begins with a slash.
    public let path: String
    /// The time after which the cookie is not sent; `nil` for a cookie of the session, which is not written to a store.
    public let expires: HTTPDate?
    /// Whether the cookie is sent only over `https`, and to the loopback host.
    public let isSecure: Bool
    /// Whether scripts of a page must not read the cookie. The library keeps the attribute for other programs.
    public let isHTTPOnly: Bool
    /// The attribute `SameSite`; `nil` if the server has sent none.
    public let sameSite: SameSite?
    /// The time at which the first cookie with this name, domain and path was stored.
    public let created: HTTPDate

    /// Creates a cookie. ``CookieJar`` checks the cookie when the cookie is stored.
    public init(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/", expires: HTTPDate? = nil,
        isSecure: Bool = true, isHTTPOnly: Bool = false, sameSite: SameSite? = nil, created: HTTPDate
    ) {
        (self.name, self.value, self.domain, self.isHostOnly, self.path) = (name, value, domain, isHostOnly, path)
        (self.expires, self.isSecure, self.isHTTPOnly, self.sameSite, self.created) = (expires, isSecure, isHTTPOnly, sameSite, created)
    }

    /// What identifies a cookie in a jar: two cookies with equal keys replace one another.
    public struct Key: Sendable, Hashable {
        public let name: String
        public let domain: String
        public let isHostOnly: Bool
        public let path: String
    }

    /// What identifies this cookie in a jar.
    public var key: Key { Key(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }
}
#endif
