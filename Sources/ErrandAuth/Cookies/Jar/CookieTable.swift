#if Auth
internal import ErrandCore
internal import ErrandFormats

/// The cookies of a jar, found by their domain.
///
/// The time of a search depends on the number of cookies of the host and its domains, and not on the number of all cookies. If a limit is
/// exceeded, expired cookies are evicted first, and then the least recently used cookies. In a full domain or site, cookies without
/// `Secure` are evicted before `Secure` cookies.
struct CookieTable: Sendable {
    let limits: CookieJar.Limits
    /// The cookies, by index; `nil` for a free index.
    private var cookies: [Cookie?] = []
    private var slots: [Slot] = []
    private var free: [Int] = []
    private var domains = CookieDomains()
    private(set) var count = 0
    private(set) var totalBytes = 0
    private var lastOrder: UInt64 = 0
    /// The number of the session, which changes when the app, a server or another process removes a cookie. An eviction or an expiry does
    /// not begin a new session.
    private(set) var session: UInt64 = 0
    private var order = UseOrder()
    private var uses = UseOrder.List()
    /// No cookie expires before this date. `nil` if no cookie expires.
    private var firstExpiry: HTTPDate?
    /// The changes that the store lacks.
    var unwritten: UnwrittenChanges

    init(limits: CookieJar.Limits, hasStore: Bool) {
        self.limits = limits
        unwritten = UnwrittenChanges(hasStore: hasStore)
    }

    /// The cookie at an index; `nil` if the index is free.
    subscript(index: Int) -> Cookie? { cookies[index] }

    // MARK: Search

    /// The domains with cookies that include a host.
    func domains(including host: String) -> DomainNames.Matches { domains.matches(including: host) }

    /// Returns the cookies that the request carries, by index, in sending order.
    func matches(_ request: CookieRequest, at now: () -> HTTPDate) -> [Int] {
        matches(request, of: domains(including: request.origin.host), at: now)
    }

    /// Returns the cookies of the given domains, by index, in sending order. Only cookies that the request carries are included.
    ///
    /// - Parameters:
    ///   - names: the domains that include the host of the request.
    ///   - now: a closure that returns the current date. The closure is called at most once, and only for a cookie that can expire.
    func matches(_ request: CookieRequest, of names: DomainNames.Matches, at now: () -> HTTPDate) -> [Int] {
        var (found, date): ([Int], HTTPDate?) = ([], nil)
        if let domain = names.host { addMatches(request, of: domain, isHost: true, to: &found, at: now, &date) }
        // A part of an address is not a domain.
        guard !names.parents.isEmpty, !request.origin.isAddress else { return found }
        var isSorted = true
        for domain in names.parents {
            let countBefore = found.count
            addMatches(request, of: domain, isHost: false, to: &found, at: now, &date)
            if countBefore > 0, found.count > countBefore { isSorted = false }
        }
        if !isSorted { found.sort { slots[$0].isSent(before: slots[$1]) } }
        return found
    }

    /// Adds the cookies of a domain, in sending order. A cookie is added only if its path, its expiry, and its attributes
    /// `Secure` and `SameSite` allow the request to carry the cookie.
    ///
    /// - Parameter date: the current date; `nil` until the date is needed for the first time.
    private func addMatches(
        _ request: CookieRequest, of domain: Int, isHost: Bool, to found: inout [Int], at now: () -> HTTPDate, _ date: inout HTTPDate?
    ) {
        let pathBytes = request.path.utf8.count
        for index in domains.cookies(of: domain) {
            let slot = slots[index]
            guard isHost || !slot.isHostOnly, slot.pathBytes <= pathBytes, CookiePolicy.allows(slot.conditions, in: request),
                // Each path begins with a slash. Therefore, the cookie path `/` includes each path.
                slot.pathBytes == 1 || isWithin(request.path, pathOf: index)
            else { continue }
            if let expires = slot.conditions.expires {
                let current = date ?? now()
                date = current
                if expires <= current { continue }
            }
            found.append(index)
        }
    }

