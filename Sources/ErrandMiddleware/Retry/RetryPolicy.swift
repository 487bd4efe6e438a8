public import ErrandCore

/// Decides whether a request is sent again, and after which wait: a pure decision.
///
/// A failed attempt belongs to one of three classes:
///
/// - The request was **never sent**: it is sent again after a backoff, with any method. These attempts are included in
///   ``maxAttempts``, and take tokens of the budget. If a host is mistyped or refuses connections, the call ends after
///   ``maxAttempts``, with or without a deadline.
/// - The server **did not process the request**, and said so
///   ([RFC 9113, section 8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)), or a reused connection was closed: the request is
///   sent again immediately and once, with any method. This extra attempt is not included in ``maxAttempts``, and takes no token of
///   the budget.
/// - The request **may have been processed**: it is sent again if the connection failed or the response has one of ``statuses``. The
///   request must have an idempotent method ([RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)), which
///   includes QUERY, or an `Idempotency-Key`.
///
/// A request is never sent again if its body can be read only once, if the call was cancelled, or if the wait would pass the deadline.
///
/// A server's `Retry-After` is the shortest wait, and the jitter is added to it. A `Retry-After` that exceeds ``maxRetryAfter`` or passes
/// the deadline ends the retries immediately.
///
/// ```swift
/// stack.retry()                                                       // 3 attempts
/// stack.retry(RetryPolicy(maxAttempts: 5, backoff: .exponential(base: .milliseconds(200))))
/// request.options.retry = .off
/// ```
///
/// With ``deciding(_:)``, your own closure decides before the policy does. With ``waitingForNetwork(at:)``, a wait ends early when the
/// network of the device returns.
public struct RetryPolicy: Sendable, CustomStringConvertible {
    /// The number of attempts, including the first; at least 1, and 3 by default.
    public var maxAttempts: Int
    /// The wait before each further attempt: 100 ms, doubled each time, up to 20 s by default.
    public var backoff: Backoff
    /// The jitter, which is the random part of a wait: ``/ErrandCore/Backoff/Jitter/full`` by default.
    public var jitter: Backoff.Jitter
    /// The longest `Retry-After` that is obeyed: 60 s by default.
    public var maxRetryAfter: Duration
    /// The statuses after which a request is sent again: ``defaultStatuses`` by default.
    public var statuses: StatusRule
    /// The methods that get an `Idempotency-Key`, and may be sent again because of the key: none by default. The server must support the
    /// field.
    public var keyedMethods: Set<HTTPRequest.Method>
    /// The app's own decision; `nil` if the app does not decide.
    var choose: (@Sendable (Attempt) -> Choice)?
    /// The gate that ends a wait when a network path returns; `nil` if each wait has its full length.
    var gate: NetworkGate?

    /// 408, 425, 429, 500, 502, 503 and 504.
    public static let defaultStatuses = StatusRule.transient

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maxAttempts: the number of attempts, including the first; at least 1.
    ///   - backoff: the wait before each further attempt.
    ///   - jitter: the random part of a wait.
    ///   - maxRetryAfter: the longest `Retry-After` that is obeyed; at least zero.
    ///   - statuses: the statuses after which a request is sent again.
    ///   - keyedMethods: the methods that get an `Idempotency-Key`, and may be sent again because of the key.
    public init(
        maxAttempts: Int = 3, backoff: Backoff = .exponential(), jitter: Backoff.Jitter = .full, maxRetryAfter: Duration = .seconds(60),
        statuses: StatusRule = defaultStatuses, keyedMethods: Set<HTTPRequest.Method> = []
    ) {
        precondition(maxAttempts >= 1, "maxAttempts must be at least 1 (is \(maxAttempts))")
        precondition(maxRetryAfter >= .zero, "maxRetryAfter must be at least zero (is \(SafeText.duration(maxRetryAfter)))")
        (self.maxAttempts, self.backoff, self.jitter) = (maxAttempts, backoff, jitter)
        (self.maxRetryAfter, self.statuses, self.keyedMethods) = (maxRetryAfter, statuses, keyedMethods)
    }

    /// Three attempts, 100 ms doubling up to 20 s, full jitter, `Retry-After` up to 60 s.
    public static let standard = RetryPolicy()

    /// ``standard`` with an `Idempotency-Key` for POST and PATCH, so that these requests can be sent again.
    public static let standardWithKeys = RetryPolicy(keyedMethods: [.post, .patch])

    /// The attempts, the backoff and the settings that differ from the default: `3 attempts, 100 ms to 20 s`.
    public var description: String {
        "\(maxAttempts) attempts, \(backoff)" + (jitter == .full ? "" : ", \(jitter)")
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
        /// A response with this status. `retryAfter` is the wait of its `Retry-After`; `nil` without this field.
        case status(HTTPResponse.Status, retryAfter: Duration?)
        /// No part of the request was sent.
        case neverSent
        /// The server certainly did not process the request: the server said so, or the connection was closed before the request was
        /// sent.
        case unprocessed
        /// There was no response. Whether the server processed the request is not known.
        case lost
        /// A permanent failure: an invalid request, a certificate, a limit.
        case permanent
    }

    /// The input of the decision of the policy.
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
        /// The time until the deadline; `nil` without a deadline.
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

    /// Decides whether there is a further attempt. Your own decision (``deciding(_:)``) is not called.
    ///
    /// - Parameters:
    ///   - situation: the attempt that has ended.
    ///   - random: returns a number that is at least 0 and less than 1; called only if the decision needs a random wait.
    package func decide(_ situation: Situation, random: @autoclosure () -> Double) -> Decision {
        switch situation.outcome {
        case .permanent:
            return .stop(.final)
        case .unprocessed:
            guard situation.canReplay else { return .stop(.bodyCannotBeReplayed) }
            if !situation.hasUsedFreeAttempt { return .retry(after: .zero, countsAsAttempt: false) }
            return waiting(situation, counts: true, random)
        case .neverSent:
            return waiting(situation, counts: true, random)
        case .lost:
            guard situation.mayBeSentAgain else { return .stop(.notIdempotent) }
            return waiting(situation, counts: true, random)
        case .status(let status, let retryAfter):
            // The status 409 means that another request with this key is in progress.
            guard statuses.contains(status) || (status == .conflict && situation.hasKey) else { return .stop(.final) }
            guard situation.mayBeSentAgain else { return .stop(.notIdempotent) }
            return waiting(situation, counts: true, atLeast: retryAfter ?? .zero, random)
        }
    }

    /// - Parameters:
    ///   - wait: the wait in place of the backoff and `Retry-After`; `nil` keeps both.
    ///   - floor: the shortest wait.
    func waiting(
        _ situation: Situation, counts: Bool, exactly wait: Duration? = nil, atLeast floor: Duration = .zero, _ random: () -> Double
    ) -> Decision {
        let used = counts ? situation.attempt - situation.uncounted : 0
        if let stop = RetryStop.reason(used: used, of: maxAttempts, canReplay: situation.canReplay) { return .stop(stop) }
        guard wait != nil || floor <= maxRetryAfter else { return .stop(.retryAfterTooLong) }
        let delay = wait ?? floor + jitter.applied(to: backoff.delay(afterAttempt: situation.attempt), random: random())
        if let stop = RetryStop.reason(delay: delay, remaining: situation.remaining) { return .stop(stop) }
        return .retry(after: delay, countsAsAttempt: counts)
    }
}
