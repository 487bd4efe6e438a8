internal import Synchronization

/// The layers of a stack around its base, outermost first, and values derived from the layers. The values are computed once for
/// each modifier.
final class LayerList: Sendable {
    let entries: [LayerEntry]
    let base: LayerBase
    /// Whether an added layer is inserted at its own place. If false, an added layer is the outermost layer.
    let isSorted: Bool
    /// The layers of the stack and of its base.
    let layers: [HTTPStack.Layer]
    /// Whether every request passes a middleware that obeys ``RequestOptions/timeout``.
    let obeysTimeout: Bool
    /// The reported problems of this list and of the lists that it was derived from; `nil` if problems must not be reported.
    private let orderReports: OrderReports?
    /// Whether the order problems of this list were already reported, or must not be reported.
    private let hasReportedOrder: Atomic<Bool>

    /// Creates a list. If the stack in `base` ignores order problems, the problems of the list are not reported.
    convenience init(around base: LayerBase, isSorted: Bool) {
        self.init([], around: base, isSorted: isSorted, orderReports: base.stack.map(\.list.orderReports) ?? OrderReports())
    }

    private init(_ entries: [LayerEntry], around base: LayerBase, isSorted: Bool, orderReports: OrderReports?) {
        self.entries = entries
        self.base = base
        self.isSorted = isSorted
        self.orderReports = orderReports
        hasReportedOrder = Atomic(orderReports == nil)
        layers = entries.map(\.layer) + base.layers
        obeysTimeout = entries.reversed().reduce(base.obeysTimeout) { isObeyed, entry in
            // If the middleware sends a request to another sender, the request bypasses the inner layers and their timeouts.
            entry.middleware.mayBypassInnerLayers
                ? false : isObeyed || (!entry.layer.isConditional && entry.layer.supportedPlaces.contains(.timeout))
        }
    }

    /// Returns the list with more layers. In a sorted list, the position of a layer depends on its rank. In any other list, the
    /// layer becomes the outermost layer.
    func adding(_ added: [LayerEntry]) -> LayerList {
        var entries = entries
        func insert(_ entry: LayerEntry) {
            var entry = entry
            entry.layer.isAtItsPlace = isSorted && !entry.isPlacedByRule
            entries.insert(entry, at: isSorted ? entries.firstIndex { $0.rank >= entry.rank } ?? entries.endIndex : 0)
        }
        for entry in added {
            var entry = entry
            if isSorted, let index = entries.firstIndex(where: entry.replaces) {
                let (new, kept) = entry.replacing(entries.remove(at: index))
                for entry in kept { insert(entry) }
                entry = new
            }
            insert(entry)
        }
        return LayerList(entries, around: base, isSorted: isSorted, orderReports: orderReports)
    }

    /// Whether the order problems may have to be reported.
    var mayReportOrder: Bool { !hasReportedOrder.load(ordering: .relaxed) }

    /// Returns the order problems that the caller must report. Only the first call returns problems, and each problem is returned once for
    /// all lists that were derived from the same list.
    func claimOrderReport() -> [String] {
        guard let orderReports, !hasReportedOrder.exchange(true, ordering: .relaxed) else { return [] }
        return orderReports.claim(MiddlewareOrder(layers, isSorted: isSorted).problems)
    }

    /// A list that has these layers and does not sort.
    var unsorted: LayerList { LayerList(entries, around: base, isSorted: false, orderReports: orderReports) }

    /// A list with these layers that does not report its order problems.
    var ignoringOrderProblems: LayerList { LayerList(entries, around: base, isSorted: isSorted, orderReports: nil) }

    /// Returns whether every request passes a middleware with this place.
    func alwaysPasses(_ place: MiddlewarePlace) -> Bool {
        for entry in entries {
            if entry.layer.place == place, !entry.layer.isConditional { return true }
            if entry.middleware.mayBypassInnerLayers { return false }
        }
        return base.alwaysPasses(place)
    }

    /// The layers as one sender.
    var folded: any HTTPSender { entries.reversed().reduce(base.sender) { $1.wrapped(around: $0) } }

    /// Returns the layers as one sender. The prepared request bypasses the layers that do not apply to prepared requests.
    func preparing(_ preparation: Preparation) -> any HTTPSender {
        entries.reversed().reduce(base.preparing(preparation)) { $1.wrapped(around: $0, preparing: preparation.id) }
    }

