public import ErrandCore

/// The conditions under which a transfer continues after a failure, and the limits of its connections.
///
/// ```swift
/// let download = Download(request, to: url, over: stack, policy: TransferPolicy(maxFailures: 3, idleTimeout: .seconds(20)))
/// ```
///
/// A transfer continues after each ``/ErrandCore/TemporaryFailure``: a lost connection, a timeout, one of the ``statuses``, or a refusal by
/// `rateLimit` or `circuitBreaker`. After any other failure, the call fails. A later call can resume the transfer.
public struct TransferPolicy: Sendable {
    /// The largest number of successive failures without progress. 64 KiB of new bytes are progress, and reset the count.
    public var maxFailures: Int
    /// The wait before the next request, which grows with each failure without progress.
    public var backoff: Backoff
    /// The random part of the wait.
    public var jitter: Backoff.Jitter
    /// The longest wait that the server may ask for by `Retry-After`. A longer `Retry-After` ends the call with the error of the response.
    public var maxRetryAfter: Duration
    /// The longest wait for the head of a response, and for the next byte of its body. The whole transfer has no timeout. If
    /// `phaseTimeouts` of a request is set, these timeouts apply instead.
    public var idleTimeout: Duration
    /// The statuses after which the transfer continues.
    public var statuses: StatusRule

    /// Creates a policy. For each parameter, see the property of the same name.
    ///
    /// - Parameters:
    ///   - maxFailures: at least 0. Default: 10.
    ///   - backoff: the growing wait. Default: 500 ms, doubled up to 30 s.
    ///   - jitter: the random part of the wait. Default: `equal`, a wait between half of the backoff and the whole backoff.
    ///   - maxRetryAfter: at least zero. Default: an hour.
    ///   - idleTimeout: more than zero. Default: 60 s.
    ///   - statuses: the statuses after which the transfer continues. Default: 408, 425, 429, 500, 502, 503 and 504.
    public init(
        maxFailures: Int = 10, backoff: Backoff = .exponential(base: .milliseconds(500), factor: 2, maxDelay: .seconds(30)),
        jitter: Backoff.Jitter = .equal, maxRetryAfter: Duration = .seconds(3_600), idleTimeout: Duration = .seconds(60),
        statuses: StatusRule = .transient
    ) {
        precondition(maxFailures >= 0, "maxFailures must be at least 0 (is \(maxFailures))")
        precondition(maxRetryAfter >= .zero, "maxRetryAfter must be at least zero (is \(maxRetryAfter.inWords))")
        precondition(idleTimeout > .zero, "idleTimeout must be more than zero (is \(idleTimeout.inWords))")
        (self.maxFailures, self.backoff, self.jitter) = (maxFailures, backoff, jitter)
        (self.maxRetryAfter, self.idleTimeout, self.statuses) = (maxRetryAfter, idleTimeout, statuses)
    }

    /// Continues after up to 10 successive failures without progress. The waits are up to 30 s, or as long as `Retry-After` says, up to an
    /// hour.
    public static let standard = TransferPolicy()

    /// Returns the wait after an error; `nil` if the transfer does not continue after the error.
    ///
    /// - Parameters:
    ///   - failures: the number of successive failures without progress, at least 1.
    ///   - random: a number from 0 up to, but not including, 1.
    func wait(after error: any Error, failures: Int, random: Double) -> Duration? {
        guard let failure = TemporaryFailure(error, statuses: statuses) else { return nil }
        return backoff.wait(afterAttempt: failures, jitter: jitter, retryAfter: failure.retryAfter, atMost: maxRetryAfter, random: random)
    }
}