    private func isWithin(_ path: Substring, pathOf index: Int) -> Bool {
        guard let cookie = cookies[index] else { return false }
        return CookiePolicy.isWithin(path, path: cookie.path)
    }

    /// The number of octets that a cookie needs in a `Cookie` field.
    func fieldBytes(_ index: Int) -> Int { cookies[index].map { CookieFieldWriter.bytes(of: $0.name, $0.value) } ?? 0 }

    /// Adds a cookie to a `Cookie` field.
    ///
    /// - Returns: false if the field has no room.
    func write(_ index: Int, to writer: inout CookieFieldWriter) -> Bool {
        cookies[index].map { writer.append($0.name, $0.value) } ?? false
    }

    /// Returns the index of the cookie with a key; `nil` if there is no such cookie.
    func index(of key: Cookie.Key) -> Int? {
        guard let domain = domains.domain(key.domain) else { return nil }
        let hash = Slot.hash(of: key)
        for index in domains.cookies(of: domain) where slots[index].keyHash == hash && cookies[index]?.key == key { return index }
        return nil
    }

    /// Returns whether the table has a `Secure` cookie that a cookie of an insecure origin would replace or hide ([RFC 6265bis, section
    /// 5.7](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.7)).
    func hasSecureCookie(under cookie: Cookie, at now: HTTPDate) -> Bool {
        let known = domains.domain(cookie.domain).map { domains.site(of: $0) }
        guard let site = known ?? domains.site(CookieRequest.siteName(of: cookie.domain)) else { return false }
        return domains.domains(of: site).contains { domain in
            let name = domains.name(of: domain)
            guard CookiePolicy.isWithin(name, domain: cookie.domain) || CookiePolicy.isWithin(cookie.domain, domain: name) else {
                return false
            }
            return domains.cookies(of: domain).contains { index in
                guard slots[index].conditions.isSecure, let existing = cookies[index], existing.name.isExactly(cookie.name) else {
                    return false
                }
                return CookiePolicy.isWithin(cookie.path[...], path: existing.path) && !existing.hasExpired(at: now)
            }
        }
    }

    /// All cookies that have not expired, in the order in which they were created.
    func unexpired(at now: HTTPDate) -> [Cookie] {
        cookies.indices.filter { cookies[$0] != nil && !slots[$0].conditions.hasExpired(at: now) }
            .sorted { (slots[$0].created, slots[$0].order) < (slots[$1].created, slots[$1].order) }.compactMap { cookies[$0] }
    }

    // MARK: Changes

    /// Stores a cookie in place of a cookie with the same key. The new cookie keeps the creation date of the old cookie. An expired cookie
    /// only removes the old cookie.
    ///
    /// - Returns: false if the cookie has no room.
    mutating func set(_ cookie: Cookie, at now: HTTPDate) -> Bool {
        guard !cookie.hasExpired(at: now) else {
            remove(cookie.key)
            return true
        }
        let index: Int
        if let known = self.index(of: cookie.key), let old = cookies[known] {
            index = known
            use(index)
            let renewed = cookie.with(expires: cookie.expires, created: old.created)
            if renewed != old {
                replace(index, by: renewed)
                unwritten.renew(index, renewed)
            }
        } else {
            index = add(cookie)
            use(index)
            unwritten.insert(index, cookie)
        }
        makeRoom(nextTo: index, at: now)
        return cookies[index] != nil
    }

    /// Adds a cookie that was never used.
    private mutating func add(_ cookie: Cookie) -> Int {
        lastOrder += 1
        let slot = Slot(cookie, domain: domains.add(cookie.domain), order: lastOrder)
        let index: Int
        if let last = free.popLast() {
            index = last
            (slots[index], cookies[index]) = (slot, cookie)
        } else {
            index = slots.count
            slots.append(slot)
            cookies.append(cookie)
        }
        place(index)
        count += 1
        totalBytes += cookie.bytes
        noteExpiry(cookie.expires)
        order.begin(index)
        unwritten.begin(index)
        enqueue(index)
        return index
    }

