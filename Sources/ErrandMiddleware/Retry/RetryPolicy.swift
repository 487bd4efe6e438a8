public import ErrandCore

/// When a request is sent again, and after how long: a pure decision.
///
/// What failed belongs to one of three classes:
/// - It **never left**: it is sent again whatever its method, after a backoff. These attempts count, and take from the budget, as any others:
///   a host that is mistyped or refuses is found out after ``maxAttempts``, with a deadline as without one.
/// - The server got it and **provably did not process it** (RFC 9113, 8.7), or a kept connection turned out to be closed: it is sent again at
///   once, one time, whatever its method; that attempt does not count, nor against the budget.
/// - It **may have been processed**: it is sent again if its method is idempotent (RFC 9110, 9.2.2; QUERY as well) or it carries an
///   `Idempotency-Key`, and its connection failed or it was answered by one of ``statuses``.
///
/// Never sent again is one whose body can't be replayed, one that was cancelled, and one whose wait would pass the deadline.
///
/// A server's `Retry-After` is the least that is waited, with the jitter on top; one above ``retryAfterCap``, or one that passes the
/// deadline, ends the retries at once.
public struct RetryPolicy: Sendable, CustomStringConvertible {
    /// The first included; at least 1.
    public var maxAttempts: Int
    /// 100 ms, doubled each time, up to 20 s by default.
    public var backoff: Backoff
    /// ``Jitter/full`` by default.
    public var jitter: Jitter
    /// The longest `Retry-After` that is waited for: 60 s by default.
    public var retryAfterCap: Duration
    /// 408, 425, 429, 500, 502, 503 and 504 by default.
    public var statuses: Set<Int>
    /// Methods that get an `Idempotency-Key`, and may be sent again because of it: none by default. The server must know the field.
    public var keyedMethods: Set<HTTPRequest.Method>

    public static let defaultStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    public init(
        maxAttempts: Int = 3, backoff: Backoff = .exponential(), jitter: Jitter = .full, retryAfterCap: Duration = .seconds(60),
        statuses: Set<Int> = defaultStatuses, keyedMethods: Set<HTTPRequest.Method> = []
    ) {
        precondition(maxAttempts >= 1, "maxAttempts must be at least 1 (is \(maxAttempts))")
        precondition(retryAfterCap >= .zero, "retryAfterCap must be at least zero (is \(retryAfterCap))")
        (self.maxAttempts, self.backoff, self.jitter) = (maxAttempts, backoff, jitter)
        (self.retryAfterCap, self.statuses, self.keyedMethods) = (retryAfterCap, statuses, keyedMethods)
    }

    /// With an exponential backoff from `base` to `cap`.
    public init(
        maxAttempts: Int = 3, base: Duration, cap: Duration = .seconds(20), retryAfterCap: Duration = .seconds(60),
        statuses: Set<Int> = defaultStatuses
    ) {
        self.init(
            maxAttempts: maxAttempts, backoff: .exponential(base: base, cap: cap), retryAfterCap: retryAfterCap, statuses: statuses)
    }

    /// Three attempts, 100 ms doubling up to 20 s, full jitter, `Retry-After` up to 60 s.
    public static let standard = RetryPolicy()

    /// ``standard``, with an `Idempotency-Key` for POST and PATCH, which are sent again then.
    public static let standardWithKeys = RetryPolicy(keyedMethods: [.post, .patch])

    public var description: String {
        "\(maxAttempts) attempts, \(backoff)" + (jitter == .full ? "" : ", \(jitter)")
            + (keyedMethods.isEmpty ? "" : ", keys for \(keyedMethods.map(\.rawValue).sorted().joined(separator: " "))")
    }

    // MARK: - The decision

