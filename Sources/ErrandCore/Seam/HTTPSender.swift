/// What takes a request and returns its response: a transport, a stack, or a middleware together with what it wraps.
public protocol HTTPSender: Sendable {
    /// Sends `request`; returns when the head of the response is there, with the body still to be read.
    ///
    /// - Throws: a ``RequestFailure``; `CancellationError` whenever the calling task was cancelled, also before anything began;
    ///   ``InvalidURLError`` for a request that can't be sent.
    func send(_ request: Request) async throws -> Response
}
