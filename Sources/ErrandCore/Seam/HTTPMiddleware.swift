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
    ///
    /// Declare it with its type, `MiddlewarePlace?`: a constant of the type `MiddlewarePlace` is another member, which no stack reads.
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
