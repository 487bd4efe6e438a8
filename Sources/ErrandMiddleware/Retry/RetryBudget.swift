public import ErrandCore
internal import Synchronization

/// How many retries an origin gets: what keeps clients from holding a server down that is in trouble.
///
/// Each origin has a bucket of tokens. A retry takes one; a call that succeeds gives ``perSuccess`` back, and time ``perSecond``, up to
/// ``reserve``. So a failure in passing is retried, and a server that fails for a minute gets each client's reserve once, and little more.
/// Whoever finds the bucket empty gets the last answer, or the last failure, at once: nobody waits for budget. One budget may be
/// shared by several stacks. Attempts that provably did not reach a server cost nothing.
public final class RetryBudget: Sendable, CustomStringConvertible {
    /// Origins beyond these push out the one that was used least lately.
    private static let originLimit = 1_000

    private struct Bucket {
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
    private let buckets = Mutex<[String: Bucket]>([:])
    /// Until somebody takes one, every bucket is full: a call that succeeds has nothing to give.
    private let wasTaken = Atomic(false)

    public init(reserve: Double = 5, perSuccess: Double = 0.2, perSecond: Double = 0.1, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(reserve >= 0 && perSuccess >= 0 && perSecond >= 0, "\(reserve), \(perSuccess) and \(perSecond) tokens")
        (self.reserve, self.perSuccess, self.perSecond) = (reserve, perSuccess, perSecond)
        elapsed = stopwatch(clock)
    }

    private func within<Result: Sendable>(_ origin: String, _ body: (inout Double) -> Result) -> Result {
        let now = elapsed()
        return buckets.withLock { buckets in
            var bucket = buckets[origin] ?? Bucket(tokens: reserve, filled: now)
            if now > bucket.filled {
                bucket.tokens = min(reserve, bucket.tokens + perSecond * ((now - bucket.filled) / .seconds(1)))
                bucket.filled = now
            }
            let result = body(&bucket.tokens)
            if buckets[origin] == nil, buckets.count >= Self.originLimit,
                let oldest = buckets.min(by: { $0.value.filled < $1.value.filled })?.key
            {
                buckets[oldest] = nil
            }
            buckets[origin] = bucket
            return result
        }
    }

    /// A call succeeded.
    package func deposit(_ origin: @autoclosure () -> String) {
        guard wasTaken.load(ordering: .relaxed) else { return }
        within(origin()) { $0 = min(reserve, $0 + perSuccess) }
    }

    /// Takes one retry; false where there is none.
    package func withdraw(_ origin: String) -> Bool {
        wasTaken.store(true, ordering: .relaxed)
        return within(origin) { tokens in
            // Sums of tenths are never quite whole.
            guard tokens > 1 - 1e-9 else { return false }
            tokens -= 1
            return true
        }
    }

    /// How many tokens `origin` has now. For a gauge.
    public func balance(of origin: Origin) -> Double { balance(of: origin.description) }

    package func balance(of origin: String) -> Double { within(origin) { $0 } }

    public var description: String { "\(reserve) retries, \(perSuccess) for a success, \(perSecond) a second" }
}
