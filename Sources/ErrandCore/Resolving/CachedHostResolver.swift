internal import Synchronization

/// Keeps the addresses that another resolver finds, so that a new connection to a known host need not wait for them.
///
/// ```swift
/// let resolver = SystemHostResolver().cached(for: .seconds(10))
/// configuration.resolver = resolver
/// // …
/// resolver.flush()        // the network has changed
/// ```
///
/// The system's resolver does not report for how long an address is valid, so every host has the same time: 30 s by default, as Java's
/// resolver has it, which OkHttp uses; curl keeps addresses for 60 s. A change of the DNS is seen after that time, by new connections: see
/// also the maximum age of a connection.
///
/// - Lookups of one host and port at the same time are one. A caller that is cancelled leaves at once; the last one ends the lookup.
/// - A failure and an empty list are never kept: the next connection asks again.
/// - Addresses to which no connection could be opened are dropped.
/// - Beyond ``HostResolver/cached(for:maxHosts:clock:)``'s bound, the host that was used least recently is dropped.
public final class CachedHostResolver: HostResolver {
    private let base: any HostResolver
    private let flights = SingleFlight<AddressCache.Flight, [IPAddress]>()
    private let cache: Mutex<AddressCache>
    private let elapsed: @Sendable () -> Duration

    /// Creates a resolver that knows no host yet.
    ///
    /// - Parameters:
    ///   - base: finds the addresses.
    ///   - timeToLive: for how long addresses are used; 30 s by default, more than zero.
    ///   - maxHosts: of how many hosts and ports addresses are kept: 1,000 by default, at least 1.
    ///   - clock: the clock that measures the time.
    public init(
        _ base: some HostResolver, for timeToLive: Duration = .seconds(30), maxHosts: Int = 1000,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        precondition(timeToLive > .zero, "timeToLive must be more than zero (is \(timeToLive))")
        precondition(maxHosts >= 1, "maxHosts must be at least 1 (is \(maxHosts))")
        self.base = base
        cache = Mutex(AddressCache(timeToLive: timeToLive, limit: maxHosts))
        elapsed = stopwatch(clock)
    }

    /// Returns the addresses that are kept, or asks the other resolver.
    ///
    /// - Throws: the error of the other resolver; `CancellationError`.
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

    /// Returns the addresses that are kept; `nil` if the other resolver must be asked.
    package func knownAddresses(of host: String, port: Int) -> [IPAddress]? {
        let now = elapsed()
        return cache.withLock { $0.addresses(of: AddressCache.Key(host: host, port: port), at: now) }
    }

    /// Drops the addresses of a host, so that the next connection asks again.
    public func discardAddresses(of host: String, port: Int) {
        cache.withLock { $0.discard(AddressCache.Key(host: host, port: port)) }
        base.discardAddresses(of: host, port: port)
    }

    /// Drops all addresses. What is being looked up now is used by those who wait for it, and not kept.
    public func flush() { cache.withLock { $0.flush() } }

    /// The number of hosts and ports whose addresses are kept, also those whose time has passed.
    public var count: Int { cache.withLock(\.count) }
}

/// The addresses that are kept, without a lock and a clock.
struct AddressCache: Sendable {
    struct Key: Hashable, Sendable {
        let host: String
        let port: Int
    }

    /// A lookup, which later callers join, unless the cache was flushed since it began.
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

    /// Returns what is kept and still valid. This counts as a use.
    mutating func addresses(of key: Key, at now: Duration) -> [IPAddress]? {
        guard let entry = entries.updateIfPresent(key, { $0 }) else { return nil }
        if entry.expiry > now { return entry.addresses }
        entries.removeValue(forKey: key)
        return nil
    }

    func flight(for key: Key) -> Flight { Flight(key: key, generation: generation) }

    /// Keeps what a lookup has found, unless it is empty, or the cache was flushed since the lookup began.
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
