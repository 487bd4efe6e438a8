#if Auth
/// The domains that have cookies, and the sites of these domains. A site is a registrable domain. An index identifies each cookie, each
/// domain and each site.
///
/// Each change of the cookies of a domain takes time in proportion to the cookies of that domain. Removing a domain takes time in
/// proportion to the domains of its site.
struct CookieDomains: Sendable {
    /// The cookies with one domain.
    private struct Domain: Sendable {
        /// The index of the site, which is the registrable domain. If there is no registrable domain, the domain itself is the site.
        let site: Int
        /// The cookies in sending order.
        var cookies: [Int] = []
        var uses = Uses()
    }

    /// The domains of one site that have cookies.
    private struct Site: Sendable {
        var domains: [Int] = []
        var count = 0
        var uses = Uses()
    }

    /// The cookies of a domain or a site in the order of use.
    struct Uses: Sendable {
        var insecure = UseOrder.List()
        var secure = UseOrder.List()

        subscript(isSecure isSecure: Bool) -> UseOrder.List {
            get { isSecure ? secure : insecure }
            set { if isSecure { secure = newValue } else { insecure = newValue } }
        }

        /// The cookie that is evicted first.
        var victim: Int? { insecure.leastRecentlyUsed ?? secure.leastRecentlyUsed }
    }

    private var domainNames = DomainNames()
    private var domains: [Domain] = []
    private var siteNames = DomainNames()
    private var sites: [Site] = []

    // MARK: Search

    /// Returns the domains that include a host.
    func matches(including host: String) -> DomainNames.Matches { domainNames.matches(including: host) }

    /// Returns the domain with a name; `nil` if no cookie has this domain.
    func domain(_ name: String) -> Int? { domainNames.index(of: name) }

    /// Returns the site with a name; `nil` if no cookie belongs to this site.
    func site(_ name: String) -> Int? { siteNames.index(of: name) }

    func name(of domain: Int) -> String { domainNames[domain] }

    func site(of domain: Int) -> Int { domains[domain].site }

    /// Returns the cookies with a domain, in sending order.
    func cookies(of domain: Int) -> [Int] { domains[domain].cookies }

    func domains(of site: Int) -> [Int] { sites[site].domains }

    func count(ofSite site: Int) -> Int { sites[site].count }

    // MARK: Changes

    /// Returns the domain with a name. Adds the domain if no cookie has this domain.
    mutating func add(_ name: String) -> Int {
        if let domain = domainNames.index(of: name) { return domain }
        let siteName = CookieRequest.siteName(of: name)
        let site = siteNames.index(of: siteName) ?? siteNames.add(siteName)
        if site == sites.count { sites.append(Site()) }
        let domain = domainNames.add(name)
        if domain == domains.count { domains.append(Domain(site: site)) } else { domains[domain] = Domain(site: site) }
        sites[site].domains.append(domain)
        return domain
    }

    /// Inserts a cookie into the list of its domain.
    ///
    /// - Parameter isBefore: a closure that returns whether another cookie of the domain is sent before the new cookie.
    mutating func insert(_ cookie: Int, into domain: Int, after isBefore: (Int) -> Bool) {
        var (low, high) = (0, domains[domain].cookies.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(domains[domain].cookies[middle]) { low = middle + 1 } else { high = middle }
        }
        domains[domain].cookies.insert(cookie, at: low)
        sites[domains[domain].site].count += 1
    }

    /// Removes a cookie from the list of its domain. The domain stays, even if its list becomes empty: see ``removeIfEmpty(_:)``.
    mutating func remove(_ cookie: Int, from domain: Int) {
        guard let place = domains[domain].cookies.firstIndex(of: cookie) else { return }
        domains[domain].cookies.remove(at: place)
        sites[domains[domain].site].count -= 1
    }

    /// Removes a domain that has no cookies.
    mutating func removeIfEmpty(_ domain: Int) {
        guard domains[domain].cookies.isEmpty else { return }
        let site = domains[domain].site
        domainNames.remove(domain)
        sites[site].domains.removeAll { $0 == domain }
        // The lists are replaced, because emptied lists would keep their memory.
        domains[domain] = Domain(site: site)
        guard sites[site].domains.isEmpty else { return }
        siteNames.remove(site)
        sites[site] = Site()
    }

    /// The cookies of a domain in the order of use.
    subscript(usesOf domain: Int) -> Uses {
        get { domains[domain].uses }
        set { domains[domain].uses = newValue }
    }

    /// The cookies of a site in the order of use.
    subscript(usesOfSite site: Int) -> Uses {
        get { sites[site].uses }
        set { sites[site].uses = newValue }
    }
}
#endif
