#if Auth
internal import ErrandCore
internal import ErrandFormats

/// The cookies of a jar, found by their domain.
///
/// The time of a search depends on the number of cookies of the host and its domains, and not on the number of all cookies. Each limit
/// evicts cookies in this order: expired cookies, then the full domain's cookies without `Secure`, then the least recently used cookies.
struct CookieTable: Sendable {
    /// The parts of a cookie that decisions need. Copying this value changes no reference count.
    struct Slot: Sendable {
        /// The hash of the name, the path and whether the cookie belongs to its host alone.
        let keyHash: Int
        let isHostOnly: Bool
        let pathBytes: Int
        /// The position in the order in which the cookies were inserted.
        let order: UInt64
        var created: HTTPDate
        var expires: HTTPDate?
        var isSecure: Bool
        /// The number of the last use. Later uses have higher numbers.
        var lastUse: UInt64 = 0
        /// Whether the store has this cookie, in this form or an earlier form.
        var isStored = false
        /// Whether the store must get this form of the cookie.
        var isChanged = false
        /// The neighbors in the order of use, by index; -1 if there is no neighbor.
        var older = -1
        var newer = -1

        init(_ cookie: Cookie, order: UInt64) {
            (keyHash, isHostOnly, pathBytes) = (Self.hash(of: cookie.key), cookie.isHostOnly, cookie.path.utf8.count)
            (self.order, created, expires, isSecure) = (order, cookie.created, cookie.expires, cookie.isSecure)
        }

        static func hash(of key: Cookie.Key) -> Int {
            var hasher = Hasher()
            hasher.combine(OctetKey(key.name))
            hasher.combine(OctetKey(key.path))
            hasher.combine(key.isHostOnly)
            return hasher.finalize()
        }

        /// Whether the cookie is sent before another cookie: longer paths first, then older cookies.
        func isSent(before other: Slot) -> Bool {
            if pathBytes != other.pathBytes { return pathBytes > other.pathBytes }
            return created != other.created ? created < other.created : order < other.order
        }

        /// Whether the cookie is evicted before another cookie of the same domain or site.
        func isEvicted(before other: Slot) -> Bool {
            isSecure != other.isSecure ? other.isSecure : lastUse < other.lastUse
        }

        func hasExpired(at now: HTTPDate) -> Bool { expires.map { $0 <= now } ?? false }
    }

    /// The cookies with one domain.
    private struct Domain: Sendable {
        /// The registrable domain; the domain itself if there is no registrable domain.
        let site: String
        /// The cookies in the order of sending, by index.
        var indices: [Int] = []
    }

    /// The domains of one site that have cookies.
    private struct Site: Sendable {
        var domains: [String] = []
        var count = 0
    }

    let limits: CookieJar.Limits
    private var cookies: [Cookie?] = []
    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var domains: [Substring: Domain] = [:]
    private var sites: [String: Site] = [:]
    private(set) var count = 0
    private(set) var totalBytes = 0
    private var lastOrder: UInt64 = 0
    private var oldest = -1
    private var newest = -1
    /// No cookie expires before this date. `nil` if no cookie expires.
    private var firstExpiry: HTTPDate?
    /// The number of the last use of any cookie.
    var lastUse: UInt64 = 0
    /// The cookies that the store must remove. `nil` if there is no store.
    private var removals: Set<Cookie.Key>?
    /// Whether the store lacks a change.
    var hasChanges = false
    /// Whether the cookies of the store are known.
    private(set) var isLoaded: Bool

    init(limits: CookieJar.Limits, hasStore: Bool) {
        self.limits = limits
        removals = hasStore ? [] : nil
        isLoaded = !hasStore
    }

    /// The cookie at an index; `nil` if the index is free.
    subscript(index: Int) -> Cookie? { cookies[index] }

    // MARK: Search