    /// Inserts an index into the list of its domain, at its position in sending order.
    private mutating func place(_ index: Int) {
        let (slot, slots) = (slots[index], slots)
        domains.insert(index, into: slot.domain) { slots[$0].isSent(before: slot) }
    }

    /// Replaces a cookie by a cookie with the same key.
    private mutating func replace(_ index: Int, by cookie: Cookie) {
        guard let old = cookies[index] else { return }
        totalBytes += cookie.bytes - old.bytes
        noteExpiry(cookie.expires)
        cookies[index] = cookie
        let isMoved = old.isSecure != cookie.isSecure
        if isMoved { dequeue(index) }
        slots[index].conditions = CookiePolicy.Conditions(cookie)
        if isMoved { enqueue(index) }
        guard old.created != cookie.created else { return }
        slots[index].created = cookie.created
        domains.remove(index, from: slots[index].domain)
        place(index)
    }

    private mutating func noteExpiry(_ date: HTTPDate?) {
        guard let date else { return }
        firstExpiry = min(date, firstExpiry ?? date)
    }

    /// Removes the cookie with a key.
    ///
    /// - Returns: whether the table had the cookie.
    @discardableResult
    mutating func remove(_ key: Cookie.Key) -> Bool {
        guard let index = index(of: key) else {
            if !unwritten.isLoaded { unwritten.remove(key) }
            return false
        }
        session += 1
        remove(index)
        return true
    }

    /// Removes a cookie. The store must remove the cookie too.
    private mutating func remove(_ index: Int) {
        guard let cookie = cookies[index] else { return }
        unwritten.forget(index, cookie)
        drop(index)
    }

    /// Removes a cookie from the table, and records no change for the store.
    private mutating func drop(_ index: Int) {
        guard let cookie = cookies[index] else { return }
        dequeue(index)
        cookies[index] = nil
        free.append(index)
        count -= 1
        totalBytes -= cookie.bytes
        let domain = slots[index].domain
        domains.remove(index, from: domain)
        domains.removeIfEmpty(domain)
    }

    /// Removes all cookies that a closure chooses.
    mutating func removeAll(where isChosen: (Cookie) -> Bool) {
        session += 1
        for index in cookies.indices where cookies[index].map(isChosen) == true { remove(index) }
    }

    /// Removes the cookies of all domains of a site.
    mutating func removeAll(ofSite site: String) {
        session += 1
        guard let site = domains.site(site) else { return }
        for index in domains.domains(of: site).flatMap(domains.cookies) { remove(index) }
    }

    // MARK: Uses

    /// The number of the last use of any cookie, or of the last event that was counted as a use.
    var lastUse: UInt64 { order.lastUse }

    /// Counts an event as if it were a use.
    ///
    /// - Returns: the number of the event.
    mutating func countEvent() -> UInt64 { order.count() }

    /// Records a use of a cookie.
    mutating func use(_ index: Int) {
        guard !order.isMostRecentlyUsed(index, in: uses) else { return order.use(index) }
        dequeue(index)
        order.use(index)
        enqueue(index)
    }

    private mutating func enqueue(_ index: Int) {
        let (domain, isSecure) = (slots[index].domain, slots[index].conditions.isSecure)
        order.insert(index, .jar, in: &uses)
        order.insert(index, .site, in: &domains[usesOfSite: domains.site(of: domain)][isSecure: isSecure])
        order.insert(index, .domain, in: &domains[usesOf: domain][isSecure: isSecure])
    }

    private mutating func dequeue(_ index: Int) {
        let (domain, isSecure) = (slots[index].domain, slots[index].conditions.isSecure)
        order.remove(index, .jar, from: &uses)
        order.remove(index, .site, from: &domains[usesOfSite: domains.site(of: domain)][isSecure: isSecure])
        order.remove(index, .domain, from: &domains[usesOf: domain][isSecure: isSecure])
    }

    // MARK: Limits

