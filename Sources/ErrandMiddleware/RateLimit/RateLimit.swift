internal import ErrandCore

/// How many requests may go: so many in any window of this length, and so many at once.
///
/// `burst` go at once after a rest; then one for each `window / count`. However that adds up, never more than `count` go in any
/// window: of 50 a second with a burst of 10, there are 50 in the first second, and not 60.
public struct RateLimit: Sendable, Hashable, CustomStringConvertible {
    /// From 1 to 100,000.
    public let count: Int
    /// At least a millisecond.
    public let window: Duration
    /// From 1 to `count`.
    public let burst: Int

    /// - Parameters:
    ///   - count: from 1 to 100,000; the instants of so many are kept, sixteen bytes each.
    ///   - window: at least a millisecond.
    ///   - burst: how many may go at once; from 1 to `count`, which is what nil stands for.
    public init(_ count: Int, per window: Duration, burst: Int? = nil) {
        precondition((1...100_000).contains(count), "count must be from 1 to 100,000 (is \(count))")
        precondition(window >= .milliseconds(1), "window must be at least a millisecond (is \(window))")
        let burst = burst ?? count
        precondition((1...count).contains(burst), "burst must be from 1 to count, which is \(count) (is \(burst))")
        (self.count, self.window, self.burst) = (count, window.bounded, burst)
    }

    /// So many in any second.
    public static func perSecond(_ count: Int, burst: Int? = nil) -> RateLimit { RateLimit(count, per: .seconds(1), burst: burst) }
    /// So many in any minute.
    public static func perMinute(_ count: Int, burst: Int? = nil) -> RateLimit { RateLimit(count, per: .seconds(60), burst: burst) }
    /// So many in any hour.
    public static func perHour(_ count: Int, burst: Int? = nil) -> RateLimit { RateLimit(count, per: .seconds(3600), burst: burst) }

    /// Between two where none is saved up.
    var interval: Duration { window / count }

    public var description: String { "\(count) per \(window), burst \(burst)" }
}
