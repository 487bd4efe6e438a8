/// The delay before each further attempt, without jitter.
///
/// ```swift
/// RetryPolicy(maxAttempts: 5, backoff: .fibonacci(unit: .milliseconds(200)))
/// ```
public struct Backoff: Sendable, CustomStringConvertible {
    /// The backoff in words, for the stack's description.
    public let description: String
    private let delay: @Sendable (Int) -> Duration

    /// Returns your own backoff.
    ///
    /// - Parameters:
    ///   - description: the backoff in words, for the stack's description.
    ///   - delay: a closure that takes the number of an attempt, and returns the delay after this attempt. The first attempt has the number
    ///     1. A negative delay is treated as zero.
    public static func custom(_ description: String, _ delay: @escaping @Sendable (_ attempt: Int) -> Duration) -> Backoff {
        Backoff(description: description) { max(.zero, delay($0)) }
    }

    /// No delay.
    public static let immediate = Backoff(description: "immediate") { _ in .zero }

    /// Returns a backoff with the same delay each time.
    ///
    /// - Parameter delay: the delay; at least zero.
    public static func constant(_ delay: Duration) -> Backoff {
        precondition(delay >= .zero, "delay must be at least zero (is \(delay.inWords))")
        return Backoff(description: "constant \(delay.inWords)") { _ in delay }
    }

    /// Returns a backoff whose delay grows: `base` · `factor`^(*n* - 1) after attempt *n*, at most `maxDelay`.
    ///
    /// - Parameters:
    ///   - base: the delay after the first attempt, at least zero. Default: 100 ms.
    ///   - factor: the factor by which the delay grows, at least 1. Default: 2.
    ///   - maxDelay: the longest delay, at least zero. Default: 20 s.
    public static func exponential(
        base: Duration = .milliseconds(100), factor: Double = 2, maxDelay: Duration = .seconds(20)
    ) -> Backoff {
        precondition(base >= .zero, "base must be at least zero (is \(base.inWords))")
        precondition(factor >= 1, "factor must be at least 1 (is \(factor))")
        precondition(maxDelay >= .zero, "maxDelay must be at least zero (is \(maxDelay.inWords))")
        return Backoff(description: "\(base.inWords) to \(maxDelay.inWords)") { attempt in
            // The limit of 1e12 keeps the product finite.
            let power = (0..<min(attempt - 1, 64)).reduce(1.0) { power, _ in min(power * factor, 1e12) }
            return base / .seconds(1) * power >= maxDelay / .seconds(1) ? maxDelay : base * power
        }
    }

    /// Returns a backoff whose delay grows: `unit` times 1, 1, 2, 3, 5, 8, …, at most `maxDelay`.
    ///
    /// - Parameters:
    ///   - unit: the delay after the first attempt, at least zero. Default: 100 ms.
    ///   - maxDelay: the longest delay, at least zero. Default: 20 s.
    public static func fibonacci(unit: Duration = .milliseconds(100), maxDelay: Duration = .seconds(20)) -> Backoff {
        precondition(unit >= .zero, "unit must be at least zero (is \(unit.inWords))")
        precondition(maxDelay >= .zero, "maxDelay must be at least zero (is \(maxDelay.inWords))")
        return Backoff(description: "fibonacci of \(unit.inWords) to \(maxDelay.inWords)") { attempt in
            var (number, next) = (Int32(1), Int32(1))
            for _ in 1..<min(max(attempt, 1), 45) { (number, next) = (next, number + next) }
            return min(maxDelay, unit.bounded * number)
        }
    }

    /// Returns the delay after an attempt, without jitter.
    ///
    /// - Parameter attempt: the number of the attempt; at least 1.
    public func delay(afterAttempt attempt: Int) -> Duration {
        precondition(attempt >= 1, "attempt must be at least 1 (is \(attempt))")
        return delay(attempt)
    }

    private init(description: String, delay: @escaping @Sendable (Int) -> Duration) {
        (self.description, self.delay) = (description, delay)
    }
}
