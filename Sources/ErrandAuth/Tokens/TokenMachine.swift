#if Auth
internal import ErrandCore

/// What a ``TokenSource`` knows and decides: a value without a clock, a lock and a task.
struct TokenMachine: Sendable {
    /// A token, and the number that tells it from the tokens before it.
    struct Issued: Sendable {
        let token: AccessToken
        /// The account that it was issued to.
        let account: Int
        let generation: Int
        /// How many refreshes had ended when it was issued.
        let refreshes: Int
    }

    /// A refresh of an account, by the number of those before it. A request that comes late does not begin one that has ended again.
    struct Turn: Hashable, Sendable {
        let account: Int
        let refreshes: Int
    }

    enum Decision: Sendable {
        /// Use this token. `refreshesSoon`: begin a refresh that nobody waits for.
        case use(Issued, refreshesSoon: Bool)
        /// Wait for a refresh.
        case refresh(Turn)
        case fail(AuthenticationError.Reason, underlying: (any Error)?)
    }

    private struct Failure: Sendable {
        /// The number of the refresh that failed.
        let refresh: Int
        let error: any Error
        let isFinal: Bool
    }

    let policy: RefreshPolicy
    /// Whether a token can be obtained without an earlier one.
    let obtainsFirst: Bool

    private(set) var token: AccessToken?
    /// Changes with each sign-in and each sign-out: what was begun for another account has no effect.
    private(set) var account = 0
    private(set) var generation = 0
    /// The number of refreshes that have ended.
    private var refreshes = 0
    private var failure: Failure?
    private var proactiveDate: Date?
    /// When the latest refreshes began, oldest first.
    private var begun: [Date] = []

    /// The next refresh.
    var turn: Turn { Turn(account: account, refreshes: refreshes) }

    init(policy: RefreshPolicy, obtainsFirst: Bool) { (self.policy, self.obtainsFirst) = (policy, obtainsFirst) }

    /// What a request does.
    ///
    /// - Parameter refused: the token with which the server has refused the request; `nil` before the first attempt.
    func decision(refusing refused: Issued?, at now: Date) -> Decision {
        guard let token else {
            if let failure, failure.isFinal, !obtainsFirst { return .fail(.refreshRefused, underlying: failure.error) }
            return obtainsFirst ? .refresh(turn) : .fail(.signedOut, underlying: nil)
        }
        let isRefused = refused.map { $0.generation == generation } ?? false
        if isRefused || token.hasExpired(at: now) {
            // The request that began before a refresh failed fails with it, and does not begin another one.
            if let failure, let refused, failure.refresh > refused.refreshes { return .fail(.refreshFailed, underlying: failure.error) }
            return .refresh(turn)
        }
        let isDue = proactiveDate.map { $0 <= now } ?? false
        return .use(
            Issued(token: token, account: account, generation: generation, refreshes: refreshes),
            refreshesSoon: isDue && recentRefreshes(at: now) < policy.limit)
    }

    private func recentRefreshes(at now: Date) -> Int {
        let start = now.addingTimeInterval(-(policy.window / .seconds(1)))
        // A clock that was set back leaves instants in the future.
        return begun.count { $0 > start && $0 <= now }
    }

    /// Begins a refresh; `false` if there were too many.
    mutating func begin(at now: Date) -> Bool {
        guard recentRefreshes(at: now) < policy.limit else { return false }
        begun.append(now)
        if begun.count > policy.limit { begun.removeFirst(begun.count - policy.limit) }
        return true
    }

    /// Takes the token of a refresh; `false` if another account is signed in by now, or nobody is.
    mutating func end(_ new: AccessToken, account: Int, at now: Date, random: Double) -> Bool {
        guard account == self.account else { return false }
        set(new, at: now, random: random)
        refreshes += 1
        failure = nil
        return true
    }

    /// Takes note of a refresh that failed.
    ///
    /// - Parameter isFinal: whether no further refresh can succeed. The token is dropped then.
    mutating func fail(_ error: any Error, isFinal: Bool, account: Int, at now: Date) {
        guard account == self.account else { return }
        refreshes += 1
        failure = Failure(refresh: refreshes, error: error, isFinal: isFinal)
        if isFinal {
            token = nil
            self.account += 1
        } else if let date = proactiveDate, date <= now, let end = token?.expiresAt {
            // The token is good for a while: try again in a quarter of the rest.
            proactiveDate = now.addingTimeInterval(max(1, end.timeIntervalSince(now) / 4))
        }
    }

    /// Signs in with a token of another account, or out.
    mutating func sign(in new: AccessToken?, at now: Date, random: Double) {
        account += 1
        failure = nil
        begun = []
        if let new { set(new, at: now, random: random) } else { (token, proactiveDate) = (nil, nil) }
    }

    private mutating func set(_ new: AccessToken, at now: Date, random: Double) {
        token = new
        generation += 1
        proactiveDate = policy.proactiveDate(of: new, obtainedAt: now, random: random)
    }
}
#endif
