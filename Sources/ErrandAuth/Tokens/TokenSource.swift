#if Auth
public import ErrandCore
internal import Synchronization

/// The token of one account, which is refreshed once for all requests, saved, and observed.
///
/// ```swift
/// let tokens = TokenSource(store: FileTokenStore(atPath: path)) { old in
///     let new = try await auth.post("/refresh", body: .json(Refresh(token: old?.refreshToken)), as: Tokens.self)
///     return AccessToken(new.access, expiresAt: Date() + new.expiresIn, refreshToken: new.refresh)
/// }
/// let api = APIClient(.default.authenticate(.bearer(tokens)).retry().server("https://api.example"))
///
/// try await tokens.signIn(first)
/// for await change in tokens.changes { print(change) }      // signed in, refreshed, signed out, …
/// ```
///
/// **Refresh:** a token is refreshed when a server refuses the token, when the token has expired, and in the background shortly before its end
/// (``RefreshPolicy``). All requests wait for the same refresh.
/// - A call refreshes the token at most once. If the new token is refused too, the call ends with that response.
/// - If the source already has a newer token than the refused one, the request is sent again with the newer token, without a refresh.
/// - If all waiting requests are cancelled, the refresh continues, so that no rotated refresh token is lost.
/// - If a refresh fails, all waiting requests fail with its error. Requests that were sent with the same token before fail with that error too.
/// - If a server refuses a refresh for good, a valid token is used until the token expires or a server refuses it. Then nobody is signed in.
/// - If a new token has expired already, its date or the clock of this machine is wrong: the token is used until a server refuses it.
///
/// **Within a refresh:** requests through a stack that authenticates with this very source are sent without its token. So a refresh, and a store, may use
/// the same client. ``token(by:)`` throws there.
///
/// **Store:** the first request loads the token. A new token is saved before any request uses it. If the store can't save the new token, no refresh begins
/// until the store has taken it: each request tries to save it, and a request that needs it fails with the reason `storeFailed`.
///
/// With a ``FileTokenStore``, processes that share the file refresh one after the other. Each process takes over the token that another process has obtained.
/// If another process has signed in or out, this source does the same at its next refresh.
///
/// **Signing out** beats a refresh in progress: the result of the refresh is dropped, and the waiting requests fail at once. A request that was begun for
/// one account never gets the token of another account: the request fails with ``AuthenticationError`` and the reason `accountChanged`.
///
/// Each account needs a source of its own. Descriptions and mirrors show no token.
public final class TokenSource: Sendable {
    enum Work: Hashable, Sendable {
        case load
        case refresh(TokenMachine.Turn)
        case write
    }

    struct State: Sendable {
        var machine: TokenMachine
        var policy = TokenStorePolicy()
        var isLoaded: Bool
        /// What the store is to hold: a token that may not be in use yet, and its number.
        var wanted: (change: TokenStorePolicy.Change?, version: Int) = (nil, 0)
        var written = 0
        /// A token that was obtained, and that the store has not taken yet.
        var unsaved: (token: AccessToken, account: Int)?

        /// Whether the store has taken all changes.
        var isSaved: Bool { wanted.version == written }

        mutating func want(_ change: TokenStorePolicy.Change) { wanted = (change, wanted.version + 1) }

        /// Takes note that nothing is to be written any more.
        mutating func wantNothing() {
            unsaved = nil
            written = wanted.version
        }
    }

    /// The work of sources that this task is part of.
    @TaskLocal private static var work: [Mark] = []

    /// Work of a source in progress. A task that outlives it is not a part of it any more.
    private final class Mark: Sendable {
        let source: Int
        private let hasEnded = Atomic(false)

        init(source: Int) { self.source = source }

        var isActive: Bool { !hasEnded.load(ordering: .relaxed) }
        func end() { hasEnded.store(true, ordering: .relaxed) }
    }

    let state: Mutex<State>
    let flights: SingleFlight<Work, Void>
    let observers = TokenObservers()
    let store: (any TokenStore)?
    private let refresh: @Sendable (AccessToken?) async throws -> AccessToken
    private let isFinal: @Sendable (any Error) -> Bool
    let now: @Sendable () -> Date
    let random: @Sendable () -> Double
    private let executor: (any TaskExecutor)?
    /// A number that no other source of this process has.
    let number: Int
    private let account: String?

    private static let lastNumber = Atomic(0)
    private static func nextNumber() -> Int { lastNumber.add(1, ordering: .relaxed).newValue }

