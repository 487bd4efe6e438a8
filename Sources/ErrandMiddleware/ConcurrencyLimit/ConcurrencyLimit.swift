/// How many exchanges may be under way at once: a number, or one that follows what the other side bears.
public struct ConcurrencyLimit: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case fixed
        case adaptive(minimum: Int, maximum: Int, decrease: Double, slow: Duration)
    }

    let kind: Kind
    /// At first.
    let initial: Int

    /// Always so many; at least 1.
    public static func fixed(_ count: Int) -> ConcurrencyLimit {
        precondition(count >= 1, "count must be at least 1 (is \(count))")
        return ConcurrencyLimit(kind: .fixed, initial: count)
    }

    /// Additive increase, multiplicative decrease: one more for each exchange that goes well while half of the limit or more is used; times
    /// `decrease` for each that is refused (429, 503), fails, or takes longer than `slow` to its head. A failure before anything was sent, such as an
    /// invalid URL or a refusal by a circuit breaker inside, says nothing about the server and changes nothing.
    public static func adaptive(
        initial: Int = 20, minimum: Int = 1, maximum: Int = 200, decrease: Double = 0.9, slow: Duration = .seconds(5)
    ) -> ConcurrencyLimit {
        precondition(minimum >= 1, "minimum must be at least 1 (is \(minimum))")
        precondition(maximum >= minimum, "maximum must be at least minimum, which is \(minimum) (is \(maximum))")
        precondition((minimum...maximum).contains(initial), "initial must be from \(minimum) to \(maximum) (is \(initial))")
        precondition(decrease > 0 && decrease < 1, "decrease must be more than 0 and less than 1 (is \(decrease))")
        return ConcurrencyLimit(kind: .adaptive(minimum: minimum, maximum: maximum, decrease: decrease, slow: slow), initial: initial)
    }

    public var description: String {
        switch kind {
        case .fixed: "\(initial)"
        case .adaptive(let minimum, let maximum, _, _): "\(minimum) to \(maximum)"
        }
    }

    /// How an exchange went, as far as a limit looks at it.
    package enum Outcome: Sendable, Hashable {
        case answered(after: Duration)
        /// 429, 503, or no answer to what was sent.
        case dropped
        /// The caller left, or no server got the request: it says nothing.
        case cancelled
    }

    /// A limit as a number of slots, at most 10^15: more is as good as none, and might not fit an `Int`.
    static func slots(_ limit: Double) -> Int { Int(min(limit, 1e15)) }

    /// The limit after an exchange.
    package func next(after outcome: Outcome, limit: Double, inUse: Int) -> Double {
        guard case .adaptive(let minimum, let maximum, let decrease, let slow) = kind else { return limit }
        switch outcome {
        case .cancelled: return limit
        case .answered(let elapsed) where elapsed <= slow:
            return inUse * 2 >= Self.slots(limit) ? min(Double(maximum), limit + 1) : limit
        case .answered, .dropped: return max(Double(minimum), limit * decrease)
        }
    }
}
