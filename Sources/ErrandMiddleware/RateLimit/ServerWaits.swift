internal import ErrandCore
internal import ErrandFormats

/// Limits the time for which the limiter obeys a server's wait. When the longest wait has passed, one probe request is sent.
struct ServerWaits: Sendable {
    /// The state for a server that asked for a wait above the maximum.
    private struct Excess: Sendable {
        /// Requests are refused until this instant, unless the wait ends early. The next request is a probe.
        var until: Duration
        /// Whether the probe is in progress. While the probe is in progress, other requests are refused.
        var isProbing = false
    }

    enum Entry: Sendable, Hashable {
        case go
        /// The request is sent as a probe. All other requests of the key are refused until the probe has a response.
        case probe
        case refused(for: Duration)
    }

    /// The longest wait that the limiter obeys.
    private let limit: Duration
    private var excesses = BoundedTable<String, Excess>(limit: 1_000)

    init(limit: Duration) { self.limit = limit.bounded }

    /// Decides whether a request may be sent.
    ///
    /// - Parameter hasEndedEarly: a closure that returns whether the server's wait has ended early, because of newer fields or because the
    ///   key was removed.
    mutating func enter(_ key: String, at now: Duration, hasEndedEarly: () -> Bool) -> Entry {
        guard !excesses.isEmpty, let excess = excesses[key] else { return .go }
        if now >= excess.until {
            excesses.updateIfPresent(key) { $0 = Excess(until: now + limit, isProbing: true) }
            return .probe
        }
        if !excess.isProbing, hasEndedEarly() {
            excesses.removeValue(forKey: key)
            return .go
        }
        return .refused(for: excess.until - now)
    }

    /// Returns for how long requests are still refused, because the server asked for a wait above the maximum. `nil` if requests are not
    /// refused.
    func wait(_ key: String, at now: Duration) -> Duration? { excesses[key].map { max(.zero, $0.until - now) } }

    /// Ends a probe, after its response was observed. If the probe had no response, the next request is another probe.
    mutating func endProbe(_ key: String, hasResponse: Bool, at now: Duration) {
        guard excesses[key]?.isProbing == true else { return }
        if hasResponse { excesses.removeValue(forKey: key) } else { excesses.updateIfPresent(key) { $0 = Excess(until: now) } }
    }

    /// Records whether the fields ask for a wait above the maximum. Returns the fields, with each wait above the maximum shortened to the
    /// maximum.
    mutating func update(by fields: RateLimitFields, _ key: String, at now: Duration) -> RateLimitFields {
        let asked = fields.quotas.reduce(fields.retryAfter ?? .zero) { $1.remaining > 0 ? $0 : max($0, $1.reset) }
        if asked > limit {
            excesses.update(key, default: Excess(until: now)) { $0 = Excess(until: now + limit) }
        } else if fields.retryAfter == nil {
            excesses.removeValue(forKey: key)
        }
        var fields = fields
        fields.retryAfter = fields.retryAfter.map { min($0, limit) }
        for index in fields.quotas.indices { fields.quotas[index].reset = min(fields.quotas[index].reset, limit) }
        return fields
    }
}