    /// Returns the cookies that the request carries, by index, in the order of sending.
    func matches(_ request: CookieRequest, at now: () -> HTTPDate) -> [Int] {
        var found: [Int] = []
        guard count > 0 else { return found }
        let host = request.origin.host
        addMatches(request, of: host[...], isHost: true, at: now, to: &found)
        guard !Origin.isAddress(host: host) else { return found }
        let countOfHost = found.count
        var rest = host[...]
        // A single label is a public suffix. Therefore no cookie has a single label as a domain for other hosts.
        while let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[host.utf8.index(after: dot)...]
            guard rest.utf8.contains(UInt8(ascii: ".")) else { break }
            addMatches(request, of: rest, isHost: false, at: now, to: &found)
        }
        if found.count > max(1, countOfHost) {
            found.sort { first, second in
                guard let first = slots[first], let second = slots[second] else { return false }
                return first.isSent(before: second)
            }
        }
        return found
    }

    /// Adds the cookies of a domain that the request carries, in the order of sending.
    private func addMatches(
        _ request: CookieRequest, of name: Substring, isHost: Bool, at now: () -> HTTPDate, to found: inout [Int]
    ) {
        guard let indices = domains[name]?.indices else { return }
        for index in indices {
            guard let slot = slots[index], isHost || !slot.isHostOnly, slot.pathBytes <= request.path.utf8.count,
                let cookie = cookies[index], CookiePolicy.allows(cookie, in: request, at: now)
            else { continue }
            found.append(index)
        }
    }

    /// Returns the index of the cookie with a key; `nil` if there is no such cookie.
    func index(of key: Cookie.Key) -> Int? {
        guard let indices = domains[key.domain[...]]?.indices else { return nil }
        let hash = Slot.hash(of: key)
        for index in indices {
            guard let slot = slots[index], slot.keyHash == hash, let cookie = cookies[index], cookie.key == key else { continue }
            return index
        }
        return nil
    }

    /// Returns whether the table has a `Secure` cookie that a cookie of an insecure origin would replace or hide ([RFC 6265bis, section
    /// 5.7](https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-5.7)).
    func hasSecureCookie(under cookie: Cookie, at now: HTTPDate) -> Bool {
        guard let site = sites[domains[cookie.domain[...]]?.site ?? CookieRequest.siteName(of: cookie.domain)] else { return false }
        return site.domains.contains { name in
            guard CookiePolicy.isWithin(name, domain: cookie.domain) || CookiePolicy.isWithin(cookie.domain, domain: name) else {
                return false
            }
            return (domains[name[...]]?.indices ?? []).contains { index in
                guard slots[index]?.isSecure == true, let existing = cookies[index], existing.name.isExactly(cookie.name) else {
                    return false
                }
                return CookiePolicy.isWithin(cookie.path[...], path: existing.path) && !existing.hasExpired(at: now)
            }
        }
    }

    /// All cookies that have not expired, in the order in which they were created.
    func unexpired(at now: HTTPDate) -> [Cookie] {
        slots.indices.compactMap { index in slots[index].map { (index: index, slot: $0) } }.filter { !$0.slot.hasExpired(at: now) }
            .sorted { ($0.slot.created, $0.slot.order) < ($1.slot.created, $1.slot.order) }.compactMap { cookies[$0.index] }
    }

    /// The number of domains that have cookies.
    var domainCount: Int { domains.count }

    // MARK: Changes

    /// Stores a cookie in place of a cookie with the same key. The new cookie keeps the date of the old cookie's creation. An expired
    /// cookie only removes the old cookie.
    ///
    /// - Returns: false if the cookie has no room.
    mutating func set(_ cookie: Cookie, at now: HTTPDate) -> Bool {
        guard !cookie.hasExpired(at: now) else {
            remove(cookie.key)
            return true
        }
        guard let index = index(of: cookie.key), let old = cookies[index] else { return insert(cookie, at: now) }
        let renewed = cookie.with(expires: cookie.expires, created: old.created)
        if renewed != old {
            replace(index, by: renewed)
            if removals != nil {
                if renewed.expires == nil {
                    forgetInStore(index)
                } else {
                    slots[index]?.isChanged = true
                    hasChanges = true
                }
            }
        }
        use(index)
        makeRoom(nextTo: index, at: now)
        return cookies[index] != nil
    }

    /// Inserts a cookie whose key is new.
    private mutating func insert(_ cookie: Cookie, at now: HTTPDate) -> Bool {
        let index = add(cookie)
        if removals != nil, cookie.expires != nil {
            slots[index]?.isChanged = true
            // The store may have a removed cookie of this key. The new cookie replaces that cookie.
            if removals?.remove(cookie.key) != nil { slots[index]?.isStored = true }
            hasChanges = true
        } else if !isLoaded {
            removals?.insert(cookie.key)
            hasChanges = true
        }
        use(index)
        makeRoom(nextTo: index, at: now)
        return cookies[index] != nil
    }

    /// Adds a cookie as the cookie that was used least recently.
    private mutating func add(_ cookie: Cookie) -> Int {
        lastOrder += 1
        let slot = Slot(cookie, order: lastOrder)
        let index: Int
        if let last = free.popLast() {
            index = last
            (slots[index], cookies[index]) = (slot, cookie)
        } else {
            index = slots.count
            slots.append(slot)
            cookies.append(cookie)
        }
        let name = cookie.domain[...]
        if domains[name] == nil {
            let site = CookieRequest.siteName(of: cookie.domain)
            domains[name] = Domain(site: site)
            sites[site, default: Site()].domains.append(cookie.domain)
        }
        place(slot, index, in: name)
        if let site = domains[name]?.site { sites[site]?.count += 1 }
        count += 1
        totalBytes += cookie.bytes
        noteExpiry(slot.expires)
        slots[index]?.newer = oldest
        if oldest >= 0 { slots[oldest]?.older = index } else { newest = index }
        oldest = index
        return index
    }

    /// Inserts an index into the list of a domain, at its place in the order of sending.
    private mutating func place(_ slot: Slot, _ index: Int, in name: Substring) {
        guard let indices = domains[name]?.indices else { return }
        var (low, high) = (0, indices.count)
        while low < high {
            let middle = (low + high) / 2
            if let other = slots[indices[middle]], other.isSent(before: slot) { low = middle + 1 } else { high = middle }
        }
        domains[name]?.indices.insert(index, at: low)
    }

    /// Replaces a cookie by a cookie with the same key.
    private mutating func replace(_ index: Int, by cookie: Cookie) {
        guard let old = cookies[index] else { return }
        totalBytes += cookie.bytes - old.bytes
        noteExpiry(cookie.expires)
        cookies[index] = cookie
        slots[index]?.expires = cookie.expires
        slots[index]?.isSecure = cookie.isSecure
        guard old.created != cookie.created else { return }
        slots[index]?.created = cookie.created
        let name = cookie.domain[...]
        domains[name]?.indices.removeAll { $0 == index }
        if let slot = slots[index] { place(slot, index, in: name) }
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
        if let index = index(of: key) {
            remove(index)
            return true
        }
        if !isLoaded {
            removals?.insert(key)
            hasChanges = true
        }
        return false
    }

    /// Removes a cookie. The store must remove the cookie too.
    private mutating func remove(_ index: Int) {
        forgetInStore(index)
        drop(index)
    }

    /// Records that the store must remove a cookie that the store has.
    private mutating func forgetInStore(_ index: Int) {
        guard let slot = slots[index], slot.isStored || slot.isChanged else { return }
        slots[index]?.isStored = false
        slots[index]?.isChanged = false
        guard slot.isStored, let key = cookies[index]?.key else { return }
        removals?.insert(key)
        hasChanges = true
    }

    /// Removes a cookie from the table alone.
    private mutating func drop(_ index: Int) {
        guard let cookie = cookies[index] else { return }
        unlink(index)
        (slots[index], cookies[index]) = (nil, nil)
        free.append(index)
        count -= 1
        totalBytes -= cookie.bytes
        let name = cookie.domain[...]
        domains[name]?.indices.removeAll { $0 == index }
        guard let site = domains[name]?.site else { return }
        sites[site]?.count -= 1
        guard domains[name]?.indices.isEmpty == true else { return }
        domains[name] = nil
        sites[site]?.domains.removeAll { $0.isExactly(cookie.domain) }
        if sites[site]?.domains.isEmpty == true { sites[site] = nil }
    }

    /// Removes all cookies that a closure chooses.
    mutating func removeAll(where isChosen: (Cookie) -> Bool) {
        for index in cookies.indices where cookies[index].map(isChosen) == true { remove(index) }
    }

    /// Removes the cookies of all domains of a site.
    mutating func removeAll(ofSite site: String) {
        for name in sites[site]?.domains ?? [] {
            for index in domains[name[...]]?.indices ?? [] { remove(index) }
        }
    }

    // MARK: Limits

    /// Records a use of a cookie.
    mutating func use(_ index: Int) {
        lastUse += 1
        slots[index]?.lastUse = lastUse
        guard newest != index else { return }
        unlink(index)
        slots[index]?.older = newest
        slots[index]?.newer = -1
        if newest >= 0 { slots[newest]?.newer = index } else { oldest = index }
        newest = index
    }

    private mutating func unlink(_ index: Int) {
        guard let slot = slots[index] else { return }
        if slot.older >= 0 { slots[slot.older]?.newer = slot.newer } else { oldest = slot.newer }
        if slot.newer >= 0 { slots[slot.newer]?.older = slot.older } else { newest = slot.older }
    }

    /// Evicts cookies until all limits hold.
    private mutating func makeRoom(nextTo index: Int, at now: HTTPDate) {
        guard let name = cookies[index]?.domain[...], let site = domains[name]?.site else { return }
        guard isFull(name) || isFull(site: site) || isFull else { return }
        removeExpired(at: now)
        while isFull(name), let victim = victim(of: name, nil) { remove(victim) }
        while isFull(site: site), let victim = victim(ofSite: site) { remove(victim) }
        while isFull, oldest >= 0 { remove(oldest) }
    }

    private func isFull(_ domain: Substring) -> Bool { domains[domain]?.indices.count ?? 0 > limits.domainCount }
    private func isFull(site: String) -> Bool { sites[site]?.count ?? 0 > limits.siteCount }
    private var isFull: Bool { count > limits.totalCount || totalBytes > limits.totalBytes }

    /// Returns the cookie to evict first: a cookie of the domain, or `other`.
    private func victim(of domain: Substring, _ other: Int?) -> Int? {
        var victim = other
        var found = other.flatMap { slots[$0] }
        for index in domains[domain]?.indices ?? [] {
            guard let slot = slots[index], found.map({ slot.isEvicted(before: $0) }) ?? true else { continue }
            (victim, found) = (index, slot)
        }
        return victim
    }

    private func victim(ofSite site: String) -> Int? {
        (sites[site]?.domains ?? []).reduce(nil) { victim(of: $1[...], $0) }
    }

    /// Removes the expired cookies from the table. The store keeps these cookies, because another process may have renewed them.
    private mutating func removeExpired(at now: HTTPDate) {
        guard let first = firstExpiry, first <= now else { return }
        firstExpiry = nil
        for index in slots.indices {
            guard let slot = slots[index] else { continue }
            if slot.hasExpired(at: now) { drop(index) } else { noteExpiry(slot.expires) }
        }
    }
}

