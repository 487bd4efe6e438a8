internal import Dispatch
internal import ErrandFormats
internal import Synchronization

/// Runs calls of the system that block, such as writing a file, on threads that are not those of Swift's cooperative pool.
///
/// The pool has one thread for each core: a disk that is slow would hold up every task of the process. On Linux, the work of concurrent
/// queues shares the threads of the pool, so these are serial queues, each of which has a thread of its own while it works. Their number is
/// fixed: work beyond it waits, first in, first out.
final class BlockingWork: Sendable {
    /// How many calls of the system may block at the same time.
    static let width = 8

    private static let shared = BlockingWork()

    private struct State {
        var idle: [DispatchQueue]
        var queued = FIFOQueue<@Sendable () -> Void>()
    }

    private let state: Mutex<State>

    init(width: Int = BlockingWork.width, label: String = "errand.blocking-work") {
        state = Mutex(State(idle: (0..<width).map { DispatchQueue(label: "\(label).\($0)") }))
    }

    /// Returns what `work` returns. It is not interrupted by cancellation: keep it short.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            shared.add { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Returns what `work` returns, or throws `CancellationError` as soon as the task is cancelled.
    ///
    /// Work that has begun then runs to its end on its thread, and its value is released there; other work is not begun.
    static func runUntilCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await shared.runUntilCancelled(work)
    }

    /// Does the same on the threads of this object, for work that must not hold up all other.
    func runUntilCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let outcome = FirstResult<Value>()
        return try await outcome.wait {
            add { if !outcome.isDecided { outcome.decide(Result(catching: work)) } }
        }
    }

    /// Begins `work` at once if a thread is free, and otherwise after the work that was added before.
    func add(_ work: @escaping @Sendable () -> Void) {
        let idle = state.withLock { state in
            let idle = state.idle.popLast()
            if idle == nil { state.queued.append(work) }
            return idle
        }
        if let idle { idle.async { self.perform(work, on: idle) } }
    }

    private func perform(_ work: @Sendable () -> Void, on queue: DispatchQueue) {
        work()
        // Each in a block of its own, so that it is released when it is done.
        let next = state.withLock { state in
            let next = state.queued.popFirst()
            if next == nil { state.idle.append(queue) }
            return next
        }
        if let next { queue.async { self.perform(next, on: queue) } }
    }
}
