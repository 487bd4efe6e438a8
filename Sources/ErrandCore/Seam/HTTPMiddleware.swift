/// A layer that wraps a sender: it sees each request before the sender and each response after it, and can change, replace or repeat both.
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
/// A middleware may call `next` never, once or several times, also from child tasks. A middleware that discards a response must call
/// `response.body.abandon()` (``ResponseBody/abandon()``), or read the body to its end.
public protocol HTTPMiddleware: Sendable {
    /// Handles `request`, usually by sending it to `next`, and returns the response.
    ///
    /// - Parameters:
    ///   - request: the request as the outer layers changed it.
    ///   - next: the inner layers, down to the transport.
    /// - Returns: the response for the outer layers, with its body still to be read.
    /// - Throws: a ``RequestFailure`` or an error of your own; `CancellationError` if the calling task was cancelled.
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response

    /// The name of this middleware in a stack's description, with its settings: `timeout(30 s)`. By default, the name of its type.
    var label: String { get }

    /// Its place in the canonical order; `nil`, the default, for a middleware that no other middleware names as its neighbor.
    ///
    /// Declare it with its type, `MiddlewarePlace?`. A constant of the type `MiddlewarePlace` is a different member, which no stack reads.
    var place: MiddlewarePlace? { get }

    /// The rules for its order relative to other middleware; none by default. A stack's description reports an order that breaks a rule.
    /// See ``HTTPStack/orderProblems``.
    ///
    /// ```swift
    /// var place: MiddlewarePlace? { MiddlewarePlace("com.example.signature") }
    /// var neighbors: [MiddlewareNeighbor] { [.inside(.retry, because: "all attempts would have the same timestamp")] }
    /// ```
    var neighbors: [MiddlewareNeighbor] { get }

    /// Whether ``HTTPStack/prepared(_:)`` sends the request through this middleware.
    ///
    /// By default, true unless its ``place`` is `log`, `events`, `profile`, `metrics`, `trace`, `traceCall`, `number`, `cache`, `coalesce`, `hedge`,
    /// `circuitBreaker`, `rateLimit`, `concurrencyLimit`, `delay` or `fallback`.
    ///
    /// Return false for a middleware that does not change requests, and that records, waits, stores or shares instead: prepared requests go past it.
    var takesPartInPreparing: Bool { get }
}

extension HTTPMiddleware {
    /// The name of the type.
    public var label: String { String(describing: Self.self) }
    /// `nil`: no place in the canonical order.
    public var place: MiddlewarePlace? { nil }
    /// No rules.
    public var neighbors: [MiddlewareNeighbor] { [] }
    public var takesPartInPreparing: Bool { place.map { !MiddlewarePlace.passedWhilePreparing.contains($0) } ?? true }
}
