#if Auth
public import ErrandCore
internal import Synchronization

/// The token of one account. A source refreshes the token once for all requests, saves the token, and reports changes to observers.
///
/// ```swift
/// let tokens = TokenSource(store: FileTokenStore(atPath: path)) { old in
///     let new = try await auth.post("/refresh", body: .json(Refresh(token: old.refreshToken)), as: Tokens.self)
///     return AccessToken(new.access, expiresAt: Date() + new.expiresIn, refreshToken: new.refresh)
/// }
/// let api = APIClient(.default.authenticate(.bearer(tokens)).retry().server("https://api.example"))
///
/// try await tokens.signIn(first)
/// for await change in tokens.changes { print(change) }      // signed in, refreshed, signed out, …
/// ```
///
/// **Refresh:** a token is refreshed when a server refuses the token, or when the token has expired. In the background, a token is
/// refreshed shortly before it expires (``RefreshPolicy``). All requests wait for the same refresh.
/// - A call refreshes the token at most once. If the server refuses the new token too, the call ends with that response.
/// - If the source already has a newer token than the refused token, the request is sent again with the newer token, without a
///   refresh.
/// - If all waiting requests are cancelled, the refresh continues, so that no rotated refresh token is lost.
/// - If a refresh fails, all waiting requests fail with its error. Earlier requests with the same token fail with that error too,
///   if the server refuses their token.
/// - If a server permanently refuses to refresh a token, a valid token is used until the token expires or a server refuses it. Then
///   nobody is signed in.
/// - If the expiry date of a new token is already in the past, that date or the clock of this machine is wrong. The token is
///   used until a server refuses it.
///
/// **Within a refresh:** requests through a stack that authenticates with the same source are sent without its token. Therefore, a
/// refresh and a store may use the same client. Within a refresh, ``token(by:)`` throws.
///
/// **Store:** the first request loads the token. A new token is saved before any request uses it. If the store can't save the new
/// token, no refresh begins until the save succeeds. Each request tries to save the new token. A request that needs the new token
/// fails with the code `storeFailed`.
///
/// With a ``FileTokenStore``, processes that share the file refresh one after the other. Each process uses the token that another
/// process has obtained. If another process has signed in or out, this source signs in or out too at its next refresh.
///
/// **Signing out** cancels a refresh in progress: the result of the refresh is dropped, and the waiting requests fail immediately.
/// A request that began for one account never gets the token of another account: the request fails with ``AuthenticationError`` and
/// the code `accountChanged`.
///
/// Each account needs a separate source. Descriptions and mirrors show no token.
public final class TokenSource: Sendable {
    enum Work: Hashable, Sendable {
        case load
        case refresh(TokenMachine.RefreshID)
        case write
    }

    struct State: Sendable {
        var machine: TokenMachine
        var policy = TokenStorePolicy()
        var isLoaded: Bool
        /// The change that the store must record, and the number of the change. The token of the change may not be in use yet.
        var wanted: (change: TokenStorePolicy.Change?, version: Int) = (nil, 0)
        var written = 0
        /// A new token that the store has not saved yet.
        var unsaved: (token: AccessToken, account: Int)?

        /// Whether the store has recorded all changes.
        var isSaved: Bool { wanted.version == written }

        mutating func want(_ change: TokenStorePolicy.Change) { wanted = (change, wanted.version + 1) }

        /// Drops all pending writes.
        mutating func wantNothing() {
            unsaved = nil
            written = wanted.version
        }
    }

    /// The sources for which this task does work.
    @TaskLocal private static var work: [Mark] = []

    /// Marks the work of a source while it is in progress. When the work has ended, any tasks that are still running are no longer
    /// part of the work.
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
    private let obtainToken: @Sendable (AccessToken?) async throws -> AccessToken
    private let isFinal: @Sendable (any Error) -> Bool
    let now: @Sendable () -> Date
    let random: @Sendable () -> Double
    private let executor: (any TaskExecutor)?
    /// The number of the source, which no other source of this process has.
    let number: Int
    private let account: String?

    private static let lastNumber = Atomic(0)
    private static func nextNumber() -> Int { lastNumber.add(1, ordering: .relaxed).newValue }