    /// Creates a source for an account that signs in.
    ///
    /// - Parameters:
    ///   - token: the first token, which replaces the store's token. If `nil`, the default, the first token is the store's. If the store is empty, nobody is
    ///     signed in.
    ///   - store: keeps the token between runs; `nil`, the default, keeps it in memory alone.
    ///   - account: the name of the account, which all runs of the app use for this account and for no other: such as `github/1234`. Stores keep the
    ///     account's data under this name (``/ErrandCore/CredentialIdentity/isDurable``). Nobody else may sign in with this source, nor with its store.
    ///     `nil`, the default: what belongs to the account is kept in memory alone.
    ///   - policy: the time and the rate of refreshes.
    ///   - obtainsWithoutToken: whether `refresh` can obtain a token without an earlier one, as with client credentials. By default `false`: without a
    ///     token, requests fail with ``AuthenticationError`` and the reason `signedOut`.
    ///   - isFinal: whether an error of `refresh` means that no refresh can succeed. If so, a token that has expired or was refused is dropped, and
    ///     requests fail with the reason `refreshRefused`. By default ``isFinalRefreshError(_:)``.
    ///   - now: the current date.
    ///   - random: a number from 0 up to, but not including, 1: the jitter.
    ///   - refresh: returns a new token for the old token, by any work. If there is no old token, the argument is `nil`. If the new token has no refresh
    ///     token, the old refresh token stays ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
    public convenience init(
        _ token: AccessToken? = nil, store: (any TokenStore)? = nil, account: String? = nil, policy: RefreshPolicy = .standard,
        obtainsWithoutToken: Bool = false,
        isFinal: @escaping @Sendable (any Error) -> Bool = TokenSource.isFinalRefreshError,
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        refresh: @escaping @Sendable (AccessToken?) async throws -> AccessToken
    ) {
        self.init(
            token, store: store, account: account, policy: policy, obtainsWithoutToken: obtainsWithoutToken, isFinal: isFinal, now: now,
            random: random, executor: nil, refresh: refresh)
    }

    /// - Parameter executor: runs the refreshes, for tests with an order of their own.
    init(
        _ token: AccessToken?, store: (any TokenStore)?, account: String? = nil, policy: RefreshPolicy = .standard,
        obtainsWithoutToken: Bool = false,
        isFinal: @escaping @Sendable (any Error) -> Bool = TokenSource.isFinalRefreshError, now: @escaping @Sendable () -> Date,
        random: @escaping @Sendable () -> Double, executor: (any TaskExecutor)?,
        refresh: @escaping @Sendable (AccessToken?) async throws -> AccessToken
    ) {
        flights = SingleFlight(executor: executor)
        (self.store, self.refresh, self.isFinal, self.now, self.random) = (store, refresh, isFinal, now, random)
        (self.executor, self.account, number) = (executor, account, Self.nextNumber())
        let machine = TokenMachine(source: number, policy: policy, obtainsWithoutToken: obtainsWithoutToken)
        var state = State(machine: machine, isLoaded: store == nil || token != nil)
        if let token {
            let token = token.belonging(to: nil)
            state.machine.sign(in: token, at: now(), random: random())
            state.policy.signIn(id: TokenStorePolicy.newID())
            if store != nil { state.want(.signIn(token)) }
        }
        self.state = Mutex(state)
    }

    /// Whether the error of a refresh says that a person has to sign in again.
    ///
    /// True for any failure that ``/ErrandCore/isUnauthorized``: a ``/ErrandCore/StatusError`` with the status 401, and a ``/ErrandCore/ServiceError`` with that
    /// status or that `equivalentStatus`. True for an ``OAuthError`` that ``OAuthError/isFinal``. False for an ``AuthenticationError``: the refresh itself
    /// could not be authenticated, and a later refresh may succeed.
    public static func isFinalRefreshError(_ error: any Error) -> Bool {
        switch error {
        case is AuthenticationError: false
        case let error as OAuthError: error.isFinal
        default: error.isUnauthorized
        }
    }

    // MARK: Requests

    /// Returns the token, which is loaded from the store the first time; `nil` if nobody is signed in.
    ///
    /// This function sends no request: the token may have expired. Use it at the start of an app that shows whether somebody is signed in.
    ///
    /// - Throws: ``AuthenticationError`` with the reason `storeFailed`; `CancellationError`.
    public func load() async throws -> AccessToken? {
        if !state.withLock(\.isLoaded) { try await wait(for: .load, by: nil, nil) { [self] in try await readStore() } }
        return current
    }

