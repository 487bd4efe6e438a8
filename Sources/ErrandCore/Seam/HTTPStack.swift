/// A transport with middleware around it: what every modifier returns, and what a client sends by.
///
/// ```swift
/// let stack: HTTPStack = transport.retry(.standard).timeout(.seconds(30)).server("https://api.example")
/// print(stack)     // server(https://api.example/) > timeout(30.0 seconds) > retry(…) > StubTransport
/// ```
///
/// A modifier wraps what stands before it, so the last is the outermost: it sees the request first and the response last.
/// It is one type whatever it holds, and can be a stored property.
public struct HTTPStack: HTTPSender, CustomStringConvertible {
    private let top: any HTTPSender
    /// Outermost first; the last is the transport.
    public let layers: [Layer]
    /// What the transport at the bottom can do.
    public let capabilities: Capabilities

    /// One middleware, or the transport, of a stack.
    public struct Layer: Sendable, Hashable, CustomStringConvertible {
        public let label: String
        public let place: MiddlewarePlace?
        public var description: String { label }
    }

    /// A stack of a sender alone. A transport gets the boundary that every request passes: see ``TransportBoundary``.
    public init(_ sender: some HTTPSender) {
        if let stack = sender as? HTTPStack {
            self = stack
        } else if let transport = sender as? any HTTPTransport {
            top = Self.bounded(transport)
            capabilities = transport.capabilities
            layers = [Layer(label: Self.name(of: sender), place: nil)]
        } else {
            top = sender
            capabilities = []
            layers = [Layer(label: Self.name(of: sender), place: nil)]
        }
    }

    private static func bounded(_ transport: some HTTPTransport) -> any HTTPSender { TransportBoundary(transport: transport) }

    static func name(of sender: some HTTPSender) -> String {
        (sender as? any CustomStringConvertible)?.description ?? String(describing: type(of: sender))
    }

    private init(top: any HTTPSender, layers: [Layer], capabilities: Capabilities) {
        (self.top, self.layers, self.capabilities) = (top, layers, capabilities)
    }

    fileprivate func adding(_ middleware: some HTTPMiddleware) -> HTTPStack {
        func wrap(_ next: some HTTPSender) -> any HTTPSender { Wrapped(middleware: middleware, next: next) }
        return HTTPStack(
            top: wrap(top), layers: [Layer(label: middleware.label, place: middleware.place)] + layers, capabilities: capabilities)
    }

    /// Sends `request` through every layer. Middleware never runs on the caller's actor.
    @concurrent public func send(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        return try await top.send(request)
    }

    /// Whether a middleware with this place is in the stack.
    public func contains(_ place: MiddlewarePlace) -> Bool { layers.contains { $0.place == place } }

    /// Pairs that stand in an order which defeats one of them, each as a sentence; empty for a sound stack.
    public var orderProblems: [String] {
        MiddlewarePlace.mustEnclose.compactMap { rule in
            guard let outer = layers.firstIndex(where: { $0.place == rule.outer }),
                let inner = layers.firstIndex(where: { $0.place == rule.inner }), inner < outer
            else { return nil }
            return "\(rule.inner) stands outside \(rule.outer): \(rule.why)"
        }
    }

    /// The layers, outermost first, and what is wrong with their order.
    public var description: String {
        let list = layers.map(\.label).joined(separator: " > ")
        return orderProblems.reduce(list) { $0 + "\n  order: " + $1 }
    }
}

extension HTTPStack: CustomReflectable {
    /// The description: what the layers hold may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["layers": description]) }
}

extension HTTPSender {
    /// This sender with `middleware` around it: `middleware` sees the request before, and the response after.
    public func wrapped(by middleware: some HTTPMiddleware) -> HTTPStack { HTTPStack(self).adding(middleware) }
}

/// A middleware together with what it wraps.
private struct Wrapped<Middleware: HTTPMiddleware, Next: HTTPSender>: HTTPSender {
    let middleware: Middleware
    let next: Next

    func send(_ request: Request) async throws -> Response {
        guard let position = request.options.profilePosition else { return try await middleware.send(request, to: next) }
        return try await position.within(middleware.label, request) { try await middleware.send($0, to: next) }
    }
}
