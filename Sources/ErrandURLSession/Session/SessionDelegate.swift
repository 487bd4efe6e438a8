internal import ErrandCore
internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Passes the callbacks of a session to the exchanges of its tasks. The delegate decides nothing: ``URLSessionMachine`` decides.
///
/// The session calls the delegate on a serial queue. A task without an exchange has ended, and each of its callbacks is refused.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    private let exchanges = Mutex<[Int: Exchange]>([:])
    private let tls: SessionTLS

    init(_ tls: SessionTLS = .system) { self.tls = tls }

    /// The number of tasks that have not ended.
    var taskCount: Int { exchanges.withLock(\.count) }

    func add(_ exchange: Exchange, for task: Int) { exchanges.withLock { $0[task] = exchange } }

    func remove(_ task: Int) {
        // The exchange is released outside the lock.
        let exchange = exchanges.withLock { $0.removeValue(forKey: task) }
        _ = exchange
    }

    private func exchange(of task: URLSessionTask) -> Exchange? { exchanges.withLock { $0[task.taskIdentifier] } }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let exchange = exchange(of: dataTask)
        let reply = exchange?.receive(ReceivedHead(response, to: exchange?.request)) ?? .cancel
        completionHandler(URLSession.ResponseDisposition(reply))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { exchange(of: dataTask)?.receive(data) }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.recordSentBytes(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        completionHandler(exchange(of: task)?.newBody())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        let exchange = exchange(of: task)
        exchange?.redirect(ReceivedHead(response, to: exchange?.request))
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let exchange = exchange(of: task)
        let kind = Exchange.Machine.ChallengeKind(method: challenge.protectionSpace.authenticationMethod)
        tls.react(
            to: exchange?.challenge(kind) ?? .cancel, on: challenge, check: { exchange?.assess($0, for: $1) }, complete: completionHandler)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { exchange(of: task)?.waitForConnectivity() }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        exchange(of: task)?.collect(ExchangeEvent.Timings(metrics))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchange(of: task)?.complete(error.map { SessionError($0) })
        remove(task.taskIdentifier)
    }
}

extension URLSession.ResponseDisposition {
    init(_ reply: Exchange.Machine.ResponseReply) {
        self =
            switch reply {
            case .allow: .allow
            case .cancel: .cancel
            }
    }
}
