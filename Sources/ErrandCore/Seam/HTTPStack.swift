/// A transport, and the middleware around the transport. Every modifier returns a stack, and a client sends its requests through a stack.
///
/// ```swift
/// let stack: HTTPStack = transport.retry(.standard).timeout(.seconds(30)).server("https://api.example")
/// print(stack)     // server(https://api.example/) > timeout(30 s) > retry(…) > StubTransport
/// ```
///
/// A stack is a list of layers around a transport. There are two rules of order:
///
/// - If you begin with a transport, `HTTPStack.bare` or `HTTPStack.decompressing`, each modifier wraps the stack to which you apply the
///   modifier. The last modifier is the outermost layer: it sees the request first and the response last.
/// - `HTTPStack.default` and every stack from ``sorted(around:defaults:)`` sort their layers. The order of the modifiers matters only for
///   two layers with the same position: the layer added later is outside.
///
/// If the order of two layers makes one layer useless, the description of the stack reports the pair. All stacks have the same
/// type, so a stack can be a stored property.
public struct HTTPStack: HTTPSender, CustomStringConvertible, HidesStorage {
    let top: any HTTPSender
    let list: LayerList

    /// A layer of a stack: a middleware, or the transport.
    public struct Layer: Sendable, Hashable, CustomStringConvertible {
        /// The name of the layer with its settings: ``HTTPMiddleware/label``, or the description of the transport.
        public let label: String
        /// The place of the layer; ``MiddlewarePlace/unplaced`` for a transport, and for a middleware without a place.
        public let place: MiddlewarePlace
        /// The rules for the order of the layer relative to other layers; no rules for a transport.
        public let neighbors: [MiddlewareNeighbor]
        /// The places whose options the layer obeys.
        let supportedPlaces: Set<MiddlewarePlace>
        /// Whether the layer applies only to some requests: see ``HTTPSender/wrapped(by:when:)``.
        let isConditional: Bool
        /// Whether the layer is at its own place in a stack that sorts its layers.
        var isAtItsPlace = false
        /// The label.
        public var description: String { label }
    }

    /// Creates a stack that contains only a sender. Each modifier adds an outermost layer. If `sender` is a stack, the result is that
    /// stack, with its rule of order.
    ///
    /// Around a transport, the stack checks each request, and adds the field for its priority. If the transport does not enforce
    /// deadlines or timeouts (``TransportCapabilities``), the stack enforces them.
    public init(_ sender: some HTTPSender) {
        self = (sender as? HTTPStack) ?? HTTPStack(LayerList(around: LayerBase(sender), isSorted: false))
    }

    /// Returns a stack that sorts its layers: each modifier puts its layer at the layer's place. The order of the modifiers matters only
    /// for layers with the same position.
    ///
    /// ```swift
    /// let stack = HTTPStack.sorted(around: transport).retry().metrics().server("https://api.example").timeout(.seconds(30))
    /// print(stack)    // server(https://api.example/) > timeout(30 s) > retry(…) > metrics > StubTransport
    /// ```
    ///
    /// A middleware of the library is at its place in ``MiddlewarePlace/canonicalOrder``. The position of any other layer follows
    /// from its own rules (``HTTPMiddleware/neighbors``) about places in that order:
    ///
    /// - If the layer must be inside some places, it is directly inside the innermost of these places.
    /// - If the layer must be outside some places and inside no place, it is directly outside the outermost of these places.
    ///
    /// A layer without such rules is inside `validateStatus` and outside `fallback` and `retry`. At this position, a layer sees each call
    /// once, with the whole URL and within the deadline of the call. The layer sees every response, with any status. To choose another
    /// place, use ``HTTPSender/wrapped(by:inside:)`` or ``HTTPSender/wrapped(by:outside:)``. If two layers have the same place, the layer
    /// added later is outside.
    ///
    /// - Parameters:
    ///   - sender: the transport. If the sender is a stack, its layers keep their order, and are inside all added layers.
    ///   - defaults: the initial layers. A later layer of the same place replaces a layer of `defaults`. If the later layer has a
    ///     condition, the later layer replaces the default layer only for the requests that meet the condition. A layer that
    ///     ``HTTPSender/wrapped(by:inside:)`` or ``HTTPSender/wrapped(by:outside:)`` adds replaces no layer.
    public static func sorted(
        around sender: some HTTPSender, @MiddlewareBuilder defaults: () -> [any HTTPMiddleware] = { [] }
    ) -> HTTPStack {
        let base = (sender as? HTTPStack).map(LayerBase.init(stack:)) ?? LayerBase(sender)
        return HTTPStack(LayerList(around: base, isSorted: true).adding(defaults().map { LayerEntry(of: $0, isDefault: true) }))
    }

