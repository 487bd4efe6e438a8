extension Backoff {
    /// Returns the wait before the next attempt; `nil` if the server asks for a longer wait than `limit`.
    ///
    /// The wait is `time` plus the delay with its jitter, but at least `retryAfter`, and at most 100 years. With the same value for `time`
    /// and for `retryAfter`, clients that a server refuses at the same time return at different times.
    ///
    /// ```swift
    /// let backoff = Backoff.constant(.seconds(2))
    /// backoff.wait(afterAttempt: 1, jitter: .none, retryAfter: nil, atMost: .seconds(60))             // 2.0 seconds
    /// backoff.wait(afterAttempt: 1, jitter: .none, retryAfter: .seconds(7), atMost: .seconds(60))     // 7.0 seconds
    /// backoff.wait(afterAttempt: 1, jitter: .none, retryAfter: .seconds(90), atMost: .seconds(60))    // nil
    /// ```
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt that failed; at least 1.
    ///   - jitter: the random part of the delay. Default: full.
    ///   - time: a time that is added to the delay. Default: zero.
    ///   - retryAfter: the wait that the server asks for (`Retry-After`); `nil` if the server asks for no wait.
    ///   - limit: the longest allowed `retryAfter`.
    ///   - random: a number from 0 up to, but not including, 1. The expression is evaluated only if there is a wait.
    public func wait(
        afterAttempt attempt: Int, jitter: Jitter = .full, plus time: Duration = .zero, retryAfter: Duration?, atMost limit: Duration,
        random: @autoclosure () -> Double = .random(in: 0..<1)
    ) -> Duration? {
        let asked = retryAfter ?? .zero
        guard asked <= limit else { return nil }
        return max(asked, time.bounded + delay(afterAttempt: attempt, jitter: jitter, random: random())).bounded
    }

    /// Returns the delay after an attempt, with jitter.
    ///
    /// - Parameter random: a number from 0 up to, but not including, 1.
    package func delay(afterAttempt attempt: Int, jitter: Jitter, random: Double) -> Duration {
        jitter.applied(to: delay(afterAttempt: attempt).bounded, random: random)
    }
}
