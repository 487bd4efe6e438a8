#if Auth
internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing

/// What a ``TokenSource`` does with its store, which other processes may share: a value without a store, a clock and a task.
///
/// **The record.** The store holds one token and the identifier of its sign-in (``AccessToken/signInID``): a random text, which each sign-in makes
/// anew and each refresh keeps. Two tokens belong to the same sign-in if their identifiers are equal. A token without an identifier was saved by an
/// earlier version: its identifier is a hash of the token, so that all processes that load the token find the same one.
///
/// **The locks.** `exclusively` is held for a whole refresh: one process refreshes at a time. `atomically` is held for a comparison and a write, and
/// never while a request is sent: a sign-in and a sign-out do not wait for a refresh of another process. A process that dies releases both.
///
/// | Event | Lock | What the source does |
/// |---|---|---|
/// | The first use | none | loads the record |
/// | A sign-in | `atomically` | saves the token with a new identifier, whatever the store holds |
/// | A sign-out | `atomically` | removes the record if it is of this sign-in. If nobody is signed in here, or the store has not taken the sign-in yet: removes any record |
/// | Before a refresh | `exclusively` | loads the record: ``beforeRefresh(stored:own:isSaved:hasUnsaved:at:)`` |
/// | After a refresh | both | loads the record again, compares, and saves the new token: ``outcome(of:stored:)`` |
/// | A refresh that the server refuses for good | both | loads the record again: ``afterRefusal(of:stored:at:)`` |
///
/// **The comparison.** A record of the same sign-in is this source's own: if the record has a newer token, the source takes that over. A record of
/// another sign-in is another account: the source follows it, as if that account had signed in here. No record where this source has loaded or saved
/// one is a sign-out of another process: the source signs out, and does not save.
///
/// **What follows from it:**
/// - A token of one sign-in is used for no request of another.
/// - No sign-out is undone by a refresh.
/// - A refresh token that the server has replaced is in the store when the locks are released, unless the save fails.
/// - If the save fails, the source keeps the new token in memory, and begins no refresh until the store has taken it.
/// - If a process dies before the save, the new token is lost. The other processes then use the old refresh token, and only the server can refuse it.
struct TokenStorePolicy: Sendable, Hashable {
    /// The sign-in of a source.
    struct SignIn: Sendable, Hashable {
        let id: String
        /// Whether the store had it: it was loaded or saved.
        var isStored: Bool
    }

    /// What a source wants the store to hold.
    enum Change: Sendable, Hashable {
        /// A token of a new sign-in.
        case signIn(AccessToken)
        /// A newer token of this sign-in. `seen` is the record from before the refresh.
        case refreshed(AccessToken, seen: AccessToken?)
        /// A token that was obtained without an earlier one. `seen` is the record from before.
        case obtained(AccessToken, seen: AccessToken?)
        /// No record of this sign-in; `nil`: no record at all.
        case signOut(id: String?)
        /// Not this record, which the server has refused to refresh.
        case refused(AccessToken?)
    }

    /// What becomes of a change.
    enum Outcome: Sendable, Hashable {
        case save(AccessToken)
        case remove
        /// Nothing is written.
        case keep
        /// Nothing is written: another process has signed in or out, and this source does the same.
        case follow(AccessToken?)
    }

    /// How a refresh begins.
    enum Start: Sendable, Equatable {
        /// With this token; `nil` if nobody is signed in.
        case refresh(AccessToken?)
        /// Not at all: another process has obtained this token.
        case use(AccessToken)
        /// Not at all: another process has signed in or out.
        case follow(AccessToken?)
        /// Not at all: the source has a token that the store has not taken. The refresh token of the one before is used up.
        case save
    }

    /// What a refusal of the server means.
    enum Refusal: Sendable, Equatable {
        /// A person has to sign in again.
        case final
        /// Nothing: another process has obtained this token.
        case use(AccessToken)
        /// Nothing: the record has another refresh token, which the next refresh uses.
        case tryAgain
        /// Nothing: another account has signed in.
        case follow(AccessToken)
    }

    /// Who is signed in; `nil` if nobody is.
    private(set) var signIn: SignIn?

