internal import Synchronization

/// A resolver that keeps the addresses of another resolver for a time. While the addresses are kept, a new connection to the host needs no
/// lookup.
///
/// ```swift
/// let resolver = SystemHostResolver().cached(for: .seconds(10))
/// configuration.resolver = resolver
/// // …
/// resolver.flush()        // the network has changed
/// ```
///
/// The resolver of the system does not report the lifetime of an address. Therefore all addresses are kept for the same time. The
/// default is 30 s, as in the resolver of Java, which OkHttp uses. The default of curl is 60 s. If the DNS changes, new connections use the
/// new addresses when the time of the kept addresses has passed. The resolver does not limit the age of an open connection.
///
/// - Concurrent callers for the same host and port share one lookup. A cancelled caller stops waiting immediately. If all callers
///   are cancelled, the lookup is cancelled.
/// - A failure or an empty list is never kept: the next connection looks the host up again.
/// - If no connection to the addresses of a host can be opened, the addresses are dropped.
/// - If there are more than `maxHosts` hosts (``HostResolver/cached(for:maxHosts:clock:)``), the least recently used host is
///   dropped.
public final class CachedHostResolver: HostResolver, CustomStringConvertible {
    private let base: any HostResolver
    private let flights = SingleFlight<AddressCache.Flight, [IPAddress]>()
    private let cache: Mutex<AddressCache>
    private let elapsed: @Sendable () -> Duration

    /// Creates a resolver without any addresses.
    ///
    /// - Parameters:
    ///   - base: the resolver that finds the addresses.
    ///   - timeToLive: the time for which addresses are kept, more than zero. Default: 30 s.
    ///   - maxHosts: the largest number of hosts and ports whose addresses are kept, at least 1. Default: 1,000.
    ///   - clock: the clock that measures the time.
    public init(
        _ base: some HostResolver, for timeToLive: Duration = .seconds(30), maxHosts: Int = 1000,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        precondition(timeToLive > .zero, "timeToLive must be more than zero (is \(timeToLive))")
        precondition(maxHosts >= 1, "maxHosts must be at least 1 (is \(maxHosts))")
        self.base = base
        cache = Mutex(AddressCache(timeToLive: timeToLive, limit: maxHosts))
        elapsed = makeStopwatch(on: clock)
    }

    /// Returns the kept addresses. If no valid addresses are kept, asks the base resolver.
    ///
    /// - Throws: the error of the base resolver; `CancellationError` if the caller is cancelled.
    public func addresses(of host: String, port: Int) async throws -> [IPAddress] {
        let key = AddressCache.Key(host: host, port: port)
        let now = elapsed()
        let (known, flight) = cache.withLock { ($0.addresses(of: key, at: now), $0.flight(for: key)) }
        if let known { return known }
        return try await flights.run(flight) { [self] in
            let found = try await base.addresses(of: host, port: port)
            let now = elapsed()
            cache.withLock { $0.keep(found, of: flight, at: now) }
            return found
        }
    }

    /// Returns the kept addresses, or the addresses that the base resolver knows; `nil` if a lookup is necessary.
    public func knownAddresses(of host: String, port: Int) -> [IPAddress]? {
        let now = elapsed()
        return cache.withLock { $0.addresses(of: AddressCache.Key(host: host, port: port), at: now) }
            ?? base.knownAddresses(of: host, port: port)
    }

    /// Drops the addresses of a host, so that the next connection looks the host up again.
    public func discardAddresses(of host: String, port: Int) {
        cache.withLock { $0.discard(AddressCache.Key(host: host, port: port)) }
        base.discardAddresses(of: host, port: port)
    }

    /// Drops all addresses. The waiting callers still receive the results of lookups in progress, but these results are not kept.
    public func flush() { cache.withLock { $0.flush() } }

    /// The number of hosts and ports whose addresses are kept, including addresses whose time has passed.
    public var count: Int { cache.withLock(\.count) }

    /// The number of kept hosts: `cached host resolver, hosts: 3`.
    public var description: String { "cached host resolver, hosts: \(count)" }
}

/// The kept addresses. The owner of this value provides the lock and the clock.
struct AddressCache: Sendable {
    struct Key: Hashable, Sendable {
        let host: String
        let port: Int
    }

    /// A lookup, which later callers join. If the cache is flushed, callers after the flush begin another lookup.
    struct Flight: Hashable, Sendable {
        let key: Key
        fileprivate let generation: Int
    }

    private struct Entry: Sendable {
        var addresses: [IPAddress]
        var expiry: Duration
    }

    private let timeToLive: Duration
    private let limit: Int
    private var entries: BoundedTable<Key, Entry>
    private var generation = 0

    init(timeToLive: Duration, limit: Int) {
        (self.timeToLive, self.limit) = (timeToLive, limit)
        entries = BoundedTable(limit: limit)
    }

    var count: Int { entries.count }

    /// Returns the addresses that are kept and still valid; `nil` if there are no such addresses. The call counts as a use.
    mutating func addresses(of key: Key, at now: Duration) -> [IPAddress]? {
        guard let entry = entries.updateIfPresent(key, { $0 }) else { return nil }
        if entry.expiry > now { return entry.addresses }
        entries.removeValue(forKey: key)
        return nil
    }

    func flight(for key: Key) -> Flight { Flight(key: key, generation: generation) }

    /// Keeps the result of a lookup. If the result is empty, or the cache was flushed after the lookup began, keeps nothing.
    mutating func keep(_ addresses: [IPAddress], of flight: Flight, at now: Duration) {
        guard flight.generation == generation, !addresses.isEmpty else { return }
        let entry = Entry(addresses: addresses, expiry: now + timeToLive)
        entries.update(flight.key, default: entry) { $0 = entry }
    }

    mutating func discard(_ key: Key) { entries.removeValue(forKey: key) }

    mutating func flush() {
        generation += 1
        entries = BoundedTable(limit: limit)
    }
}
