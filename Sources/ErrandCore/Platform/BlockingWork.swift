internal import Dispatch
internal import ErrandFormats
internal import Synchronization

/// Threads outside Swift's cooperative pool, for blocking system calls such as writing a file.
///
/// The pool has one thread for each core. If blocking calls ran in the pool, a slow disk could block every task of the process. On Linux,
/// concurrent dispatch queues share the threads of the pool. Therefore this type uses serial queues. Each serial queue has its own thread
/// while the queue works. The number of queues is fixed. If all queues are busy, more work waits, first in, first out.
package final class BlockingWork: Sendable {
    /// The number of system calls that may block at the same time.
    package static let width = 8

    private static let shared = BlockingWork()

    private struct State {
        var idle: [DispatchQueue]
        var queued = FIFOQueue<@Sendable () -> Void>()
    }

    private let state: Mutex<State>

    package init(width: Int = BlockingWork.width, label: String = "errand.blocking-work") {
        state = Mutex(State(idle: (0..<width).map { DispatchQueue(label: "\(label).\($0)") }))
    }

    /// Returns the result of `work`. Cancellation does not interrupt the work: keep the work short.
    package static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            shared.add { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Returns the result of `work`, or throws `CancellationError` as soon as the task is cancelled.
    ///
    /// If the work has begun, its thread completes the work and releases the result. If the work has not begun, it never
    /// begins.
    package static func runUntilCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await shared.runUntilCancelled(work)
    }

    /// Runs `work` like the static function, but on the threads of this object. Create a separate object for work that must not
    /// block all other work.
    package func runUntilCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let outcome = FirstResult<Value>()
        return try await outcome.wait {
            add { if !outcome.isDecided { outcome.decide(Result(catching: work)) } }
        }
    }

    /// Begins `work` immediately if a thread is free. If all threads are busy, `work` begins after all earlier work.
    package func add(_ work: @escaping @Sendable () -> Void) {
        let idle = state.withLock { state in
            let idle = state.idle.popLast()
            if idle == nil { state.queued.append(work) }
            return idle
        }
        if let idle { idle.async { self.perform(work, on: idle) } }
    }

    private func perform(_ work: @Sendable () -> Void, on queue: DispatchQueue) {
        work()
        // Each piece of work runs in a separate block, so that the work is released when it is done.
        let next = state.withLock { state in
            let next = state.queued.popFirst()
            if next == nil { state.idle.append(queue) }
            return next
        }
        if let next { queue.async { self.perform(next, on: queue) } }
    }
}
