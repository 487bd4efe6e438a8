internal import ErrandFormats

/// The account whose credentials a request carries. The identity distinguishes the exchanges of one account from the exchanges of
/// another account.
///
/// `authenticate` sets the identity on each request to which it adds credentials. `cookies` sets the identity on each request to which it
/// adds cookies, unless the request already has an identity. Coalescing shares no exchange between two
/// identities, and a cache stores the responses of each identity separately. The identity stays the same when a token is
/// refreshed, and changes when another account signs in. A redirect to another origin removes the identity.
///
/// An identity is durable or volatile:
/// - **Volatile**, from ``init(scheme:_:)``: valid only in this process. A persistent or shared cache store keeps no response to a
///   request with a volatile identity.
/// - **Durable**, from ``init(scheme:account:_:)``: made from the stable name of an account. Other runs and other processes find
///   the same account by ``canonicalOctets``.
///
/// The description and the mirror show only the scheme.
public struct CredentialIdentity: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    private let scheme: OctetKey
    private let account: OctetKey?
    private let parts: [OctetKey]

    private init(_ scheme: OctetKey, _ account: OctetKey?, _ parts: [OctetKey]) {
        (self.scheme, self.account, self.parts) = (scheme, account, parts)
    }

    /// Creates a volatile identity.
    ///
    /// - Parameters:
    ///   - scheme: the name of the authentication scheme, such as `basic`. Descriptions show the name.
    ///   - parts: the texts that distinguish two accounts of this scheme, such as a user and a password, or a token. The texts
    ///     may be secret, and are never shown. Texts are compared octet by octet.
    public init(scheme: String, _ parts: String...) {
        (self.scheme, account, self.parts) = (OctetKey(scheme), nil, parts.map { OctetKey($0) })
    }

    /// Creates a durable identity.
    ///
    /// - Parameters:
    ///   - scheme: the name of the authentication scheme, such as `basic`. Descriptions show the name.
    ///   - account: the name of the account that all runs and processes of the app use, such as the identifier of a user. The
    ///     name must not be secret, and no two accounts may have the same name. Names are compared octet by octet: two Unicode
    ///     normal forms of a name are two accounts.
    ///   - parts: further texts for the comparison of identities in this process, such as the password. The further texts are not part of
    ///     ``canonicalOctets``.
    public init(scheme: String, account: String, _ parts: String...) {
        self.scheme = OctetKey(scheme)
        self.account = OctetKey(account)
        self.parts = parts.map { OctetKey($0) }
    }

    /// Returns whether two identities belong to the same account. Durable identities belong to the same account if their schemes and their
    /// accounts have equal octets. The further texts of a durable identity, such as a password, do not count.
    public func isSameAccount(as other: CredentialIdentity) -> Bool { ofAccount == other.ofAccount }

    /// This identity; without its further texts, such as a password, if the identity is durable. Durable identities of one account are
    /// equal in this form.
    package var ofAccount: CredentialIdentity { account == nil ? self : CredentialIdentity(scheme, account, []) }

    /// Whether the identity is durable: other runs and other processes find the same account by the identity.
    public var isDurable: Bool { account != nil }

    /// The octets of a durable identity, the same in all runs, processes and versions of this library; `nil` for a volatile identity.
    ///
    /// The octets are, in this order:
    /// 1. the version of this format: one octet, 1
    /// 2. the length of the scheme in octets: eight octets, the most significant first
    /// 3. the scheme in UTF-8
    /// 4. the length of the account's name in octets: eight octets, the most significant first
    /// 5. the account's name in UTF-8, not normalized
    ///
    /// Two durable identities have equal octets only if their schemes and their accounts have equal octets. A store must not keep
    /// the octets, because the octets name a person. A store keeps a keyed digest of the octets, such as HMAC-SHA-256 with a key
    /// of the store.
    public var canonicalOctets: [UInt8]? {
        guard let account else { return nil }
        var octets: [UInt8] = [1]
        for part in [scheme.text, account.text] {
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { octets += $0 }
            octets += part.utf8
        }
        return octets
    }

    /// The name of the scheme and the word "identity": `basic identity`.
    public var description: String { "\(scheme.text) identity" }
}

private enum CredentialIdentityKey: OptionKey {
    static var defaultValue: CredentialIdentity? { nil }
}

private enum CookieIdentityKey: OptionKey {
    static var defaultValue: CredentialIdentity? { nil }
}

extension RequestOptions {
    /// The account whose credentials the request carries. `authenticate` sets this option. If this option is not set, the identity of the
    /// cookies that `cookies` has added applies. `nil` if neither identity is set, even if the app itself has added credentials.
    public var credentialIdentity: CredentialIdentity? {
        get { self[CredentialIdentityKey.self] ?? self[CookieIdentityKey.self] }
        set {
            self[CredentialIdentityKey.self] = newValue
            if newValue == nil, self[CookieIdentityKey.self] != nil { self[CookieIdentityKey.self] = nil }
        }
    }

    /// The identity of the cookies that `cookies` has added; `nil` if no cookie of a jar was added. The identity covers only the field
    /// `Cookie`: another sensitive field may belong to another account.
    package var cookieIdentity: CredentialIdentity? {
        get { self[CookieIdentityKey.self] }
        set { self[CookieIdentityKey.self] = newValue }
    }

    /// Whether ``credentialIdentity`` is the identity of cookies, which covers only the field `Cookie`.
    package var hasOnlyCookieIdentity: Bool { self[CredentialIdentityKey.self] == nil && self[CookieIdentityKey.self] != nil }
}
