internal import Dispatch
internal import ErrandCore
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

/// The differences between the session of Apple's platforms and the session of Linux.
enum SessionAbilities {
    #if canImport(FoundationNetworking) && !ERRAND_APPLE_CHECK
    /// On Linux, a suspended task continues to receive, and sends its request again when it is resumed.
    static let canSuspend = false
    /// On Linux, the session sends every stream in chunks. With a `Content-Length` too, a server could misread where the request ends
    /// (RFC 9112, 6.3).
    static let declaresStreamLength = false
    /// The body of a stream blocks the queue of its session on Linux. Therefore such a request has a session of its own.
    static let streamNeedsOwnSession = true
    /// On Linux, a session shows no certificates, and has no networks to choose from or to wait for.
    static let canEvaluateTrust = false
    static let capabilities: TransportCapabilities = [.decodesContent]
    static let decodedCodings = ReceivedHead.decodedCodings + ["zstd"]
    #else
    static let canSuspend = true
    static let declaresStreamLength = true
    static let streamNeedsOwnSession = false
    static let canEvaluateTrust = true
    static let capabilities: TransportCapabilities = [.decodesContent, .streamingDownload, .networkAccess, .waitsForConnectivity]
    static let decodedCodings = ReceivedHead.decodedCodings
    #endif
}
