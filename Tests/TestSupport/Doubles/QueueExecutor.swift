internal import Dispatch

/// Runs its jobs on one queue in the order in which they are ready: one after the other, or several at a time.
public final class QueueExecutor: TaskExecutor {
    private static let key = DispatchSpecificKey<ObjectIdentifier>()
    private let queue: DispatchQueue

    public init(isConcurrent: Bool = false) {
        queue = DispatchQueue(label: "errand.tests.executor", attributes: isConcurrent ? .concurrent : [])
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Whether the caller runs on this executor.
    public var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

    /// Returns when every job that was ready has run: the tasks wait for something else. For an executor that is not concurrent.
    public func drain() async { await withCheckedContinuation { done in queue.async { done.resume() } } }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
