internal import ErrandCore
public import ErrandFormats
internal import Synchronization

/// A ``RateLimitStore`` in the memory of one process. Stacks with the same store share a limit.
///
/// ```swift
/// let store = MemoryRateLimitStore()
/// let reads = transport.rateLimit(.perSecond(50), store: store)
/// let writes = transport.rateLimit(.perSecond(50), store: store)  // 50 in total
/// ```
public final class MemoryRateLimitStore: RateLimitStore, ImmediateRateLimits, CustomStringConvertible {
    /// The largest number of keys in each of two groups. The first group has the keys for which the server's rate-limit fields are still in
    /// effect. The second group has all other keys.
    public let maxKeys: Int
    private let elapsed: @Sendable () -> Duration
    private let machines: Mutex<TieredTable<String, RateLimitMachine>>

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - maxKeys: the limit for each of the two groups of keys (see ``maxKeys``); at least 1. Default: 1,000. If a group exceeds
    ///     the limit, the group's least recently used key is removed.
    ///   - clock: the clock that measures windows. Pass the clock of the middleware.
    public init(maxKeys: Int = 1_000, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(maxKeys >= 1, "maxKeys must be at least 1 (is \(maxKeys))")
        self.maxKeys = maxKeys
        elapsed = makeStopwatch(on: clock)
        machines = Mutex(TieredTable(limit: maxKeys, isImportant: \.hasNews))
    }

    /// Takes a grant for one request if the limit and the server allow the request now; see ``RateLimitStore/take(_:limit:)``.
    public func take(_ key: String, limit: RateLimit?) -> RateLimitDecision {
        within(key) { machine, now in machine.take(limit, at: now) }
    }

    /// Records the rate-limit fields of a response; see ``RateLimitStore/observe(_:for:after:)``.
    public func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) {
        within(key) { machine, now in machine.observe(fields, after: grant, at: now) }
    }

    /// Returns the number of requests that may be sent now; `nil` if there is no limit now.
    public func available(_ key: String, limit: RateLimit?) -> Int? {
        let now = elapsed()
        return machines.withLock { $0[key] ?? RateLimitMachine() }.available(limit, at: now)
    }

    /// Removes the grants and the server's rate-limit fields that are stored for a key. The next request of the key is sent immediately.
    ///
    /// If a request is waiting because of the server's fields, the middleware notices the removal within a minute. A key is the
    /// text that the scope of the limit returns for a request: `https://a.example` for ``/ErrandCore/RequestScope/origin``, an
    /// empty text for ``/ErrandCore/RequestScope/all``.
    public func forget(_ key: String) { machines.withLock { $0.removeValue(forKey: key) } }

    /// This store.
    public var immediate: (any ImmediateRateLimits)? { self }

    /// Returns how long the next request must wait, and the reason; `nil` if the request may be sent now.
    public func wait(_ key: String, limit: RateLimit?) -> (duration: Duration, cause: RateLimitDecision.Cause)? {
        let now = elapsed()
        return machines.withLock { machines in
            guard var machine = machines[key] else { return nil }
            return machine.wait(limit, at: now)
        }
    }

    /// The number of stored keys: `rate limits in memory, keys: 3`.
    public var description: String { "rate limits in memory, keys: \(keyCount)" }

    /// The number of keys that are kept.
    package var keyCount: Int { machines.withLock(\.count) }

    /// Changes the state of a key in place. A copy would take time proportional to the number of stored instants.
    private func within<Result: Sendable>(_ key: String, _ body: (inout RateLimitMachine, Duration) -> Result) -> Result {
        machines.withLock { machines in
            // The clock is read under the lock, so that the instants are in order.
            let now = elapsed()
            return machines.update(key, default: RateLimitMachine()) { body(&$0, now) }
        }
    }
}
