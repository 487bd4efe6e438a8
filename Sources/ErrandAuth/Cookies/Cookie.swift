#if Auth
public import ErrandCore
public import ErrandFormats

/// A cookie, as a ``CookieJar`` keeps it ([RFC 6265bis, section
/// 5.7](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.7)).
///
/// Descriptions and mirrors show the name and the attributes, and never the value.
public struct Cookie: Sendable, Hashable {
    /// The attribute `SameSite`: the contexts in which the cookie is sent.
    public typealias SameSite = SetCookie.SameSite

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
    /// The time after which the cookie is not sent; `nil` for a session cookie, which is not written to a store.
    public let expires: HTTPDate?
    /// Whether the cookie is sent only over `https`, and to `localhost` and the loopback addresses.
    public let isSecure: Bool
    /// Whether the cookie is hidden from the scripts of a page. The library keeps the attribute for other programs.
    public let isHTTPOnly: Bool
    /// The attribute `SameSite`; `nil` if the cookie does not have this attribute.
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

    /// The parts that identify a cookie in a jar. A cookie replaces the cookie with an equal key. Keys are compared octet by octet.
    public struct Key: Sendable, Hashable {
        /// The name of the cookie.
        public let name: String
        /// The host or the domain of the cookie.
        public let domain: String
        /// Whether the cookie is sent only to the host ``domain``.
        public let isHostOnly: Bool
        /// The path of the cookie.
        public let path: String

        /// Creates a key.
        public init(name: String, domain: String, isHostOnly: Bool, path: String) {
            (self.name, self.domain, self.isHostOnly, self.path) = (name, domain, isHostOnly, path)
        }

        /// Returns whether all parts have the same octets.
        public static func == (first: Key, second: Key) -> Bool {
            first.isHostOnly == second.isHostOnly && first.name.isExactly(second.name) && first.domain.isExactly(second.domain)
                && first.path.isExactly(second.path)
        }

        /// Hashes the octets of the parts.
        public func hash(into hasher: inout Hasher) {
            for text in [name, domain, path] { hasher.combine(OctetKey(text)) }
            hasher.combine(isHostOnly)
        }
    }

    /// The parts that identify this cookie in a jar.
    public var key: Key { Key(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

    /// Returns whether all parts have the same octets.
    public static func == (first: Cookie, second: Cookie) -> Bool {
        first.key == second.key && first.value.isExactly(second.value) && first.expires == second.expires
            && first.isSecure == second.isSecure && first.isHTTPOnly == second.isHTTPOnly && first.sameSite == second.sameSite
            && first.created == second.created
    }

    /// Hashes the key and the value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
        hasher.combine(OctetKey(value))
    }

    /// Returns a copy with another expiry date, or another creation date.
    func with(expires: HTTPDate?, created: HTTPDate) -> Cookie {
        Cookie(
            name: name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, expires: expires, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, created: created)
    }

    /// Whether the cookie has expired. A session cookie never expires.
    func hasExpired(at now: HTTPDate) -> Bool { CookiePolicy.Conditions(self).hasExpired(at: now) }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, HidesStorage {
    /// The name and the attributes: `sid; Domain=a.example; Path=/; Secure; HttpOnly`. A cookie that is sent only to its host has `Host` in
    /// place of `Domain`.
    public var description: String {
        let attributes = [
            "\(isHostOnly ? "Host" : "Domain")=\(domain.shownSafely())", "Path=\(path.shownSafely())", isSecure ? "Secure" : nil,
            isHTTPOnly ? "HttpOnly" : nil, sameSite.map { "SameSite=\($0.rawValue)" }, expires.map { "Expires=\($0)" },
        ]
        return ([name.shownSafely()] + attributes.compactMap { $0 }).joined(separator: "; ")
    }
    /// The description.
    public var debugDescription: String { description }
}
#endif
