public import ErrandCore

/// Decides whether a request is sent again, and how long the call waits before the next attempt. The decision is a pure function.
///
/// A temporary failure belongs to one of three classes:
///
/// - The request was **never sent**. A request with any method is sent again after a backoff. Attempts after a request that was never sent
///   are included in ``maxAttempts``, and take tokens of the budget. Therefore, if the name of a host is wrong, or the host refuses
///   connections, the call ends after ``maxAttempts``, even without a deadline.
/// - The server said that it **did not process the request** ([RFC 9113, section
///   8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)), or a reused connection was closed. A request with any method is sent again
///   immediately, once. This extra attempt is not included in ``maxAttempts``, and takes no token of the budget.
/// - The request **may have been processed**. The request is sent again if the connection failed, or if the response has one of
///   ``statuses``. The method must be idempotent ([RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)), such as
///   QUERY, or the request must have an `Idempotency-Key`.
///
/// A request is never sent again in these cases:
/// - The failure is permanent, such as an invalid request or a certificate that is not trusted.
/// - The body of the request can be read only once.
/// - The call was cancelled.
/// - The wait would end after the deadline.
///
/// The wait is at least the server's `Retry-After`. The jitter is added to the time in `Retry-After`. If `Retry-After` is longer than
/// ``maxRetryAfter``, or ends after the deadline, the retries end immediately.
///
/// ```swift
/// stack.retry()                                                       // 3 attempts
/// stack.retry(RetryPolicy(maxAttempts: 5, backoff: .exponential(base: .milliseconds(200))))
/// request.options.retry = .off
/// ```
///
/// With ``deciding(_:)``, your own closure takes precedence over the policy. With ``waitingForNetwork(at:)``, a wait ends early if
/// the device's network becomes available again.
public struct RetryPolicy: Sendable, CustomStringConvertible {
    /// The number of attempts, including the first attempt: at least 1, 3 by default.
    public var maxAttempts: Int
    /// The wait before each further attempt. By default, the wait is 100 ms, and is doubled each time, up to 20 s.
    public var backoff: Backoff
    /// The jitter, which is the random part of a wait: ``/ErrandCore/Backoff/Jitter/full`` by default.
    public var jitter: Backoff.Jitter
    /// The longest `Retry-After` that the policy obeys: 60 s by default.
    public var maxRetryAfter: Duration
    /// The statuses after which a request is sent again: ``defaultStatuses`` by default.
    public var statuses: StatusRule
    /// The methods for which an `Idempotency-Key` is added, so that the request may be sent again: none by default. The server must
    /// support the field.
    public var keyedMethods: Set<HTTPRequest.Method>
    /// The app's own decision; `nil` if the app does not decide.
    var choose: (@Sendable (Attempt) -> Choice)?
    /// The gate that ends a wait when a network path is available again; `nil` if each wait has its full length.
    var gate: NetworkGate?

    /// 408, 425, 429, 500, 502, 503 and 504.
    public static let defaultStatuses = StatusRule.transient

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maxAttempts: the number of attempts, including the first attempt; at least 1.
    ///   - backoff: the wait before each further attempt.
    ///   - jitter: the random part of a wait.
    ///   - maxRetryAfter: the longest `Retry-After` that the policy obeys, at least zero.
    ///   - statuses: the statuses after which a request is sent again.
    ///   - keyedMethods: the methods for which an `Idempotency-Key` is added, so that the request may be sent again.
    public init(
        maxAttempts: Int = 3, backoff: Backoff = .exponential(), jitter: Backoff.Jitter = .full, maxRetryAfter: Duration = .seconds(60),
        statuses: StatusRule = defaultStatuses, keyedMethods: Set<HTTPRequest.Method> = []
    ) {
        precondition(maxAttempts >= 1, "maxAttempts must be at least 1 (is \(maxAttempts))")
        precondition(maxRetryAfter >= .zero, "maxRetryAfter must be at least zero (is \(SafeText.duration(maxRetryAfter)))")
        (self.maxAttempts, self.backoff, self.jitter) = (maxAttempts, backoff, jitter)
        (self.maxRetryAfter, self.statuses, self.keyedMethods) = (maxRetryAfter, statuses, keyedMethods)
    }

    /// Three attempts, a backoff from 100 ms that doubles up to 20 s, full jitter, and a `Retry-After` of up to 60 s.
    public static let standard = RetryPolicy()

    /// The policy ``standard``, with an `Idempotency-Key` for POST and PATCH. With the key, these requests can be sent again.
    public static let standardWithKeys = RetryPolicy(keyedMethods: [.post, .patch])

    /// The attempts, the backoff and the settings that differ from the default: `3 attempts, 100 ms to 20 s`.
    public var description: String {
        "\(maxAttempts.counted("attempt")), \(backoff)" + (jitter == .full ? "" : ", \(jitter)")
            + (keyedMethods.isEmpty ? "" : ", keys for \(keyedMethods.map(\.rawValue).sorted().joined(separator: " "))")
            + (choose == nil ? "" : ", with the app's own decision") + (gate == nil ? "" : ", sooner if the network returns")
    }