    /// Returns the current token. If the token has expired, refreshes it first.
    ///
    /// - Parameter deadline: the instant at which the wait for a refresh ends. `nil`, the default, sets no end.
    /// - Throws: ``AuthenticationError``; ``/ErrandCore/TransportError`` if the deadline passes; `CancellationError`.
    public func token(by deadline: Deadline? = nil) async throws -> AccessToken { try await issued(by: deadline, for: nil).token }

    /// The current token without any wait; `nil` if nobody is signed in, or the store was not read yet. It may have expired.
    public var current: AccessToken? { state.withLock { $0.machine.token } }

    /// Whether a request belongs to a refresh of this source.
    var isRefreshing: Bool { Self.work.contains { $0.source == number && $0.isActive } }

    /// Whose token it is.
    ///
    /// - Parameter account: the number of the account to which the token was issued.
    func identity(ofAccount account: Int) -> CredentialIdentity {
        if let name = self.account { return CredentialIdentity(scheme: "bearer", account: name) }
        return CredentialIdentity(scheme: "bearer", "\(number)", "\(account)")
    }

    /// - Parameter refused: the token with which a server has refused the request.
    func issued(refusing refused: TokenMachine.Issued? = nil, by deadline: Deadline?, for request: Request?) async throws
        -> TokenMachine.Issued
    {
        if isRefreshing { throw AuthenticationError(.withinRefresh, request: request) }
        var account = refused?.account
        var hasWaited = false
        while true {
            let storeError = try await prepare(by: deadline, for: request)
            let (decision, hasUnsaved) = state.withLock { state in
                let decision = state.machine.decision(refusing: refused, for: account, at: now())
                if account == nil, state.machine.token != nil { account = state.machine.account }
                return (decision, state.unsaved != nil)
            }
            switch decision {
            case .use(var issued, refreshing: let turn):
                issued.isNew = hasWaited
                if let turn, !hasUnsaved { flights.begin(.refresh(turn)) { [self] in try await performRefresh(turn) } }
                return issued
            case .fail(let reason, let underlying): throw AuthenticationError(reason, underlying: underlying, request: request)
            case .refresh(let turn):
                // The store has the refresh token that is used up until then.
                if hasUnsaved, let storeError { throw storeError }
                try await wait(for: .refresh(turn), by: deadline, request) { [self] in try await performRefresh(turn) }
                hasWaited = true
            }
        }
    }

    /// Loads the token, and saves what was not saved yet.
    ///
    /// - Returns: why it could not be saved. What is in use is used all the same.
    private func prepare(by deadline: Deadline?, for request: Request?) async throws -> AuthenticationError? {
        guard store != nil else { return nil }
        if !state.withLock(\.isLoaded) {
            try await wait(for: .load, by: deadline, request) { [self] in try await readStore() }
        }
        guard state.withLock({ $0.written < $0.wanted.version }) else { return nil }
        do {
            try await wait(for: .write, by: deadline, request) { [self] in try await write() }
            return nil
        } catch let error as AuthenticationError {
            return error
        }
    }

    /// Waits for work that all callers share. It goes on without them.
    private func wait(
        for key: Work, by deadline: Deadline?, _ request: Request?, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        do {
            guard let deadline else { return try await flights.run(key, mustFinish: true, work) }
            try await racing(
                deadline,
                onTimeout: {
                    .timedOut(
                        .queue, after: nil, deadline.passedMessage + ", while waiting for a token", request: request, delivery: .notSent)
                }, discard: { _ in }, operation: { [flights] in try await flights.run(key, mustFinish: true, work) })
        } catch is CancellationError where !Task.isCancelled {
            // Another account has signed in, or nobody is signed in: the decision is made anew.
        }
    }

    // MARK: Refresh

    /// What a refresh does.
    private enum Beginning {
        /// Refreshes this token; `nil` if there is none.
        case refresh(AccessToken?)
        /// Saves the token of an earlier refresh.
        case save
        /// Leaves all as it is: callers decide anew.
        case nothing
    }

    func performRefresh(_ turn: TokenMachine.Turn) async throws {
        guard let store else {
            if case .refresh(let old) = begin(turn, stored: nil), try count(turn) { try await obtain(turn, from: old, seen: nil) }
            return
        }
        do {
            try await store.exclusively { [self] in
                let stored = try await store.load()
                switch begin(turn, stored: stored) {
                case .refresh(let old):
                    // The server uses the refresh token up: a token that can't be kept must not be requested.
                    try await marked { try await store.prepareToSave() }
                    if try count(turn) { try await obtain(turn, from: old, seen: stored) }
                case .save: try await writeIfNeeded()
                case .nothing: break
                }
            }
        } catch let error where error is AuthenticationError || error is CancellationError {
            throw error
        } catch {
            throw AuthenticationError(.storeFailed, underlying: error)
        }
    }

