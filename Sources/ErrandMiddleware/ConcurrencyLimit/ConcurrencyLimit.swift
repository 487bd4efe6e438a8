/// The number of exchanges that may be in progress at the same time. The limit is fixed, or it adapts to the server's responses.
public struct ConcurrencyLimit: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case fixed
        case adaptive(minimum: Int, maximum: Int, decrease: Double, slow: Duration)
    }

    let kind: Kind
    /// The limit at the start.
    let initial: Int

    /// A fixed limit.
    ///
    /// - Precondition: `count` is at least 1.
    public static func fixed(_ count: Int) -> ConcurrencyLimit {
        precondition(count >= 1, "count must be at least 1 (is \(count))")
        return ConcurrencyLimit(kind: .fixed, initial: count)
    }

    /// A limit that adapts by additive increase and multiplicative decrease.
    ///
    /// If an exchange succeeds while at least half of the limit is in use, the limit grows by one. If an exchange is refused (429, 503),
    /// fails or is slow, the limit is multiplied by `decrease`. A failure before the request was sent does not change the limit. Examples
    /// are an invalid URL, and an open circuit in an inner layer.
    ///
    /// - Parameters:
    ///   - initial: the limit at the start, from `minimum` to `maximum`. Default: 20.
    ///   - minimum: the lowest limit: at least 1, which is the default.
    ///   - maximum: the highest limit, at least `minimum`. Default: 200.
    ///   - decrease: the factor by which the limit is multiplied, more than 0 and less than 1. Default: 0.9.
    ///   - slow: the threshold for slow exchanges. An exchange is slow if its response head takes longer than this duration.
    ///     Default: 5 s.
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

    /// The outcome of an exchange, for the adaptive limit.
    package enum Outcome: Sendable, Hashable {
        case responded(after: Duration)
        /// The status was 429 or 503, or there was no response to a request that was sent.
        case dropped
        /// The outcome says nothing about the load of the server. For example, the caller cancelled the exchange, or no server got the
        /// request.
        case cancelled
    }

    /// Returns a limit as a number of slots, at most 10^15. A larger limit has no further effect, and might not fit in an `Int`.
    static func slots(_ limit: Double) -> Int { Int(min(limit, 1e15)) }

    /// Returns the limit after an exchange.
    package func next(after outcome: Outcome, limit: Double, inUse: Int) -> Double {
        guard case .adaptive(let minimum, let maximum, let decrease, let slow) = kind else { return limit }
        switch outcome {
        case .cancelled: return limit
        case .responded(let elapsed) where elapsed <= slow:
            return inUse * 2 >= Self.slots(limit) ? min(Double(maximum), limit + 1) : limit
        case .responded, .dropped: return max(Double(minimum), limit * decrease)
        }
    }
}
