/// The reason why an exchange has failed. The transport later translates the reason into an error.
enum SessionFault: Sendable {
    /// The caller was cancelled.
    case cancelled
    /// The transport was shut down.
    case shutDown
    /// The session has ended the task with an error.
    case session(SessionError)
    /// The session has ended the task without a response and without an error.
    case noResponse
    /// The session has returned a head that is not a head of HTTP.
    case invalidHead
    case chunkBeforeHead
    case secondHead
    case bodyTooShort(missingBytes: Int64)
    /// The session has dropped the body of a redirect without a usable target.
    case droppedBody
    /// The request's own body could not be read.
    case requestBody(any Error)
    /// The settings of the transport, or the closure of the request, refuse the certificate of the server.
    case untrustedServer(any Error)
    /// The server has responded although the closure of the request has accepted no certificate.
    case undecidedServer
    /// A later stage of the response's body has failed.
    case later(any Error)
}