    /// Decides how a refresh begins.
    ///
    /// - Parameter stored: the token of the store, which another process may have refreshed or replaced.
    private func begin(_ turn: TokenMachine.Turn, stored: AccessToken?) -> Beginning {
        state.withLock { state in
            // It has ended by now.
            guard state.machine.turn == turn else { return .nothing }
            let start: TokenStorePolicy.Start =
                store == nil
                ? .refresh(state.machine.token)
                : state.policy.beforeRefresh(
                    stored: stored, own: state.machine.token, isSaved: state.isSaved, hasUnsaved: state.unsaved != nil, at: now())
            switch start {
            case .use(let token):
                _ = use(token.belonging(to: nil), account: turn.account, &state)
                return .nothing
            case .follow(let token):
                follow(token, &state)
                return .nothing
            case .save: return .save
            case .refresh(let token): return .refresh(token?.belonging(to: nil))
            }
        }
    }

    /// Counts a refresh that is sent now; `false` if the refresh has ended by now, or another account is signed in.
    ///
    /// - Throws: ``AuthenticationError`` if there were too many refreshes.
    private func count(_ turn: TokenMachine.Turn) throws -> Bool {
        try state.withLock { state in
            guard state.machine.turn == turn else { return false }
            guard state.machine.begin(at: now()) else {
                throw AuthenticationError(.tooManyRefreshes, underlying: state.machine.lastError)
            }
            return true
        }
    }

    /// Obtains a token, saves it, and uses it then.
    ///
    /// - Parameters:
    ///   - old: the token to refresh.
    ///   - seen: the token of the store.
    private func obtain(_ turn: TokenMachine.Turn, from old: AccessToken?, seen: AccessToken?) async throws {
        let account = turn.account
        var new: AccessToken
        do {
            new = try await marked { try await refresh(old) }
        } catch is CancellationError {
            // The refresh was given up by its own work, or by a sign-out.
            guard state.withLock({ $0.machine.account == account }) else { throw CancellationError() }
            let error = AuthenticationError(.refreshFailed, underlying: CancellationError())
            state.withLock { _ = $0.machine.fail(error, isFinal: false, account: account, at: now()) }
            throw error
        } catch {
            try await refreshFailed(error, of: old, account: account)
            return
        }
        if new.refreshToken == nil { new.refreshToken = old?.refreshToken }
        if new.obtainedAt == nil { new.obtainedAt = now() }
        try await adopt(new.belonging(to: nil), account: account, seen: seen)
    }

    /// Decides what the error of a refresh means.
    ///
    /// - Parameter old: the token that was to be refreshed.
    /// - Throws: the error that requests fail with, unless another process has changed the token.
    private func refreshFailed(_ error: any Error, of old: AccessToken?, account: Int) async throws {
        var isFinal = isFinal(error)
        // Where processes can't be kept from refreshing at the same time, another one may have used the refresh token up.
        var stored: AccessToken?
        if isFinal { stored = try? await store?.load() }
        let record = stored
        let (isCurrent, isSettled) = state.withLock { state in
            guard state.machine.account == account else { return (false, false) }
            if isFinal {
                switch state.policy.afterRefusal(of: old, stored: record, at: now()) {
                case .final: break
                case .tryAgain: isFinal = false
                case .use(let token): return (true, use(token.belonging(to: nil), account: account, &state))
                case .follow(let token):
                    follow(token, &state)
                    return (true, true)
                }
            }
            if state.machine.fail(error, isFinal: isFinal, account: account, at: now()) {
                state.want(state.policy.refuse(old))
                observers.report(.signedOut(because: error))
            }
            return (true, false)
        }
        guard isCurrent else { throw CancellationError() }
        if isSettled { return }
        try? await writeIfNeeded()
        throw AuthenticationError(isFinal ? .refreshRefused : .refreshFailed, underlying: error)
    }

    /// Uses a token from now on; `false` if another account is signed in by now, or nobody is.
    func use(_ new: AccessToken, account: Int, _ state: inout State) -> Bool {
        guard state.machine.end(new, account: account, at: now(), random: random()) else { return false }
        // Under the lock, so that observers get the changes in their order.
        observers.report(.refreshed(new))
        return true
    }

    /// Runs work of a refresh: requests within it go without the token.
    func marked<Result>(_ work: () async throws -> Result) async throws -> Result {
        let mark = Mark(source: number)
        defer { mark.end() }
        return try await Self.$work.withValue(Self.work + [mark]) { try await work() }
    }

