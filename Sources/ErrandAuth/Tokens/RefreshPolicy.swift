#if Auth
internal import ErrandCore

/// When a ``TokenSource`` refreshes its token, and how often.
public struct RefreshPolicy: Sendable, Hashable {
    /// How long before a token expires it is refreshed, while it is still used: 60 s by default. A token that lives longer than ten times as long is
    /// refreshed after nine tenths of its life, and a short-lived one not before half of it.
    ///
    /// Zero refreshes no token before it expires or is refused: for a program that may end at any moment, and would lose the new token.
    public var leadTime: Duration
    /// By how much of the lead time, at random, the refresh comes earlier, so that the processes of a service do not all refresh at once: 0 to 1,
    /// 0.5 by default.
    public var jitter: Double
    /// The most refreshes within ``window``, whether they succeed or not: at least 1, 5 by default. Beyond it, requests fail with
    /// ``AuthenticationError`` and the reason `tooManyRefreshes`.
    public var limit: Int
    /// The time in which refreshes are counted: 30 s by default.
    public var window: Duration

    /// Creates a policy.
    ///
    /// - Precondition: `leadTime` and `window` are at least zero, `jitter` is from 0 to 1, `limit` is at least 1.
    public init(leadTime: Duration = .seconds(60), jitter: Double = 0.5, limit: Int = 5, window: Duration = .seconds(30)) {
        precondition(leadTime >= .zero, "leadTime must be at least zero (is \(leadTime))")
        precondition((0...1).contains(jitter), "jitter must be from 0 to 1 (is \(jitter))")
        precondition(limit >= 1, "limit must be at least 1 (is \(limit))")
        precondition(window >= .zero, "window must be at least zero (is \(window))")
        (self.leadTime, self.jitter, self.limit, self.window) = (leadTime, jitter, limit, window)
    }

    /// 60 s or a tenth of the token's life before its end; at most 5 refreshes in 30 s.
    public static let standard = RefreshPolicy()

    /// When a token is refreshed although it has not expired; `nil` if it is not known when it expires.
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
