#if Auth
public import ErrandCore
internal import ErrandFormats

/// The error for a cookie that a ``CookieJar`` does not accept.
public struct CookieRefusedError: NumberedFailure, SafelyDescribedError, Sendable, Hashable {
    /// The reason for a refusal. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The field or the cookie is invalid: a part has a character that is not allowed, or the name and the value are both empty.
        public static let invalid = Code("it is not a valid cookie")
        /// The name and the value have more than 4,096 octets together, or the path or the domain has more than 1,024 octets.
        public static let tooManyOctets = Code("it has too many octets")
        /// The attribute `Domain` names a public suffix, such as `co.uk`: ``PublicSuffixes``.
        public static let publicSuffix = Code("its domain is a public suffix")
        /// The attribute `Domain` names a domain that does not include the host.
        public static let otherDomain = Code("its domain does not include the host")
        /// The cookie has the attribute `Secure`, and the origin is not secure.
        public static let insecureOrigin = Code("it is Secure, and its origin is not secure")
        /// The jar has a `Secure` cookie of the same name, which an insecure origin must not replace or hide.
        public static let overlaysSecureCookie = Code("its origin is not secure, and the jar has a Secure cookie of that name")
        /// The cookie has `SameSite=None`, but not `Secure`.
        public static let sameSiteNeedsSecure = Code("it has SameSite=None without Secure")
        /// Another site has made the request, and the cookie does not have `SameSite=None`: ``/ErrandCore/SiteContext``.
        public static let crossSite = Code("another site has made the request")
        /// The attributes do not meet the requirements of the prefix `__Secure-` or `__Host-`. The name begins with the prefix. If the
        /// cookie has no name, its value begins with the prefix.
        public static let prefix = Code("its attributes do not fit the prefix of its name")
        /// The domain or the site of the cookie has the maximum number of cookies, and all of these cookies are `Secure`.
        public static let noRoom = Code("its domain or its site already has the maximum number of cookies, all of them Secure")
        /// The app, or a sign-out, has removed the cookies after the request began.
        public static let removed = Code("the cookies were removed after the request began")
    }

    /// The reason.
    public let code: Code
    /// The name of the cookie; empty if the name is empty, or could not be read.
    public let name: String

    init(_ code: Code, _ name: String) { (self.code, self.name) = (code, name) }

    /// The name and the reason: `the cookie 'sid' was refused: its domain is a public suffix`.
    public var description: String { "the cookie '\(name.shownSafely(limit: 80))' was refused: \(code)" }
    public var failureNumber: FailureNumber { .cookieRefused }
    /// The name and the reason, as a sentence.
    public var failureReason: String? { SafeText.sentence(description) }

    /// Returns whether the codes are equal, and the names have the same octets.
    public static func == (first: CookieRefusedError, second: CookieRefusedError) -> Bool {
        first.code == second.code && first.name.isExactly(second.name)
    }
    /// Hashes the code.
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
#endif
