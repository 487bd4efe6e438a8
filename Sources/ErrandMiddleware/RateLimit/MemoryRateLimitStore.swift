internal import ErrandCore
public import ErrandFormats
internal import Synchronization

/// A ``RateLimitStore`` for one process. Stacks that are given the same one hold a limit together.
public final class MemoryRateLimitStore: RateLimitStore {
    private struct Entry: Sendable {
        var machine = RateLimitMachine()
        var lastUsed = Duration.zero
        /// The longest that it was asked with.
        var window = Duration.zero
    }

    /// The number of keys that are kept.
    public let maxKeys: Int
    private let elapsed: @Sendable () -> Duration
    private let entries = Mutex<[String: Entry]>([:])

    /// - Parameters:
    ///   - maxKeys: from 1. One more drops those that are idle, of which nothing has to be known; where none is, it drops the tenth that was
    ///     used least recently.
    ///   - clock: what windows are measured by; the same as the middleware's.
    public init(maxKeys: Int = 1_000, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(maxKeys >= 1, "\(maxKeys) keys")
        self.maxKeys = maxKeys
        elapsed = stopwatch(clock)
    }

    public func take(_ key: String, limit: RateLimit?) -> RateLimitDecision {
        within(key) { entry, now in
            if let limit { entry.window = max(entry.window, limit.window) }
            return entry.machine.take(limit, at: now)
        }
    }

    public func observe(_ key: String, _ fields: RateLimitFields, after grant: RateLimitGrant?) {
        within(key) { entry, now in entry.machine.observe(fields, after: grant, at: now) }
    }

    public func available(_ key: String, limit: RateLimit?) -> Int? {
        let now = elapsed()
        return entries.withLock { ($0[key]?.machine ?? RateLimitMachine()).available(limit, at: now) }
    }

    /// How many keys are kept now.
    package var keyCount: Int { entries.withLock(\.count) }

    /// Changes an entry where it stands: a copy would cost the length of its ring.
    private func within<Result: Sendable>(_ key: String, _ body: (inout Entry, Duration) -> Result) -> Result {
        entries.withLock { entries in
            // Under the lock, so that instants come in order.
            let now = elapsed()
            if entries.count >= maxKeys, entries[key] == nil { Self.makeRoom(&entries, at: now) }
            entries[key, default: Entry()].lastUsed = now
            return body(&entries[key, default: Entry()], now)
        }
    }

    private static func makeRoom(_ entries: inout [String: Entry], at now: Duration) {
        let count = entries.count
        entries = entries.filter { !$0.value.machine.isIdle(at: now, window: $0.value.window) }
        guard entries.count == count else { return }
        let eldest = entries.sorted { $0.value.lastUsed < $1.value.lastUsed }.prefix(max(1, count / 10))
        for (key, _) in eldest { entries[key] = nil }
    }
}
