#if Auth
/// A place in which a ``TokenSource`` keeps its token between runs of an app.
///
/// A store keeps the whole token, with ``AccessToken/signInID``. With this identifier, a source detects that another process has signed in
/// with another account. A store that several processes share needs both locks: ``exclusively(_:)`` and ``atomically(_:)``. With both
/// locks, the rules of ``FileTokenStore`` for several processes also apply to the store.
///
/// A source saves or removes one token at a time.
///
/// To test your own store, use `TokenStoreBehavior` of the product `ErrandStoreConformance`.
public protocol TokenStore: Sendable {
    /// Returns the token; `nil` if the store is empty.
    ///
    /// `nil` means that nobody is signed in: the next refresh signs out, and the session is lost. If the token can't be read, for
    /// example because the keychain is locked, throw an error.
    ///
    /// - Throws: any error if the token can't be read. Requests that need the store fail with ``AuthenticationError`` and the code
    ///   `storeFailed`.
    func load() async throws -> AccessToken?
    /// Replaces the token. When this function returns, the token must be stored durably. The source uses the token only after this function
    /// has returned.
    func save(_ token: AccessToken) async throws
    /// Removes the token. Does nothing if the store is empty.
    func remove() async throws
    /// Makes sure that the store can keep one more token. By default, does nothing.
    ///
    /// A source calls this function within ``exclusively(_:)``, before each refresh. If the function throws an error, the source
    /// does not send the refresh. A server that rotates refresh tokens invalidates the old refresh token when it sends the new
    /// refresh token. A new token that the store can't keep is lost when the process ends.
    ///
    /// In this function, a custom store can reserve the space of a token, or save its current token once more. At the end of
    /// ``exclusively(_:)``, the store must release the reserved space that the refresh has not used.
    ///
    /// - Throws: any error if the store can't keep a token, for example because the disk is full. The requests fail with
    ///   ``AuthenticationError`` and the code `storeFailed`, and the source keeps its token.
    func prepareToSave() async throws
    /// Runs `work`, which is a whole refresh, while no other process refreshes the token. By default, runs `work` without a lock.
    /// Within `work`, the source also calls ``prepareToSave()`` and ``atomically(_:)``.
    ///
    /// In this function, a store that several processes share waits until the refreshes of other processes have ended. If two processes use
    /// the same refresh token, a server that rotates refresh tokens may end the session.
    ///
    /// - Throws: the errors of `work`, and an error if other processes hold the lock too long.
    func exclusively(_ work: @Sendable () async throws -> Void) async throws
    /// Runs `work` while no other process runs this function. `work` loads the token, and then saves or removes the token. By default,
    /// `work` runs without a lock.
    ///
    /// `work` sends no request. In this function, a sign-in or a sign-out waits for the writes of other processes, and not for their
    /// refreshes. Use a lock that differs from the lock of ``exclusively(_:)``.
    ///
    /// - Throws: the errors of `work`, and an error if other processes hold the lock too long.
    func atomically(_ work: @Sendable () async throws -> Void) async throws
}

extension TokenStore {
    /// Does nothing.
    public func prepareToSave() async throws {}
    /// Runs `work` without a lock.
    public func exclusively(_ work: @Sendable () async throws -> Void) async throws { try await work() }
    /// Runs `work` without a lock.
    public func atomically(_ work: @Sendable () async throws -> Void) async throws { try await work() }
}
#endif