    /// Evicts cookies until all limits hold.
    private mutating func makeRoom(nextTo index: Int, at now: HTTPDate) {
        let domain = slots[index].domain
        let site = domains.site(of: domain)
        guard isFull(domain: domain) || isFull(site: site) || isFull else { return }
        removeExpired(at: now)
        while isFull(domain: domain), let victim = domains[usesOf: domain].victim { remove(victim) }
        while isFull(site: site), let victim = domains[usesOfSite: site].victim { remove(victim) }
        while isFull, let victim = uses.leastRecentlyUsed { remove(victim) }
    }

    private func isFull(domain: Int) -> Bool { domains.cookies(of: domain).count > limits.countPerDomain }
    private func isFull(site: Int) -> Bool { domains.count(ofSite: site) > limits.countPerSite }
    private var isFull: Bool { count > limits.totalCount || totalBytes > limits.totalBytes }

    /// Removes the expired cookies from the table. The store keeps these cookies, because another process may have renewed them.
    private mutating func removeExpired(at now: HTTPDate) {
        guard let first = firstExpiry, first <= now else { return }
        firstExpiry = nil
        for index in cookies.indices where cookies[index] != nil {
            if slots[index].conditions.hasExpired(at: now) { drop(index) } else { noteExpiry(slots[index].conditions.expires) }
        }
    }
}

// MARK: - The store

extension CookieTable {
    /// Takes all changes. From now on, the table assumes that the store has these changes.
    mutating func takeChanges() -> UnwrittenChanges.Batch { unwritten.take(of: cookies) }

    /// Records that the store lacks changes.
    mutating func restore(_ changes: UnwrittenChanges.Batch) {
        for cookie in changes.changed {
            if let index = index(of: cookie.key) { unwritten.restore(index) }
        }
        for key in changes.removed {
            if let index = index(of: key), slots[index].conditions.expires != nil {
                unwritten.noteStored(index)
            } else {
                unwritten.remove(key)
            }
        }
        unwritten.isPending = true
    }

    /// Replaces the cookies of the table by the cookies of the store. The table keeps the changes that the store lacks.
    ///
    /// - Parameters:
    ///   - stored: the cookies of the store.
    ///   - removals: the removals that the store does not have yet: of one site, or of all sites. If a stored cookie is not in this table,
    ///     the last removal of its site or of all sites counts. If the cookie is not newer than this removal, the store must remove the
    ///     cookie.
    ///   - now: the current time.
    mutating func merge(_ stored: [Cookie], _ removals: Removals, at now: HTTPDate) {
        unwritten.isLoaded = true
        var seen: Set<Int> = []
        for cookie in stored {
            // If a clock was wrong, the stored expiry date may be too late.
            let cookie = cookie.with(expires: cookie.expires?.atMost(SetCookie.longestLifetime, after: now), created: cookie.created)
            let key = cookie.key
            guard !cookie.hasExpired(at: now), !unwritten.isRemoved(key), (try? CookiePolicy.check(cookie)) != nil else { continue }
            if let index = index(of: key) {
                seen.insert(index)
                guard slots[index].conditions.expires != nil, !unwritten.isChanged(index) else { continue }
                if cookies[index] != cookie { replace(index, by: cookie) }
                unwritten.noteStored(index)
            } else if let removal = removals.last(ofSite: CookieRequest.siteName(of: cookie.domain)),
                cookie.created <= removal.date
            {
                unwritten.remove(key)
            } else {
                let index = add(cookie)
                unwritten.noteStored(index)
                makeRoom(nextTo: index, at: now)
                if cookies[index] != nil { seen.insert(index) }
            }
        }
        // If a written cookie is no longer in the store, another process has removed the cookie.
        for index in cookies.indices where cookies[index] != nil && unwritten.isWritten(index) && !seen.contains(index) {
            session += 1
            drop(index)
        }
    }
}

extension Cookie {
    /// The number of octets in all texts of the cookie.
    fileprivate var bytes: Int { name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count }
}
#endif
