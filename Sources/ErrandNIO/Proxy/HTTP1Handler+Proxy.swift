#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The response to challenges (407) of a proxy that reads the requests.
extension HTTP1Handler {
    /// The maximum size, in bytes, of a request body for which the connection is reused after a refusal. Some proxies read neither the
    /// rest of a longer body nor a further request. For example, squid 5.7 reads 64 KiB.
    private static let refusedBodyLimitBytes: Int64 = 32 * 1024

    /// Responds to a proxy's challenge (407). If there is a response to the challenge, sends the request again with credentials. If there
    /// is no response, fails the exchange. The proxy has not passed the request on.
    ///
    /// If the body of the request and the rest of the response are short, the connection is reused. If the body of the request or the rest
    /// of the response is long, the request is sent over another connection.
    func receiveChallenge(_ head: ResponseHead) {
        guard let exchange = current?.exchange else { return }
        // The upload stops first, so that its task can no longer open the body for this connection.
        if machine.isUploading { stopUpload() }
        let failure: TransportError?
        do throws(ProxyAuthorizationError) {
            failure = try exchange.respond(toChallenge: head.response) ? nil : exchange.proxyFailure(head.response)
        } catch {
            failure = exchange.proxyFailure(error, to: head.response)
        }
        guard current?.exchange === exchange else { return }  // the authenticator has ended it
        if let failure { return end(exchange, because: failure) }
        challengeBytes = 0
        let isShort = exchange.request.body.length.map { $0 <= Self.refusedBodyLimitBytes } ?? false
        let isKept = head.isPersistent && head.framing != .untilClose && isShort
        _ = machine.receiveHead(status: head.response.status.code, isPersistent: isKept)
        guard isKept else { return sendAgain(.close) }
        current?.enter(.idleRead)
        setLimitAlarm()
    }

    /// The position of the exchange in progress. If the proxy has sent a challenge, the proxy has not passed the request on.
    var position: ExchangePosition? {
        challengeBytes == nil ? machine.position : ExchangePosition(phase: .response, delivery: .notSent)
    }

    /// Returns the failure for the deadline or limit that has passed at `now`; `nil` if neither has passed.
    func timeout(at now: NIODeadline) -> TransportError? {
        guard var failure = current?.timeout(at: now, position) else { return nil }
        if challengeBytes != nil { failure.message += ", while the proxy asked for credentials" }
        return failure
    }

    /// Drops a received part of the body of a challenge.
    func dropChallenge(_ count: Int) {
        let bytes = (challengeBytes ?? 0) + count
        challengeBytes = bytes
        guard bytes <= ConnectTunnel.bodyLimitBytes else { return sendAgain(.close) }
        current?.enter(.idleRead)
        setLimitAlarm()
    }

    /// Sends the request again, after the rest of the challenge was received or given up.
    ///
    /// - Parameter end: whether this connection can be used again.
    func sendAgain(_ end: HTTP1Machine.End) {
        challengeBytes = nil
        guard let connection, let exchange = takeCurrent()?.exchange else { return }
        readOn()
        exchange.leaveConnection()
        if end != .reuse {
            leavePool()
            close()
        }
        exchange.events?.beginAgain(after: exchange.challengeFailure)
        if end == .reuse { accept(exchange, on: connection) } else { pool.send(exchange, isFresh: true) }
    }
}

extension Exchange {
    /// The failure that the events report for an attempt that ends with a challenge.
    fileprivate var challengeFailure: TransportError {
        failure(.proxy, phase: .response, message: "the proxy asks for credentials", delivery: .notSent)
    }
}
#endif
