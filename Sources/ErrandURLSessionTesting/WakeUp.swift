@preconcurrency internal import Dispatch
internal import Foundation

#if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
internal import FoundationNetworking

/// Makes the session's queue call ``StubURLProtocol/startLoading()`` again.
///
/// On Linux, only the session's queue may report events to the session. If a task is suspended and resumed, this queue calls
/// `startLoading()`.
struct WakeUp: Sendable {
    private let task: URLSessionTask?
    // `suspend()` and `resume()` wait for the session's queue. Therefore, these calls don't run on a thread of Swift's concurrency.
    // All loads share one thread. With a thread for each load, many loads would leave no thread for the session's queue.
    private static let queue = DispatchQueue(label: "errand.stub-url-protocol")

    init(_ stub: StubURLProtocol) { task = stub.task }

    func up() {
        Self.queue.async { [task] in
            task?.suspend()
            task?.resume()
        }
    }

    func end() {}

    static let deliversPieces = false

    /// Whether the session can't return the result of a task. A download task would end the process.
    static func isUnsupported(_ task: URLSessionTask?) -> Bool { task is URLSessionDownloadTask }

    /// Whether the task is only suspended. On Linux, a session stops the loading of a suspended task, and starts the loading again later.
    static func isSuspension(of task: URLSessionTask?) -> Bool { task?.state == .running || task?.state == .suspended }
}
#else
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Calls ``StubURLProtocol/deliver()`` on a queue of its own.
struct WakeUp: Sendable {
    private let source: any DispatchSourceUserDataAdd

    init(_ stub: StubURLProtocol) {
        source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "errand.stub-url-protocol"))
        source.setEventHandler { [weak stub] in stub?.deliver() }
        source.activate()
    }

    func up() { source.add(data: 1) }

    func end() { source.cancel() }

    static let deliversPieces = true

    static func isUnsupported(_ task: URLSessionTask?) -> Bool { false }

    /// False, because a session on Apple's platforms does not stop the loading of a suspended task.
    static func isSuspension(of task: URLSessionTask?) -> Bool { false }
}
#endif
