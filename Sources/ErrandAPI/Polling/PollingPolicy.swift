public import ErrandCore

/// How often a call is made again until its work is done, and for how long.
public struct PollingPolicy: Sendable, CustomStringConvertible {
    /// The wait before each further request; from 1 s to 30 s, each half as long again as the one before, by default. `Retry-After` of the response
    /// takes precedence, unless it is zero or has passed.
    public var backoff: Backoff
    /// The part of the wait that is left to chance: from half of the wait to the whole by default.
    public var jitter: Backoff.Jitter
    /// How long the whole may take, from the first request, and each request with it: 10 minutes by default; `nil` for no limit.
    public var timeout: Duration?
    /// The longest wait for which `Retry-After` counts: at least zero, 5 minutes by default. If a server asks for a longer one, the next request comes after
    /// this one. With zero, `Retry-After` does not count.
    public var retryAfterCap: Duration
    /// The most failures in a row that are tolerated: lost connections, timeouts, and the statuses 408, 425, 429, 500, 502, 503 and 504. At least 0, 5 by
    /// default.
    public var maxFailures: Int
    /// Further origins to which a `Location` may lead, besides that of the call and that of the response; none by default. Credentials, sensitive fields and
    /// what `server` adds do not go there.
    public var allowedOrigins: Set<Origin>

    /// Creates a policy.
    ///
    /// - Precondition: the durations and `maxFailures` are at least zero.
    public init(
        backoff: Backoff = .exponential(base: .seconds(1), factor: 1.5, cap: .seconds(30)), jitter: Backoff.Jitter = .equal,
        timeout: Duration? = .seconds(600), retryAfterCap: Duration = .seconds(300), maxFailures: Int = 5, allowedOrigins: Set<Origin> = []
    ) {
        precondition(timeout ?? .zero >= .zero, "timeout must be at least zero (is \(timeout ?? .zero))")
        precondition(retryAfterCap >= .zero, "retryAfterCap must be at least zero (is \(retryAfterCap))")
        precondition(maxFailures >= 0, "maxFailures must be at least 0 (is \(maxFailures))")
        (self.backoff, self.jitter, self.timeout, self.retryAfterCap) = (backoff, jitter, timeout, retryAfterCap)
        (self.maxFailures, self.allowedOrigins) = (maxFailures, allowedOrigins)
    }

    /// From 1 s to 30 s apart, for 10 minutes.
    public static let standard = PollingPolicy()

    /// The waits and the limits: `1 s to 30 s, equal jitter, for 10 min`.
    public var description: String { "\(backoff), \(jitter)" + (timeout.map { ", for \($0.inWords)" } ?? "") }

    /// The wait before the next request.
    ///
    /// - Parameters:
    ///   - attempt: the number of the request before, from 1.
    ///   - retryAfter: what the server asks for.
    func wait(afterAttempt attempt: Int, retryAfter: Duration?, random: Double) -> Duration {
        if let retryAfter, min(retryAfter, retryAfterCap) > .zero { return min(retryAfter, retryAfterCap).bounded }
        return jitter.applied(to: backoff.wait(afterAttempt: attempt).bounded, random: random)
    }
}
