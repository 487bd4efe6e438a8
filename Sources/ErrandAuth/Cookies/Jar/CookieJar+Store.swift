#if Auth
public import ErrandCore
internal import ErrandFormats
internal import Synchronization

extension CookieJar {
    /// Loads the cookies from the store, unless the cookies are loaded. The first request of a stack loads the cookies too. Cookies
    /// that the app set before the load are kept.
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
                state.table.merge(stored, state.clearing, at: now())
            }
        }
        writeInBackground()
    }

    /// Writes all changes to the store, and waits until the changes are durable. If the task is cancelled, the changes are still written.
    ///
    /// Call this function before a program ends. Without a store, the function does nothing.
    ///
    /// - Throws: ``CookieJarError``. The changes are kept, and the next write tries again.
    public func save() async throws {
        guard store != nil else { return }
        try await runShielded { [self] in
            // A write that began before this call may lack the latest changes. Therefore its failure is not the result of this call.
            var mayLackChanges = state.withLock { $0.writer != nil }
            while let number = state.withLock({ $0.writer ?? $0.startWriting() }) {
                do {
                    try await flights.run(.write(number), mustFinish: true) { [self] in try await write(number) }
                } catch {
                    guard mayLackChanges, !(error is CancellationError) else { throw error }
                }
                mayLackChanges = false
            }
        }
    }

    /// The error of the last write to the store; `nil` if the last write succeeded, or if there was no write. The jar keeps the changes,
    /// and tries again after the next change.
    public var saveFailure: CookieJarError? { state.withLock(\.saveFailure) }

    /// Starts a write, unless another write runs, or the store already has all changes.
    func writeInBackground() {
        guard store != nil, let number = state.withLock({ $0.startWriting() }) else { return }
        flights.begin(.write(number)) { [self] in try await write(number) }
    }

    /// Writes until the store has all changes. Does nothing if another write has replaced this write.
    private func write(_ number: Int) async throws {
        guard let store, state.withLock({ $0.writer == number }) else { return }
        do {
            try await load()
            while let (changes, clearing) = state.withLock({ $0.takeChanges() }) {
                do {
                    let stored = try await store.apply(changed: changes.changed, removed: changes.removed)
                    state.withLock { state in
                        state.table.merge(stored, clearing, at: now())
                        state.clearing.remove(clearing)
                    }
                } catch {
                    state.withLock { $0.table.restore(changes) }
                    throw error is CookieJarError ? error : CookieJarError(.saveFailed, underlying: error)
                }
            }
        } catch {
            state.withLock { state in
                state.writer = nil
                state.saveFailure = error as? CookieJarError ?? CookieJarError(.saveFailed, underlying: error)
            }
            throw error
        }
    }
}

extension CookieJar.State {
    /// Returns the number of a new write; `nil` if a write runs, or the store has all changes.
    mutating func startWriting() -> Int? {
        guard writer == nil, table.unwritten.isPending else { return nil }
        lastWriter += 1
        writer = lastWriter
        return writer
    }

    /// Returns the changes that the store lacks, and the removals of all cookies and of sites. If there are no changes, ends the write and
    /// returns `nil`.
    mutating func takeChanges() -> (UnwrittenChanges.Batch, UnwrittenChanges.Clearing)? {
        guard table.unwritten.isPending else {
            (writer, saveFailure) = (nil, nil)
            return nil
        }
        return (table.takeChanges(), clearing)
    }
}

extension CookieJar: AccountBoundStore {
    /// Removes all cookies if the jar belongs to the account, or if the jar is bound to no account. Waits until the store has removed the
    /// cookies too.
    ///
    /// Responses to requests that began earlier don't bring cookies back.
    ///
    /// ```swift
    /// try await tokens.signOut(clearing: [jar])
    /// ```
    ///
    /// - Throws: ``CookieJarError`` if the store can't be changed. The cookies in memory are removed even then.
    public func forget(_ identity: CredentialIdentity) async throws {
        if let account, !account.isSameAccount(as: identity) { return }
        removeAll()
        try await save()
    }
}
#endif
