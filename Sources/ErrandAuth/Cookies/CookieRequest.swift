#if Auth
internal import ErrandCore

/// The parts of a request that decide which cookies the request carries, and which cookies its response may set. Creating a value allocates
/// no memory.
struct CookieRequest: Sendable {
    /// The site that makes the request, compared with the site of the target.
    enum Site: Sendable {
        case same
        /// Another site makes the request, and the response replaces the page.
        case otherByNavigation
        case other
    }

    /// The origin of the target.
    let origin: Origin
    /// The path of the target, percent-encoded, without its query. Begins with a slash.
    let path: Substring
    /// The site that makes the request.
    let site: Site
    /// Whether the method is safe.
    let isSafe: Bool
    /// Whether the scheme is `https`, or the host is this machine itself.
    let isSecure: Bool

    init(origin: Origin, path: Substring, site: Site = .same, isSafe: Bool = true) {
        self.origin = origin
        self.path = path.utf8.first == UInt8(ascii: "/") ? path : "/"
        (self.site, self.isSafe) = (site, isSafe)
        isSecure = origin.scheme.isExactly("https") || origin.isThisMachine
    }

    init(_ url: HTTPURL) { self.init(origin: url.origin, path: url.path[...]) }

    /// - Returns: `nil` if the request has no absolute URL.
    init?(_ request: Request) {
        let (origin, path): (Origin, Substring)
        if let target = request.target, let known = target.origin {
            (origin, path) = (known, RequestTarget.parts(of: target.path).path)
        } else if let url = request.url {
            (origin, path) = (url.origin, url.path[...])
        } else {
            return nil
        }
        self.init(origin: origin, path: path, site: Self.site(of: request, at: origin), isSafe: request.method.isSafe)
    }

    private static func site(of request: Request, at origin: Origin) -> Site {
        switch request.options.siteContext {
        case nil: .same
        case .crossSite: .other
        case .crossSiteNavigation: .otherByNavigation
        case .sameSite: request.options.originOfPage.map { isSameSite($0, origin) } ?? true ? .same : .other
        }
    }

    /// Returns whether two origins belong to one site: the schemes are equal, and the registrable domains of the hosts are equal.
    private static func isSameSite(_ first: Origin, _ second: Origin) -> Bool {
        guard first.scheme.isExactly(second.scheme) else { return false }
        return first.host.isExactly(second.host) || siteName(of: first.host).isExactly(siteName(of: second.host))
    }

    /// Returns the registrable domain of a host. If the host has no such domain, returns the host.
    static func siteName(of host: String) -> String { PublicSuffixes.registrableDomain(of: host) ?? host }
}
#endif
