#if Auth
public import ErrandCore

/// An API key, in a header field or in a query item.
///
/// ```swift
/// stack.authenticate(.apiKey(key, in: .header("X-Api-Key")))
/// stack.authenticate(.apiKey(key, in: .query("appid")))
/// ```
///
/// In each request, the field or the item with the key is sensitive, whatever name the field or the item has. If the server accepts the key
/// in both places, prefer the header field, because servers and proxies log URLs.
public struct APIKeyScheme: AuthenticationScheme, CustomStringConvertible, HidesStorage {
    /// The place of the key in a request.
    public struct Location: Sendable, Hashable {
        fileprivate enum Kind: Sendable, Hashable {
            case header(HTTPField.Name, prefix: String)
            case query(String)
        }

        fileprivate let kind: Kind

        /// A header field. `prefix` is the text before the key, such as `Token ` with the space; empty by default.
        public static func header(_ name: HTTPField.Name, prefix: String = "") -> Location { Location(kind: .header(name, prefix: prefix)) }
        /// A header field with a name: `.header("X-Api-Key")`. `prefix` is the text before the key; empty by default.
        public static func header(_ name: StaticString, prefix: String = "") -> Location { header(.custom(name), prefix: prefix) }
        /// A query item.
        public static func query(_ name: String) -> Location { Location(kind: .query(name)) }
    }

    private let key: String
    private let location: Location
    private let account: String?

    /// Creates the scheme.
    ///
    /// - Parameters:
    ///   - key: the key. If the key is for a header field and has control characters, each request fails with ``AuthenticationError``.
    ///   - location: the place of the key in a request.
    ///   - account: the name of the account. All runs of the app must use this name for this account only. Caches and cookie jars keep the
    ///     account's data under this name (``/ErrandCore/CredentialIdentity/isDurable``). `nil`, the default: the account's data is kept in
    ///     memory only.
    public init(_ key: String, in location: Location, account: String? = nil) {
        (self.key, self.location, self.account) = (key, location, account)
    }

    public var label: String { "apiKey" }
    /// `false`, because the scheme sends no request.
    public var sendsRequests: Bool { false }

    /// Returns the proof that contains the key. Each request carries this proof.
    ///
    /// - Throws: ``AuthenticationError``.
    public func proof(for request: Request) throws -> AuthenticationProof? {
        let identity = CredentialIdentity.of(account, scheme: "apiKey", key)
        switch location.kind {
        case .header(let name, let prefix):
            return AuthenticationProof(headers: [name: try checkedFieldValue(prefix + key, "a key")], identity: identity)
        case .query(let name): return AuthenticationProof(query: [name: key], identity: identity)
        }
    }

    /// `apiKey`.
    public var description: String { label }
}

extension AuthenticationScheme where Self == APIKeyScheme {
    /// A key in a header field or in a query item. See ``APIKeyScheme``.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - location: the place of the key in a request.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    public static func apiKey(_ key: String, in location: APIKeyScheme.Location, account: String? = nil) -> APIKeyScheme {
        APIKeyScheme(key, in: location, account: account)
    }
}
#endif
