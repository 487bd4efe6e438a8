public import ErrandCore

/// The waiting times between the requests of a poll, and the timeout of the poll.
public struct PollingPolicy: Sendable, CustomStringConvertible {
    /// The wait before each further request. By default, the waits grow by a factor of 1.5 from 1 s to 30 s. If the response has
    /// a `Retry-After` that is neither zero nor in the past, the time in that field replaces the wait.
    public var backoff: Backoff
    /// The random part of the wait: by default, the wait is between half of the backoff and the whole backoff.
    public var jitter: Backoff.Jitter
    /// The timeout of the whole poll, 10 minutes by default. The timeout begins with the first request, and includes all requests and
    /// waits. `nil`: the time is not limited.
    public var timeout: Duration?
    /// The longest `Retry-After` that the poll obeys, at least zero; 5 minutes by default. If a server asks for a longer wait, the next
    /// request is sent after the longest allowed wait. With zero, `Retry-After` is ignored.
    public var maxRetryAfter: Duration
    /// The largest number of successive failures that are tolerated: lost connections, timeouts, the statuses 408, 425, 429, 500, 502,
    /// 503 and 504, and refusals by `rateLimit` or `circuitBreaker`. The number is at least 0, and 5 by default.
    public var maxFailures: Int
    /// Further origins to which a `Location` may lead, besides the origins of the call and of the response; none by default.
    /// Requests to these origins carry no credentials, no sensitive fields, and none of the fields and query items that `server` adds.
    public var allowedOrigins: Set<Origin>

    /// Creates a policy.
    ///
    /// - Precondition: the durations and `maxFailures` are at least zero.
    public init(
        backoff: Backoff = .exponential(base: .seconds(1), factor: 1.5, maxDelay: .seconds(30)), jitter: Backoff.Jitter = .equal,
        timeout: Duration? = .seconds(600), maxRetryAfter: Duration = .seconds(300), maxFailures: Int = 5, allowedOrigins: Set<Origin> = []
    ) {
        precondition(timeout ?? .zero >= .zero, "timeout must be at least zero (is \(timeout ?? .zero))")
        precondition(maxRetryAfter >= .zero, "maxRetryAfter must be at least zero (is \(maxRetryAfter))")
        precondition(maxFailures >= 0, "maxFailures must be at least 0 (is \(maxFailures))")
        self.backoff = backoff
        self.jitter = jitter
        self.timeout = timeout
        self.maxRetryAfter = maxRetryAfter
        (self.maxFailures, self.allowedOrigins) = (maxFailures, allowedOrigins)
    }

    /// Waits of 1 s to 30 s, for 10 minutes.
    public static let standard = PollingPolicy()

    /// The waits and the limits: `1 s to 30 s, equal jitter, for 10 min`.
    public var description: String { "\(backoff), \(jitter)" + (timeout.map { ", for \($0.inWords)" } ?? "") }

    /// Returns the wait before the next request.
    ///
    /// - Parameters:
    ///   - attempt: the number of the previous request, from 1.
    ///   - retryAfter: the wait that the server asks for.
    func delay(afterAttempt attempt: Int, retryAfter: Duration?, random: Double) -> Duration {
        let asked = min(retryAfter ?? .zero, maxRetryAfter)
        return asked > .zero ? asked.bounded : backoff.delay(afterAttempt: attempt, jitter: jitter, random: random)
    }
}
