public import ErrandCore
internal import Synchronization

/// Limits the retries of each origin, so that clients do not keep an overloaded server down.
///
/// Each origin has a bucket of tokens. A retry takes one; a call that succeeds gives ``perSuccess`` back, and each second ``perSecond``, up
/// to ``reserve``. So a short failure is retried, and a server that fails for a minute gets each client's reserve once, and little more.
/// Where the bucket is empty, the last response is returned or the last error thrown at once, with ``/ErrandCore/RetryStop/budgetUsedUp``: no call waits
/// for budget. One budget may be shared by several stacks. The one free attempt after a request that was certainly not processed costs
/// nothing (``RetryPolicy``).
///
/// ```swift
/// let budget = RetryBudget(reserve: 20, perSuccess: 0.1)
/// let stack = transport.retry(budget: budget)
/// budget.balance(of: try Origin("https://a.example"))      // 20.0
/// ```
///
/// Requests that have no origin yet, because `server` stands further in, share a bucket.
///
/// At most 1,000 origins are kept: those that have taken a retry and have not earned it back. Beyond that, the least recently used
/// is forgotten, and has its reserve again.
public final class RetryBudget: Sendable, CustomStringConvertible {
    private static let originLimit = 1_000

    private struct Bucket: Sendable {
        var tokens: Double
        var filled: Duration
    }

    /// The most tokens that a bucket holds, and its tokens at first: 5 by default.
    public let reserve: Double
    /// The tokens for a call that succeeds. 0.2 by default: one retry for five such calls.
    public let perSuccess: Double
    /// The tokens for each second. 0.1 by default: one retry in ten seconds.
    public let perSecond: Double
    private let elapsed: @Sendable () -> Duration
    /// Those that are not full: an origin without a bucket has its whole reserve.
    private let buckets = Mutex(BoundedTable<Origin?, Bucket>(limit: originLimit))
    /// Until somebody takes one, every bucket is full: a call that succeeds has nothing to give.
    private let wasTaken = Atomic(false)

    /// - Parameters:
    ///   - reserve: the most tokens that a bucket holds, and its tokens at first; at least 0.
    ///   - perSuccess: the tokens for a call that succeeds; at least 0.
    ///   - perSecond: the tokens for each second; at least 0.
    ///   - clock: measures the seconds.
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

    /// The tokens of `origin` now, for a gauge.
    public func balance(of origin: Origin) -> Double {
        let now = elapsed()
        return buckets.withLock { buckets in buckets[origin].map { filled($0, at: now).tokens } ?? reserve }
    }

    /// How many origins are kept now.
    package var originCount: Int { buckets.withLock(\.count) }

    /// The numbers in words: `5 retries, then 20 % of successes and 0.1 in a second`.
    public var description: String {
        let refill = [share, perSecond > 0 ? "\(perSecond.inWords) in a second" : nil].compactMap(\.self)
        return "\(reserve.inWords) retries" + (refill.isEmpty ? "" : ", then \(refill.joined(separator: " and "))")
    }

    /// For the stack's description: `budget 5 + 20 % of successes`.
    var label: String { "budget \(reserve.inWords)" + (share.map { " + \($0)" } ?? "") }

    private var share: String? { perSuccess > 0 ? "\(perSuccess.inPercent) of successes" : nil }
}