    // MARK: The sign-in

    /// A new identifier: 128 random bits.
    static func newID() -> String { hex(randomOctets(16)) }

    /// The identifier of the sign-in that a record belongs to.
    static func id(of stored: AccessToken) -> String {
        if let id = stored.signInID { return id }
        return "token-" + hex(OctetHash.of("\(stored.value)\n\(stored.refreshToken ?? "")".utf8, by: .sha256))
    }

    /// Takes note of an account that signs in here.
    mutating func signIn(id: String) { signIn = SignIn(id: id, isStored: false) }

    /// Takes note of a record that was loaded, or that this source follows.
    mutating func follow(_ stored: AccessToken?) { signIn = stored.map { SignIn(id: Self.id(of: $0), isStored: true) } }

    /// Takes note that nobody is signed in here any more.
    ///
    /// - Returns: what is to be removed.
    mutating func signOut() -> Change {
        defer { signIn = nil }
        // A sign-in that the store has not taken yet would have replaced any record.
        return .signOut(id: signIn.flatMap { $0.isStored ? $0.id : nil })
    }

    /// Takes note that the server has refused for good to refresh a token.
    mutating func refuse(_ used: AccessToken?) -> Change {
        signIn = nil
        return .refused(used)
    }

    /// Takes note of a token that was obtained.
    ///
    /// - Parameters:
    ///   - seen: the record from before.
    ///   - newID: the identifier of a sign-in, if nobody is signed in.
    /// - Returns: what is to be saved.
    mutating func obtain(_ new: AccessToken, seen: AccessToken?, newID: String) -> Change {
        guard signIn == nil else { return .refreshed(new, seen: seen) }
        signIn(id: newID)
        return .obtained(new, seen: seen)
    }

    /// Takes note of a record that was saved.
    mutating func saved(_ token: AccessToken) {
        if let id = signIn?.id, token.signInID?.isExactly(id) == true { signIn?.isStored = true }
    }

    // MARK: Decisions

    /// How a refresh begins.
    ///
    /// - Parameters:
    ///   - stored: the record; `nil` if there is none.
    ///   - own: the token of this source.
    ///   - isSaved: whether the store has taken all changes of this source.
    ///   - hasUnsaved: whether one of these changes is a token that a refresh has obtained. That token is not in use yet.
    func beforeRefresh(stored: AccessToken?, own: AccessToken?, isSaved: Bool, hasUnsaved: Bool, at now: Date) -> Start {
        if hasUnsaved { return .save }
        guard let signIn else {
            // The record may be one that could not be removed.
            guard isSaved, let stored else { return .refresh(nil) }
            return .follow(stored)
        }
        guard signIn.isStored else { return .refresh(own) }
        guard let stored else { return .follow(nil) }
        guard isOwn(stored, own) else { return .follow(stored) }
        return own?.value.isExactly(stored.value) == true || stored.hasExpired(at: now) ? .refresh(stored) : .use(stored)
    }

    /// What a refusal of the server to refresh a token means.
    ///
    /// - Parameters:
    ///   - used: the token that was to be refreshed.
    ///   - stored: the record now; `nil` if there is none.
    func afterRefusal(of used: AccessToken?, stored: AccessToken?, at now: Date) -> Refusal {
        guard let signIn, signIn.isStored, let stored else { return .final }
        guard isOwn(stored, used) else { return .follow(stored) }
        if Self.hasSameSecrets(stored, used) { return .final }
        return stored.hasExpired(at: now) ? .tryAgain : .use(stored)
    }

    /// What becomes of a change.
    ///
    /// - Parameter stored: the record; `nil` if there is none.
    func outcome(of change: Change, stored: AccessToken?) -> Outcome {
        switch change {
        case .signIn(let token): return .save(identified(token))
        case .obtained(let token, let seen):
            // Somebody may have signed in meanwhile.
            guard let stored, !Self.hasSameSecrets(stored, seen) else { return .save(identified(token)) }
            return .follow(stored)
        case .refreshed(let token, let seen):
            // The sign-in itself is still to be saved, and replaces any record.
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
    /// - Parameter own: a token of this source: a store that keeps no identifiers returns it without one.
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
