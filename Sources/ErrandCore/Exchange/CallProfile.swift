internal import Synchronization

/// The time that one call took, as a tree: the layers of the call, and the phases of each exchange.
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
/// If the transport reports the steps of connecting and a connection was opened, `queue` and `dns` come before `connect`, and `tls` comes
/// after `connect`. See ``ExchangeTimings/phases``.
///
/// The profile is complete when the last exchange has ended. Therefore, read the profile after the body. `profile()` creates a
/// profile for each call, as `response.metadata.profile`. To get the profile of a call that fails, give the request a profile:
/// `request.options.profile = .use(CallProfile())`. Use a profile for one call only. The time of the call begins when the
/// profile is created.
public final class CallProfile: Sendable {
    private struct Entry {
        var name: String
        let parent: Int?
        let start: Duration
        var end: Duration?
        var result: String?
        var exchange: Int?
        /// Whether the response of the layer has the status of a cache.
        var hasCacheStatus = false
        /// The status of the cache, if the result of this layer shows the status. The status can change until the body has ended.
        var shownCacheStatus: WatchedCacheStatus?

        /// The result, with the current status of the cache.
        var currentResult: String? { shownCacheStatus.map { "\(result ?? ""), \($0.current)" } ?? result }
    }

    private struct State {
        var entries: [Entry] = []
        var timings: [ExchangeTimings] = []
        /// The index of each exchange in `timings`, by the number of the exchange.
        var exchanges: [Int: Int] = [:]
        var redirects = 0
        var end: (duration: Duration, result: String)?
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    /// Creates a profile that counts time from now on.
    public init() {}

    private var now: Duration { start.duration(to: .now) }

    // MARK: Layers

    /// Begins a layer, and returns the layer's number. The caller of the layer calls this function.
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

    /// Ends a layer that has returned a response. The result of the cache has the status of the cache.
    func end(_ layer: Int, _ response: Response) {
        let (now, status) = (now, response.metadata.watchedCacheStatus)
        state.withLock { state in
            state.entries[layer].end = now
            state.entries[layer].result = "\(response.head.status.code)"
            guard let status else { return }
            state.entries[layer].hasCacheStatus = true
            // The layers outside the cache get a response with the same cache status. Only the result of the cache shows that status.
            let isOutside = state.entries[layer...].contains { $0.parent == layer && $0.hasCacheStatus }
            if !isOutside { state.entries[layer].shownCacheStatus = status }
        }
    }

    // MARK: The call

    package func end(_ outcome: CallOutcome) {
        // If a status was refused, the status alone is shown, because the error has no further information.
        if let failure = outcome.failure, outcome.refusal?.innerError == nil {
            end(ProfilePosition.shown(failure))
        } else if let response = outcome.response {
            end("\(response.head.status.code)")
        }
    }

    /// Ends the call. Only the first end is recorded.
    private func end(_ result: String) {
        let now = now
        state.withLock { state in
            if state.end == nil { state.end = (now, result) }
        }
    }

    /// The duration of the call; `nil` while the call is in progress.
    ///
    /// The call lasts until its last exchange has ended on the wire. A typed call lasts until its value was decoded, or decoding
    /// failed.
    public var duration: Duration? { state.withLock { $0.end?.duration } }

    /// The result of the call: a status, or the failure without secrets. `nil` while the call is in progress.
    public var result: String? { state.withLock { $0.end?.result } }

    // MARK: Exchanges

    package func redirected() { state.withLock { $0.redirects += 1 } }

    /// Records an event of an exchange under `layer`.
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

    /// Records the HTTP version of the exchange under `layer`.
    package func recordVersion(_ version: HTTPVersion?, in layer: Int) {
        state.withLock { state in
            guard let index = state.entries[layer].exchange else { return }
            state.timings[index].httpVersion = version
        }
    }

    // MARK: Results

    /// A layer of the stack, and the time that the layer has taken so far.
    public struct Layer: Sendable, Hashable {
        /// The label of the layer, as in the stack's description.
        public let name: String
        /// The time when the request reached the layer, counted from the beginning of the call.
        public let start: Duration
        /// The time from ``start`` to the layer's response or failure; `nil` while the layer is in progress.
        public let duration: Duration?
        /// The part of ``duration`` in which no inner layer ran: the layer's own work and waits. `nil` while the layer is in
        /// progress.
        public let own: Duration?
        /// The result of the layer: a status, or the failure without secrets. `nil` while the layer is in progress. The result of a
        /// cache also has the current ``CacheStatus``, which is final after the body: `200, hit; ttl=540`.
        public let result: String?
        /// The layers that this layer called, in order. Under `retry`, there is one layer for each attempt.
        public let children: [Layer]
        /// The phases of the exchange, for a transport; `nil` for a middleware.
        public let exchange: ExchangeTimings?
    }

    /// The outermost layers; usually only one layer.
    public var layers: [Layer] {
        let (entries, timings) = state.withLock { ($0.entries, $0.timings) }
        let indices = Dictionary(grouping: entries.indices) { entries[$0].parent }
        func children(of parent: Int?) -> [Layer] {
            (indices[parent] ?? []).map { index in
                let entry = entries[index]
                let children = children(of: index)
                let duration = entry.end.map { $0 - entry.start }
                // Inner layers may run at the same time. The layer's own time is the time in which no inner layer runs.
                let own = duration.map { duration in
                    duration - Self.covered(children, until: entry.start + duration)
                }
                return Layer(
                    name: entry.name, start: entry.start, duration: duration, own: own, result: entry.currentResult, children: children,
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

    /// The times of each exchange, and the number of redirects that were followed.
    public var timings: CallTimings {
        state.withLock { CallTimings(exchanges: $0.timings, redirectCount: $0.redirects) }
    }
}

/// The position of a request in a profile: the layer that the request has reached.
package struct ProfilePosition: Sendable {
    package let profile: CallProfile
    package let layer: Int?

    package init(_ profile: CallProfile, _ layer: Int?) { (self.profile, self.layer) = (profile, layer) }
}

/// A sink that records the transport's events in a profile.
struct ExchangeSink: EventSink {
    let position: ProfilePosition
    let request: Request

    func record(_ event: ExchangeEvent) {
        if let layer = position.layer { position.profile.record(event, of: request, in: layer) }
    }
}

extension ProfilePosition {
    /// Runs `send` as a new inner layer of this position in the profile.
    func within(
        _ name: String, _ request: Request, _ send: (Request) async throws -> Response
    ) async throws -> Response {
        let layer = profile.begin(name, in: self.layer)
        var request = request
        request.options.call.profilePosition = ProfilePosition(profile, layer)
        do {
            let response = try await send(request)
            profile.end(layer, response)
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
