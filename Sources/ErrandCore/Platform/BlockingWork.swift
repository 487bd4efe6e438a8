internal import Dispatch

/// Runs calls of the system that block, such as writing a file, on threads that are not those of Swift's cooperative pool.
///
/// The pool has one thread for each core: a disk that is slow would hold up every task of the process.
package enum BlockingWork {
    private static let queue = DispatchQueue(label: "errand.blocking-work", attributes: .concurrent)

    /// Returns what `work` returns. It is not interrupted by cancellation: keep it short.
    package static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }
}
