/// A transport with middleware around it. Every modifier returns one, and a client sends its requests through one.
///
/// ```swift
/// let stack: HTTPStack = transport.retry(.standard).timeout(.seconds(30)).server("https://api.example")
/// print(stack)     // server(https://api.example/) > timeout(30 s) > retry(…) > StubTransport
/// ```
///
/// A modifier wraps what stands before it, so the last one is the outermost: it sees the request first and the response last. The redirects of
/// `HTTPStack.default` alone make room: what belongs inside them is put there. A stack has the same type whatever it holds, and can be a stored
/// property.
public struct HTTPStack: HTTPSender, CustomStringConvertible {
    let top: any HTTPSender
    /// The layers, outermost first; the last is the transport.
    public let layers: [Layer]
    /// The capabilities of the transport at the bottom.
    public let capabilities: Capabilities
    /// Whether the innermost layer is a transport: what any other sender holds is unknown.
    private let endsInTransport: Bool
    /// Whether every request passes a middleware that obeys ``RequestOptions/timeout``.
    private let obeysTimeout: Bool
    /// The outermost layer, if it makes room for what belongs inside it.
    private var cover: Cover?

    /// A layer, and the stack inside it.
    private final class Cover: Sendable {
        let inner: HTTPStack
        let middleware: any HTTPMiddleware

        init(_ middleware: any HTTPMiddleware, around inner: HTTPStack) { (self.inner, self.middleware) = (inner, middleware) }

        /// Whether a middleware must be inside the layer, by its own rules or by those of the layer.
        func belongsInside(_ other: some HTTPMiddleware) -> Bool {
            guard let place = middleware.place else { return false }
            return other.neighbors.contains { $0.side == .inside && $0.place == place }
                || middleware.neighbors.contains { $0.side == .outside && $0.place != nil && $0.place == other.place }
        }
    }

    /// One middleware, or the transport, of a stack.
    public struct Layer: Sendable, Hashable, CustomStringConvertible {
        /// The name of the layer with its settings: ``HTTPMiddleware/label``, or the description of the transport.
        public let label: String
        /// The place of the layer in the canonical order; `nil` for a transport, and for a middleware without a place.
        public let place: MiddlewarePlace?
        /// The layers outside or inside which it must stand; none for a transport.
        public let neighbors: [MiddlewareNeighbor]
        /// Whether it is for some requests alone: see ``HTTPSender/wrapped(by:when:)``.
        package var isConditional = false
        /// The label.
        public var description: String { label }
    }

    /// A stack of a sender alone.
    ///
    /// Around a transport, the stack checks each request, adds the field for its priority, and enforces deadlines and timeouts that the transport
    /// does not enforce by itself (``Capabilities``).
    public init(_ sender: some HTTPSender) {
        if let stack = sender as? HTTPStack {
            self = stack
        } else if let transport = sender as? any HTTPTransport {
            top = Self.bounded(transport)
            capabilities = transport.capabilities
            layers = [Layer(label: Self.name(of: sender), place: nil, neighbors: [])]
            (endsInTransport, obeysTimeout) = (true, false)
        } else {
            top = PreparationBoundary(sender: sender)
            capabilities = []
            layers = [Layer(label: Self.name(of: sender), place: nil, neighbors: [])]
            (endsInTransport, obeysTimeout) = (false, false)
        }
    }

    private static func bounded(_ transport: some HTTPTransport) -> any HTTPSender { TransportBoundary(transport: transport) }

    static func name(of sender: some HTTPSender) -> String {
        (sender as? any CustomStringConvertible)?.description ?? String(describing: type(of: sender))
    }

    private init(top: any HTTPSender, around inner: HTTPStack, layer: Layer, obeysTimeout: Bool) {
        (self.top, layers, capabilities) = (top, [layer] + inner.layers, inner.capabilities)
        (endsInTransport, self.obeysTimeout) = (inner.endsInTransport, obeysTimeout)
    }

    /// Returns the stack in `middleware`, which makes room: the next modifiers put what belongs inside it there, until one belongs outside.
    package func covered(by middleware: some HTTPMiddleware) -> HTTPStack {
        var stack = adding(middleware)
        stack.cover = Cover(middleware, around: self)
        return stack
    }