    /// Creates a source for an account that signs in.
    ///
    /// While nobody is signed in, requests fail with ``AuthenticationError`` and the code `signedOut`, and `refresh` is not called. For
    /// a program that needs no sign-in, use ``obtaining(_:store:account:policy:isFinal:now:random:executor:_:)``.
    ///
    /// - Parameters:
    ///   - token: the first token, which replaces the store's token. `nil`, the default: the token is loaded from the store. If the
    ///     store is empty, nobody is signed in.
    ///   - store: keeps the token between runs. `nil`, the default: the token is kept in memory only.
    ///   - account: the name of the account, such as `github/1234`. All runs of the app use the name for this account and for no
    ///     other. Stores keep the account's data under this name (``/ErrandCore/CredentialIdentity/isDurable``). No other account
    ///     may sign in with this source or with its store. `nil`, the default: the account's data is kept in memory only.
    ///   - policy: the time and the rate of refreshes.
    ///   - isFinal: returns whether an error of `refresh` means that no later refresh can succeed. If true, a token that has
    ///     expired or was refused is dropped, and requests fail with the code `refreshRefused`. By default
    ///     ``isFinalRefreshError(_:)``.
    ///   - now: returns the current date.
    ///   - random: returns a number from 0 up to, but not including, 1, for the jitter.
    ///   - executor: the executor of the refreshes, with which a test can choose the order of tasks. `nil`, the default, means the
    ///     default executor.
    ///   - refresh: returns a new token for the old token. If the new token has no refresh token, the source keeps the old refresh
    ///     token ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
    public convenience init(
        _ token: AccessToken? = nil, store: (any TokenStore)? = nil, account: String? = nil, policy: RefreshPolicy = .standard,
        isFinal: @escaping @Sendable (any Error) -> Bool = TokenSource.isFinalRefreshError,
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        executor: (any TaskExecutor)? = nil,
        refresh: @escaping @Sendable (AccessToken) async throws -> AccessToken
    ) {
        self.init(
            token, store: store, account: account, policy: policy, obtainsWithoutToken: false, isFinal: isFinal, now: now, random: random,
            executor: executor
        ) { old in
            // No refresh begins while nobody is signed in.
            guard let old else { throw AuthenticationError(.signedOut) }
            return try await refresh(old)
        }
    }

    /// Returns a source that obtains a token without a sign-in, for example with the credentials of a service.
    ///
    /// ```swift
    /// let tokens = TokenSource.obtaining { _ in
    ///     let new = try await auth.post("/service-token", as: Tokens.self)
    ///     return AccessToken(new.access, expiresAt: Date() + new.expiresIn)
    /// }
    /// ```
    ///
    /// The first request obtains a token. After a sign-out, and after a final error of `obtain`, the next request obtains a token. For
    /// OAuth 2, use ``init(clientCredentials:scopes:parameters:store:account:policy:)``.
    ///
    /// - Parameters:
    ///   - token: the first token, which replaces the store's token. `nil`, the default: the token is loaded from the store. If the
    ///     store is empty, the first request obtains a token.
    ///   - store: keeps the token between runs. `nil`, the default: the token is kept in memory only.
    ///   - account: the name under which stores keep the account's data. `nil`, the default: the data is kept in memory only.
    ///   - policy: the time and the rate at which tokens are replaced.
    ///   - isFinal: returns whether an error of `obtain` means that the old token can't be replaced. If true, a token that has expired or
    ///     was refused is dropped. By default ``isFinalRefreshError(_:)``.
    ///   - now: returns the current date.
    ///   - random: returns a number from 0 up to, but not including, 1, for the jitter.
    ///   - executor: the executor on which tokens are obtained. `nil`, the default, means the default executor.
    ///   - obtain: returns a new token. The argument is the old token; `nil` if there is no old token.
    public static func obtaining(
        _ token: AccessToken? = nil, store: (any TokenStore)? = nil, account: String? = nil, policy: RefreshPolicy = .standard,
        isFinal: @escaping @Sendable (any Error) -> Bool = TokenSource.isFinalRefreshError,
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        executor: (any TaskExecutor)? = nil,
        _ obtain: @escaping @Sendable (AccessToken?) async throws -> AccessToken
    ) -> TokenSource {
        TokenSource(
            token, store: store, account: account, policy: policy, obtainsWithoutToken: true, isFinal: isFinal, now: now, random: random,
            executor: executor, obtain: obtain)
    }

