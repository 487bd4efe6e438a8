#if Auth
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

extension CookieJar {
    /// Loads the cookies from the store, unless the cookies are already loaded. The first request of a stack also loads the cookies.
    /// Cookies that the app set before the load are kept.
    ///
    /// If the loading fails, the next call or the next request tries again.
    ///
    /// - Throws: ``CookieJarError`` with the code `loadFailed`; `CancellationError`.
    public func load() async throws {
        guard let store, !state.withLock(\.table.unwritten.isLoaded) else { return }
        try await flights.run(.load) { [self] in
            let stored: [Cookie]
            do {
                stored = try await store.load()
            } catch {
                if Task.isCancelled { throw CancellationError() }
                throw CookieJarError(.loadFailed, underlying: error)
            }
            state.withLock { state in
                guard !state.table.unwritten.isLoaded else { return }
                state.table.merge(stored, state.unwrittenRemovals, at: now())
            }
        }
        writeInBackground()
    }

    /// Writes all changes to the store, and waits until the changes are durable. If the task is cancelled, the changes are still written.
    ///
    /// Call this function before a program ends. Without a store, the function does nothing.
    ///
    /// - Throws: ``CookieJarError``. After the error, the jar keeps the changes for the next write.
    public func save() async throws {
        guard store != nil else { return }
        try await runShielded { [self] in try await writer.finish { [self] in try await write() } }
    }

    /// The error of the last write to the store; `nil` if the last write succeeded, or if there was no write. The jar keeps the changes,
    /// and tries again after the next change.
    public var saveFailure: CookieJarError? { writer.failure.map(CookieJarError.init(ofWrite:)) }

    /// Whether the store lacks a change.
    private var isPending: Bool { store != nil && state.withLock(\.table.unwritten.isPending) }

    /// Begins to write, unless the store already has all changes.
    func writeInBackground() {
        if isPending { writer.begin { [self] in try await write() } }
    }

    /// Writes until the store has all changes.
    private func write() async throws {
        guard let store, isPending else { return }
        do {
            try await load()
            while let (changes, removals) = state.withLock({ $0.takeChanges() }) {
                do {
                    let stored = try await store.apply(changed: changes.changed, removed: changes.removed)
                    state.withLock { state in
                        state.table.merge(stored, removals, at: now())
                        state.unwrittenRemovals.forget(removals)
                    }
                } catch {
                    state.withLock { $0.table.restore(changes) }
                    throw error
                }
            }
        } catch {
            throw CookieJarError(ofWrite: error)
        }
    }
}

extension CookieJarError {
    /// The error of a write: an error of the jar itself, or an error of the store.
    fileprivate init(ofWrite error: any Error) {
        self = error as? CookieJarError ?? CookieJarError(.saveFailed, underlying: error)
    }
}

extension CookieJar.State {
    /// Returns the changes and the removals that the store lacks; `nil` if the store lacks no change.
    mutating func takeChanges() -> (UnwrittenChanges.Batch, Removals)? {
        table.unwritten.isPending ? (table.takeChanges(), unwrittenRemovals) : nil
    }
}

extension CookieJar: AccountBoundStore {
    /// Removes all cookies if the jar belongs to the account, or if the jar is bound to no account. Waits until the store has removed the
    /// cookies too.
    ///
    /// A response to a request that began before the removal stores no cookies.
    ///
    /// ```swift
    /// try await tokens.signOut(clearing: [jar])
    /// ```
    ///
    /// - Throws: ``CookieJarError`` if the store can't be changed. Even after this error, the cookies in memory are removed.
    public func forget(_ identity: CredentialIdentity) async throws {
        if let account, !account.isSameAccount(as: identity) { return }
        removeAll()
        try await save()
    }
}
#endif
