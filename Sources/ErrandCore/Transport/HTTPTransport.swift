/// A sender at the bottom of a stack. The transport owns connections, and the app owns the transport.
///
/// A transport declares its abilities in ``capabilities``. If the transport lacks ``TransportCapabilities/deadlines`` or
/// ``TransportCapabilities/phaseTimeouts``, the stack enforces these limits. A transport that encodes HTTP/2 must mark secret fields as
/// never indexed, with `request.headers.markingSensitive(by: request.options.sensitivity)`. Call ``Request/checkOptions(supportedBy:)``
/// first in `send(_:)`, so that a request without a stack does not lose an option.
public protocol HTTPTransport: HTTPSender {
    /// The abilities of the transport itself, without the abilities that the stack adds.
    var capabilities: TransportCapabilities { get }

    /// Closes every connection. Exchanges in progress fail. Later calls of `send` throw ``TransportError`` with the code
    /// `shutDown`. A second call of this function is safe.
    func shutdown() async throws

    /// Lets the exchanges in progress end, and then closes every connection: see ``shutdown()``.
    ///
    /// New requests fail immediately, as after ``shutdown()``. If the task is cancelled, the transport shuts down immediately. The default
    /// implementation calls ``shutdown()`` without waiting.
    ///
    /// - Parameter limit: the longest time to wait, at least zero.
    func shutdown(drainingFor limit: Duration) async throws
}

extension HTTPTransport {
    public func shutdown(drainingFor limit: Duration) async throws { try await shutdown() }
}

/// Calls `body` with a transport, and shuts the transport down when `body` returns or throws.
///
/// ```swift
/// try await withTransport(URLSessionTransport()) { transport in
///     let api = APIClient(transport.server("https://api.example"))
///     …
/// }
/// ```
///
/// - Throws: any error of `body`. If `body` returns, any error of ``HTTPTransport/shutdown()``.
public func withTransport<Transport: HTTPTransport, Result>(
    _ transport: Transport, _ body: (Transport) async throws -> Result
) async throws -> Result {
    let result: Result
    do {
        result = try await body(transport)
    } catch {
        try? await transport.shutdown()
        throw error
    }
    try await transport.shutdown()
    return result
}