// MARK: - The store

extension CookieTable {
    /// The changes that the store gets in one call.
    struct Changes: Sendable {
        var changed: [Cookie] = []
        var removed: [Cookie.Key] = []
    }

    /// The removals of all cookies, and of all cookies of a site, that the store does not have yet.
    struct Clearing: Sendable {
        /// The date at which all cookies were removed; `nil` if not all cookies were removed.
        var date: HTTPDate?
        /// For each site, the date at which the cookies of the site were removed.
        var sites = BoundedTable<String, HTTPDate>(limit: 256)

        /// Returns the date until which a cookie was removed; `nil` if the cookie was not removed.
        func date(for cookie: Cookie) -> HTTPDate? {
            let ofSite = sites.isEmpty ? nil : sites[CookieRequest.siteName(of: cookie.domain)]
            guard let date, let ofSite else { return date ?? ofSite }
            return max(date, ofSite)
        }

        /// Removes the removals that the store now has. Later removals stay.
        mutating func remove(_ stored: Clearing) {
            if date == stored.date { date = nil }
            for entry in stored.sites.entries where sites[entry.key] == entry.value { sites.removeValue(forKey: entry.key) }
        }
    }

    /// Takes all changes. From now on, the table assumes that the store has these changes.
    mutating func takeChanges() -> Changes {
        var changes = Changes()
        for index in slots.indices where slots[index]?.isChanged == true {
            if let cookie = cookies[index] { changes.changed.append(cookie) }
            slots[index]?.isStored = true
            slots[index]?.isChanged = false
        }
        changes.removed = Array(removals ?? [])
        removals = removals.map { _ in [] }
        hasChanges = false
        return changes
    }

