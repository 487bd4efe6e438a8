#if Auth
public import ErrandCore
internal import Synchronization

extension TokenSource {
    /// Signs in: the source uses the token from now on, and saves the token. A refresh in progress is cancelled. If the task is cancelled,
    /// the token is still saved.
    ///
    /// - Throws: ``AuthenticationError`` with the code `storeFailed`, if the token can't be saved. After the error, the source uses the
    ///   token, and each request tries to save the token.
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
    /// First the token is removed. Then each store forgets the account, in the order of `stores`. The later stores forget the account even
    /// if the task is cancelled, or if an earlier store fails. If nobody is signed in, and the source has no account name, the stores have
    /// nothing to remove.
    ///
    /// - Returns: the latest token. See ``signOut()``.
    /// - Throws: the first error, after the last store: ``AuthenticationError`` with the code `storeFailed`, or the error of a
    ///   store. After the error, nobody is signed in.
    @discardableResult
    public func signOut(clearing stores: [any AccountBoundStore]) async throws -> AccessToken? {
        if !state.withLock(\.isLoaded) {
            // An unreadable record is removed, too.
            try? await runShielded(on: executor) { [self] in
                try await flights.run(.load, mustFinish: true) { [self] in try await readStore() }
            }
        }
        let (old, account) = change(to: nil)
        let identity = identity(ofAccount: account)
        try await runShielded(on: executor) { [self] in
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
            observers.yield(token.map { .signedIn($0) } ?? .signedOut(because: nil))
            return old
        }
        // The callers of a cancelled refresh repeat their decision. A write to the store continues, and the next write replaces the record.
        flights.cancelAll(where: { if case .refresh = $0 { true } else { false } })
        return old
    }

    /// Waits until all current refreshes and all current writes to the store have ended. Call this function before a program ends. If the
    /// program ended during a refresh or a write, a new token could be lost.
    ///
    /// If the task is cancelled, the wait continues.
    ///
    /// - Parameters:
    ///   - limit: the longest wait. Default: 10 s.
    ///   - clock: the clock that measures the wait.
    public func finish(within limit: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()) async {
        try? await runShielded(on: executor) { [flights] in
            try await withLimit(limit, on: clock) { try await flights.waitUntilIdle() }
        }
    }
}
#endif
