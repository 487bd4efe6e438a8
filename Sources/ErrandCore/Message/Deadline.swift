/// An instant by which an exchange must be over: from the queue to the last byte of the body, retries and waits included.
///
/// It stands on a clock that is given (the continuous one by default), so that a test can own the time. Whoever waits obeys it;
/// `timeout(_:)` sets it, and where two meet, the earlier one holds.
public struct Deadline: Sendable, CustomStringConvertible {
    /// Of types whose layout is known when this is compiled: a deadline is copied with each request.
    private enum Kind: Sendable {
        /// On the continuous clock, so long after ``base``.
        case continuous(Duration)
        case other(any ClockInstant)
    }

    /// An instant of this process.
    private static let base = ContinuousClock.now

    private let kind: Kind

    private init(kind: Kind) { self.kind = kind }

    /// `duration` from now on the continuous clock (which goes on while the machine sleeps). Zero or less has passed already; more than
    /// 100 years count as 100 years.
    public init(after duration: Duration) { self.init(continuous: .now.advanced(by: duration.bounded)) }

    /// An instant on the continuous clock. One that is more than 100 years away counts as 100 years away.
    public init(_ instant: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        let remaining = now.duration(to: instant)
        self.init(continuous: remaining == remaining.bounded ? instant : now.advanced(by: remaining.bounded))
    }

    private init(continuous instant: ContinuousClock.Instant) { kind = .continuous(Self.base.duration(to: instant)) }

    /// `duration` from now on `clock`; more than 100 years count as 100 years.
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

    /// What is left; negative once it has passed.
    public var remaining: Duration {
        switch kind {
        case .continuous(let sinceBase): sinceBase - Self.base.duration(to: .now)
        case .other(let box): box.remaining
        }
    }

    public var hasPassed: Bool { remaining <= .zero }

    /// The instant on the continuous clock; nil on any other clock. Transports with timers of their own can enforce only these.
    public var continuousInstant: ContinuousClock.Instant? {
        if case .continuous(let sinceBase) = kind { Self.base.advanced(by: sinceBase) } else { nil }
    }

    /// The one that passes first; nil counts as never.
    public static func earlier(_ first: Deadline?, _ second: Deadline?) -> Deadline? {
        guard let first else { return second }
        guard let second else { return first }
        if case .continuous(let left) = first.kind, case .continuous(let right) = second.kind {
            return left <= right ? first : second
        }
        return first.remaining <= second.remaining ? first : second
    }

    /// The deadline that passes so much earlier.
    package func earlier(by duration: Duration) -> Deadline {
        switch kind {
        case .continuous(let sinceBase): Deadline(Self.base.advanced(by: sinceBase - duration))
        case .other(let box): Deadline(kind: .other(box.earlier(by: duration)))
        }
    }

    /// Returns when the deadline has passed.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    public func wait() async throws {
        switch kind {
        case .continuous(let sinceBase): try await Task.sleep(until: Self.base.advanced(by: sinceBase), clock: .continuous)
        case .other(let box): try await box.wait()
        }
    }

    public var description: String { "in \(remaining)" }
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
