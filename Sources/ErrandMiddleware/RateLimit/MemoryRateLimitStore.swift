internal import ErrandCore
public import ErrandFormats
internal import Synchronization

/// A ``RateLimitStore`` for one process. Stacks that are given the same one hold a limit together.
public final class MemoryRateLimitStore: RateLimitStore {
    /// The number of keys that are kept of which the server said nothing; as many again are kept of which it did.
    public let maxKeys: Int
    private let elapsed: @Sendable () -> Duration
    private let machines: Mutex<TieredTable<String, RateLimitMachine>>

    /// - Parameters:
    ///   - maxKeys: at least 1. Beyond it, the key that was used least recently is forgotten: one of which the server said nothing never
    ///     takes the place of one of which it did.
    ///   - clock: what windows are measured by; the same as the middleware's.
    public init(maxKeys: Int = 1_000, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(maxKeys >= 1, "maxKeys must be at least 1 (is \(maxKeys))")
        self.maxKeys = maxKeys
        elapsed = stopwatch(clock)
        machines = Mutex(TieredTable(limit: maxKeys, isImportant: \.hasNews))
    }

    public func take(_ key: String, limit: RateLimit?) -> RateLimitDecision {
        within(key) { machine, now in machine.take(limit, at: now) }
    }

    public func observe(_ key: String, _ fields: RateLimitFields, after grant: RateLimitGrant?) {
        within(key) { machine, now in machine.observe(fields, after: grant, at: now) }
    }

    public func available(_ key: String, limit: RateLimit?) -> Int? {
        let now = elapsed()
        return machines.withLock { $0[key] ?? RateLimitMachine() }.available(limit, at: now)
    }

    /// Forgets what went and what the server said: the next request of this key goes at once.
    ///
    /// Those that wait already find out within a minute. A key is what the limit's scope makes of a request: `https://a.example` for
    /// ``RequestScope/origin``, an empty text for ``RequestScope/all``.
    public func forget(_ key: String) { machines.withLock { $0.removeValue(forKey: key) } }

    /// How long it is until a request may go, and for whose sake; nil where it may go now.
    func wait(_ key: String, limit: RateLimit?) -> (Duration, RateLimitDecision.Cause)? {
        let now = elapsed()
        return machines.withLock { machines in
            guard var machine = machines[key] else { return nil }
            return machine.wait(limit, at: now)
        }
    }

    /// How many keys are kept now.
    package var keyCount: Int { machines.withLock(\.count) }

    /// Changes a machine where it stands: a copy would cost the length of its ring.
    private func within<Result: Sendable>(_ key: String, _ body: (inout RateLimitMachine, Duration) -> Result) -> Result {
        machines.withLock { machines in
            // Under the lock, so that instants come in order.
            let now = elapsed()
            return machines.update(key, default: RateLimitMachine()) { body(&$0, now) }
        }
    }
}
