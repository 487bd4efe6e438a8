#if Auth
internal import ErrandCore

/// The decisions of a ``TokenSource``. The type is a pure value, without a clock, a lock or a task.
struct TokenMachine: Sendable {
    /// A token, and the numbers that distinguish the token from earlier tokens and from the tokens of other sources.
    struct Issued: Sendable {
        let token: AccessToken
        /// The number of the source that issued the token.
        let source: Int
        /// The number of the account to which the token was issued.
        let account: Int
        let generation: Int
        /// The number of refreshes that had ended when the token was issued.
        let refreshes: Int
        /// Whether the request has waited for the refresh that obtained the token.
        var isNew = false
    }

    /// A refresh of an account, identified by the number of earlier refreshes. If a late request asks for a refresh that has
    /// already ended, the refresh is not repeated.
    struct RefreshID: Hashable, Sendable {
        let account: Int
        let refreshes: Int
    }

    enum Decision: Sendable {
        /// Use this token. If `refreshing` is not `nil`, begin that refresh in the background.
        case use(Issued, refreshing: RefreshID?)
        /// Wait for a refresh.
        case refresh(RefreshID)
        case fail(AuthenticationError.Code, underlying: (any Error)?)
    }

    private struct Failure: Sendable {
        /// The number of the refresh that failed.
        let refresh: Int
        let error: any Error
        let isFinal: Bool
    }

    /// The number of the source, which no other source of this process has.
    let source: Int
    let policy: RefreshPolicy
    /// Whether a token can be obtained without an earlier token.
    let obtainsWithoutToken: Bool

    private(set) var token: AccessToken?
    /// Whether the token had expired when it was obtained. In this case, the token's date or this machine's clock is wrong, and the token
    /// is used until a server refuses the token.
    private var hasWrongDate = false
    /// The number of the account, which changes with each sign-in and each sign-out. Work that began for another account has no
    /// effect.
    private(set) var account = 0
    private(set) var generation = 0
    /// The number of refreshes that have ended.
    private var refreshes = 0
    private var failure: Failure?
    private var proactiveDate: Date?
    /// The generation of the last token that a server has refused.
    private var refusedGeneration: Int?
    /// The dates when the latest refreshes began, oldest first.
    private var begun: [Date] = []

    /// The next refresh.
    var nextRefresh: RefreshID { RefreshID(account: account, refreshes: refreshes) }

    /// The error of the last refresh; `nil` if the last refresh succeeded, or if there was no refresh.
    var lastError: (any Error)? { failure?.error }

    init(source: Int, policy: RefreshPolicy, obtainsWithoutToken: Bool) {
        (self.source, self.policy, self.obtainsWithoutToken) = (source, policy, obtainsWithoutToken)
    }

    /// Decides whether a request uses the token, waits for a refresh, or fails.
    ///
    /// - Parameters:
    ///   - refused: the token that the server has refused for this request; `nil` before the first attempt.
    ///   - requester: the account for which the request began; `nil` before the first decision. The request gets no token of
    ///     another account.
    mutating func decision(refusing refused: Issued?, for requester: Int?, at now: Date) -> Decision {
        guard let token else {
            if let failure, failure.isFinal, !obtainsWithoutToken { return .fail(.refreshRefused, underlying: failure.error) }
            return obtainsWithoutToken ? .refresh(nextRefresh) : .fail(.signedOut, underlying: nil)
        }
        if let requester, requester != account { return .fail(.accountChanged, underlying: nil) }
        let isRefused = refused.map { $0.generation == generation } ?? false
        if isRefused { refusedGeneration = generation }
        if isRefused || hasExpired(token, at: now) {
            // If a refresh failed after a request was sent, the request fails with the error of that refresh, and begins no
            // other refresh.
            if let failure, !failure.isFinal, let refused, failure.refresh > refused.refreshes {
                return .fail(.refreshFailed, underlying: failure.error)
            }
            return .refresh(nextRefresh)
        }
        let isDue = proactiveDate.map { $0 <= now } ?? false
        return .use(
            Issued(token: token, source: source, account: account, generation: generation, refreshes: refreshes),
            refreshing: isDue && recentRefreshes(at: now) < policy.limit ? nextRefresh : nil)
    }

    private func recentRefreshes(at now: Date) -> Int {
        let start = now.addingTimeInterval(-(policy.window / .seconds(1)))
        // If the clock was set back, dates of refreshes may lie in the future.
        return begun.count { $0 > start && $0 <= now }
    }

    /// Counts a refresh that begins. Returns `false` if the limit of refreshes is reached.
    mutating func begin(at now: Date) -> Bool {
        guard recentRefreshes(at: now) < policy.limit else { return false }
        begun.append(now)
        if begun.count > policy.limit { begun.removeFirst(begun.count - policy.limit) }
        return true
    }

    /// Records the token of a refresh. If the account has changed since the refresh began, returns `false`.
    mutating func end(_ new: AccessToken, account: Int, at now: Date, random: Double) -> Bool {
        guard account == self.account else { return false }
        set(new, at: now, random: random)
        hasWrongDate = new.hasExpired(at: now)
        // If the date is wrong, the expiry of the token is unknown.
        if hasWrongDate { proactiveDate = nil }
        refreshes += 1
        failure = nil
        return true
    }

    /// Records a refresh that failed.
    ///
    /// - Parameter isFinal: whether no further refresh can succeed.
    /// - Returns: whether the account was signed out, because the error is final, and the token has expired or was refused. A token that is
    ///   still valid stays in use.
    mutating func fail(_ error: any Error, isFinal: Bool, account: Int, at now: Date) -> Bool {
        guard account == self.account else { return false }
        refreshes += 1
        failure = Failure(refresh: refreshes, error: error, isFinal: isFinal)
        let isUsable = refusedGeneration != generation && token.map { !hasExpired($0, at: now) } ?? false
        if isFinal, !isUsable {
            token = nil
            self.account += 1
            return true
        }
        if isFinal {
            proactiveDate = nil
        } else if let date = proactiveDate, date <= now, let end = token?.expiresAt {
            // The token is still valid. The next refresh begins after a quarter of the remaining time.
            proactiveDate = now.addingTimeInterval(max(1, end.timeIntervalSince(now) / 4))
        }
        return false
    }

    /// Signs in with a token of another account; `nil` signs out.
    mutating func sign(in new: AccessToken?, at now: Date, random: Double) {
        account += 1
        failure = nil
        begun = []
        if let new { set(new, at: now, random: random) } else { (token, proactiveDate) = (nil, nil) }
    }

    private func hasExpired(_ token: AccessToken, at now: Date) -> Bool { !hasWrongDate && token.hasExpired(at: now) }

    private mutating func set(_ new: AccessToken, at now: Date, random: Double) {
        (token, hasWrongDate) = (new, false)
        generation += 1
        proactiveDate = policy.proactiveDate(of: new, obtainedAt: now, random: random)
    }
}
#endif