    /// A stack that has these layers and does not sort: each later modifier wraps the whole stack.
    public var unsorted: HTTPStack { HTTPStack(top: top, list.unsorted) }

    /// Returns a copy of this stack that does not report its ``orderProblems``.
    ///
    /// At the first request, a stack with order problems reports the problems once: its `log` writes a warning for each problem. To report
    /// the problems in another way, add a layer that is an ``OrderProblemReporter``. In debug builds, a stack with neither of these layers
    /// writes the problems to standard error. An order problem never makes a request fail.
    ///
    /// If a stack is derived from another stack, such as the stack of an `APIClient`, only new problems are reported. Together, these
    /// stacks report at most 64 problems. The choice not to report also applies to the stacks that are derived from the returned stack, and
    /// to ``sorted(around:defaults:)``.
    public func ignoringOrderProblems() -> HTTPStack { HTTPStack(top: top, list.ignoringOrderProblems) }

    private init(_ list: LayerList) { self.init(top: list.folded, list) }

    private init(top: any HTTPSender, _ list: LayerList) { (self.top, self.list) = (top, list) }

    /// Adds layers, one after the other.
    func adding(_ entries: [LayerEntry]) -> HTTPStack {
        if !list.isSorted, let entry = entries.first, entries.count == 1 {
            return HTTPStack(top: entry.wrapped(around: top), list.adding(entries))
        }
        return HTTPStack(list.adding(entries))
    }

    /// The layers, outermost first. The last layer is the transport.
    public var layers: [Layer] { list.layers }

    /// The capabilities of the transport at the bottom.
    public var capabilities: TransportCapabilities { list.base.capabilities }

    /// Sends `request` through the layers, from the outermost layer to the transport. Middleware never runs on the caller's actor.
    ///
    /// The outermost stack of a call checks the options of the request. ``RequestOptions/timeout`` applies with and without a
    /// `timeout` middleware.
    ///
    /// - Throws: ``UnsupportedOptionError`` if an option requires a middleware or a capability that the stack lacks; and the errors
    ///   of ``HTTPSender/send(_:)``.
    @concurrent public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        if list.mayReportOrder { reportOrder() }
        return request.options.isEmpty || request.options.call.hasEntered ? try await top.send(request) : try await enter(request)
    }

    /// Reports the order problems of the stack. This function is separate, because only the first request needs this function.
    @inline(never) private func reportOrder() { list.reportOrderProblems(writeLine: writeDebugLine) }

    /// Sends a request that belongs to a call of another stack. Call this function in a middleware that has its own stack. The options of
    /// the request are not checked, because layers outside this stack may obey the options.
    public func sendWithinCall(_ request: Request) async throws -> Response {
        var entered = request
        entered.options.call.hasEntered = true
        return try await request.restoringCall { [entered] in try await send(entered) }
    }

    /// Sends a request as a new call. This function is separate, because most requests do not need the copy that the function makes.
    /// Most requests have no options, or are already in a call.
    @inline(never) private func enter(_ request: Request) async throws -> Response {
        let entered: Request
        do throws(UnsupportedOptionError) {
            entered = try entering(request)
        } catch {
            var error = error
            error.request = await list.addingServer(to: request)
            throw error
        }
        do {
            var response = try await top.send(entered)
            response.request.restoreCall(of: request)
            return response
        } catch {
            throw error.restoringCall(of: request)
        }
    }

    /// Returns the request as it goes through the layers of its outermost stack.
    func entering(_ request: Request) throws(UnsupportedOptionError) -> Request {
        if list.base.endsInTransport, let (key, missing) = request.options.firstUnsupported(by: capabilities, supports) {
            throw UnsupportedOptionError(key, missing: missing, request: request)
        }
        var request = request
        request.options.call.hasEntered = true
        if !list.obeysTimeout, case .use(let timeout) = request.options.timeout {
            request.deadline = .earlier(request.deadline, Deadline(by: .timeoutOption, after: timeout))
        }
        return request
    }

    /// Returns a sender for `prepared`: the layers that apply to prepared requests, and an innermost sender that stores the
    /// request.
    func preparing(_ preparation: Preparation) -> any HTTPSender { list.preparing(preparation) }

    static func name(of sender: some HTTPSender) -> String {
        (sender as? any CustomStringConvertible)?.description ?? String(describing: type(of: sender))
    }

    var endsInTransport: Bool { list.base.endsInTransport }
    var obeysTimeout: Bool { list.obeysTimeout }

    /// Returns whether a middleware obeys the options of this place.
    private func supports(_ place: MiddlewarePlace) -> Bool {
        if place == .unplaced { return true }
        for layer in layers where layer.supportedPlaces.contains(place) { return true }
        return false
    }

    /// Returns whether a middleware with this place is in the stack.
    public func contains(_ place: MiddlewarePlace) -> Bool { layers.contains { $0.place == place } }

    /// Returns whether every request passes a middleware with this place: the middleware has no condition, and no outer layer sends
    /// requests to another sender (``HTTPMiddleware/mayBypassInnerLayers``).
    public func alwaysPasses(_ place: MiddlewarePlace) -> Bool { list.alwaysPasses(place) }

    /// Whether the stack sorts its layers: see ``sorted(around:defaults:)``.
    public var isSorted: Bool { list.isSorted }

    /// The order problems of the stack, each as a sentence; empty if there is no problem.
    ///
    /// There are two kinds of problems:
    /// - an order of two layers that makes one of the layers useless
    /// - two layers with the same place, if that place must not occur twice
    ///
    /// The rules come from the property ``HTTPMiddleware/neighbors`` of each layer. If several layers have the same place, only the rules
    /// of the outermost layer apply. If rules contradict each other, so that no order satisfies all rules, the contradiction is reported.
    ///
    /// A stack reports its problems at its first request: see ``ignoringOrderProblems()``.
    public var orderProblems: [String] { MiddlewareOrder(layers, isSorted: list.isSorted).problems }

    /// The layers, outermost first, and the order problems.
    public var description: String {
        let list = layers.map(\.label).joined(separator: " > ")
        return orderProblems.reduce(list) { $0 + "\n  order: " + $1 }
    }
}

