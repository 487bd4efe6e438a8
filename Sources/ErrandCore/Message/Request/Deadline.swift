/// An instant by which a call must end. The call includes its queues, retries and waits, and the last byte of the body.
///
/// ```swift
/// request.deadline = Deadline(after: .seconds(10))
/// ```
///
/// A deadline is an instant on a clock, by default the continuous clock. Tests can control time with their own clock. Every
/// wait of a call obeys the deadline. `timeout(_:)` sets the deadline. Of two deadlines, the earlier deadline applies.
public struct Deadline: Sendable, CustomStringConvertible {
    /// The instant. A deadline is copied with each request. Therefore, the cases of this type have a layout that is known at compile time,
    /// so that a copy is cheap.
    private enum Kind: Sendable {
        /// An instant of the continuous clock that is this duration after ``base``.
        case continuous(Duration)
        case other(any ClockInstant)
    }

    /// The instant from which continuous deadlines are counted in this process.
    private static let base = ContinuousClock.now

    private let kind: Kind
    /// The limit that set the deadline, for messages; `nil` for a deadline that the app has set.
    private var limit: (duration: Duration, setter: LimitSetter)?

    private init(kind: Kind) { self.kind = kind }

    /// Creates a deadline that is `duration` from now on the continuous clock, which continues while the device sleeps. If `duration` is
    /// zero or less, the deadline has already passed. A duration of more than 100 years is treated as 100 years.
    public init(after duration: Duration) { self.init(continuous: .now.advanced(by: duration.bounded)) }

    /// Creates a deadline from an instant on the continuous clock. An instant that is more than 100 years away is treated as
    /// 100 years away.
    public init(_ instant: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        let remaining = now.duration(to: instant)
        self.init(continuous: remaining == remaining.bounded ? instant : now.advanced(by: remaining.bounded))
    }

    private init(continuous instant: ContinuousClock.Instant) { kind = .continuous(Self.base.duration(to: instant)) }

    /// Creates a deadline that is `duration` from now on `clock`. A duration of more than 100 years is treated as 100 years.
    public init(after duration: Duration, clock: any Clock<Duration>) {
        if clock is ContinuousClock {
            self.init(after: duration)
        } else {
            func make(_ clock: some Clock<Duration>) -> any ClockInstant {
                OnClock(clock: clock, instant: clock.now.advanced(by: duration.bounded))
            }
            self.init(kind: .other(make(clock)))
        }
    }

    /// Creates the deadline of a limit that starts now. `clock` is the continuous clock by default.
    package init(by setter: LimitSetter, after duration: Duration, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(after: duration, clock: clock)
        limit = (duration, setter)
    }

    /// Whether the call itself set the deadline, by its option `timeout` or by `request.deadline`. The property is false if a layer of the
    /// stack set the deadline.
    package var belongsToCall: Bool { limit.map { $0.setter == .timeoutOption } ?? true }

    /// The message for a passed deadline, with the limit that set the deadline: `the limit timeout is 30 s, set by .timeout`.
    package var passedMessage: String {
        guard let limit else { return Self.passedMessage }
        let name =
            switch limit.setter {
            case .timeout, .timeoutOption: "timeout"
            case .phaseTimeouts, .phaseTimeoutsOption, .attemptTimeoutOption: "attempt"
            }
        return limit.setter.message([(name, limit.duration)]) + (limit.duration > .zero ? "" : "; a limit must be more than zero")
    }

    /// The message for a passed deadline whose limit is not known.
    static let passedMessage = "the deadline of the request passed"

    /// The remaining time; zero or negative once the deadline has passed.
    public var remaining: Duration {
        switch kind {
        case .continuous(let sinceBase): sinceBase - Self.base.duration(to: .now)
        case .other(let box): box.remaining
        }
    }

    /// Whether the deadline has passed.
    public var hasPassed: Bool { remaining <= .zero }

    /// The instant on the continuous clock; `nil` on any other clock. A transport with its own timers can enforce only
    /// deadlines on the continuous clock.
    public var continuousInstant: ContinuousClock.Instant? {
        if case .continuous(let sinceBase) = kind { Self.base.advanced(by: sinceBase) } else { nil }
    }

    /// Returns the deadline that passes first; `nil` means no deadline.
    public static func earlier(_ first: Deadline?, _ second: Deadline?) -> Deadline? {
        guard let first else { return second }
        guard let second else { return first }
        if case .continuous(let left) = first.kind, case .continuous(let right) = second.kind {
            return left <= right ? first : second
        }
        return first.remaining <= second.remaining ? first : second
    }

    /// Returns a deadline that is earlier than this deadline by `duration`.
    public func earlier(by duration: Duration) -> Deadline {
        var earlier =
            switch kind {
            case .continuous(let sinceBase): Deadline(Self.base.advanced(by: sinceBase - duration))
            case .other(let box): Deadline(kind: .other(box.earlier(by: duration)))
            }
        earlier.limit = limit
        return earlier
    }

    /// Waits until the deadline has passed.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait() async throws {
        switch kind {
        case .continuous(let sinceBase): try await Task.sleep(until: Self.base.advanced(by: sinceBase), clock: .continuous)
        case .other(let box): try await box.wait()
        }
    }

    /// The remaining time as text, for example `in 2.5 s`.
    public var description: String { "in \(remaining.inWords)" }
}

private protocol ClockInstant: AnyObject, Sendable {
    var remaining: Duration { get }
    func earlier(by duration: Duration) -> any ClockInstant
    func wait() async throws
}

private final class OnClock<C: Clock<Duration>>: ClockInstant {
    let clock: C
    let instant: C.Instant

    init(clock: C, instant: C.Instant) { (self.clock, self.instant) = (clock, instant) }

    var remaining: Duration { clock.now.duration(to: instant) }
    func earlier(by duration: Duration) -> any ClockInstant { OnClock(clock: clock, instant: instant.advanced(by: .zero - duration)) }
    func wait() async throws { try await clock.sleep(until: instant, tolerance: nil) }
}
