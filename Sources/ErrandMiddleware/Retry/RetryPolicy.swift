public import ErrandCore

/// When a request is sent again, and after how long: a pure decision.
///
/// Sent again is a request that never left, whatever its method; and one with an idempotent method (RFC 9110, 9.2.2; QUERY as
/// well) whose connection failed, or that was answered by one of ``statuses``. Never one whose body can't be replayed, never one
/// that was cancelled, and never past the deadline.
///
/// The wait before attempt *n* + 1 is random between zero and `base` · 2^(*n* - 1), at most `cap` ("full jitter"). A server's
/// `Retry-After` counts instead where it is longer, with the jitter on top; one above ``retryAfterCap`` ends the retries.
public struct RetryPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The first included; at least 1.
    public var maxAttempts: Int
    public var base: Duration
    public var cap: Duration
    /// The longest `Retry-After` that is waited for.
    public var retryAfterCap: Duration
    /// 408, 425, 429, 500, 502, 503 and 504 by default.
    public var statuses: Set<Int>

    public init(
        maxAttempts: Int = 3, base: Duration = .milliseconds(100), cap: Duration = .seconds(20), retryAfterCap: Duration = .seconds(60),
        statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    ) {
        precondition(maxAttempts >= 1, "\(maxAttempts) attempts")
        precondition(base >= .zero && cap >= .zero, "a base of \(base) and a cap of \(cap)")
        (self.maxAttempts, self.base, self.cap, self.retryAfterCap, self.statuses) = (maxAttempts, base, cap, retryAfterCap, statuses)
    }

    /// Three attempts, 100 ms doubling up to 20 s, full jitter, `Retry-After` up to 60 s.
    public static let standard = RetryPolicy()

    public var description: String { "\(maxAttempts) attempts, \(base) to \(cap)" }

    /// What came of an attempt, as far as the decision needs it.
    public enum Outcome: Sendable, Hashable {
        /// An answer, and what its `Retry-After` asks for; nil where there is none.
        case status(Int, retryAfter: Duration?)
        /// No answer. Whether it may pass by itself, and whether the request left.
        case failure(isTransient: Bool, wasSent: WasSent)
    }

    /// The wait before the next attempt; nil where there shall be none.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt that is over, from 1.
    ///   - canReplay: whether the request's body can be sent again.
    ///   - remaining: until the deadline; nil where there is none. A wait that would not end before it is not begun.
    ///   - random: a number from 0 up to, but not including, 1.
    public func delay(
        afterAttempt attempt: Int, _ outcome: Outcome, method: HTTPRequest.Method, canReplay: Bool, remaining: Duration?, random: Double
    ) -> Duration? {
        guard attempt < maxAttempts, canReplay else { return nil }
        var floor = Duration.zero
        switch outcome {
        case .status(let code, let retryAfter):
            guard statuses.contains(code), method.isIdempotent else { return nil }
            floor = retryAfter ?? .zero
            guard floor <= retryAfterCap else { return nil }
        case .failure(let isTransient, let wasSent):
            guard isTransient, wasSent == .no || method.isIdempotent else { return nil }
        }
        let delay = floor + backoff(afterAttempt: attempt) * random
        if let remaining, delay >= remaining { return nil }
        return delay
    }

    /// The longest wait after this attempt, without jitter.
    func backoff(afterAttempt attempt: Int) -> Duration {
        min(cap, base * Int32(clamping: 1 << min(attempt - 1, 30)))
    }
}

extension HTTPRequest.Method {
    /// Doing it twice is as good as once (RFC 9110, 9.2.2; QUERY: RFC 10008).
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .trace, .put, .delete, .query: true
        default: false
        }
    }
}
