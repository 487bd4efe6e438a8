/// What takes a request and returns the answer: a transport, a stack, or a middleware together with what it wraps.
public protocol HTTPSender: Sendable {
    /// Sends `request`; returns when the head of the response is there, with the body still to be read.
    ///
    /// - Throws: a ``RequestFailure``; `CancellationError` whenever the calling task was cancelled, also before anything began;
    ///   ``InvalidURL`` for a request that can't be sent.
    func send(_ request: Request) async throws -> Response
}

/// A value that wraps a sender: it sees the request before and the response after, and may do anything in between.
///
/// ```swift
/// struct UserAgent: HTTPMiddleware {
///     let name: String
///
///     func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
///         var request = request
///         request.headers[.userAgent] = name
///         return try await next.send(request)
///     }
/// }
///
/// let stack = transport.wrapped(by: UserAgent(name: "Errand"))
/// ```
///
/// `next` may be called never, once or several times, and from child tasks. Whoever drops a response before its body was read
/// releases it by ``ResponseBody/abandon()``.
public protocol HTTPMiddleware: Sendable {
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response

    /// What a stack's description calls this middleware, with its settings: `timeout(30.0 seconds)`. By default the type's name.
    var label: String { get }

    /// Where it belongs in the canonical order; nil (the default) for a middleware that no other names as its neighbor.
    var place: MiddlewarePlace? { get }

    /// On which side of which other middleware it must stand, and why; none by default. A stack's description reports an order that breaks
    /// one of them. See ``HTTPStack/orderProblems``.
    ///
    /// ```swift
    /// var place: MiddlewarePlace? { MiddlewarePlace("com.example.signature") }
    /// var neighbors: [MiddlewareNeighbor] { [.inside(.retry, because: "all attempts would have the same timestamp")] }
    /// ```
    var neighbors: [MiddlewareNeighbor] { get }
}

extension HTTPMiddleware {
    public var label: String { String(describing: Self.self) }
    public var place: MiddlewarePlace? { nil }
    public var neighbors: [MiddlewareNeighbor] { [] }
}

/// A sender at the bottom of a stack: it owns connections, and the app owns it.
public protocol HTTPTransport: HTTPSender {
    /// What it can do.
    var capabilities: Capabilities { get }

    /// Closes every connection. Exchanges under way fail; later calls to `send` throw ``TransportError`` with the code
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