    /// Returns the request with the base URL that these layers add, so that the error of an unsent request shows the whole URL. If no layer
    /// adds a server, returns the request unchanged.
    func addingServer(to request: Request) async -> Request {
        let servers = entries.filter { $0.layer.place == .server && $0.middleware.appliesToPreparedRequests }
        guard request.head.authority == nil, !servers.isEmpty else { return request }
        let preparation = Preparation(of: request.id)
        let end: any HTTPSender = PreparationEnd(preparation, at: base.sender, isTransport: false)
        _ = try? await servers.reversed().reduce(end) { $1.wrapped(around: $0) }.send(request)
        guard var named = preparation.request else { return request }
        named.restoreCall(of: request)
        return named
    }
}

/// The order problems that a stack and its derived stacks have reported.
final class OrderReports: Sendable {
    /// The maximum number of problems to report. Further problems are not reported, because an app may derive a stack for each request.
    private static let limit = 64

    private let reported = Mutex<Set<String>>([])  // octets: texts of the app

    /// Returns the problems that were not claimed before.
    func claim(_ problems: [String]) -> [String] {
        guard !problems.isEmpty else { return [] }
        return reported.withLock { reported in problems.filter { reported.count < Self.limit && reported.insert($0).inserted } }
    }
}

/// A middleware of a stack, with its position.
struct LayerEntry: Sendable {
    let middleware: any HTTPMiddleware
    var layer: HTTPStack.Layer
    let rank: LayerRank
    /// Whether a later layer of the same place replaces this layer.
    let isDefault: Bool
    /// Whether the app has named the position of this layer.
    let isPlacedByRule: Bool

    /// Creates the entry of a middleware.
    ///
    /// - Parameter rule: the position that the app names, in place of the middleware's own position.
    init(_ middleware: some HTTPMiddleware, by rule: MiddlewareNeighbor? = nil, isDefault: Bool = false) {
        let (place, neighbors) = (middleware.place, middleware.neighbors)
        self.middleware = middleware
        layer = HTTPStack.Layer(
            label: middleware.label, place: place, neighbors: neighbors + (rule.map { [$0] } ?? []),
            supportedPlaces: middleware.supportedPlaces,
            isConditional: middleware is any ConditionalMiddleware)
        let own = place == .unplaced ? nil : LayerRank(at: place)
        rank = rule.flatMap { LayerRank(by: [$0]) } ?? own ?? LayerRank(by: neighbors) ?? .unplaced
        self.isDefault = isDefault
        isPlacedByRule = rule != nil
    }

    init(of middleware: any HTTPMiddleware, isDefault: Bool = false) {
        func entry(_ middleware: some HTTPMiddleware) -> LayerEntry { LayerEntry(middleware, isDefault: isDefault) }
        self = entry(middleware)
    }

    /// Returns the middleware around `next`.
    func wrapped(around next: any HTTPSender) -> any HTTPSender {
        func wrap(_ middleware: some HTTPMiddleware) -> any HTTPSender { Wrapped(middleware: middleware, next: next) }
        return wrap(middleware)
    }

    /// Returns the middleware around `next`. If the middleware does not apply to prepared requests, the prepared request bypasses the
    /// middleware.
    func wrapped(around next: any HTTPSender, preparing id: RequestID) -> any HTTPSender {
        func bypass(_ middleware: some HTTPMiddleware) -> any HTTPSender {
            Wrapped(middleware: Bypassed(middleware: middleware, id: id), next: next)
        }
        return middleware.appliesToPreparedRequests ? wrapped(around: next) : bypass(middleware)
    }

    /// Returns whether this layer replaces a default layer.
    func replaces(_ other: LayerEntry) -> Bool {
        other.isDefault && !isDefault && !isPlacedByRule && layer.place != .unplaced && other.layer.place == layer.place
    }

    /// Returns this layer in place of a default layer. The default layer stays for the requests that do not meet the condition of
    /// this layer.
    ///
    /// - Returns: the layer, and the conditional layers of the app with which the default layer was combined, innermost first.
    func replacing(_ other: LayerEntry) -> (LayerEntry, kept: [LayerEntry]) {
        if let conditional = middleware as? any ConditionalMiddleware {
            return (LayerEntry(of: conditional.replacing(other.middleware), isDefault: true), [])
        }
        let alternative = other.middleware as? any AlternativeMiddleware
        return (self, (alternative?.conditionals ?? []).map { LayerEntry(of: $0) })
    }
}

/// A position in the order of a stack that sorts its layers. The rank of a layer does not depend on the other layers. Of two layers, the
/// layer with the smaller rank is outside.
struct LayerRank: Comparable {
    private let position: Int

    /// The position of each place. The positions directly outside and directly inside each place are free.
    private static let positions = Dictionary(
        uniqueKeysWithValues: MiddlewarePlace.canonicalOrder.enumerated().map { ($1, 3 * $0 + 1) })

