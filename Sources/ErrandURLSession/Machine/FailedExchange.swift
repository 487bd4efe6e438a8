internal import ErrandCore

/// The state of an exchange when it failed.
struct FailedExchange: Sendable {
    let position: ExchangePosition
    /// The head of the response; `nil` if no head was received.
    var head: HTTPResponse?
    /// Whether the session has reported that a part of the request was sent.
    var hasSentBytes = false
    /// Whether the session reports the sent bytes of the request. The session reports only bytes of a body.
    var reportsSentBytes = true
    /// Whether the transport or the request has accepted a server's certificate. The connection to this server may have carried the
    /// request.
    var hasAcceptedServer = false
}
