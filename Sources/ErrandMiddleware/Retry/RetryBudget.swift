public import ErrandCore
internal import Synchronization

/// Limits the retries of each origin, so that retries do not prolong the overload of a server.
///
/// Each origin has a bucket of tokens. A retry takes one token. Each successful call adds ``perSuccess`` tokens, and each second adds
/// ``perSecond`` tokens. A bucket has at most ``reserve`` tokens. Therefore calls are retried after a short failure. If a server fails for
/// a minute, each client sends only a few more retries than its reserve. If the bucket is empty, the call immediately returns the last
/// response or throws the last error, with ``/ErrandCore/RetryStop/budgetUsedUp``. No call waits for tokens. Several stacks may share a
/// budget. If the server certainly did not process a request, one further attempt takes no token (``RetryPolicy``).
///
/// ```swift
/// let budget = RetryBudget(reserve: 20, perSuccess: 0.1)
/// let stack = transport.retry(budget: budget)
/// budget.balance(of: try Origin("https://a.example"))      // 20.0
/// ```
///
/// If `server` is an inner layer, a request without a host has no origin when it reaches `retry`. Requests without an origin share a
/// bucket.
///
/// A budget keeps at most 1,000 origins whose bucket is not full. Beyond this number, the least recently used origin is removed, and
/// restarts with a full bucket.
public final class RetryBudget: Sendable, CustomStringConvertible {
    private static let originLimit = 1_000

    private struct Bucket: Sendable {
        var tokens: Double
        var filled: Duration
    }

    /// The capacity of a bucket, and its tokens at the start: 5 by default.
    public let reserve: Double
    /// The number of tokens that a successful call adds: 0.2 by default, so that five successful calls allow one retry.
    public let perSuccess: Double
    /// The number of tokens that each second adds: 0.1 by default, so that ten seconds allow one retry.
    public let perSecond: Double
    private let elapsed: @Sendable () -> Duration
    /// The buckets that are not full. An origin that is not in this table has a full bucket.
    private let buckets = Mutex(BoundedTable<Origin?, Bucket>(limit: originLimit))
    /// Whether any token was taken. Before the first token is taken, every bucket is full, and a successful call adds no token.
    private let wasTaken = Atomic(false)

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - reserve: the capacity of a bucket, and its tokens at the start; at least 0.
    ///   - perSuccess: the number of tokens that a successful call adds; at least 0.
    ///   - perSecond: the number of tokens that each second adds; at least 0.
    ///   - clock: the clock that measures the seconds.
    public init(reserve: Double = 5, perSuccess: Double = 0.2, perSecond: Double = 0.1, clock: any Clock<Duration> = ContinuousClock()) {
        for (name, tokens) in [("reserve", reserve), ("perSuccess", perSuccess), ("perSecond", perSecond)] {
            precondition(tokens >= 0, "\(name) must be at least 0 (is \(tokens))")
        }
        (self.reserve, self.perSuccess, self.perSecond) = (reserve, perSuccess, perSecond)
        elapsed = makeStopwatch(on: clock)
    }

    /// Returns the tokens of a bucket at `now`.
    private func filled(_ bucket: Bucket, at now: Duration) -> Bucket {
        guard now > bucket.filled else { return bucket }
        return Bucket(tokens: min(reserve, bucket.tokens + perSecond * ((now - bucket.filled) / .seconds(1))), filled: now)
    }

    /// Records a successful call.
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

    /// Takes the token of a retry. Returns false if the bucket is empty.
    package func withdraw(_ origin: Origin?) -> Bool {
        // Sums of floating-point numbers such as 0.1 are not exact.
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

    /// Returns the current tokens of an origin. Use this function for gauges.
    public func balance(of origin: Origin) -> Double {
        let now = elapsed()
        return buckets.withLock { buckets in buckets[origin].map { filled($0, at: now).tokens } ?? reserve }
    }

    /// The number of stored origins.
    package var originCount: Int { buckets.withLock(\.count) }

    /// The numbers in words: `5 retries, plus 0.2 for each success and 0.1 for each second`.
    public var description: String {
        let refill = [(perSuccess, "success"), (perSecond, "second")].filter { $0.0 > 0 }.map {
            "\(SafeText.number($0.0)) for each \($0.1)"
        }
        return reserve.counted("retry", "retries") + (refill.isEmpty ? "" : ", plus \(refill.joined(separator: " and "))")
    }

    /// The text for the stack's description: `budget 5 + 20 % of successes`.
    var label: String { "budget \(SafeText.number(reserve))" + (share.map { " + \($0)" } ?? "") }

    private var share: String? { perSuccess > 0 ? "\(SafeText.percent(perSuccess)) of successes" : nil }
}
