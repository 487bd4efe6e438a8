internal import Dispatch
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Starts, suspends and cancels the task of an exchange.
struct TaskDriver: SessionDriving {
    let task: URLSessionTask

    #if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
    // On Linux, each of these calls waits for the session's queue, and that queue may wait for the caller. Therefore, the calls run on a
    // separate thread, in their order.
    private let queue = DispatchQueue(label: "errand.url-session-task")
    private let delegateQueue: OperationQueue

    init(_ task: URLSessionTask, delegateQueue: OperationQueue) { (self.task, self.delegateQueue) = (task, delegateQueue) }

    func resume() { queue.async { [task] in task.resume() } }
    func suspend() { queue.async { [task] in task.suspend() } }

    // URLSession on Linux ends the process if a task is cancelled between the last call to the delegate and the end of the task. Therefore,
    // the delegate's queue runs the cancellation before that call, or after the end of the task.
    func cancel() { queue.async { [task, delegateQueue] in delegateQueue.addOperation { task.cancel() } } }

    /// Cancels a task that was never started.
    func cancelUnlessStarted() { queue.async { if task.state == .suspended { cancel() } } }
    #else
    init(_ task: URLSessionTask, delegateQueue: OperationQueue) { self.task = task }

    func resume() { task.resume() }
    func suspend() { task.suspend() }
    func cancel() { task.cancel() }

    /// Cancels a task that was never started.
    func cancelUnlessStarted() { if task.state == .suspended { task.cancel() } }
    #endif
}