    /// Records that the store lacks changes.
    mutating func restore(_ changes: Changes) {
        for cookie in changes.changed {
            guard let index = index(of: cookie.key), slots[index]?.isStored == true else { continue }
            slots[index]?.isChanged = true
        }
        for key in changes.removed {
            if let index = index(of: key), slots[index]?.expires != nil { slots[index]?.isStored = true } else { removals?.insert(key) }
        }
        hasChanges = true
    }

    /// Replaces the cookies of the table by the cookies of the store. Changes that the store lacks stay in the table.
    ///
    /// - Parameters:
    ///   - clearing: the removals that the store does not have yet. Cookies that were created until the date of their removal, and that
    ///     this table does not know, are removed from the store.
    mutating func merge(_ stored: [Cookie], _ clearing: Clearing, at now: HTTPDate) {
        isLoaded = true
        var seen: Set<Int> = []
        for cookie in stored {
            // A wrong clock may have caused a date that is too late.
            let cookie = cookie.with(expires: cookie.expires?.atMost(SetCookie.longestLifetime, after: now), created: cookie.created)
            let key = cookie.key
            guard !cookie.hasExpired(at: now), removals?.contains(key) != true, (try? CookiePolicy.check(cookie)) != nil else { continue }
            if let index = index(of: key) {
                seen.insert(index)
                guard let slot = slots[index], slot.expires != nil, !slot.isChanged else { continue }
                if cookies[index] != cookie { replace(index, by: cookie) }
                slots[index]?.isStored = true
            } else if let date = clearing.date(for: cookie), cookie.created <= date {
                removals?.insert(key)
                hasChanges = true
            } else {
                let index = add(cookie)
                slots[index]?.isStored = true
                makeRoom(nextTo: index, at: now)
                if cookies[index] != nil { seen.insert(index) }
            }
        }
        // Another process has removed the other cookies.
        for index in slots.indices {
            guard let slot = slots[index], slot.isStored, !slot.isChanged, !seen.contains(index) else { continue }
            drop(index)
        }
    }
}

extension Cookie {
    /// The number of octets of all texts.
    fileprivate var bytes: Int { name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count }
}
#endif