    fileprivate func adding(_ middleware: some HTTPMiddleware) -> HTTPStack {
        if let cover, cover.belongsInside(middleware) { return cover.inner.adding(middleware).covered(by: cover.middleware) }
        func wrap(_ next: some HTTPSender) -> any HTTPSender { Wrapped(middleware: middleware, next: next) }
        let place = middleware.place
        let layer = Layer(
            label: middleware.label, place: place, neighbors: middleware.neighbors, isConditional: middleware is any ConditionalMiddleware)
        return HTTPStack(
            top: wrap(top), around: self, layer: layer,
            // A layer inside the fallback does not see what the other sender is sent.
            obeysTimeout: place == .fallback ? false : obeysTimeout || (place == .timeout && !layer.isConditional))
    }

    /// Sends `request` through every layer. Middleware never runs on the caller's actor.
    ///
    /// The outermost stack of a call checks the options of the request. ``RequestOptions/timeout`` holds with or without a middleware for it.
    ///
    /// - Throws: ``UnservedOptionError`` for an option that needs a middleware which the stack does not have; otherwise as ``HTTPSender/send(_:)``
    ///   says.
    @concurrent public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        return request.options.isEmpty || request.options.call.hasEntered ? try await top.send(request) : try await enter(request)
    }

    /// Sends a request as a part of the call that it is in: its options are not checked, as layers outside may serve them.
    package func send(inCallOf request: Request) async throws -> Response {
        var entered = request
        entered.options.call.hasEntered = true
        return try await send(entered, inCallOf: request)
    }

    /// By itself, as it keeps a copy of the request: most requests have no options, or are in a call.
    @inline(never) private func enter(_ request: Request) async throws -> Response {
        do {
            var response = try await top.send(entering(request))
            response.restoreCall(of: request)
            return response
        } catch {
            throw error.restoringCall(of: request)
        }
    }

    /// The request as it goes through the layers of its outermost stack.
    func entering(_ request: Request) throws(UnservedOptionError) -> Request {
        if endsInTransport, let (key, place) = request.options.unserved(serves) {
            throw UnservedOptionError(key, missing: place, request: request)
        }
        var request = request
        request.options.call.hasEntered = true
        if !obeysTimeout, case .use(let timeout) = request.options.timeout {
            request.deadline = .earlier(request.deadline, Deadline(by: .timeoutOption, after: timeout))
        }
        return request
    }

    /// Whether a middleware obeys the options of this place.
    private func serves(_ place: MiddlewarePlace) -> Bool {
        for layer in layers where layer.place == place { return true }
        // The span of a call has the options of an attempt's.
        return place == .trace && contains(.traceCall)
    }

    /// Whether a middleware with this place is in the stack.
    public func contains(_ place: MiddlewarePlace) -> Bool { layers.contains { $0.place == place } }

    /// Whether every request passes a middleware with this place.
    package func alwaysPasses(_ place: MiddlewarePlace) -> Bool { layers.contains { $0.place == place && !$0.isConditional } }

    /// The pairs of layers whose order defeats one of them, and the places that must not occur twice, each as a sentence; empty for a sound
    /// stack.
    ///
    /// The rules are ``HTTPMiddleware/neighbors`` of the layers. Of several layers with one place, the outermost counts. Rules that contradict one
    /// another, so that no order keeps them all, are reported as such.
    public var orderProblems: [String] { MiddlewareOrder(layers).problems }

    /// The layers, outermost first, and the problems of their order.
    public var description: String {
        let list = layers.map(\.label).joined(separator: " > ")
        return orderProblems.reduce(list) { $0 + "\n  order: " + $1 }
    }
}

extension HTTPStack: CustomReflectable {
    /// The description alone: settings of the layers may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["layers": description]) }
}

extension HTTPSender {
    /// Wraps this sender in `middleware`, which sees the request before and the response after it.
    public func wrapped(by middleware: some HTTPMiddleware) -> HTTPStack { HTTPStack(self).adding(middleware) }
}

/// A middleware together with what it wraps.
private struct Wrapped<Middleware: HTTPMiddleware, Next: HTTPSender>: HTTPSender {
    let middleware: Middleware
    let next: Next

    func send(_ request: Request) async throws -> Response {
        if request.isPreparing, !middleware.takesPartInPreparing { return try await next.send(request) }
        guard let position = request.options.call.profilePosition else { return try await middleware.send(request, to: next) }
        return try await position.within(middleware.label, request) { try await middleware.send($0, to: next) }
    }
}
