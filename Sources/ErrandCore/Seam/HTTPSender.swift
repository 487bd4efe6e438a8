/// A type that sends a request and returns its response: a transport, a stack, or a middleware together with the wrapped sender.
public protocol HTTPSender: Sendable {
    /// Sends `request`, and returns when the head of the response has arrived. The body is not yet read.
    ///
    /// - Throws: a ``RequestFailure``; `CancellationError` if the calling task was cancelled, even before anything was sent;
    ///   ``InvalidURLError`` for a request that can't be sent.
    func send(_ request: Request) async throws -> Response
}
