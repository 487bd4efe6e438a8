internal import Dispatch
internal import Synchronization

/// Runs the jobs of one run on its own queue, one after another. Counts the jobs, and cancels the run at one of the jobs.
final class CancellationTortureExecutor: TaskExecutor {
    private struct State {
        var jobs = 0
        var isCancelled = false
        var cancel: (@Sendable () -> Void)?
    }

    private let queue = DispatchQueue(label: "errand.cancellation-torture", attributes: .initiallyInactive)
    private let k: Int
    private let moment: CancellationTorture.Moment
    private let state = Mutex(State())

    init(k: Int, moment: CancellationTorture.Moment) { (self.k, self.moment) = (k, moment) }

    /// The number of jobs that have begun.
    var jobs: Int { state.withLock(\.jobs) }
    /// Whether the run has reached the job at which it is cancelled.
    var hasCancelled: Bool { state.withLock(\.isCancelled) }

    /// Starts the first job. The job is enqueued before the task's handle is known. Therefore the queue is inactive until this function is
    /// called.
    func start(_ cancel: @escaping @Sendable () -> Void) {
        state.withLock { $0.cancel = cancel }
        queue.activate()
    }

    /// Returns when all enqueued jobs have run.
    func drain() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        state.withLock { $0.cancel = nil }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { self.run(job) }
    }

    private func run(_ job: UnownedJob) {
        let cancel = state.withLock { state -> (@Sendable () -> Void)? in
            state.jobs += 1
            guard state.jobs == k else { return nil }
            state.isCancelled = true
            return state.cancel
        }
        if moment == .before { cancel?() }
        job.runSynchronously(on: asUnownedTaskExecutor())
        if moment == .after { cancel?() }
    }
}