extension HTTPSender {
    /// Wraps this sender in `middleware`, which sees the request before this sender and the response after this sender.
    ///
    /// A stack that sorts its layers puts the middleware at its place: see ``HTTPStack/sorted(around:defaults:)``.
    public func wrapped(by middleware: some HTTPMiddleware) -> HTTPStack { HTTPStack(self).adding([LayerEntry(middleware)]) }

    /// Adds `middleware` directly inside a place of the canonical order, in a stack that sorts its layers.
    ///
    /// ```swift
    /// HTTPStack.default.retry().log(to: logger)                                       // each call
    /// HTTPStack.default.retry().wrapped(by: LogMiddleware(logger), inside: .retry)    // each attempt
    /// ```
    ///
    /// In any other stack, the middleware becomes the outermost layer. If this position is outside a layer with the place `place`, the
    /// description of the stack reports an order problem.
    ///
    /// - Parameter place: a place of ``MiddlewarePlace/canonicalOrder``. With any other place, the middleware's own rules
    ///   determine its position.
    public func wrapped(by middleware: some HTTPMiddleware, inside place: MiddlewarePlace) -> HTTPStack {
        HTTPStack(self).adding([LayerEntry(middleware, by: .inside(place, because: Self.otherOrder("inside")))])
    }

    /// Adds `middleware` directly outside a place of the canonical order, in a stack that sorts its layers.
    ///
    /// In any other stack, the middleware becomes the outermost layer. If a layer with the place `place` is added outside the middleware
    /// later, the description of the stack reports an order problem.
    ///
    /// - Parameter place: a place of ``MiddlewarePlace/canonicalOrder``. With any other place, the middleware's own rules
    ///   determine its position.
    public func wrapped(by middleware: some HTTPMiddleware, outside place: MiddlewarePlace) -> HTTPStack {
        HTTPStack(self).adding([LayerEntry(middleware, by: .outside(place, because: Self.otherOrder("outside")))])
    }

    private static func otherOrder(_ label: String) -> String {
        "wrapped(by:\(label):) requires the opposite order, but stacks sort only by places of the canonical order"
    }
}
