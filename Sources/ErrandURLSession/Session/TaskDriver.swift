internal import Dispatch
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Starts, suspends and cancels the task of an exchange.
struct TaskDriver: SessionDriving {
    let task: URLSessionTask

    #if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
    // On Linux, each of these calls waits for the session's queue, and that queue may wait for the caller. Therefore the calls run on a
    // thread of their own, in their order.
    private let queue = DispatchQueue(label: "errand.url-session-task")

    init(_ task: URLSessionTask) { self.task = task }

    func resume() { queue.async { [task] in task.resume() } }
    func suspend() { queue.async { [task] in task.suspend() } }
    func cancel() { queue.async { [task] in task.cancel() } }
    #else
    init(_ task: URLSessionTask) { self.task = task }

    func resume() { task.resume() }
    func suspend() { task.suspend() }
    func cancel() { task.cancel() }
    #endif
}
