public import ErrandTesting

/// A manual clock that calls a closure when a sleep begins.
public struct CallbackClock: Clock {
    private let base: ManualClock
    private let waits: Bool
    private let onSleep: @Sendable (Duration) -> Void

    /// - Parameters:
    ///   - base: the clock that has the time.
    ///   - waits: if false, a sleep ends immediately, and the time does not advance.
    ///   - onSleep: gets the duration of each sleep.
    public init(_ base: ManualClock = ManualClock(), waits: Bool = true, onSleep: @escaping @Sendable (Duration) -> Void = { _ in }) {
        (self.base, self.waits, self.onSleep) = (base, waits, onSleep)
    }

    public var now: ManualClock.Instant { base.now }
    public var minimumResolution: Duration { base.minimumResolution }

    public func sleep(until deadline: ManualClock.Instant, tolerance: Duration? = nil) async throws {
        onSleep(base.now.duration(to: deadline))
        if waits { try await base.sleep(until: deadline, tolerance: tolerance) } else { try Task.checkCancellation() }
    }
}
