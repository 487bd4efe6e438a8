/// Whose credentials a request carries: what tells the exchanges of one account from those of another.
///
/// `authenticate` sets it on each request that it gives credentials to. Coalescing shares no exchange between two identities, and a cache
/// stores the responses of each apart. It stays the same when a token is refreshed, and changes when another account signs in. A redirect to
/// another origin removes it.
///
/// Its description shows nothing of it.
public struct CredentialIdentity: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let scheme: String
    private let parts: [String]

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - scheme: the name of the authentication scheme, such as `basic`. It is shown.
    ///   - parts: what tells two accounts of this scheme apart, such as the name of the user. They may be secret, and are never shown.
    public init(scheme: String, _ parts: String...) { (self.scheme, self.parts) = (scheme, parts) }

    /// The name of the scheme.
    public var description: String { "\(scheme) identity" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["identity": description]) }
}

private enum CredentialIdentityKey: OptionKey {
    static var defaultValue: CredentialIdentity? { nil }
}

extension RequestOptions {
    /// Whose credentials the request carries; `nil` without credentials. `authenticate` sets it.
    public var credentialIdentity: CredentialIdentity? {
        get { self[CredentialIdentityKey.self] }
        set { self[CredentialIdentityKey.self] = newValue }
    }
}
