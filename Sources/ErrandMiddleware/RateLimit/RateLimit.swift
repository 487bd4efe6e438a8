internal import ErrandCore

/// The number of requests that may be sent in any window of a given length, and the number of requests in a burst.
///
/// After a pause, `burst` requests may be sent without a wait. After the burst, one request may be sent in each period of `window / count`.
/// No window has more than `count` requests. For example, with 50 requests in a second and a burst of 10, the first second has 50 requests,
/// not 60.
///
/// ```swift
/// RateLimit(100, per: .seconds(10), burst: 20)
/// RateLimit.perSecond(50)
/// ```
public struct RateLimit: Sendable, Hashable, CustomStringConvertible {
    /// The number of requests in a window: from 1 to 100,000.
    public let count: Int
    /// The length of the window: at least a millisecond.
    public let window: Duration
    /// The number of requests that may be sent without a wait after a pause: from 1 to `count`.
    public let burst: Int

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - count: the number of requests, from 1 to 100,000. Each request in the window takes 16 bytes of memory.
    ///   - window: the length of the window, at least a millisecond. A window of more than 100 years is treated as 100 years.
    ///   - burst: the number of requests that may be sent without a wait after a pause: from 1 to `count`. With `nil`, the
    ///     default, `count` is used.
    public init(_ count: Int, per window: Duration, burst: Int? = nil) {
        precondition((1...100_000).contains(count), "count must be from 1 to 100,000 (is \(count))")
        precondition(window >= .milliseconds(1), "window must be at least a millisecond (is \(window.inWords))")
        let burst = burst ?? count
        precondition((1...count).contains(burst), "burst must be from 1 to count, which is \(count) (is \(burst))")
        (self.count, self.window, self.burst) = (count, window.bounded, burst)
    }

    /// Returns a limit of `count` requests in any second. For the bounds, see ``init(_:per:burst:)``.
    public static func perSecond(_ count: Int, burst: Int? = nil) -> RateLimit { RateLimit(count, per: .seconds(1), burst: burst) }
    /// Returns a limit of `count` requests in any minute. For the bounds, see ``init(_:per:burst:)``.
    public static func perMinute(_ count: Int, burst: Int? = nil) -> RateLimit { RateLimit(count, per: .seconds(60), burst: burst) }
    /// Returns a limit of `count` requests in any hour. For the bounds, see ``init(_:per:burst:)``.
    public static func perHour(_ count: Int, burst: Int? = nil) -> RateLimit { RateLimit(count, per: .seconds(3600), burst: burst) }

    /// The time between two requests after the burst is used up.
    var interval: Duration { window / count }

    /// The count, the window and the burst: `5 per second, burst 5`.
    public var description: String {
        let unit =
            switch window {
            case .seconds(1): "second"
            case .seconds(60): "minute"
            case .seconds(3600): "hour"
            default: window.inWords
            }
        return "\(count) per \(unit), burst \(burst)"
    }
}
