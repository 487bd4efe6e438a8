public import ErrandTesting
internal import Synchronization

/// Runs tasks on the caller's thread, one job after the other, and moves a clock when nothing is left to do: what depends on time and on many
/// tasks happens in the same order in every run.
public final class Simulation: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    public let clock = ManualClock()
    private let start: ManualClock.Instant

    public init() { start = clock.now }

    /// Since the beginning.
    public var elapsed: Duration { start.duration(to: clock.now) }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Begins `body`; it goes on when ``run(until:)`` is called.
    @discardableResult
    public func begin<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) -> Task<Value, any Error> {
        Task(executorPreference: self) {
            defer { withExtendedLifetime(self) {} }
            return try await body()
        }
    }

    /// Runs until nobody has anything to do, and nobody sleeps.
    public func run() {
        repeat { runUntilIdle() } while clock.advanceToNextSleeper() != nil
    }

    /// Runs all that happens until `end`, counted from the beginning, which is then the time.
    public func run(until end: Duration) {
        runUntilIdle()
        while let next = clock.nextSleeper, elapsed + next <= end {
            clock.advanceToNextSleeper()
            runUntilIdle()
        }
        clock.advance(by: max(.zero, end - elapsed))
    }

    /// Runs what can be done without the time's moving.
    public func runUntilIdle() {
        while true {
            let batch = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            guard !batch.isEmpty else { return }
            for job in batch { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
