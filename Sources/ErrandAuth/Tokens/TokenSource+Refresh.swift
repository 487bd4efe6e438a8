#if Auth
internal import ErrandCore
internal import Synchronization

extension TokenSource {
    /// The first step of a refresh.
    private enum Beginning {
        /// Refreshes this token; `nil` if there is no token.
        case refresh(AccessToken?)
        /// Saves the token of an earlier refresh.
        case save
        /// Changes nothing. The callers repeat their decision.
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
                    // At some servers, a refresh token can be used only once. If the store can't keep a new token, no refresh may be sent.
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
    /// - Parameter stored: the token in the store. Another process may have refreshed or replaced this token.
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

    /// Counts a refresh, just before the refresh is sent. Returns `false` if the refresh has already ended, or the account has changed.
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

    /// Decides what the error of a refresh means. If the error is final and the token is not usable any more, signs out.
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
                observers.yield(.signedOut(because: error))
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
        // The change is reported under the lock, so that observers get the changes in the right order.
        observers.yield(.refreshed(new))
        return true
    }
}
#endif
