public import NIOCore
internal import Synchronization

/// Runs tasks on an event loop, so that a call crosses no thread between the task that makes it and the channel that sends it.
///
/// ```swift
/// try await withTaskExecutorPreference(EventLoopExecutor(loop)) { try await stack.send(request) }
/// ```
///
/// NIO's event loops are serial executors, for actors. A job that runs as a serial executor's is enqueued again wherever a function without an
/// actor goes on, so that a task needs an executor of its own kind. Jobs wait in a queue here, and the loop gets one closure that is made once:
/// enqueueing allocates nothing.
public final class EventLoopExecutor: TaskExecutor {
    private let queue: JobQueue
    private let turn: @Sendable () -> Void

    public init(_ loop: any EventLoop) {
        let queue = JobQueue(loop)
        self.queue = queue
        turn = { queue.runTurn() }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        if queue.add(UnownedJob(job), of: asUnownedTaskExecutor()) { queue.loop.execute(turn) }
    }
}

private final class JobQueue: Sendable {
    private struct State {
        var waiting: [(job: UnownedJob, executor: UnownedTaskExecutor)] = []
        var next = 0
        var isScheduled = false
    }

    let loop: any EventLoop
    private let state = Mutex(State())

    init(_ loop: any EventLoop) { self.loop = loop }

    /// Whether a turn must be scheduled.
    func add(_ job: UnownedJob, of executor: UnownedTaskExecutor) -> Bool {
        state.withLock { state in
            state.waiting.append((job, executor))
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// Runs what waits now, and not what comes meanwhile: the loop has channels to serve.
    func runTurn() {
        let count = state.withLock { $0.waiting.count - $0.next }
        for _ in 0..<count {
            let (job, executor) = state.withLock { state in
                defer { state.next += 1 }
                return state.waiting[state.next]
            }
            job.runSynchronously(on: executor)
        }
        let isOver = state.withLock { state in
            guard state.next == state.waiting.count else { return false }
            state.waiting.removeAll(keepingCapacity: true)
            (state.next, state.isScheduled) = (0, false)
            return true
        }
        if !isOver { loop.execute { self.runTurn() } }
    }
}