    /// - Parameters:
    ///   - obtainsWithoutToken: whether `obtain` can obtain a token without an earlier token.
    ///   - obtain: returns a new token. The argument is the old token; `nil` if there is no old token.
    init(
        _ token: AccessToken?, store: (any TokenStore)?, account: String?, policy: RefreshPolicy, obtainsWithoutToken: Bool,
        isFinal: @escaping @Sendable (any Error) -> Bool, now: @escaping @Sendable () -> Date, random: @escaping @Sendable () -> Double,
        executor: (any TaskExecutor)?, obtain: @escaping @Sendable (AccessToken?) async throws -> AccessToken
    ) {
        flights = SingleFlight(executor: executor)
        self.store = store
        obtainToken = obtain
        self.isFinal = isFinal
        self.now = now
        self.random = random
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

    /// Returns whether the error of a refresh means that a person must sign in again.
    ///
    /// True for these errors:
    /// - any failure whose ``/ErrandCore/isUnauthorized`` is true: a ``/ErrandCore/StatusError`` with the status 401, and a
    ///   ``/ErrandCore/ServiceError`` with that status or that `equivalentStatus`
    /// - an ``OAuthError`` whose ``OAuthError/isFinal`` is true
    ///
    /// False for an ``AuthenticationError``: the refresh itself could not be authenticated, and a later refresh may succeed.
    public static func isFinalRefreshError(_ error: any Error) -> Bool {
        switch error {
        case is AuthenticationError: false
        case let error as OAuthError: error.isFinal
        default: error.isUnauthorized
        }
    }

    // MARK: Requests

    /// Returns the token; `nil` if nobody is signed in. The first call loads the token from the store.
    ///
    /// This function sends no request: the token may have expired. Call this function when an app starts, to show whether somebody
    /// is signed in.
    ///
    /// - Throws: ``AuthenticationError`` with the code `storeFailed`; `CancellationError`.
    public func load() async throws -> AccessToken? {
        if !state.withLock(\.isLoaded) { try await wait(for: .load, by: nil, nil) { [self] in try await readStore() } }
        return current
    }

    /// Returns the current token. If the token has expired, refreshes it first.
    ///
    /// - Parameter deadline: the instant at which the wait for a refresh ends. `nil`, the default: the wait has no deadline.
    /// - Throws: ``AuthenticationError``; ``/ErrandCore/TransportError`` if the deadline passes; `CancellationError`.
    public func token(by deadline: Deadline? = nil) async throws -> AccessToken { try await issue(by: deadline, for: nil).token }

    /// The current token, without a wait. The token may have expired. `nil` if nobody is signed in, or if the store was not read
    /// yet.
    public var current: AccessToken? { state.withLock { $0.machine.token } }

    /// Whether a request belongs to a refresh of this source.
    var isRefreshing: Bool { Self.work.contains { $0.source == number && $0.isActive } }

    /// Returns the identity of an account.
    ///
    /// - Parameter account: the number of the account to which a token was issued.
    func identity(ofAccount account: Int) -> CredentialIdentity {
        if let name = self.account { return CredentialIdentity(scheme: "bearer", account: name) }
        return CredentialIdentity(scheme: "bearer", "\(number)", "\(account)")
    }

    /// - Parameter refused: the token with which a server has refused the request.
    func issue(refusing refused: TokenMachine.Issued? = nil, by deadline: Deadline?, for request: Request?) async throws
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
            case .use(var issued, refreshing: let id):
                issued.isNew = hasWaited
                if let id, !hasUnsaved { flights.begin(.refresh(id)) { [self] in try await performRefresh(id) } }
                return issued
            case .fail(let code, let underlying): throw AuthenticationError(code, underlying: underlying, request: request)
            case .refresh(let id):
                // Until the save succeeds, the store holds a refresh token that is used up.
                if hasUnsaved, let storeError { throw storeError }
                try await wait(for: .refresh(id), by: deadline, request) { [self] in try await performRefresh(id) }
                hasWaited = true
            }
        }
    }

    /// Loads the token, and saves a token that is not saved yet.
    ///
    /// - Returns: the error of the save; `nil` if every token is saved. If the save fails, the current token can still be used.
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

    /// Waits for work that all callers share. If the callers are cancelled, the work continues.
    private func wait(
        for key: Work, by deadline: Deadline?, _ request: Request?, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        do {
            guard let deadline else { return try await flights.run(key, mustFinish: true, work) }
            let before = deadline.remaining
            try await withDeadline(
                deadline,
                onTimeout: {
                    deadline.timeoutError(in: .queue, since: before, "while waiting for a token", request: request, delivery: .notSent)
                }, discard: { _ in }, operation: { [flights] in try await flights.run(key, mustFinish: true, work) })
        } catch is CancellationError where !Task.isCancelled {
            // The account has changed. The caller decides again.
        }
    }

    // MARK: Refresh

    /// The first step of a refresh.
    private enum Beginning {
        /// Refreshes this token; `nil` if there is no token.
        case refresh(AccessToken?)
        /// Saves the token of an earlier refresh.
        case save
        /// Changes nothing. The callers decide again.
        case nothing
    }

    func performRefresh(_ id: TokenMachine.RefreshID) async throws {
        guard let store else {
            if case .refresh(let old) = begin(id, stored: nil), try count(id) { try await obtain(id, from: old, seen: nil) }
            return
        }
        do {
            try await store.exclusively { [self] in
                let stored = try await store.load()
                switch begin(id, stored: stored) {
                case .refresh(let old):
                    // The refresh uses up the refresh token. If the store can't keep a new token, no refresh may be sent.
                    try await runAsRefresh { try await store.prepareToSave() }
                    if try count(id) { try await obtain(id, from: old, seen: stored) }
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
    private func begin(_ id: TokenMachine.RefreshID, stored: AccessToken?) -> Beginning {
        state.withLock { state in
            // The refresh has already ended.
            guard state.machine.nextRefresh == id else { return .nothing }
            let start: TokenStorePolicy.Start =
                store == nil
                ? .refresh(state.machine.token)
                : state.policy.beforeRefresh(
                    stored: stored, own: state.machine.token, isSaved: state.isSaved, hasUnsaved: state.unsaved != nil, at: now())
            switch start {
            case .use(let token):
                _ = use(token.belonging(to: nil), account: id.account, &state)
                return .nothing
            case .follow(let token):
                follow(token, &state)
                return .nothing
            case .save: return .save
            case .refresh(let token): return .refresh(token?.belonging(to: nil))
            }
        }
    }

    /// Counts a refresh that is sent now. Returns `false` if the refresh has already ended, or the account has changed.
    ///
    /// - Throws: ``AuthenticationError`` if there were too many refreshes.
    private func count(_ id: TokenMachine.RefreshID) throws -> Bool {
        try state.withLock { state in
            guard state.machine.nextRefresh == id else { return false }
            guard state.machine.begin(at: now()) else {
                throw AuthenticationError(.tooManyRefreshes, underlying: state.machine.lastError)
            }
            return true
        }
    }

    /// Obtains a token, saves the token, and then uses the token.
    ///
    /// - Parameters:
    ///   - old: the token to refresh.
    ///   - seen: the token of the store.
    private func obtain(_ id: TokenMachine.RefreshID, from old: AccessToken?, seen: AccessToken?) async throws {
        let account = id.account
        var new: AccessToken
        do {
            new = try await runAsRefresh { try await obtainToken(old) }
        } catch is CancellationError {
            // Either the app's `refresh` threw a `CancellationError`, or the account has changed.
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

    /// Handles the error of a refresh.
    ///
    /// - Parameter old: the token that the refresh used.
    /// - Throws: the error with which requests fail, unless another process has changed the token.
    private func refreshFailed(_ error: any Error, of old: AccessToken?, account: Int) async throws {
        var isFinal = isFinal(error)
        // If the store lets two processes refresh at the same time, the other process may have used up the refresh token.
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

    /// Begins to use a token. Returns `false` if the account has changed.
    func use(_ new: AccessToken, account: Int, _ state: inout State) -> Bool {
        guard state.machine.end(new, account: account, at: now(), random: random()) else { return false }
        // The change is reported under the lock, so that observers get the changes in their order.
        observers.report(.refreshed(new))
        return true
    }

    /// Runs work of a refresh. Requests within the work are sent without the token.
    func runAsRefresh<Result>(_ work: () async throws -> Result) async throws -> Result {
        let mark = Mark(source: number)
        defer { mark.end() }
        return try await Self.$work.withValue(Self.work + [mark]) { try await work() }
    }

    // MARK: The account

    /// Signs in: uses the token from now on, and saves the token. A refresh in progress is cancelled. If the task is cancelled, the
    /// token is still saved.
    ///
    /// - Throws: ``AuthenticationError`` with the code `storeFailed`. After the error, the token is used, and each request tries
    ///   to save the token.
    public func signIn(_ token: AccessToken) async throws {
        var token = token.belonging(to: nil)
        if token.obtainedAt == nil { token.obtainedAt = now() }
        change(to: token)
        try await writeToTheEnd()
    }

    /// Signs out: removes the token from the store, even if the task is cancelled. A refresh in progress is cancelled. Requests
    /// that wait for the refresh fail with ``AuthenticationError`` and the code `signedOut`.
    ///
    /// - Returns: the latest token, for example to revoke the token; `nil` if there was no token, or if the store could not be read.
    /// - Throws: ``AuthenticationError`` with the code `storeFailed`, if the store can't be emptied. After the error, nobody is
    ///   signed in.
    @discardableResult
    public func signOut() async throws -> AccessToken? { try await signOut(clearing: []) }

    /// Signs out like ``signOut()``, and removes the account's data from stores.
    ///
    /// ```swift
    /// try await tokens.signOut(clearing: [cache, cookies])
    /// ```
    ///
    /// First the token is removed. Then each store forgets the account, in the order of `stores`. A cancelled task or an earlier
    /// failure does not stop the later stores. If nobody is signed in, and the source has no account name, the stores have nothing
    /// to remove.
    ///
    /// - Returns: the latest token, as ``signOut()`` does.
    /// - Throws: the first error, after the last store: ``AuthenticationError`` with the code `storeFailed`, or the error of a
    ///   store. After the error, nobody is signed in.
    @discardableResult
    public func signOut(clearing stores: [any AccountBoundStore]) async throws -> AccessToken? {
        if !state.withLock(\.isLoaded) {
            // An unreadable record is removed like any other record.
            try? await runShielded { [self] in try await flights.run(.load, mustFinish: true) { [self] in try await readStore() } }
        }
        let (old, account) = change(to: nil)
        let identity = identity(ofAccount: account)
        try await runShielded { [self] in
            var first: (any Error)?
            do { try await writeIfNeeded() } catch { first = error }
            for store in stores {
                do { try await store.forget(identity) } catch { first = first ?? error }
            }
            if let first { throw first }
        }
        return old
    }

    /// - Returns: the latest token, and the number of the account before the change.
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
        // Callers decide again. A write in progress continues, and the next write replaces its result.
        flights.cancelAll(where: { if case .refresh = $0 { true } else { false } })
        return old
    }

    /// Runs work to its end, even if the caller is cancelled.
    func runShielded(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await Task(executorPreference: executor) { try await work() }.value
    }

    /// Waits until all current refreshes and all current writes to the store have ended. Call this function before a program
    /// ends. Otherwise, a new token could be lost.
    ///
    /// If the task is cancelled, the wait continues.
    ///
    /// - Parameters:
    ///   - limit: the longest wait. Default: 10 s.
    ///   - clock: measures the wait.
    public func finish(within limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()) async {
        try? await runShielded { [flights] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await flights.waitUntilIdle() }
                group.addTask { try await clock.sleep(for: limit.bounded) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    // MARK: Observers

    /// The changes of the account from now on, in their order. Each access returns a new sequence, so that any number of observers
    /// can read the changes. For the token before the first change, read ``current`` after you have got the sequence.
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
