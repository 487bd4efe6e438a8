#if Auth
internal import ErrandCore

/// The time and the rate at which a ``TokenSource`` refreshes its token.
public struct RefreshPolicy: Sendable, Hashable {
    /// The time between the refresh of a valid token and the token's expiry date. 60 s by default.
    ///
    /// - If a token's life is longer than 10 × `leadTime`, the token is refreshed after nine tenths of its life.
    /// - If a token's life is shorter than 2 × `leadTime`, the token is refreshed after half of its life.
    ///
    /// With zero, no token is refreshed before a server refuses the token or the token expires. Use zero for a program that may end
    /// at any moment: if the program ended during a refresh, the new token would be lost.
    public var leadTime: Duration
    /// The jitter, from 0 to 1; 0.5 by default. A refresh begins earlier by a random time, at most this fraction of the lead time. The
    /// jitter keeps the processes of a service from refreshing at the same time.
    public var jitter: Double
    /// The maximum number of refreshes within ``window``, successful or not: at least 1, 5 by default. If a request needs another
    /// refresh, the request fails with ``AuthenticationError`` and the code `tooManyRefreshes`.
    public var limit: Int
    /// The time in which refreshes are counted: at least zero, 30 s by default.
    public var window: Duration

    /// Creates a policy.
    ///
    /// - Precondition: `leadTime` and `window` are at least zero, `jitter` is from 0 to 1, `limit` is at least 1.
    public init(leadTime: Duration = .seconds(60), jitter: Double = 0.5, limit: Int = 5, window: Duration = .seconds(30)) {
        precondition(leadTime >= .zero, "leadTime must be at least zero (is \(leadTime))")
        precondition((0...1).contains(jitter), "jitter must be from 0 to 1 (is \(jitter))")
        precondition(limit >= 1, "limit must be at least 1 (is \(limit))")
        precondition(window >= .zero, "window must be at least zero (is \(window))")
        self.leadTime = leadTime
        self.jitter = jitter
        self.limit = limit
        self.window = window
    }

    /// The default policy: refreshes 60 s or a tenth of the token's life before the token expires, at most 5 times in 30 s.
    public static let standard = RefreshPolicy()

    /// Returns the date from which a valid token is refreshed; `nil` if the token has no expiry date, or if `leadTime` is zero.
    ///
    /// - Parameter random: a number from 0 up to, but not including, 1.
    func proactiveDate(of token: AccessToken, obtainedAt: Date, random: Double) -> Date? {
        guard let end = token.expiresAt, leadTime > .zero else { return nil }
        let life = max(0, end.timeIntervalSince(token.obtainedAt ?? obtainedAt))
        let lead = min(max(leadTime / .seconds(1), life / 10), life / 2)
        return end.addingTimeInterval(-lead - min(lead * jitter * random, max(0, life / 2 - lead)))
    }
}
#endif
