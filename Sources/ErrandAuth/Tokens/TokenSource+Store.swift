#if Auth
internal import ErrandCore
internal import Synchronization

extension TokenSource {
    func readStore() async throws {
        guard let store else { return }
        let token: AccessToken?
        do {
            token = try await runAsRefresh { try await store.load() }
        } catch {
            throw AuthenticationError(.storeFailed, underlying: error)
        }
        state.withLock { state in
            // The app has signed in while the store was read.
            guard !state.isLoaded else { return }
            state.isLoaded = true
            guard let token else { return }
            state.machine.sign(in: token.belonging(to: nil), at: now(), random: random())
            state.policy.follow(token)
            observers.yield(.signedIn(token.belonging(to: nil)))
        }
    }

    func writeIfNeeded() async throws {
        guard store != nil else { return }
        while state.withLock({ $0.written < $0.wanted.version }) {
            try await flights.run(.write, mustFinish: true) { [self] in try await write() }
        }
    }

    /// Writes all pending changes to the store, even if the caller is cancelled.
    func writeToTheEnd() async throws { try await runShielded(on: executor) { [self] in try await writeIfNeeded() } }

    /// Writes the latest change that the store must record. At most one call of this function is in progress at any time.
    func write() async throws {
        guard let store else { return }
        do {
            try await runAsRefresh {
                try await store.atomically { [self] in
                    let (change, version) = state.withLock(\.wanted)
                    guard let change else { return }
                    let outcome = try await outcome(of: change, version, in: store)
                    switch outcome {
                    case .save(let token): try await store.save(token)
                    case .remove: try await store.remove()
                    case .keep, .follow: break
                    }
                    state.withLock { end(outcome, version, &$0) }
                }
            }
        } catch {
            throw AuthenticationError(.storeFailed, underlying: error)
        }
    }

    /// Compares a change with the store's token, and returns the outcome to write.
    private func outcome(
        of change: TokenStorePolicy.Change, _ version: Int, in store: any TokenStore
    ) async throws -> TokenStorePolicy.Outcome {
        let stored: AccessToken?
        switch change {
        // A sign-in replaces any record, even an unreadable record.
        case .signIn: stored = nil
        case .signOut(id: nil): return .remove
        case .signOut:
            do {
                stored = try await store.load()
            } catch {
                return .remove
            }
        case .refreshed, .obtained, .refused: stored = try await store.load()
        }
        return state.withLock { state in
            // If the app has signed in or out during the comparison, that newer change is written next, and this change is dropped.
            state.wanted.version == version ? state.policy.outcome(of: change, stored: stored) : .keep
        }
    }

    /// Records a write that has ended.
    private func end(_ outcome: TokenStorePolicy.Outcome, _ version: Int, _ state: inout State) {
        if case .save(let token) = outcome { state.policy.saved(token) }
        // The app has signed in or out during the write.
        guard state.wanted.version == version else {
            state.written = max(state.written, version)
            return
        }
        if case .follow(let token) = outcome { return follow(token, &state) }
        let unsaved = state.unsaved
        state.wantNothing()
        if let unsaved { _ = use(unsaved.token, account: unsaved.account, &state) }
    }

    /// Saves a new token, and then uses the token.
    func adopt(_ new: AccessToken, account: Int, seen: AccessToken?) async throws {
        let isCurrent = state.withLock { state in
            guard state.machine.account == account else { return false }
            state.want(state.policy.obtain(new, seen: seen, newID: TokenStorePolicy.newID()))
            // If the save fails, the token is kept in memory, and saved before the next refresh.
            if store != nil { state.unsaved = (new, account) }
            return true
        }
        guard isCurrent else { throw CancellationError() }
        if store != nil {
            try await flights.run(.write, mustFinish: true) { [self] in try await write() }
            try await writeIfNeeded()
        } else {
            guard state.withLock({ use(new, account: account, &$0) }) else { throw CancellationError() }
        }
    }

    /// Adopts the sign-in or sign-out of another process. Requests that began earlier repeat their decision, and get no token of the other
    /// account.
    func follow(_ stored: AccessToken?, _ state: inout State) {
        let token = stored?.belonging(to: nil)
        state.machine.sign(in: token, at: now(), random: random())
        state.policy.follow(stored)
        state.wantNothing()
        observers.yield(token.map { .signedIn($0) } ?? .signedOut(because: nil))
    }
}
#endif
