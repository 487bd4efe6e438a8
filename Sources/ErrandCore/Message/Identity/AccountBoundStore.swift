/// A store with data of accounts, such as responses, cookies or transfers. When an account signs out, the store removes the data of
/// this account.
///
/// ```swift
/// final class Drafts: AccountBoundStore {
///     func forget(_ identity: CredentialIdentity) async throws {
///         guard let octets = identity.canonicalOctets else { return memory.removeAll(of: identity) }
///         try await files.removeAll(named: digest(octets, key: key))
///     }
/// }
///
/// try await tokens.signOut(clearing: [drafts])
/// ```
///
/// To find the data of an account, a store uses the ``RequestOptions/credentialIdentity`` of the requests:
/// - For a durable identity, the store uses a keyed digest of ``CredentialIdentity/canonicalOctets``. Identities with equal
///   octets belong to the same account: ``CredentialIdentity/isSameAccount(as:)``.
/// - For a volatile identity, the store uses the identity itself, only in memory.
public protocol AccountBoundStore: Sendable {
    /// Removes all data of an account. Does nothing if the store has no data of the account.
    ///
    /// An exchange of the account may still be in progress. After this function has returned, the store must not keep the response of an
    /// exchange that was in progress.
    ///
    /// - Throws: any error if the store can't remove the data.
    func forget(_ identity: CredentialIdentity) async throws
}
