internal import ErrandCore
internal import ErrandFormats

/// Limits how long a server's wait is obeyed. After the limit, one probe request is sent.
struct RateLimitBelief: Sendable {
    /// That a server asked for more than it is believed.
    private struct Excess: Sendable {
        /// Requests are refused until then; then one is a probe.
        var until: Duration
        /// Whether it is on its way: requests are refused until its response is there.
        var isProbing = false
    }

    enum Entry: Sendable, Hashable {
        case go
        /// It goes. The others are refused until it has a response.
        case probe
        case refused(for: Duration)
    }

    /// The longest that a server is believed.
    private let limit: Duration
    private var excesses = BoundedTable<String, Excess>(limit: 1_000)

    init(limit: Duration) { self.limit = limit.bounded }

    /// Whether a request may go.
    ///
    /// - Parameter hasBetterNews: whether the server's wait is over by what is known otherwise.
    mutating func enter(_ key: String, at now: Duration, hasBetterNews: () -> Bool) -> Entry {
        guard !excesses.isEmpty, let excess = excesses[key] else { return .go }
        if now >= excess.until {
            excesses.updateIfPresent(key) { $0 = Excess(until: now + limit, isProbing: true) }
            return .probe
        }
        if !excess.isProbing, hasBetterNews() {
            excesses.removeValue(forKey: key)
            return .go
        }
        return .refused(for: excess.until - now)
    }

    /// How long requests are refused, because the server asked for more than it is believed; nil where they are not.
    func wait(_ key: String, at now: Duration) -> Duration? { excesses[key].map { max(.zero, $0.until - now) } }

    /// A probe is over, and what its response said is known. One without a response makes room for another.
    mutating func endProbe(_ key: String, isAnswered: Bool, at now: Duration) {
        guard excesses[key]?.isProbing == true else { return }
        if isAnswered { excesses.removeValue(forKey: key) } else { excesses.updateIfPresent(key) { $0 = Excess(until: now) } }
    }

    /// The fields, as far as the server is believed.
    mutating func believed(_ fields: RateLimitFields, _ key: String, at now: Duration) -> RateLimitFields {
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
