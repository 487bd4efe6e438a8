package import ErrandFormats

/// When a request may go: a pure state machine. It knows when others went, and what the server said.
///
/// A token bucket, as one number: the instant at which it is full again. Beside it, the instants of the last `count` grants in a ring: the
/// oldest of them must be a window old. Each step takes the same time, however many went before.
///
/// All instants are counted from any fixed one.
package struct RateLimitMachine: Sendable {
    private struct Held: Sendable {
        var quota: RateLimitFields.Quota
        var until: Duration
    }

    /// A server that asks for more is taken to ask for this.
    static let longestMemory = Duration.seconds(86_400)
    private static let quotaLimit = 8

    private var fullAt = Duration.zero
    private var instants = InstantRing()
    private var pausedUntil: Duration?
    private var held: [Held] = []
    /// Grants so far.
    private var granted = 0
    /// The grant whose answer was the last to be believed.
    private var believed = 0

    package init() {}

    /// Whether a request may go at `now`. If it may, it has gone.
    ///
    /// - Parameter limit: nil where only what the server says counts. It may change from one call to the next.
    package mutating func take(_ limit: RateLimit?, at now: Duration) -> RateLimitDecision {
        if let (wait, cause) = wait(limit, at: now) { return .wait(wait, cause: cause) }
        granted += 1
        for index in held.indices { held[index].quota.remaining -= 1 }
        if let limit {
            fullAt = max(fullAt, now) + limit.interval
            instants.append(now, keeping: limit.count)
        }
        return .granted(RateLimitGrant(number: granted))
    }

    /// How long it is until a request may go, and for whose sake; nil where it may go now. Nothing goes.
    package mutating func wait(_ limit: RateLimit?, at now: Duration) -> (Duration, RateLimitDecision.Cause)? {
        renewQuotas(at: now)
        let server = max(pausedUntil ?? now, held.reduce(now) { $1.quota.remaining > 0 ? $0 : max($0, $1.until) })
        let own = limit.map { readyAt($0, now) } ?? now
        if server > now, server >= own { return (server - now, .server) }
        return own > now ? (own - now, .limit) : nil
    }

    /// Whether the server has said something that still holds.
    var hasNews: Bool { pausedUntil != nil || !held.isEmpty }

    private func readyAt(_ limit: RateLimit, _ now: Duration) -> Duration {
        let byBucket = fullAt - limit.interval * (limit.burst - 1)
        return max(byBucket, instants.last(limit.count).map { $0 + limit.window } ?? now)
    }

    /// Takes in what the answer to a grant says; nil where the request went without one.
    package mutating func observe(_ fields: RateLimitFields, after grant: RateLimitGrant?, at now: Duration) {
        if let retryAfter = fields.retryAfter { pausedUntil = max(pausedUntil ?? now, now + min(retryAfter, Self.longestMemory)) }
        // The answer to an earlier request is out of date once a later one's is known.
        let number = min(grant?.number ?? granted, granted)
        guard number >= believed, !fields.quotas.isEmpty else { return }
        believed = number
        renewQuotas(at: now)
        for var quota in fields.quotas {
            // Those that went since are not counted in it.
            quota.remaining = max(0, quota.remaining - (granted - number))
            held.removeAll { $0.quota.name == quota.name && $0.quota.partitionKey == quota.partitionKey }
            if held.count >= Self.quotaLimit, let first = held.indices.min(by: { held[$0].until < held[$1].until }) {
                held.remove(at: first)
            }
            held.append(Held(quota: quota, until: now + min(quota.reset, Self.longestMemory)))
        }
    }

    /// A quota whose time is up is full again where its policy is known, for one window; otherwise nothing is known of it.
    private mutating func renewQuotas(at now: Duration) {
        if let until = pausedUntil, until <= now { pausedUntil = nil }
        guard held.contains(where: { $0.until <= now }) else { return }
        held = held.compactMap { held in
            guard held.until <= now else { return held }
            guard let limit = held.quota.limit, limit > 0, let window = held.quota.window, window > .zero,
                window <= Self.longestMemory, now < held.until + window
            else { return nil }
            var held = held
            held.quota.remaining = limit
            held.until += window
            return held
        }
    }

    /// How many could go at `now`; nil where nothing limits them.
    package func available(_ limit: RateLimit?, at now: Duration) -> Int? {
        var machine = self
        machine.renewQuotas(at: now)
        if machine.pausedUntil != nil { return 0 }
        var counts = machine.held.map { max(0, $0.quota.remaining) }
        if let limit {
            let missing = max(.zero, fullAt - now) / limit.interval
            counts.append(max(0, limit.burst - Int(min(Double(limit.burst), missing.rounded(.up)))))
            counts.append(limit.count - instants.count(after: now - limit.window, upTo: limit.count))
        }
        return counts.min()
    }
}

/// The last instants, oldest overwritten first.
private struct InstantRing: Sendable {
    private var instants: [Duration] = []
    /// Where the oldest is, once the ring is full.
    private var first = 0
    private var capacity = 0

    /// The `count`th from the end; nil if there were not so many.
    func last(_ count: Int) -> Duration? {
        guard count <= instants.count else { return nil }
        return instants[(first + instants.count - count) % instants.count]
    }

    mutating func append(_ instant: Duration, keeping count: Int) {
        if count > capacity {
            instants = Array(instants[first...] + instants[..<first])
            (first, capacity) = (0, count)
        }
        if instants.count < capacity {
            instants.append(instant)
        } else {
            instants[first] = instant
            first = (first + 1) % capacity
        }
    }

    /// How many of the last `limit` came after `instant`.
    func count(after instant: Duration, upTo limit: Int) -> Int {
        var (low, high) = (0, min(limit, instants.count))
        while low < high {
            let middle = (low + high + 1) / 2
            if let found = last(middle), found > instant { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