    /// Whether there is a further attempt.
    public enum Decision: Sendable, Hashable {
        /// A further attempt, after this wait. If `countsAsAttempt` is false, the attempt takes no token from the retry budget, and is
        /// not included in `maxAttempts`.
        case retry(after: Duration, countsAsAttempt: Bool)
        /// No further attempt: the response or the failure is final.
        case stop(RetryStop)
    }

    // MARK: - The decision

    /// The outcome of an attempt, for the decision of the policy.
    package enum Outcome: Sendable, Hashable {
        /// A response with this status. `retryAfter` is the wait in the field `Retry-After` of the response; `nil` if the field is missing.
        case status(HTTPResponse.Status, retryAfter: Duration?)
        /// No part of the request was sent.
        case neverSent
        /// The server certainly did not process the request: the server said so, or the connection was closed before the request was
        /// sent.
        case unprocessed
        /// There was no response. The server may have processed the request.
        case lost
        /// The failure is permanent. Examples are an invalid request, a certificate that is not trusted, and an exceeded limit.
        case permanent
    }

    /// The values from which the policy decides.
    package struct Situation: Sendable {
        /// The number of the attempt that has ended, from 1.
        package var attempt: Int
        /// The number of attempts that are not included in ``maxAttempts``.
        package var uncounted: Int
        /// The outcome of the attempt.
        package var outcome: Outcome
        /// The method of the request.
        package var method: HTTPRequest.Method
        /// Whether the request carries an `Idempotency-Key`.
        package var hasKey: Bool
        /// Whether the body can be sent once more.
        package var canReplay: Bool
        /// The time until the deadline; `nil` if there is no deadline.
        package var remaining: Duration?
        /// Whether the one attempt that is not included in ``maxAttempts`` was already made.
        package var hasUsedFreeAttempt: Bool

        package init(
            attempt: Int, uncounted: Int = 0, outcome: Outcome, method: HTTPRequest.Method, hasKey: Bool = false, canReplay: Bool = true,
            remaining: Duration? = nil, hasUsedFreeAttempt: Bool = false
        ) {
            self.attempt = attempt
            self.uncounted = uncounted
            self.outcome = outcome
            self.method = method
            self.hasKey = hasKey
            (self.canReplay, self.remaining) = (canReplay, remaining)
            self.hasUsedFreeAttempt = hasUsedFreeAttempt
        }

        fileprivate var mayBeSentAgain: Bool { method.mayBeSentAgain(hasKey: hasKey) }
    }

    /// Decides whether there is a further attempt. This function does not call your own closure (``deciding(_:)``).
    ///
    /// - Parameters:
    ///   - situation: the attempt that has ended.
    ///   - random: a closure that returns a number that is at least 0 and less than 1. The closure is called only if the decision needs a
    ///     random wait.
    package func decide(_ situation: Situation, random: @autoclosure () -> Double) -> Decision {
        switch situation.outcome {
        case .permanent:
            return .stop(.final)
        case .unprocessed:
            guard situation.canReplay else { return .stop(.bodyCannotBeReplayed) }
            if !situation.hasUsedFreeAttempt { return .retry(after: .zero, countsAsAttempt: false) }
        case .neverSent:
            break
        case .lost:
            guard situation.mayBeSentAgain else { return .stop(.notIdempotent) }
        case .status(let status, _):
            // If the request has an `Idempotency-Key`, the status 409 means that another request with the same key is in
            // progress.
            guard statuses.contains(status) || (status == .conflict && situation.hasKey) else { return .stop(.final) }
            guard situation.mayBeSentAgain else { return .stop(.notIdempotent) }
        }
        return waiting(situation, random)
    }

    /// - Parameter wait: the wait that replaces the backoff and `Retry-After`; `nil` if the backoff and `Retry-After` determine the wait.
    func waiting(_ situation: Situation, exactly wait: Duration? = nil, _ random: () -> Double) -> Decision {
        let (made, used) = (situation.attempt, situation.attempt - situation.uncounted)
        if let stop = RetryStop.reason(used: used, of: maxAttempts, canReplay: situation.canReplay) { return .stop(stop) }
        let asked = if case .status(_, let retryAfter?) = situation.outcome { retryAfter } else { Duration.zero }
        // The jitter is added to `Retry-After`, so that the clients of a restarted server do not return at the same time.
        let own = backoff.wait(afterAttempt: made, jitter: jitter, plus: asked, retryAfter: asked, atMost: maxRetryAfter, random: random())
        guard let delay = wait ?? own else { return .stop(.retryAfterTooLong) }
        if let stop = RetryStop.reason(delay: delay, remaining: situation.remaining) { return .stop(stop) }
        return .retry(after: delay, countsAsAttempt: true)
    }
}
