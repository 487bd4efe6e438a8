public import ErrandTesting
internal import Synchronization

/// Runs tasks on the caller's thread, one job after the other, and advances a clock when no job is left. Code that depends on time and on
/// many tasks therefore runs in the same order each time.
public final class Simulation: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    public let clock = ManualClock()
    private let start: ManualClock.Instant

    public init() { start = clock.now }

    /// The time since the simulation was created.
    public var elapsed: Duration { start.duration(to: clock.now) }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Starts `body`; it runs when ``run(until:)`` is called.
    @discardableResult
    public func begin<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) -> Task<Value, any Error> {
        Task(executorPreference: self) {
            defer { withExtendedLifetime(self) {} }
            return try await body()
        }
    }

    /// Runs `body` to its end, and advances the clock whenever nothing else is left to do.
    public func complete<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = begin(body)
        run()
        return try await task.value
    }

    /// Runs until no job is left and no task sleeps.
    public func run() {
        repeat { runUntilIdle() } while clock.advanceToNextSleeper() != nil
    }

    /// Runs everything that happens until `end`, counted from the start, and advances the clock to `end`.
    public func run(until end: Duration) {
        runUntilIdle()
        while let next = clock.nextSleeper, elapsed + next <= end {
            clock.advanceToNextSleeper()
            runUntilIdle()
        }
        clock.advance(by: max(.zero, end - elapsed))
    }

    /// Runs all jobs that are possible without advancing the clock.
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
