public import ErrandCore
internal import Synchronization

/// How many retries an origin gets: what keeps clients from holding a server down that is in trouble.
///
/// Each origin has a bucket of tokens. A retry takes one; a call that succeeds gives ``perSuccess`` back, and time ``perSecond``, up to
/// ``reserve``. So a failure in passing is retried, and a server that fails for a minute gets each client's reserve once, and little more.
/// Whoever finds the bucket empty gets the last answer, or the last failure, at once: nobody waits for budget. One budget may be
/// shared by several stacks. The one free attempt after a request that was provably not processed costs nothing (``RetryPolicy``).
///
/// Requests that have no origin yet, as `server` stands further in, share a bucket.
///
/// Only origins that have taken a retry and have not earned it back are kept, at most 1,000 of them; beyond that the least recently used
/// is forgotten, and has its reserve again.
public final class RetryBudget: Sendable, CustomStringConvertible {
    private static let originLimit = 1_000

    private struct Bucket: Sendable {
        var tokens: Double
        var filled: Duration
    }

    /// Tokens that a bucket holds at most, and at first: 5 by default.
    public let reserve: Double
    /// 0.2 by default: one retry for five calls that succeed.
    public let perSuccess: Double
    /// 0.1 by default: one retry in ten seconds.
    public let perSecond: Double
    private let elapsed: @Sendable () -> Duration
    /// Those that are not full: an origin without a bucket has its whole reserve.
    private let buckets = Mutex(BoundedTable<Origin?, Bucket>(limit: originLimit))
    /// Until somebody takes one, every bucket is full: a call that succeeds has nothing to give.
    private let wasTaken = Atomic(false)

    public init(reserve: Double = 5, perSuccess: Double = 0.2, perSecond: Double = 0.1, clock: any Clock<Duration> = ContinuousClock()) {
        for (name, tokens) in [("reserve", reserve), ("perSuccess", perSuccess), ("perSecond", perSecond)] {
            precondition(tokens >= 0, "\(name) must be at least 0 (is \(tokens))")
        }
        (self.reserve, self.perSuccess, self.perSecond) = (reserve, perSuccess, perSecond)
        elapsed = stopwatch(clock)
    }

    /// What a bucket holds at `now`.
    private func filled(_ bucket: Bucket, at now: Duration) -> Bucket {
        guard now > bucket.filled else { return bucket }
        return Bucket(tokens: min(reserve, bucket.tokens + perSecond * ((now - bucket.filled) / .seconds(1))), filled: now)
    }

    /// A call succeeded.
    package func deposit(_ origin: @autoclosure () -> Origin?) {
        guard wasTaken.load(ordering: .relaxed) else { return }
        let (origin, now) = (origin(), elapsed())
        buckets.withLock { buckets in
            let isFull = buckets.updateIfPresent(origin) { bucket in
                bucket = filled(bucket, at: now)
                bucket.tokens = min(reserve, bucket.tokens + perSuccess)
                return bucket.tokens >= reserve
            }
            if isFull == true { buckets.removeValue(forKey: origin) }
        }
    }

    /// Takes one retry; false where there is none.
    package func withdraw(_ origin: Origin?) -> Bool {
        // Sums of tenths are never quite whole.
        let whole = 1 - 1e-9
        guard reserve > whole else { return false }
        wasTaken.store(true, ordering: .relaxed)
        let now = elapsed()
        return buckets.withLock { buckets in
            buckets.update(origin, default: Bucket(tokens: reserve, filled: now)) { bucket in
                bucket = filled(bucket, at: now)
                guard bucket.tokens > whole else { return false }
                bucket.tokens -= 1
                return true
            }
        }
    }

    /// How many tokens `origin` has now. For a gauge.
    public func balance(of origin: Origin) -> Double {
        let now = elapsed()
        return buckets.withLock { buckets in buckets[origin].map { filled($0, at: now).tokens } ?? reserve }
    }

    /// How many origins are kept now.
    package var originCount: Int { buckets.withLock(\.count) }

    public var description: String { "\(reserve) retries, \(perSuccess) for a success, \(perSecond) a second" }
}
