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
/// **Refresh:** a token is refreshed if a server refuses the token, or if a request needs the token after its expiry. If a request uses a
/// token that expires soon (``RefreshPolicy``), the token is refreshed in the background. If several requests need a new token, all of them
/// wait for one refresh.
/// - A call refreshes the token at most once. With an outer `retry`, each attempt refreshes the token at most once. If the server refuses
///   the new token too, the call ends with the server's response.
/// - If the source already has a newer token than the refused token, the request is sent again with the newer token, without a
///   refresh.
/// - If all waiting requests are cancelled, the refresh continues, so that no rotated refresh token is lost.
/// - If a refresh fails, all waiting requests fail with the error of the refresh. If a request was sent before the refresh failed, and the
///   server refuses the token of the request, the request fails with the error of that refresh.
/// - If a server permanently refuses to refresh a token, the source uses the token as long as the token is valid. When this token expires,
///   or a server refuses the token, the account is signed out.
/// - If the expiry date of a new token is already in the past, this date or the clock of this machine is wrong. Therefore, the expiry date
///   is ignored, and the token is used until a server refuses the token.
///
/// **Within a refresh:** requests through a stack that authenticates with the same source are sent without the source's token.
/// Therefore, a refresh and a store may use the same client. Within a refresh, ``token(by:)`` throws.
///
/// **Store:** the first request loads the token. A new token is saved before any request uses it. If the store can't save the new
/// token, no refresh begins until the save succeeds. Each request tries to save the new token. A request that needs the new token
/// fails with the code `storeFailed`.
///
/// With a ``FileTokenStore``, several processes may share the file. The processes refresh the token one after the other. Each process uses
/// the token that another process has obtained. If another process has signed in or out, this source signs in or out too at its next
/// refresh.
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

    /// The sources whose refreshes this task is a part of.
    @TaskLocal private static var work: [Mark] = []

    /// Marks the work of a source while the work is in progress. When the work has ended, any tasks that are still running are no longer
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
    /// For an observer that does not read, the 16 newest changes are kept.
    let observers = StreamReaders<TokenChange>(keptElements: 16)
    let store: (any TokenStore)?
    let obtainToken: @Sendable (AccessToken?) async throws -> AccessToken
    let isFinal: @Sendable (any Error) -> Bool
    let now: @Sendable () -> Date
    let random: @Sendable () -> Double
    let executor: (any TaskExecutor)?
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
    ///   - store: the store that keeps the token between runs. `nil`, the default: the token is kept in memory only.
    ///   - account: the name of the account, such as `github/1234`. All runs of the app must use this name for this account only. Caches
    ///     and cookie jars (``/ErrandCore/AccountBoundStore``) keep the account's data under this name. No other account may sign in with
    ///     this source or with its store. `nil`, the default: the account's data is kept in memory only.
    ///   - policy: the time and the rate of refreshes.
    ///   - isFinal: a closure that returns whether an error of `refresh` means that no later refresh can succeed. If the closure returns
    ///     true, a token that has expired or was refused is dropped, and requests fail with the code `refreshRefused`. Default:
    ///     ``isFinalRefreshError(_:)``.
    ///   - now: a closure that returns the current date.
    ///   - random: a closure that returns a number from 0 up to, but not including, 1, for the jitter.
    ///   - executor: the executor of the refreshes, with which a test can choose the order of tasks. `nil`, the default, means the
    ///     default executor.
    ///   - refresh: a closure that returns a new token for the old token. If the new token has no refresh token, the source keeps the old
    ///     refresh token ([RFC 6749, section 6](https://www.rfc-editor.org/rfc/rfc6749#section-6)).
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
    ///   - store: the store that keeps the token between runs. `nil`, the default: the token is kept in memory only.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    ///   - policy: the time and the rate at which tokens are replaced.
    ///   - isFinal: a closure that returns whether an error of `obtain` means that the old token can't be replaced. If the closure returns
    ///     true, a token that has expired or was refused is dropped. Default: ``isFinalRefreshError(_:)``.
    ///   - now: a closure that returns the current date.
    ///   - random: a closure that returns a number from 0 up to, but not including, 1, for the jitter.
    ///   - executor: the executor on which tokens are obtained. `nil`, the default, means the default executor.
    ///   - obtain: a closure that returns a new token. The argument is the old token; `nil` if there is no old token.
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
    ///   - obtain: a closure that returns a new token. The argument is the old token; `nil` if there is no old token.
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
    /// - any failure whose ``/ErrandCore/isUnauthorized`` is true: a ``/ErrandCore/StatusError`` with the status 401, or a
    ///   ``/ErrandCore/ServiceError`` whose status or `equivalentStatus` is 401
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
    /// This function sends no request. Therefore the token may have expired. Call this function when an app starts, to show
    /// whether somebody is signed in.
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

    /// Whether the current task does work of a refresh of this source.
    var isRefreshing: Bool { Self.work.contains { $0.source == number && $0.isActive } }

    /// Returns the identity of an account.
    ///
    /// - Parameter account: the number of the account to which a token was issued.
    func identity(ofAccount account: Int) -> CredentialIdentity {
        if let name = self.account { return CredentialIdentity(scheme: "bearer", account: name) }
        return CredentialIdentity(scheme: "bearer", "\(number)", "\(account)")
    }

    /// The account of the current token, even if the token has expired; `nil` if there is no token.
    var currentIdentity: CredentialIdentity? {
        let account = state.withLock { $0.machine.token == nil ? nil : $0.machine.account }
        return account.map { identity(ofAccount: $0) }
    }

    /// - Parameter refused: the token that a server has refused for this request; `nil` if no token was refused.
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
            // The account has changed. The caller repeats its decision.
        }
    }

    /// Runs work of a refresh. Requests within the work are sent without the token.
    func runAsRefresh<Result>(_ work: () async throws -> Result) async throws -> Result {
        let mark = Mark(source: number)
        defer { mark.end() }
        return try await Self.$work.withValue(Self.work + [mark]) { try await work() }
    }

    // MARK: Observers

    /// The changes of the account from now on, in the order in which the changes occur. Each access returns a new sequence, so that any
    /// number of observers can read the changes. To also know the current token, get the sequence first, and then read ``current``.
    ///
    /// If an observer does not read, the newest 16 changes are kept.
    public var changes: AsyncStream<TokenChange> { observers.add() }
}

extension TokenSource: CustomStringConvertible, HidesStorage {
    /// `token source, signed in`, `token source, signed out`, or `token source, not loaded yet`.
    public var description: String {
        let (isLoaded, token) = state.withLock { ($0.isLoaded, $0.machine.token) }
        return "token source, " + (isLoaded ? token == nil ? "signed out" : "signed in" : "not loaded yet")
    }
}
#endif
