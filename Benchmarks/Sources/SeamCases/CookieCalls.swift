internal import ErrandAuth
internal import ErrandCore

/// Calls that measure the cost of cookies, over a transport that returns a whole response immediately. Each jar has 3,000 cookies.
public struct CookieCalls: Sendable {
    private let plain: HTTPStack
    private let sites: HTTPStack
    private let site: HTTPStack
    private let foreign: Request
    private let own: Request

    public init() throws {
        let limits = CookieJar.Limits(countPerSite: 3_000)
        let (sites, site) = (CookieJar(limits: limits), CookieJar(limits: limits))
        for number in 0..<3_000 {
            try sites.set(Self.cookie("s\(number).example"))
            try site.set(Self.cookie("h\(number).a.example"))
        }
        for jar in [sites, site] { try jar.set(Self.cookie("www.a.example")) }
        plain = HTTPStack(Whole())
        self.sites = plain.cookies(sites)
        self.site = plain.cookies(site)
        foreign = try Request(.get, url: "https://www.b.example/users/7")
        own = try Request(.get, url: "https://www.a.example/users/7")
    }

    private static func cookie(_ domain: String) -> Cookie {
        Cookie(name: "sid", value: "31d4d96e407aad42", domain: domain, created: HTTPDate(secondsSinceEpoch: 0))
    }

    /// Sends a request without a jar.
    public func sendWithoutJar() async throws { _ = try await plain.send(foreign) }
    /// Sends a request for which the jar has no cookie.
    public func sendWithoutCookie() async throws { _ = try await sites.send(foreign) }
    /// Sends a request with a cookie. The other cookies belong to 2,999 sites.
    public func sendOfManySites() async throws { _ = try await sites.send(own) }
    /// Sends a request with a cookie. The other cookies belong to the same site.
    public func sendOfOneSite() async throws { _ = try await site.send(own) }
}
