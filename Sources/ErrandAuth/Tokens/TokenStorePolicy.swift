#if Auth
internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing

/// The rules by which a ``TokenSource`` uses its store, which other processes may share. The type is a pure value, without a
/// store, a clock or a task.
///
/// **The record.** The store holds one token and the identifier of its sign-in (``AccessToken/signInID``): a random text. Each sign-in
/// makes a new identifier, and each refresh keeps the identifier. If the identifiers of two tokens are equal, the tokens belong to the same
/// sign-in. A token without an identifier was saved by an earlier version of this library. The identifier of such a token is a hash of the
/// token, so that all processes that load the token compute the same identifier.
///
/// **The locks.** The lock of `exclusively` is held for a whole refresh, so that one process refreshes at a time. The lock of
/// `atomically` is held for a comparison and a write, and never while a request is sent. Therefore a sign-in and a sign-out do
/// not wait for a refresh of another process. A process that dies releases both locks.
///
/// | Event | Lock | What the source does |
/// |---|---|---|
/// | The first use | none | loads the record |
/// | A sign-in | `atomically` | saves the token with a new identifier, and replaces any record |
/// | A sign-out | `atomically` | removes the record of this sign-in; if the sign-in was never saved, removes any record |
/// | Before a refresh | `exclusively` | loads the record: ``beforeRefresh(stored:own:isSaved:hasUnsaved:at:)`` |
/// | After a refresh | both | loads the record again, compares, and saves the new token: ``outcome(of:stored:)`` |
/// | A refresh that the server permanently refuses | both | loads the record again: ``afterRefusal(of:stored:at:)`` |
///
/// **The comparison.**
/// - A record of the same sign-in belongs to the source. If the record has a newer token, the source uses the newer token.
/// - A record of another sign-in belongs to another account. The source adopts the record, and signs in with the record's token.
/// - If the source has loaded or saved a record, and the record is missing, another process has signed out. The source signs out,
///   and saves no token.
///
/// **The consequences:**
/// - A token of one sign-in is never used for a request of another sign-in.
/// - A refresh never undoes a sign-out.
/// - When the locks are released, the store has the new refresh token, unless the save fails.
/// - If the save fails, the source keeps the new token in memory, and begins no refresh until the token is saved.
/// - If a process dies before the save, the new token is lost. The other processes use the old refresh token, and the server may refuse
///   that token.
struct TokenStorePolicy: Sendable, Hashable {
    /// The sign-in of a source.
    struct SignIn: Sendable, Hashable {
        let id: String
        /// Whether a record of the sign-in was loaded or saved.
        var isStored: Bool
    }

    /// A change that a source wants to write to the store.
    enum Change: Sendable, Hashable {
        /// A token of a new sign-in.
        case signIn(AccessToken)
        /// A newer token of this sign-in. `seen` is the record before the refresh.
        case refreshed(AccessToken, seen: AccessToken?)
        /// A token that was obtained without an earlier token. `seen` is the record before the token was obtained.
        case obtained(AccessToken, seen: AccessToken?)
        /// Removes the record of this sign-in; with `nil`, removes any record.
        case signOut(id: String?)
        /// Removes this record, because the server has refused to refresh its token.
        case refused(AccessToken?)
    }

    /// The result of comparing a change with the record.
    enum Outcome: Sendable, Hashable {
        case save(AccessToken)
        case remove
        /// Nothing is written.
        case keep
        /// Nothing is written. Another process has signed in or out, and this source adopts the change.
        case follow(AccessToken?)
    }

    /// The first step of a refresh.
    enum Start: Sendable, Equatable {
        /// Refreshes this token; `nil` if nobody is signed in.
        case refresh(AccessToken?)
        /// Sends no refresh, because another process has obtained this token.
        case use(AccessToken)
        /// Sends no refresh, because another process has signed in or out.
        case follow(AccessToken?)
        /// Sends no refresh, because the source has a new token that is not saved yet. The refresh token in the store is used up.
        case save
    }

    /// The meaning of a server's refusal to refresh a token.
    enum Refusal: Sendable, Equatable {
        /// A person must sign in again.
        case final
        /// The sign-in continues: another process has obtained this token.
        case use(AccessToken)
        /// The sign-in continues: the record has another refresh token, which the next refresh uses.
        case tryAgain
        /// The source adopts this record: another account has signed in.
        case follow(AccessToken)
    }

    /// The current sign-in; `nil` if nobody is signed in.
    private(set) var signIn: SignIn?

    // MARK: The sign-in

    /// Returns a new identifier: 128 random bits, as hexadecimal digits.
    static func newID() -> String { hex(randomOctets(16)) }

    /// Returns the identifier of the sign-in to which a record belongs.
    static func id(of stored: AccessToken) -> String {
        if let id = stored.signInID { return id }
        return "token-" + hex(OctetHash.of("\(stored.value)\n\(stored.refreshToken ?? "")".utf8, by: .sha256))
    }

    /// Records a sign-in in this process.
    mutating func signIn(id: String) { signIn = SignIn(id: id, isStored: false) }

