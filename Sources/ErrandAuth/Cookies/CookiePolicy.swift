#if Auth
internal import ErrandCore
internal import ErrandFormats

/// Decides which cookies are valid, and which cookies a request carries
/// ([RFC 6265bis, sections 5.1, 5.7 and 5.8](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.1)).
enum CookiePolicy {
    /// Returns the cookie that a field of a response sets.
    ///
    /// - Throws: ``CookieRefusedError``.
    static func cookie(_ field: SetCookie, of request: CookieRequest, at now: HTTPDate) throws(CookieRefusedError) -> Cookie {
        func refusal(_ code: CookieRefusedError.Code) -> CookieRefusedError { CookieRefusedError(code, field.name) }
        let host = request.origin.host
        let domain = field.domain ?? host
        guard isWithin(host, domain: domain) else { throw refusal(.otherDomain) }
        // If a host is a public suffix, the host may set a cookie only for itself.
        let isHostOnly = field.domain == nil || domain.isExactly(host) && PublicSuffixes.contains(domain)
        let isSecure = field.isSecure
        guard !isSecure || request.isSecure else { throw refusal(.insecureOrigin) }
        guard request.site != .other || field.sameSite == SetCookie.SameSite.none else { throw refusal(.crossSite) }
        let cookie = Cookie(
            name: field.name, value: field.value, domain: domain, isHostOnly: isHostOnly, path: field.path ?? defaultPath(of: request.path),
            expires: field.expiry(receivedAt: now), isSecure: isSecure, isHTTPOnly: field.isHTTPOnly, sameSite: field.sameSite, created: now
        )
        try check(cookie)
        guard field.path != nil || !cookie.name.hasCookiePrefix("__Host-") else { throw refusal(.prefix) }
        return cookie
    }

    /// Checks the parts of a cookie that do not depend on a request.
    ///
    /// - Throws: ``CookieRefusedError``.
    static func check(_ cookie: Cookie) throws(CookieRefusedError) {
        func refusal(_ code: CookieRefusedError.Code) -> CookieRefusedError { CookieRefusedError(code, cookie.name) }
        let (name, value) = (cookie.name.utf8, cookie.value.utf8)
        guard name.count + value.count <= SetCookie.pairLimitBytes, cookie.domain.utf8.count <= SetCookie.attributeLimitBytes,
            cookie.path.utf8.count <= SetCookie.attributeLimitBytes
        else { throw refusal(.tooManyOctets) }
        guard !name.isEmpty || !value.isEmpty, name.isCookieText, value.isCookieText, !name.contains(UInt8(ascii: "=")),
            cookie.domain.utf8.isCookieDomain, cookie.path.utf8.first == UInt8(ascii: "/"), cookie.path.utf8.isCookieText
        else { throw refusal(.invalid) }
        if cookie.sameSite == SetCookie.SameSite.none, !cookie.isSecure { throw refusal(.sameSiteNeedsSecure) }
        // If a cookie has no name, some servers read the first part of its value as the name.
        let shown = name.isEmpty ? cookie.value : cookie.name
        let (isSecurePrefix, isHostPrefix) = (shown.hasCookiePrefix("__Secure-"), shown.hasCookiePrefix("__Host-"))
        if isSecurePrefix || isHostPrefix {
            guard !name.isEmpty, cookie.isSecure, !isHostPrefix || cookie.isHostOnly && cookie.path.isExactly("/") else {
                throw refusal(.prefix)
            }
        }
        if !cookie.isHostOnly, PublicSuffixes.contains(cookie.domain) { throw refusal(.publicSuffix) }
    }

    /// The attributes of a cookie that decide which requests carry the cookie. Copying this value changes no reference count.
    struct Conditions: Sendable {
        let isSecure: Bool
        let sameSite: Cookie.SameSite?
        let expires: HTTPDate?

        init(_ cookie: Cookie) { (isSecure, sameSite, expires) = (cookie.isSecure, cookie.sameSite, cookie.expires) }

        /// Whether the cookie has expired. A session cookie never expires.
        func hasExpired(at now: HTTPDate) -> Bool { expires.map { $0 <= now } ?? false }
    }

    /// Returns whether the attributes `Secure` and `SameSite` of a cookie allow the request to carry the cookie. The caller compares the
    /// host, the path and the expiry.
    static func allows(_ cookie: Conditions, in request: CookieRequest) -> Bool {
        if cookie.isSecure, !request.isSecure { return false }
        return isAllowed(cookie.sameSite, in: request)
    }

    private static func isAllowed(_ sameSite: Cookie.SameSite?, in request: CookieRequest) -> Bool {
        switch request.site {
        case .same: true
        case .otherByNavigation: sameSite == SetCookie.SameSite.none || sameSite != .strict && request.isSafe
        case .other: sameSite == SetCookie.SameSite.none
        }
    }

    /// Returns whether a cookie with this `Domain` belongs to a host: the host is the domain, or a name below the domain.
    static func isWithin(_ host: String, domain: String) -> Bool {
        let (octets, suffix) = (host.utf8, domain.utf8)
        guard octets.count > suffix.count else { return host.isExactly(domain) }
        return host.hasOctetSuffix(domain) && octets[octets.index(octets.endIndex, offsetBy: -suffix.count - 1)] == UInt8(ascii: ".")
            && !Origin.isAddress(host: host)
    }

    /// Returns whether a cookie with the path `cookiePath` is sent with a request to `path`.
    static func isWithin(_ path: Substring, path cookiePath: String) -> Bool {
        let (octets, prefix) = (path.utf8, cookiePath.utf8)
        guard octets.count >= prefix.count, octets.starts(with: prefix) else { return false }
        if octets.count == prefix.count || prefix.last == UInt8(ascii: "/") { return true }
        return octets[octets.index(octets.startIndex, offsetBy: prefix.count)] == UInt8(ascii: "/")
    }

    /// Returns the path of a cookie without the attribute `Path`: the request's path up to its last slash.
    static func defaultPath(of path: Substring) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

extension String {
    /// Returns whether the text begins with the prefix of a cookie's name, in any case. Octets are compared, because a combining character
    /// must not hide the prefix. Some servers remove Unicode white space before a name. Therefore this check ignores that white space.
    fileprivate func hasCookiePrefix(_ prefix: String) -> Bool {
        let name = Substring(unicodeScalars.drop { !$0.isASCII && $0.properties.isWhitespace }).utf8
        return name.count >= prefix.utf8.count && zip(name, prefix.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension String.UTF8View {
    /// Whether the text can be a name, a value or a path. A valid text has no control characters other than tabs, no semicolons, and no
    /// white space at its ends.
    fileprivate var isCookieText: Bool {
        var text = String(self)
        return text.withUTF8 { ByteScan.firstControl(in: $0).control == nil } && !contains(UInt8(ascii: ";"))
            && first?.isOptionalSpace != true && last?.isOptionalSpace != true
    }

    /// Whether the text can be the domain of a cookie. A domain is not empty, and does not begin with a dot. A domain has only visible
    /// ASCII characters, but no upper-case letters, slashes, semicolons or commas.
    fileprivate var isCookieDomain: Bool {
        !isEmpty && first != UInt8(ascii: ".")
            && allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "/"), UInt8(ascii: ";"), UInt8(ascii: ","): false
                case 0x21...0x7E: true
                default: false
                }
            }
    }
}
#endif
