/// A store that keeps data of accounts, such as responses, cookies or transfers, and removes the data of an account when that account signs out.
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
/// A store finds the data by ``RequestOptions/credentialIdentity`` of the requests:
/// - A durable identity, by a keyed digest of ``CredentialIdentity/canonicalOctets``. Identities with equal octets are of one account.
/// - A volatile identity, by the identity itself, and in memory alone.
public protocol AccountBoundStore: Sendable {
    /// Removes all data of an account. Does nothing if there is none.
    ///
    /// An exchange of the account may still be in progress. When this function has returned, the store must not keep a response of such an exchange.
    ///
    /// - Throws: any error if data could not be removed.
    func forget(_ identity: CredentialIdentity) async throws
}