    /// The rank of a layer that has no place in the canonical order, and whose rules name no such place.
    static let unplaced = LayerRank(at: .unplaced) ?? LayerRank(position: 0)

    private init(position: Int) { self.position = position }

    /// The rank of a place in the canonical order; `nil` for any other place.
    init?(at place: MiddlewarePlace) {
        guard let position = Self.positions[place] else { return nil }
        self.position = position
    }

    /// Creates the rank that follows from the rules of a layer; `nil` if no rule names a place of the canonical order.
    ///
    /// The rank is directly inside the innermost place that the layer must be inside. If there is no such place, the rank is
    /// directly outside the outermost place that the layer must be outside.
    init?(by rules: [MiddlewareNeighbor]) {
        func positions(on side: MiddlewareNeighbor.Side) -> [Int] {
            rules.compactMap { rule in rule.side == side ? rule.place.flatMap { Self.positions[$0] } : nil }
        }
        if let innermost = positions(on: .inside).max() {
            position = innermost + 1
        } else if let outermost = positions(on: .outside).min() {
            position = outermost - 1
        } else {
            return nil
        }
    }

    static func < (first: LayerRank, second: LayerRank) -> Bool { first.position < second.position }
}

/// The sender inside all layers of a stack.
struct LayerBase: Sendable {
    let sender: any HTTPSender
    let layers: [HTTPStack.Layer]
    let capabilities: TransportCapabilities
    /// Whether the innermost layer is a transport. The layers of any other sender are unknown.
    let endsInTransport: Bool
    let obeysTimeout: Bool
    let stack: HTTPStack?
    private let end: @Sendable (Preparation) -> any HTTPSender

    init(_ sender: some HTTPSender) {
        let transport = sender as? any HTTPTransport
        stack = nil
        layers = [
            HTTPStack.Layer(label: HTTPStack.name(of: sender), place: .unplaced, neighbors: [], supportedPlaces: [], isConditional: false)
        ]
        (endsInTransport, obeysTimeout, capabilities) = (transport != nil, false, transport?.capabilities ?? [])
        if let transport {
            let boundary = Self.bounded(transport)
            self.sender = boundary
            end = { PreparationEnd($0, at: boundary, isTransport: true) }
        } else {
            self.sender = SenderBoundary(sender: sender)
            end = { PreparationEnd($0, at: sender, isTransport: false) }
        }
    }

    private static func bounded(_ transport: some HTTPTransport) -> any HTTPSender { TransportBoundary(transport: transport) }

    /// Creates a base that uses a whole stack as one sender.
    init(stack: HTTPStack) {
        (self.stack, sender, capabilities) = (stack, stack.top, stack.capabilities)
        layers = stack.layers.map { layer in
            var layer = layer
            layer.isAtItsPlace = false
            return layer
        }
        (endsInTransport, obeysTimeout) = (stack.endsInTransport, stack.obeysTimeout)
        end = { stack.preparing($0) }
    }

    func alwaysPasses(_ place: MiddlewarePlace) -> Bool { stack?.alwaysPasses(place) ?? false }

    /// Returns a sender that stores the prepared request, and sends other requests.
    func preparing(_ preparation: Preparation) -> any HTTPSender { end(preparation) }
}

/// A middleware together with the sender that it wraps. Only this type undoes the changes of a layer to the call (``CallState``).
private struct Wrapped<Middleware: HTTPMiddleware>: HTTPSender {
    let middleware: Middleware
    let next: any HTTPSender

    func send(_ request: Request) async throws -> Response {
        // Without this check, the function would copy every request, although almost no request has names to report.
        if request.options.hasUnreportedNames { return try await send(request.reportingSensitiveNames()) }
        do {
            var response =
                request.options.call.profilePosition == nil
                ? try await middleware.send(request, to: next) : try await sendProfiling(request)
            if response.request.options.callStamp != request.options.callStamp { response.request.restoreCall(of: request) }
            return response
        } catch {
            throw error.restoringCall(of: request)
        }
    }

    /// Sends a request of a profiled call. This function is separate, because most calls are not profiled.
    @inline(never) private func sendProfiling(_ request: Request) async throws -> Response {
        guard let position = request.options.call.profilePosition else { return try await middleware.send(request, to: next) }
        return try await position.within(middleware.label, request) { try await middleware.send($0, to: next) }
    }
}

/// The layer directly outside a sender that is not a transport. For a transport, ``TransportBoundary`` is this layer.
private struct SenderBoundary<Sender: HTTPSender>: HTTPSender {
    let sender: Sender

    func send(_ request: Request) async throws -> Response {
        try await sender.send(request.options.hasUnreportedNames ? request.reportingSensitiveNames() : request)
    }
}
