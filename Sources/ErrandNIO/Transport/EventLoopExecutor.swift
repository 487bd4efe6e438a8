#if SWIFT_NIO
internal import ErrandFormats
public import NIOCore
internal import Synchronization

/// Runs tasks on an event loop, so that a call does not change threads between its task and its connection.
///
/// ```swift
/// try await withTaskExecutorPreference(transport.executors[0]) { try await stack.send(request) }
/// ```
///
/// If the caller runs on one of the transport's event loops, the transport prefers connections of this loop, and opens new connections on
/// this loop. Code on an event loop must not block, because every connection of the loop waits for that code.
///
/// The event loops of SwiftNIO are serial executors, for actors. On a serial executor, the job of a function without an actor is enqueued
/// again when the function continues. Therefore this type is a task executor, which queues jobs and gives the loop one closure for all
/// queued jobs.
public final class EventLoopExecutor: TaskExecutor {
    private let queue: JobQueue
    private let turn: @Sendable () -> Void

    /// Creates an executor for an event loop of any group.
    public init(_ loop: any EventLoop) {
        let queue = JobQueue(loop)
        self.queue = queue
        turn = { queue.runTurn() }
    }

    /// The event loop.
    public var eventLoop: any EventLoop { queue.loop }

    /// Runs a job on the event loop, after all jobs that were added earlier. Swift's runtime calls this method.
    public func enqueue(_ job: consuming ExecutorJob) {
        if queue.add(UnownedJob(job), of: asUnownedTaskExecutor()) { queue.loop.execute(turn) }
    }
}

private final class JobQueue: Sendable {
    private struct State {
        var waiting = FIFOQueue<(job: UnownedJob, executor: UnownedTaskExecutor)>()
        var isScheduled = false
    }

    let loop: any EventLoop
    private let state = Mutex(State())

    init(_ loop: any EventLoop) { self.loop = loop }

    /// Adds a job. Returns whether the caller must schedule ``runTurn()``.
    func add(_ job: UnownedJob, of executor: UnownedTaskExecutor) -> Bool {
        state.withLock { state in
            state.waiting.append((job, executor))
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    /// Runs the queued jobs. If jobs are added during the run, these jobs run later, because the loop also runs connections.
    func runTurn() {
        let count = state.withLock(\.waiting.count)
        for _ in 0..<count {
            guard let (job, executor) = state.withLock({ $0.waiting.popFirst() }) else { break }
            job.runSynchronously(on: executor)
        }
        let isOver = state.withLock { state in
            state.isScheduled = !state.waiting.isEmpty
            return state.waiting.isEmpty
        }
        if !isOver { loop.execute { self.runTurn() } }
    }
}
#endif
