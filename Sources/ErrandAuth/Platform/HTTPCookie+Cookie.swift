#if !canImport(FoundationNetworking) || ERRAND_APPLE_CHECK
#if Auth
public import Foundation
internal import ErrandCore
internal import ErrandFormats

#if ERRAND_APPLE_CHECK
public import FoundationNetworking
#endif

// The conversions for `WKHTTPCookieStore` and `HTTPCookieStorage`. Only Apple's platforms have WebKit. This code is type-checked on
// Linux, and has not run yet.

extension HTTPCookie {
    /// The keys of attributes in the properties of `HTTPCookie`. On some platforms, Foundation has no constants for these keys.
    fileprivate enum Attribute {
        static let httpOnly = HTTPCookiePropertyKey(rawValue: "HttpOnly")
        static let sameSite = HTTPCookiePropertyKey(rawValue: "SameSite")
    }

    /// Creates a cookie of Foundation, for example to pass a sign-in to a web view with `WKHTTPCookieStore.setCookie(_:)`.
    ///
    /// - Parameter cookie: a cookie of a ``CookieJar``.
    /// - Returns: `nil` if Foundation does not accept the cookie.
    public convenience init?(_ cookie: Cookie) {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: cookie.name, .value: cookie.value, .domain: cookie.isHostOnly ? cookie.domain : "." + cookie.domain, .path: cookie.path,
        ]
        if let expires = cookie.expires {
            properties[.expires] = Date(timeIntervalSince1970: TimeInterval(expires.secondsSinceEpoch))
        } else {
            properties[.discard] = "TRUE"
        }
        if cookie.isSecure { properties[.secure] = "TRUE" }
        if cookie.isHTTPOnly { properties[Attribute.httpOnly] = "TRUE" }
        if let sameSite = cookie.sameSite { properties[Attribute.sameSite] = sameSite.rawValue.lowercased() }
        self.init(properties: properties)
    }
}

extension Cookie {
    /// Creates a cookie from a cookie of Foundation, such as a cookie of a web view. ``CookieJar`` checks the cookie when the cookie is
    /// stored.
    ///
    /// - Parameters:
    ///   - cookie: a cookie of `WKHTTPCookieStore` or `HTTPCookieStorage`.
    ///   - date: the creation date, which Foundation does not report. Default: the current date.
    public init(_ cookie: HTTPCookie, created date: Date = Date()) {
        let isHostOnly = !cookie.domain.hasOctetPrefix(".")
        let sameSite = (cookie.properties?[HTTPCookie.Attribute.sameSite] as? String).flatMap { text in
            SameSite.allCases.first { $0.rawValue.isExactlyIgnoringCase(text) }
        }
        let expires = cookie.isSessionOnly ? nil : cookie.expiresDate
        self.init(
            name: cookie.name, value: cookie.value, domain: (isHostOnly ? cookie.domain : String(cookie.domain.dropFirst())).lowercased(),
            isHostOnly: isHostOnly, path: cookie.path,
            expires: expires.map { HTTPDate($0) },
            isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly, sameSite: sameSite, created: HTTPDate(date))
    }
}
#endif
#endif