    // MARK: The account

    /// Signs in: the token is saved, and used from now on. A refresh in progress is cancelled. If the task is cancelled, the token is saved all the same.
    ///
    /// - Throws: ``AuthenticationError`` with the reason `storeFailed`. The token is used all the same, and each request tries to save the token.
    public func signIn(_ token: AccessToken) async throws {
        var token = token.belonging(to: nil)
        if token.obtainedAt == nil { token.obtainedAt = now() }
        change(to: token)
        try await writeToTheEnd()
    }

    /// Signs out: the token is removed from the store, also if the task is cancelled. A refresh in progress is cancelled. Requests that wait for the refresh
    /// fail with ``AuthenticationError`` and the reason `signedOut`.
    ///
    /// - Returns: the token that was obtained last, for example to revoke that token; `nil` if there was none, or if the store could not be read.
    /// - Throws: ``AuthenticationError`` with the reason `storeFailed`, if the store can't be emptied. Nobody is signed in all the same.
    @discardableResult
    public func signOut() async throws -> AccessToken? { try await signOut(clearing: []) }

    /// Signs out as ``signOut()``, and removes the account's data from stores.
    ///
    /// ```swift
    /// try await tokens.signOut(clearing: [cache, cookies])
    /// ```
    ///
    /// First the token is removed. Then each store forgets the account, in the order of `stores`, also if the task is cancelled, and if the removal of
    /// the token or another store has failed. If nobody is signed in, and the source has no name of an account, the stores have nothing to remove.
    ///
    /// - Returns: the token that was obtained last, as ``signOut()`` does.
    /// - Throws: the first error, after the last store: ``AuthenticationError`` with the reason `storeFailed`, or the error of a store. Nobody is
    ///   signed in all the same.
    @discardableResult
    public func signOut(clearing stores: [any AccountBoundStore]) async throws -> AccessToken? {
        if !state.withLock(\.isLoaded) {
            // An unreadable record is removed like any other.
            try? await shielded { [self] in try await flights.run(.load, mustFinish: true) { [self] in try await readStore() } }
        }
        let (old, account) = change(to: nil)
        let identity = identity(ofAccount: account)
        try await shielded { [self] in
            var first: (any Error)?
            do { try await writeIfNeeded() } catch { first = error }
            for store in stores {
                do { try await store.forget(identity) } catch { first = first ?? error }
            }
            if let first { throw first }
        }
        return old
    }

    /// - Returns: the token that was obtained last, and the number of the account until now.
    @discardableResult
    private func change(to token: AccessToken?) -> (old: AccessToken?, account: Int) {
        let old = state.withLock { state in
            let old = (state.unsaved?.token ?? state.machine.token, state.machine.account)
            state.machine.sign(in: token, at: now(), random: random())
            state.isLoaded = true
            state.unsaved = nil
            if let token {
                state.policy.signIn(id: TokenStorePolicy.newID())
                state.want(.signIn(token))
            } else {
                state.want(state.policy.signOut())
            }
            observers.report(token.map { .signedIn($0) } ?? .signedOut(because: nil))
            return old
        }
        // Callers decide anew. What is being written goes on, and is written over.
        flights.cancelAll(where: { if case .refresh = $0 { true } else { false } })
        return old
    }

    /// Does work that the cancellation of the caller does not reach.
    func shielded(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await Task(executorPreference: executor) { try await work() }.value
    }

    /// Waits until refreshes and writes to the store that are in progress have ended. Use this before a program ends: otherwise, a new token could be lost.
    ///
    /// If the task is cancelled, the wait continues.
    ///
    /// - Parameters:
    ///   - limit: the longest wait: 10 s by default.
    ///   - clock: measures the wait.
    public func finish(within limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()) async {
        try? await shielded { [flights] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await flights.drained() }
                group.addTask { try await clock.sleep(for: limit.bounded) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    // MARK: Observers

    /// The changes of the account from now on, in their order. Each call returns a sequence of its own, for any number of observers. For the token before the
    /// first change, read ``current`` after this call.
    ///
    /// If an observer does not read, the newest 16 changes are kept.
    public var changes: AsyncStream<TokenChange> { observers.changes() }
}

extension TokenSource: CustomStringConvertible, HidesStorage {
    /// `token source, signed in`, `token source, signed out`, or `token source, not loaded yet`.
    public var description: String {
        let (isLoaded, token) = state.withLock { ($0.isLoaded, $0.machine.token) }
        return "token source, " + (isLoaded ? token == nil ? "signed out" : "signed in" : "not loaded yet")
    }
}
#endif
