internal import ErrandCore
internal import Synchronization

/// A clock whose time the test controls, so that a backoff of thirty minutes takes no time.
///
/// ```swift
/// let clock = ManualClock()
/// async let response = stub.retry(.standard, clock: clock).send(request)
/// try await clock.sleepers(atLeast: 1)      // the backoff has begun
/// clock.advance(by: .seconds(20))
/// ```
public final class ManualClock: Clock, Sendable, CustomStringConvertible {
    /// The time since the clock was created.
    public struct Instant: InstantProtocol {
        package let sinceStart: Duration

        /// Returns the instant that is later than this instant by `duration`.
        public func advanced(by duration: Duration) -> Instant { Instant(sinceStart: sinceStart.cappedSum(duration)) }
        /// Returns the duration from this instant to `other`.
        public func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }
        /// Whether the first instant is earlier than the second instant.
        public static func < (first: Instant, second: Instant) -> Bool { first.sinceStart < second.sinceStart }
    }

    private struct Sleeper {
        let until: Instant
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(sinceStart: .zero)
        var nextNumber = 0
        var sleepers: [QueueTicket: Sleeper] = [:]
        var watchers: [QueueTicket: (count: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]

        /// Removes and returns the callers of `sleepers(atLeast:)` whose number of sleeping tasks is reached.
        mutating func satisfiedWatchers() -> [CheckedContinuation<Void, any Error>] {
            let satisfied = watchers.filter { $0.value.count <= sleepers.count }
            for ticket in satisfied.keys { watchers[ticket] = nil }
            return satisfied.values.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    /// Creates a clock whose time begins at zero.
    public init() {}

    /// The current time of the clock.
    public var now: Instant { state.withLock(\.now) }
    /// Zero, because every duration is exact.
    public var minimumResolution: Duration { .zero }

    /// Returns when the test has advanced the time to `deadline`.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await waitInQueue { ticket, continuation in
            let (result, watchers) = state.withLock { state -> (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) in
                if Task.isCancelled { return (.failure(CancellationError()), []) }
                if deadline <= state.now { return (.success(()), []) }
                state.nextNumber += 1
                state.sleepers[ticket] = Sleeper(until: deadline, number: state.nextNumber, continuation: continuation)
                return (nil, state.satisfiedWatchers())
            }
            for watcher in watchers { watcher.resume() }
            return result
        } leave: { [self] ticket in
            state.withLock { $0.sleepers.removeValue(forKey: ticket)?.continuation }
        }
    }

    /// The number of tasks that sleep on this clock.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The time since the clock was created, and the number of sleepers: `manual clock at 30 s, sleepers: 1`.
    public var description: String { "manual clock at \(now.sinceStart.inWords), sleepers: \(sleeperCount)" }

    /// The duration until the next sleeping task is due; `nil` if no task sleeps.
    public var nextSleeper: Duration? {
        state.withLock { state in state.sleepers.values.map(\.until).min().map { state.now.duration(to: $0) } }
    }

    /// Returns as soon as at least `count` tasks sleep on this clock.
    ///
    /// - Throws: `CancellationError`.
    public func sleepers(atLeast count: Int) async throws {
        try await waitInQueue { ticket, continuation in
            state.withLock { state -> Result<Void, any Error>? in
                if Task.isCancelled { return .failure(CancellationError()) }
                if state.sleepers.count >= count { return .success(()) }
                state.watchers[ticket] = (count, continuation)
                return nil
            }
        } leave: { [self] ticket in
            state.withLock { $0.watchers.removeValue(forKey: ticket)?.continuation }
        }
    }

    /// Advances the time by `duration`, and wakes the sleeping tasks that are due. The tasks are woken in the order of their due times.
    /// `duration` must be at least zero.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "duration must be at least zero (is \(duration.inWords))")
        wake { $0.now = $0.now.advanced(by: duration) }
    }

    /// Advances the time to the instant at which the next sleeping task is due, and wakes that task. Returns the duration of
    /// the advance; `nil` if no task sleeps.
    @discardableResult
    public func advanceToNextSleeper() -> Duration? {
        var moved: Duration?
        wake { state in
            guard let next = state.sleepers.values.map(\.until).min() else { return }
            moved = state.now.duration(to: next)
            state.now = next
        }
        return moved
    }

    /// Calls `body`. While `body` runs and a task sleeps, advances the time to the instant at which the next sleeping task is due.
    /// Therefore, the backoffs of a retry, or the waits of a poll, end immediately.
    ///
    /// ```swift
    /// let response = try await clock.advancingToSleepers {
    ///     try await stub.retry(.standard, clock: clock).send(request)
    /// }
    /// ```
    ///
    /// Use this method for a `body` that waits only on this clock. Before each advance, the method yields a few times, so that other
    /// tasks can begin to sleep until the same or an earlier instant. The method does not wait for other work, such as a connection or
    /// another clock. Therefore, a deadline on this clock can pass while other work is still in progress.
    public func advancingToSleepers<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        async let _ = advanceUntilCancelled()
        return try await body()
    }

    private func advanceUntilCancelled() async {
        while (try? await sleepers(atLeast: 1)) != nil {
            for _ in 0..<5 { await Task.yield() }
            guard !Task.isCancelled else { return }
            advanceToNextSleeper()
        }
    }

    private func wake(after move: (inout sending State) -> Void) {
        let due = state.withLock { state in
            move(&state)
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for ticket in due.keys { state.sleepers[ticket] = nil }
            return due.values.sorted { ($0.until, $0.number) < ($1.until, $1.number) }.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }
}
