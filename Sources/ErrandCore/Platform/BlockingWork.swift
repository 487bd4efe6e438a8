internal import Dispatch
internal import Synchronization

/// Runs blocking system calls, such as writing a file, on threads outside Swift's cooperative pool.
///
/// The pool has one thread for each core, so a slow disk would block every task of the process. On Linux, concurrent queues share
/// the threads of the pool. Therefore this type uses serial queues, each of which has its own thread while it works. The number of
/// queues is fixed. If all queues are busy, more work waits, first in, first out.
final class BlockingWork: Sendable {
    /// The number of system calls that may block at the same time.
    static let width = 8

    private static let shared = BlockingWork()

    private struct State {
        var idle: [DispatchQueue]
        /// The waiting work. The entries before `next` are done.
        var queued: [(@Sendable () -> Void)?] = []
        var next = 0

        mutating func takeNext() -> (@Sendable () -> Void)? {
            guard next < queued.count else { return nil }
            defer {
                next += 1
                // Seldom, so that each entry is moved only about once.
                if next * 2 >= queued.count {
                    queued.removeFirst(next)
                    next = 0
                }
            }
            return queued[next].take()
        }
    }

    private let state: Mutex<State>

    init(width: Int = BlockingWork.width, label: String = "errand.blocking-work") {
        state = Mutex(State(idle: (0..<width).map { DispatchQueue(label: "\(label).\($0)") }))
    }

    /// Returns the result of `work`. Cancellation does not interrupt the work: keep it short.
    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            shared.add { continuation.resume(with: Result(catching: work)) }
        }
    }

    /// Returns the result of `work`, or throws `CancellationError` as soon as the task is cancelled.
    ///
    /// If the work has begun, it runs to its end on its thread, and its value is released there. If it has not begun, it never
    /// begins.
    static func runUntilCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await shared.runUntilCancelled(work)
    }

    /// Runs work as the static function does, but on the threads of this object, for work that must not block all other work.
    func runUntilCancelled<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let outcome = Outcome<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                outcome.wait(continuation)
                add { if !outcome.isDecided { outcome.decide(Result(catching: work)) } }
            }
        } onCancel: {
            outcome.decide(.failure(CancellationError()))
        }
    }

    /// Begins `work` immediately if a thread is free. Otherwise, `work` begins after all earlier work.
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
        // Each piece of work runs in a block of its own, so that it is released when it is done.
        let next = state.withLock { state in
            let next = state.takeNext()
            if next == nil { state.idle.append(queue) }
            return next
        }
        if let next { queue.async { self.perform(next, on: queue) } }
    }
}

/// The first of several results, for one waiting task.
private final class Outcome<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        /// The result is kept until the task takes it.
        case decided(Result<Value, any Error>?)
    }

    private let state = Mutex(State.open)

    var isDecided: Bool {
        state.withLock { if case .decided = $0 { true } else { false } }
    }

    func wait(_ continuation: CheckedContinuation<Value, any Error>) {
        let result = state.withLock { state -> Result<Value, any Error>? in
            guard case .decided(let result) = state else {
                state = .awaited(continuation)
                return nil
            }
            state = .decided(nil)
            return result
        }
        if let result { continuation.resume(with: result) }
    }

    /// Sets the result. Later calls do nothing.
    func decide(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .open:
                state = .decided(result)
                return nil
            case .awaited(let continuation):
                state = .decided(nil)
                return continuation
            case .decided: return nil
            }
        }
        continuation?.resume(with: result)
    }
}