    /// What came of an attempt, as far as the decision needs it.
    public enum Outcome: Sendable, Hashable {
        /// An answer, and what its `Retry-After` asks for; nil where there is none.
        case status(Int, retryAfter: Duration?)
        /// Nothing of the request left.
        case neverSent
        /// The server got it, or the connection was closed before it could; it was not processed, which is certain.
        case unprocessed
        /// No answer, and whether the server acted is not known.
        case lost
        /// A failure that would come again: an invalid request, a certificate, a limit.
        case permanent
    }

    /// All that the decision looks at.
    public struct Situation: Sendable {
        /// The number of the attempt that is over, from 1.
        public var attempt: Int
        /// How many of them don't count.
        public var uncounted: Int
        public var outcome: Outcome
        public var method: HTTPRequest.Method
        /// Whether the request carries an `Idempotency-Key`.
        public var hasKey: Bool
        /// Whether the body can be sent once more.
        public var canReplay: Bool
        /// Until the deadline; nil where there is none.
        public var remaining: Duration?
        /// Whether the one attempt that does not count is used up.
        public var hasUsedFreeAttempt: Bool

        public init(
            attempt: Int, uncounted: Int = 0, outcome: Outcome, method: HTTPRequest.Method, hasKey: Bool = false, canReplay: Bool = true,
            remaining: Duration? = nil, hasUsedFreeAttempt: Bool = false
        ) {
            (self.attempt, self.uncounted, self.outcome, self.method, self.hasKey) = (attempt, uncounted, outcome, method, hasKey)
            (self.canReplay, self.remaining) = (canReplay, remaining)
            self.hasUsedFreeAttempt = hasUsedFreeAttempt
        }

        fileprivate var mayBeSentAgain: Bool { method.mayBeSentAgain(hasKey: hasKey) }
    }

    public enum Decision: Sendable, Hashable {
        /// Once more, after this wait. An attempt that does not count needs no budget.
        case again(after: Duration, counts: Bool)
        /// Never again: the answer or the failure stands.
        case stop(Stop)
    }

    /// Why there is no further attempt.
    public enum Stop: String, Sendable, Hashable {
        /// It succeeded, or failed in a way that would come again, or might be done twice.
        case final
        case attemptsUsedUp
        case bodyCannotBeReplayed
        case retryAfterTooLong
        case deadlineTooNear
        case budgetSpent
    }

    /// - Parameter random: from 0 up to, but not including, 1; asked for only where there is a wait to be drawn.
    public func decide(_ situation: Situation, random: @autoclosure () -> Double) -> Decision {
        switch situation.outcome {
        case .permanent:
            return .stop(.final)
        case .unprocessed:
            guard situation.canReplay else { return .stop(.bodyCannotBeReplayed) }
            if !situation.hasUsedFreeAttempt { return .again(after: .zero, counts: false) }
            return waiting(situation, counts: true, random)
        case .neverSent:
            return waiting(situation, counts: true, random)
        case .lost:
            guard situation.mayBeSentAgain else { return .stop(.final) }
            return waiting(situation, counts: true, random)
        case .status(let code, let retryAfter):
            // 409: another request with this key is under way.
            guard statuses.contains(code) || (code == 409 && situation.hasKey), situation.mayBeSentAgain
            else { return .stop(.final) }
            return waiting(situation, counts: true, atLeast: retryAfter ?? .zero, random)
        }
    }

    private func waiting(_ situation: Situation, counts: Bool, atLeast floor: Duration = .zero, _ random: () -> Double) -> Decision {
        guard situation.canReplay else { return .stop(.bodyCannotBeReplayed) }
        guard !counts || situation.attempt - situation.uncounted < maxAttempts else { return .stop(.attemptsUsedUp) }
        guard floor <= retryAfterCap else { return .stop(.retryAfterTooLong) }
        let delay = floor + jitter.applied(to: backoff.wait(afterAttempt: situation.attempt), random: random())
        if let remaining = situation.remaining, delay >= remaining { return .stop(.deadlineTooNear) }
        return .again(after: delay, counts: counts)
    }
}
