internal import Synchronization

/// Shows where the time of one call went: a tree of the layers that it passed, with the phases of each exchange.
///
/// ```swift
/// let response = try await transport.retry().timeout(.seconds(30)).profile().send(request)
/// let data = try await response.body.collect()
/// if let profile = response.metadata.profile { print(profile) }
/// ```
///
/// ```
/// timeout(30 s)                                                          22 ms  own    0.012 ms  200
///   retry(3 attempts, 100 ms to 20 s, budget 5 + 20 % of successes)      21 ms  own    0.031 ms  200
///     NIOTransport                                                       21 ms  200
///       GET https://api.example/notes, HTTP/1.1, new connection 1
///       connect                                                        8.12 ms
///       send                                                          0.214 ms
///       wait                                                             13 ms
///       receive                                                       0.402 ms  2048 bytes
/// 1 request, 22 ms from the first request to the last byte, 22 ms in all, 200
/// ```
///
/// Where the transport reports the steps of connecting and a connection was opened, `queue` and `dns` stand before `connect`, and `tls` after
/// it. See ``ExchangeTimings/phases``.
///
/// The profile is complete when the last exchange is over: read it after the body. `profile()` creates one for each call, as
/// `response.metadata.profile`. To keep the profile of a call that fails, give the request one: `request.options.profile = .use(CallProfile())`. A
/// profile is for one call, and counts from when it was created.
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

    /// Creates a profile, whose time begins now.
    public init() {}

    private var now: Duration { start.duration(to: .now) }

    // MARK: Layers

    /// Begins a layer, and returns its number. Its caller begins it.
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

    package func end(_ outcome: CallOutcome) {
        // The error of a status that was refused says no more than the status.
        if let failure = outcome.failure, outcome.statusError == nil {
            end(ProfilePosition.shown(failure))
        } else if let response = outcome.response {
            end("\(response.head.status.code)")
        }
    }

    /// The first end counts.
    private func end(_ result: String) {
        let now = now
        state.withLock { state in
            if state.end == nil { state.end = (now, result) }
        }
    }

    /// The time that the call took: until its last exchange was over on the wire, and for a typed call until its value was decoded or decoding
    /// failed. `nil` while it is in progress.
    public var duration: Duration? { state.withLock { $0.end?.duration } }

    /// The result of the call: a status, or the failure without secrets. `nil` while it is in progress.
    public var result: String? { state.withLock { $0.end?.result } }

    // MARK: Exchanges

    package func redirected() { state.withLock { $0.redirects += 1 } }

    /// Records what the transport reports about an exchange under `layer`.
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

    /// A layer of the stack, and the time that it took so far.
    public struct Layer: Sendable, Hashable {
        /// The label, as in the stack's description.
        public let name: String
        /// When the request came to the layer, counted from the beginning of the call.
        public let start: Duration
        /// The time from then to its response or failure; `nil` while it is in progress.
        public let duration: Duration?
        /// The part of ``duration`` that no layer inside took: its own work and its own waits.
        public let own: Duration?
        /// A status, or the failure without secrets; `nil` while it is in progress.
        public let result: String?
        /// The layers that it called, in order: under `retry`, one for each attempt.
        public let children: [Layer]
        /// The phases of its exchange, for a transport; `nil` for middleware.
        public let exchange: ExchangeTimings?
    }

    /// The outermost layers; usually there is one.
    public var layers: [Layer] {
        let (entries, timings) = state.withLock { ($0.entries, $0.timings) }
        let indices = Dictionary(grouping: entries.indices) { entries[$0].parent }
        func children(of parent: Int?) -> [Layer] {
            (indices[parent] ?? []).map { index in
                let entry = entries[index]
                let children = children(of: index)
                let duration = entry.end.map { $0 - entry.start }
                // Children may run concurrently: what any of them covers is not the layer's own.
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

    /// The times of each exchange, and how many redirects were followed.
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

/// Hands what the transport reports to a profile.
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
        var request = request
        request.options.call.profilePosition = ProfilePosition(profile, layer)
        do {
            let response = try await send(request)
            profile.end(layer, "\(response.head.status.code)")
            return response
        } catch {
            profile.end(layer, Self.shown(error))
            throw error
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
