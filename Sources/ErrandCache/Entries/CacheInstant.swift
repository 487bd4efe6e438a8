internal import ErrandCore

/// An instant by two clocks: the wall clock, which the dates of HTTP need, and a clock that no one can set.
///
/// The wall clock may be set to another time. Therefore, the second clock measures how long a response has been stored, if both instants
/// belong to the same run of that clock. If the instants belong to different runs, the wall clock measures how long the response has been
/// stored.
public struct CacheInstant: Sendable, Hashable {
    /// The time by the wall clock, since 1970-01-01T00:00:00Z.
    public let sinceEpoch: Duration
    /// The time since the beginning of the run, by a clock that also counts while the device sleeps, such as `ContinuousClock`.
    public let uptime: Duration
    /// A number that identifies the run, such as a random number of the process. Uptimes of different runs are not compared.
    public let run: UInt64

    /// Creates an instant.
    ///
    /// - Parameters:
    ///   - sinceEpoch: the time by the wall clock, since 1970.
    ///   - uptime: the time since the beginning of the run.
    ///   - run: the number of the run.
    public init(sinceEpoch: Duration, uptime: Duration, run: UInt64) {
        (self.sinceEpoch, self.uptime, self.run) = (sinceEpoch, uptime, run)
    }

    private static let start = ContinuousClock.now
    private static let processRun = UInt64.random(in: 0 ... .max)

    /// The current instant of the system's clocks. The run is the current process.
    public static var now: CacheInstant {
        CacheInstant(
            sinceEpoch: .seconds(Date().timeIntervalSince1970), uptime: start.duration(to: .now), run: processRun)
    }

    /// Returns a function that reads the current instant.
    ///
    /// - Parameter now: the time of a test, which is used as both clocks. `nil`: the system's clocks, see ``now``.
    static func clock(_ now: (@Sendable () -> Date)?) -> @Sendable () -> CacheInstant {
        guard let now else { return { .now } }
        return {
            let sinceEpoch = Duration.seconds(now().timeIntervalSince1970)
            return CacheInstant(sinceEpoch: sinceEpoch, uptime: sinceEpoch, run: 0)
        }
    }

    /// The whole seconds by the wall clock, rounded down.
    var date: HTTPDate {
        let (seconds, attoseconds) = sinceEpoch.components
        return HTTPDate(secondsSinceEpoch: attoseconds < 0 ? seconds - 1 : seconds)
    }

    /// Returns the time from an earlier instant to this instant, at least zero; `nil` if the wall clock was set back, so that the time is
    /// not known.
    func elapsed(since earlier: CacheInstant) -> Duration? {
        if run == earlier.run { return max(.zero, uptime - earlier.uptime) }
        let elapsed = sinceEpoch - earlier.sinceEpoch
        return elapsed < .zero ? nil : elapsed
    }
}
