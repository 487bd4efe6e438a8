internal import ErrandCore
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Passes the callbacks of a session to the exchanges of its tasks. The delegate decides nothing: ``URLSessionMachine`` decides.
///
/// The session calls the delegate on a serial queue. If a task has no exchange, its exchange has ended. The delegate refuses every callback
/// of this task.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    private let exchanges: ExchangeTable
    private let tls: SessionTLS

    /// - Parameter exchanges: the table of the transport, to which the exchanges of this session are added.
    init(_ tls: SessionTLS = .system, exchanges: ExchangeTable) { (self.tls, self.exchanges) = (tls, exchanges) }

    private func key(_ task: Int) -> ExchangeTable.Key { ExchangeTable.Key(delegate: ObjectIdentifier(self), task: task) }

    /// Adds an exchange. Returns false, and adds nothing, if the transport was shut down.
    func add(_ exchange: SessionExchange, for task: Int) -> Bool { exchanges.add(exchange, for: key(task)) }
    func remove(_ task: Int) { exchanges.remove(key(task)) }
    private func exchange(of task: URLSessionTask) -> SessionExchange? { exchanges[key(task.taskIdentifier)] }

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
        let kind = SessionExchange.Machine.ChallengeKind(method: challenge.protectionSpace.authenticationMethod)
        tls.react(
            to: exchange?.challenge(kind) ?? .cancel, on: challenge, check: { exchange?.assess($0, for: $1) }, complete: completionHandler)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { exchange(of: task)?.waitForConnectivity() }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        exchange(of: task)?.collect(ExchangeEvent.Timings(metrics))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = exchange(of: task)
        let head = task.response.flatMap { ReceivedHead($0, to: exchange?.request) }
        exchange?.complete(error.map { SessionError($0) }, unreported: head)
        remove(task.taskIdentifier)
    }
}

extension URLSession.ResponseDisposition {
    init(_ reply: SessionExchange.Machine.ResponseReply) {
        self =
            switch reply {
            case .allow: .allow
            case .cancel: .cancel
            }
    }
}
