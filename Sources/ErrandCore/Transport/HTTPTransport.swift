/// A sender at the bottom of a stack: it owns connections, and the app owns it.
///
/// A transport does what it declares in ``capabilities``; the stack does the rest, if possible. A transport that encodes HTTP/2 marks
/// secret fields as never indexed, with `request.headers.markingSensitive(by: request.options.sensitivity)`.
public protocol HTTPTransport: HTTPSender {
    /// What the transport can do by itself.
    var capabilities: Capabilities { get }

    /// Closes every connection. Exchanges in progress fail; later calls of `send` throw ``TransportError`` with the code `shutDown`.
    /// Calling it twice is safe.
    func shutdown() async throws
}

/// Calls `body` with a transport, and shuts the transport down when `body` returns or throws.
///
/// ```swift
/// try await withTransport(NIOTransport()) { transport in
///     let api = APIClient(transport.server("https://api.example"))
///     …
/// }
/// ```
///
/// - Throws: what `body` throws; if it returns, what ``HTTPTransport/shutdown()`` throws.
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
