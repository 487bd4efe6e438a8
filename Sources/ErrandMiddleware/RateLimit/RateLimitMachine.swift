package import ErrandFormats

/// A pure state machine that decides when a request may be sent. The decision depends on earlier grants and on the server's
/// fields.
///
/// The state is a token bucket, stored as one number: the instant at which the bucket is full again. A ring holds the instants of the last
/// `count` grants. A request may be sent only if the oldest of these instants is at least one window in the past. Each step takes constant
/// time, independent of the number of grants.
///
/// All instants are durations from an arbitrary fixed instant.
package struct RateLimitMachine: Sendable {
    private struct Held: Sendable {
        var quota: RateLimitFields.Quota
        var until: Duration
    }

    /// The longest wait that a server's fields can set.
    static let longestMemory = Duration.seconds(86_400)
    private static let quotaLimit = 8

    private var fullAt = Duration.zero
    private var instants = InstantRing()
    private var pausedUntil: Duration?
    private var held: [Held] = []
    /// The number of grants so far.
    private var granted = 0
    /// The number of the latest grant whose response was recorded.
    private var believed = 0

    package init() {}

    /// Takes a grant, if a request may be sent at `now`.
    ///
    /// - Parameter limit: the app's limit, which may differ from call to call. With `nil`, only the server's fields limit the
    ///   requests.
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

    /// Returns how long the next request must wait, and the cause; `nil` if the request may be sent now. Takes no grant.
    package mutating func wait(_ limit: RateLimit?, at now: Duration) -> (Duration, RateLimitDecision.Cause)? {
        renewQuotas(at: now)
        let server = max(pausedUntil ?? now, held.reduce(now) { $1.quota.remaining > 0 ? $0 : max($0, $1.until) })
        let own = limit.map { readyAt($0, now) } ?? now
        if server > now, server >= own { return (server - now, .server) }
        return own > now ? (own - now, .limit) : nil
    }

    /// Whether fields of the server are still in effect.
    var hasNews: Bool { pausedUntil != nil || !held.isEmpty }

    private func readyAt(_ limit: RateLimit, _ now: Duration) -> Duration {
        let byBucket = fullAt - limit.interval * (limit.burst - 1)
        return max(byBucket, instants.last(limit.count).map { $0 + limit.window } ?? now)
    }

    /// Records the fields of the response to a request; `grant` is `nil` if the request was sent without a grant.
    package mutating func observe(_ fields: RateLimitFields, after grant: RateLimitGrant?, at now: Duration) {
        if let retryAfter = fields.retryAfter { pausedUntil = max(pausedUntil ?? now, now + min(retryAfter, Self.longestMemory)) }
        // If the response to a later request is known, the response to an earlier request is out of date.
        let number = min(grant?.number ?? granted, granted)
        guard number >= believed, !fields.quotas.isEmpty else { return }
        believed = number
        renewQuotas(at: now)
        for var quota in fields.quotas {
            // The quota in the fields does not include the requests that were sent after this request.
            quota.remaining = max(0, quota.remaining - (granted - number))
            held.removeAll { $0.quota.name == quota.name && $0.quota.partitionKey == quota.partitionKey }
            if held.count >= Self.quotaLimit, let first = held.indices.min(by: { held[$0].until < held[$1].until }) {
                held.remove(at: first)
            }
            held.append(Held(quota: quota, until: now + min(quota.reset, Self.longestMemory)))
        }
    }

    /// Renews a quota whose time has passed. If the server stated a limit and a window, the quota is full again for one window.
    /// Any other quota is removed.
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

    /// Returns the number of requests that may be sent at `now`; `nil` if requests are not limited.
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

/// The last instants. The oldest instant is overwritten first.
private struct InstantRing: Sendable {
    private var instants: [Duration] = []
    /// The index of the oldest instant, if the ring is full.
    private var first = 0
    private var capacity = 0

    /// Returns the `count`th instant from the end; `nil` if there are fewer instants.
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

    /// Returns the number of instants later than `instant` among the last `limit` instants.
    func count(after instant: Duration, upTo limit: Int) -> Int {
        var (low, high) = (0, min(limit, instants.count))
        while low < high {
            let middle = (low + high + 1) / 2
            if let found = last(middle), found > instant { low = middle } else { high = middle - 1 }
        }
        return low
    }
}
