internal import ErrandCore

/// The latest removals of a store in memory: a value without locks.
///
/// One counter numbers all removals. A look-up returns the current number. The response of that exchange is stored only if no later removal
/// applies to the response.
struct CacheGenerations: Sendable {
    /// The account, URL, origin or group to which a removal applies.
    private enum Place {
        case account(CredentialIdentity)
        case url(String)
        case origin(Origin)
        case group(String, of: Origin)

        /// A hash of the place, because the texts could be long, and could have secrets. If two places have the same hash, a removal of
        /// one place also prevents the storage of responses of the other place.
        var hash: Int {
            var hasher = Hasher()
            switch self {
            case .account(let identity):
                hasher.combine(0)
                hasher.combine(identity.ofAccount)
            case .url(let url):
                hasher.combine(1)
                hasher.combine(OctetKey(url))
            case .origin(let origin):
                hasher.combine(2)
                hasher.combine(origin)
            case .group(let group, let origin):
                hasher.combine(3)
                hasher.combine(OctetKey(group))
                hasher.combine(origin)
            }
            return hasher.finalize()
        }
    }

    private var last: Int64 = 0
    /// The number of the latest removal of all entries.
    private var emptied: Int64 = 0
    /// The largest number of a removal that ``places`` has lost. A response that was requested before this removal is not stored.
    private var floor: Int64 = 0
    /// The number of the latest removal of each place. ``remove(_:)`` enforces the limit of the table, because that function needs the
    /// number of each place that the table loses.
    private var places = BoundedTable<Int, Int64>(limit: .max)

    /// The number of the latest removal.
    var current: CacheGeneration { CacheGeneration(last) }

    /// Returns whether a response may be stored: whether no removal after `generation` applies to the response.
    ///
    /// - Parameters:
    ///   - generation: the generation that the look-up before the exchange has returned.
    ///   - key: the key of the response.
    ///   - groups: the groups of the response.
    func isCurrent(_ generation: CacheGeneration, for key: CacheKey, groups: @autoclosure () -> [String]) -> Bool {
        // A fast path, because most exchanges see no removal.
        if generation.rawValue == last { return true }
        guard generation.rawValue >= max(emptied, floor) else { return false }
        if case .account(let identity) = key.partition, number(of: .account(identity)) > generation.rawValue { return false }
        return number(of: .url(key.url)) <= generation.removalValue && number(of: .origin(key.origin)) <= generation.removalValue
            && groups().allSatisfy { number(of: .group($0, of: key.origin)) <= generation.removalValue }
    }

    private func number(of place: Place) -> Int64 { places[place.hash] ?? 0 }

    private mutating func remove(_ removed: [Place]) {
        last += 1
        for place in removed { places.update(place.hash, default: last) { $0 = last } }
        while places.count > CacheLimits.removals, let (_, number) = places.removeLeastRecentlyUsed() { floor = max(floor, number) }
    }

    /// Records the removal of an account.
    mutating func forget(_ identity: CredentialIdentity) { remove([.account(identity)]) }

    /// Records the removal of URLs.
    mutating func remove(urls: [String]) { remove(urls.map { .url($0) }) }

    /// Records the removal of an origin.
    mutating func remove(_ origin: Origin) { remove([.origin(origin)]) }

    /// Records the removal of groups.
    mutating func remove(groups: [String], of origin: Origin) { remove(groups.map { .group($0, of: origin) }) }

    /// Records the removal of all entries.
    mutating func empty() {
        last += 1
        emptied = last
        places = BoundedTable(limit: .max)
    }
}
