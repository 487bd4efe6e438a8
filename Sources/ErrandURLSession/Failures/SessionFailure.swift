internal import ErrandCore
internal import ErrandFormats

/// Translates the reason of a failed exchange into the error that a caller gets.
struct SessionFailure {
    let request: Request
    let exchange: FailedExchange
    /// Whether the task may have used a connection of another task.
    var mayShareConnections = false
    let elapsed: Duration
    var abilities = SessionAbilities.current

    private var position: ExchangePosition { exchange.position }

    /// Whether it is certain that no earlier connection of the task has carried the request. If true, a failed connection proves that the
    /// request was not sent.
    private var hasSentNothing: Bool {
        if exchange.hasSentBytes || exchange.head != nil { return false }
        // Without a body, the session reports no bytes, even if an earlier connection has carried the request.
        return exchange.reportsSentBytes || !(mayShareConnections || exchange.hasAcceptedServer)
    }

    func error(for fault: SessionFault) -> any Error {
        switch fault {
        case .cancelled: CancellationError()
        case .later(let error): error
        case .shutDown: made(.shutDown)
        case .requestBody(let error as CancellationError): error
        case .requestBody(let error):
            made(.requestBody, phase: .send, message: safeDescription(of: error), underlying: error)
        case .untrustedServer(let error as CancellationError): error
        case .undecidedServer:
            made(.tls, message: "the session did not show the certificate of the server, so onServerTrust was not called")
        case .untrustedServer(let error):
            made(
                .tls, phase: .connect, message: safeDescription(of: error), underlying: error,
                delivery: hasSentNothing ? .notSent : doubtful)
        case .noResponse: made(.invalidResponse, message: "the session returned no response")
        case .invalidHead: made(.invalidResponse, message: "the response has no HTTP status")
        case .chunkBeforeHead: made(.invalidResponse, message: "the session returned a part of the body before the head")
        case .secondHead:
            made(.unsupported, message: "the response has several parts (multipart/x-mixed-replace), which URLSession separates")
        case .droppedBody: made(.invalidResponse, message: "the session has dropped the body of a redirect without a usable Location")
        case .bodyTooShort(let missing):
            made(.connectionLost, message: "the body ended \(missing.counted("byte")) too early")
        case .session(let error): failure(for: error)
        }
    }

    private func failure(for error: SessionError) -> TransportError {
        let row = URLErrorTable.row(for: error)
        let message = row.message(for: error)
        let hint = message.isExactly(URLErrorTable.unknown.text) && isPerhapsTLS ? Self.hintOfTLS : ""
        return made(
            row.code, phase: exchange.head == nil ? row.phase : nil, message: message + hint, underlying: error,
            delivery: row.delivery == .notSent && hasSentNothing ? .notSent : doubtful)
    }

    /// The delivery of a request that may have been sent.
    private var doubtful: Delivery { position.delivery == .notSent ? .unknown : position.delivery }

    /// The remark about an error without a reason. On Linux, `URLSession` reports a failed TLS handshake as an error without a reason.
    private static let hintOfTLS =
        "; on Linux, URLSession also reports this error after a failed TLS handshake, for example for an untrusted certificate"

    /// Whether an error without a reason may be a failed TLS handshake.
    private var isPerhapsTLS: Bool {
        exchange.head == nil && request.head.scheme?.isExactly("https") == true && !abilities.canEvaluateTrust
    }

    private func made(
        _ code: TransportError.Code, phase: ExchangePhase? = nil, message: String = "", underlying: (any Error)? = nil,
        delivery: Delivery? = nil
    ) -> TransportError {
        TransportError(
            code, phase: phase ?? position.phase, message: message, elapsed: elapsed, underlying: underlying, request: request,
            response: exchange.head, delivery: delivery ?? position.delivery)
    }
}