    /// Remembers that this source has loaded or adopted a record.
    mutating func follow(_ stored: AccessToken?) { signIn = stored.map { SignIn(id: Self.id(of: $0), isStored: true) } }

    /// Records a sign-out in this process.
    ///
    /// - Returns: the change to write.
    mutating func signOut() -> Change {
        defer { signIn = nil }
        // The change of an unsaved sign-in has no ID, and therefore removes any record. A save of the sign-in would have replaced any
        // record too.
        return .signOut(id: signIn.flatMap { $0.isStored ? $0.id : nil })
    }

    /// Records that the server has permanently refused to refresh a token.
    mutating func refuse(_ used: AccessToken?) -> Change {
        signIn = nil
        return .refused(used)
    }

    /// Records a new token.
    ///
    /// - Parameters:
    ///   - seen: the record before the token was obtained.
    ///   - newID: the identifier of the new sign-in, used only if nobody is signed in.
    /// - Returns: the change to write.
    mutating func obtain(_ new: AccessToken, seen: AccessToken?, newID: String) -> Change {
        guard signIn == nil else { return .refreshed(new, seen: seen) }
        signIn(id: newID)
        return .obtained(new, seen: seen)
    }

    /// Records that a token was saved.
    mutating func saved(_ token: AccessToken) {
        if let id = signIn?.id, token.signInID?.isExactly(id) == true { signIn?.isStored = true }
    }

    // MARK: Decisions

    /// Decides the first step of a refresh.
    ///
    /// - Parameters:
    ///   - stored: the record; `nil` if the store is empty.
    ///   - own: the token of this source.
    ///   - isSaved: whether the store has saved all changes of this source.
    ///   - hasUnsaved: whether one of these changes is a token that a refresh has obtained. The obtained token is not in use yet.
    func beforeRefresh(stored: AccessToken?, own: AccessToken?, isSaved: Bool, hasUnsaved: Bool, at now: Date) -> Start {
        if hasUnsaved { return .save }
        guard let signIn else {
            // A sign-out may have failed to remove this record.
            guard isSaved, let stored else { return .refresh(nil) }
            return .follow(stored)
        }
        guard signIn.isStored else { return .refresh(own) }
        guard let stored else { return .follow(nil) }
        guard isOwn(stored, own) else { return .follow(stored) }
        return own?.value.isExactly(stored.value) == true || stored.hasExpired(at: now) ? .refresh(stored) : .use(stored)
    }

    /// Decides the meaning of a server's refusal to refresh a token.
    ///
    /// - Parameters:
    ///   - used: the token that the refresh used.
    ///   - stored: the current record; `nil` if the store is empty.
    func afterRefusal(of used: AccessToken?, stored: AccessToken?, at now: Date) -> Refusal {
        guard let signIn, signIn.isStored, let stored else { return .final }
        guard isOwn(stored, used) else { return .follow(stored) }
        if Self.hasSameSecrets(stored, used) { return .final }
        return stored.hasExpired(at: now) ? .tryAgain : .use(stored)
    }

    /// Compares a change with the record, and decides what to write.
    ///
    /// - Parameter stored: the record; `nil` if the store is empty.
    func outcome(of change: Change, stored: AccessToken?) -> Outcome {
        switch change {
        case .signIn(let token): return .save(identified(token))
        case .obtained(let token, let seen):
            // Another process may have signed in during the refresh.
            guard let stored, !Self.hasSameSecrets(stored, seen) else { return .save(identified(token)) }
            return .follow(stored)
        case .refreshed(let token, let seen):
            // The sign-in itself is not saved yet, and replaces any record.
            guard let signIn, signIn.isStored else { return .save(identified(token)) }
            guard let stored else { return .follow(nil) }
            return isOwn(stored, seen) ? .save(identified(token)) : .follow(stored)
        case .signOut(let id):
            guard let stored else { return .keep }
            return id?.isExactly(Self.id(of: stored)) ?? true ? .remove : .keep
        case .refused(let used):
            guard let stored, let used else { return .keep }
            return Self.hasSameSecrets(stored, used) ? .remove : .keep
        }
    }

    private func identified(_ token: AccessToken) -> AccessToken { token.belonging(to: signIn?.id) }

    /// Whether a record belongs to the sign-in of this source.
    ///
    /// - Parameter own: a token of this source. If the store does not keep sign-in identifiers, the record has no identifier. In this case,
    ///   the secrets of the record and of `own` are compared.
    private func isOwn(_ stored: AccessToken, _ own: AccessToken?) -> Bool {
        guard let signIn else { return false }
        return signIn.id.isExactly(Self.id(of: stored)) || (stored.signInID == nil && Self.hasSameSecrets(stored, own))
    }

    private static func hasSameSecrets(_ one: AccessToken, _ other: AccessToken?) -> Bool {
        guard let other else { return false }
        return one.value.isExactly(other.value) && one.refreshToken.isExactly(other.refreshToken)
    }
}
#endif
