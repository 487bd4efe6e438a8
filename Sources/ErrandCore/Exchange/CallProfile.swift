internal import Synchronization

/// Where the time of one call went: a tree of the layers that it passed, and under each exchange its phases.
///
/// It goes on until the last exchange is over: read it when the body was read. ``HTTPSender/profile()`` makes one for each call, found in
/// `response.metadata.profile`; to keep that of a call that fails, give the request one: `request.options.profile = .use(CallProfile())`. It is for
/// one call, whose beginning is when it was made.
///
/// ```swift
/// let response = try await stack.profile().send(request)
/// let data = try await response.body.collect()
/// print(response.metadata.profile?.description ?? "")
/// ```
public final class CallProfile: Sendable {
    private struct Entry {
        var name: String
        let parent: Int?
        let start: Duration
        var end: Duration?
        var result: String?
        var exchange: Int?
    }

    private struct State {
        var entries: [Entry] = []
        var timings: [ExchangeTimings] = []
        /// Where the timings of each exchange are, by the exchange's number.
        var exchanges: [Int: Int] = [:]
        var redirects = 0
        var end: (duration: Duration, result: String)?
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    public init() {}

    private var now: Duration { start.duration(to: .now) }

    // MARK: Layers

    /// Begins a layer. By whoever calls it.
    package func begin(_ name: String, in parent: Int?) -> Int {
        let now = now
        return state.withLock { state in
            state.entries.append(Entry(name: name, parent: parent, start: now))
            return state.entries.count - 1
        }
    }

    package func end(_ layer: Int, _ result: String) {
        let now = now
        state.withLock { state in
            state.entries[layer].end = now
            state.entries[layer].result = result
        }
    }

    // MARK: The call

    /// Ends the call; the first end counts.
    package func end(_ result: String) {
        let now = now
        state.withLock { state in
            if state.end == nil { state.end = (now, result) }
        }
    }

    /// The call failed.
    package func end(_ error: any Error) { end((error as? StatusError).map { "\($0.status.code)" } ?? ProfilePosition.shown(error)) }

    /// How long the call took: until its last exchange was over on the wire, and for a typed call until its value was decoded or decoding
    /// failed; nil while it goes on.
    public var duration: Duration? { state.withLock { $0.end?.duration } }

    /// What came of the call: a status, or the failure without secrets; nil while it goes on.
    public var result: String? { state.withLock { $0.end?.result } }

    // MARK: Exchanges

    package func redirected() { state.withLock { $0.redirects += 1 } }

    /// What the transport tells of an exchange under `layer`.
    package func record(_ event: ExchangeEvent, of request: Request, in layer: Int) {
        guard let exchange = event.exchange else { return }
        let instant = start.duration(to: event.instant)
        state.withLock { state in
            guard let index = state.exchanges[exchange] else {
                state.exchanges[exchange] = state.timings.count
                state.entries[layer].exchange = state.timings.count
                state.timings.append(ExchangeTimings(request, at: instant))
                return
            }
            state.timings[index].record(event, at: instant)
        }
    }

    package func answered(_ layer: Int, version: String?) {
        state.withLock { state in
            guard let index = state.entries[layer].exchange else { return }
            state.timings[index].httpVersion = version
        }
    }

    // MARK: What came of it

    /// A layer of the stack, as far as it has come.
    public struct Layer: Sendable, Hashable {
        /// As the stack's description has it.
        public let name: String
        /// When the request came here, counted from the beginning of the call.
        public let start: Duration
        /// From then to its answer or failure; nil while neither is there.
        public let duration: Duration?
        /// Of that, what no layer inside it took: its own work and its own waits.
        public let own: Duration?
        /// A status, or the failure without secrets; nil while neither is there.
        public let result: String?
        /// The layers that it called, in order. Under a retry, one for each attempt.
        public let children: [Layer]
        /// What its exchange took, in phases; nil for middleware.
        public let exchange: ExchangeTimings?
    }

    /// The outermost layers, one as a rule.
    public var layers: [Layer] {
        let (entries, timings) = state.withLock { ($0.entries, $0.timings) }
        let indices = Dictionary(grouping: entries.indices) { entries[$0].parent }
        func children(of parent: Int?) -> [Layer] {
            (indices[parent] ?? []).map { index in
                let entry = entries[index]
                let children = children(of: index)
                let duration = entry.end.map { $0 - entry.start }
                // Children may be under way at once: what any of them covers is not the layer's own.
                let own = duration.map { duration in
                    duration - Self.covered(children, until: entry.start + duration)
                }
                return Layer(
                    name: entry.name, start: entry.start, duration: duration, own: own, result: entry.result, children: children,
                    exchange: entry.exchange.map { timings[$0] })
            }
        }
        return children(of: nil)
    }

    private static func covered(_ layers: [Layer], until end: Duration) -> Duration {
        var covered = Duration.zero
        var reached = Duration.zero
        for layer in layers {
            let (from, to) = (max(reached, layer.start), min(end, layer.duration.map { layer.start + $0 } ?? end))
            if to > from { covered += to - from }
            reached = max(reached, to)
        }
        return covered
    }

    /// What each exchange took, and how many redirects were followed.
    public var timings: CallTimings {
        state.withLock { CallTimings(exchanges: $0.timings, redirectCount: $0.redirects) }
    }
}

/// Where a request is in a profile.
package struct ProfilePosition: Sendable {
    package let profile: CallProfile
    package let layer: Int?

    package init(_ profile: CallProfile, _ layer: Int?) { (self.profile, self.layer) = (profile, layer) }
}

/// Tells a profile what the transport tells.
struct ExchangeSink: EventSink {
    let position: ProfilePosition
    let request: Request

    func record(_ event: ExchangeEvent) {
        if let layer = position.layer { position.profile.record(event, of: request, in: layer) }
    }
}

extension ProfilePosition {
    /// Runs `send` as a layer of its own inside this one.
    func within(
        _ name: String, _ request: Request, _ send: (Request) async throws -> Response
    ) async throws -> Response {
        let layer = profile.begin(name, in: self.layer)
        let outer = request
        var request = request
        request.options.call.profilePosition = ProfilePosition(profile, layer)
        do {
            var response = try await send(request)
            profile.end(layer, "\(response.head.status.code)")
            response.request.options.call.profilePosition = self
            return response
        } catch {
            profile.end(layer, Self.shown(error))
            throw error.restoringCall(of: outer)
        }
    }

    static func shown(_ error: any Error) -> String {
        switch error {
        case is CancellationError: "cancelled"
        case let error as TransportError: "\(error.code)"
        default: "\(type(of: error))"
        }
    }
}
