/// A sender at the bottom of a stack: it owns connections, and the app owns it.
///
/// What it declares in ``capabilities`` it does by itself; the rest is done for it, where that is possible. One that encodes HTTP/2 marks secret
/// fields as never to be indexed, by `request.headers.markingSensitive(by: request.options.sensitivity)`.
public protocol HTTPTransport: HTTPSender {
    /// What it can do.
    var capabilities: Capabilities { get }

    /// Closes every connection. Exchanges in progress fail; later calls to `send` throw ``TransportError`` with the code
    /// `shutDown`. Safe to call twice.
    func shutdown() async throws
}

/// Runs `body` with a transport, and shuts the transport down when it returns or throws.
///
/// ```swift
/// try await withTransport(AsyncHTTPClientTransport()) { transport in
///     let api = APIClient(transport.server("https://api.example"))
///     …
/// }
/// ```
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
