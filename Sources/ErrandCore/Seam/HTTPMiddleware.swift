/// A layer around a sender. The layer sees each request before the sender and each response after the sender. The layer can
/// change or replace requests and responses, and can send a request several times.
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
/// A middleware may call `next` any number of times, also from child tasks. A middleware that discards a response must call
/// ``Response/discard()``, or read the body to its end.
public protocol HTTPMiddleware: Sendable {
    /// Returns the response to `request`. Most middleware send the request to `next` for this purpose.
    ///
    /// - Parameters:
    ///   - request: the request as the outer layers changed it.
    ///   - next: the inner layers, down to the transport.
    /// - Returns: the response for the outer layers. The body of the response is not yet read.
    /// - Throws: a ``RequestFailure`` or your own error; `CancellationError` if the calling task was cancelled.
    func send(_ request: Request, to next: some HTTPSender) async throws -> Response

    /// The name of this middleware in a stack's description, with its settings: `timeout(30 s)`. By default, the name of its type.
    var label: String { get }

    /// The place of this middleware in the order of middleware; ``MiddlewarePlace/unplaced`` by default. Give a middleware a
    /// place if other middleware names it as a neighbor.
    var place: MiddlewarePlace { get }

    /// The places whose options the middleware obeys: its own place, by default. See ``OptionKey/requiredMiddleware``.
    var supportedPlaces: Set<MiddlewarePlace> { get }

    /// The rules for the order of this middleware relative to other middleware; no rules by default.
    ///
    /// A stack that sorts its layers uses these rules to place the layer: see ``HTTPStack/sorted(around:defaults:)``. The description of
    /// any stack reports an order that breaks a rule: see ``HTTPStack/orderProblems``.
    ///
    /// ```swift
    /// let place = MiddlewarePlace("com.example.signature")
    /// var neighbors: [MiddlewareNeighbor] { [.inside(.retry, because: "all attempts would have the same timestamp")] }
    /// ```
    var neighbors: [MiddlewareNeighbor] { get }

    /// Whether the middleware may send a request to a sender other than `next`. A request to another sender bypasses the inner layers.
    ///
    /// False by default. If this value is true and only an inner layer obeys ``RequestOptions/timeout``, the stack sets the
    /// timeout itself.
    var mayBypassInnerLayers: Bool { get }

    /// Whether prepared requests pass through this middleware. ``HTTPStack/prepared(_:)`` creates prepared requests.
    ///
    /// True by default. Return false for a middleware that does not change requests, such as a middleware that only records,
    /// waits, or stores and shares responses. If the value is false, prepared requests bypass the middleware.
    var appliesToPreparedRequests: Bool { get }
}

extension HTTPMiddleware {
    /// The name of the type.
    public var label: String { String(describing: Self.self) }
    /// No place.
    public var place: MiddlewarePlace { .unplaced }
    /// A set with the place of the middleware; empty if the middleware has no place.
    public var supportedPlaces: Set<MiddlewarePlace> { place == .unplaced ? [] : [place] }
    /// No rules.
    public var neighbors: [MiddlewareNeighbor] { [] }
    /// The value is false: every request goes to `next`.
    public var mayBypassInnerLayers: Bool { false }
    /// The value is true: prepared requests pass through the middleware.
    public var appliesToPreparedRequests: Bool { true }
}
