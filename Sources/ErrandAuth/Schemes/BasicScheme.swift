#if Auth
public import ErrandCore
internal import ErrandFormats

/// The Basic scheme: a user and a password ([RFC 7617](https://www.rfc-editor.org/rfc/rfc7617)), in UTF-8, not normalized.
///
/// ```swift
/// stack.authenticate(.basic(user: "joe", password: password))
/// ```
///
/// Basic does not protect the password: use Basic only over TLS. Descriptions and mirrors show neither user nor password.
public struct BasicScheme: AuthenticationScheme {
    private let user: String
    private let password: String
    private let isPreemptive: Bool
    private let account: String?

    /// Creates the scheme.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without a colon and without control characters
    ///     ([RFC 7617, section 2](https://www.rfc-editor.org/rfc/rfc7617#section-2)). If the name contains one of these characters, each
    ///     request fails with ``AuthenticationError``.
    ///   - password: the password, without control characters.
    ///   - isPreemptive: whether the first request carries the password. Default: `true`, which saves a round trip. If `isPreemptive` is
    ///     false, the password is sent only to a server that asks for the password.
    ///   - account: the name under which caches and cookie jars keep the account's data (``/ErrandCore/CredentialIdentity/isDurable``),
    ///     such as the user. All runs of the app must use this name for this account only. `nil`, the default: the account's data is kept
    ///     in memory only. Pass a name only if a server has accepted the password. The name gives access to the stored data, even with a
    ///     wrong password.
    public init(user: String, password: String, isPreemptive: Bool = true, account: String? = nil) {
        self.user = user
        self.password = password
        self.isPreemptive = isPreemptive
        self.account = account
    }

    public var label: String { "basic" }
    /// `false`, because the scheme sends no request.
    public var sendsRequests: Bool { false }

    /// Returns the proof that a request carries before any challenge; `nil` if `isPreemptive` is false.
    ///
    /// - Throws: ``AuthenticationError``.
    public func proof(for request: Request) throws -> AuthenticationProof? { isPreemptive ? try proof() : nil }

    /// Returns the proof in response to a challenge; `nil` if the server does not offer Basic.
    ///
    /// - Throws: ``AuthenticationError``.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? {
        challenge.challenges(of: "Basic").isEmpty ? nil : try proof()
    }

    private func proof() throws(AuthenticationError) -> AuthenticationProof {
        AuthenticationProof(
            headers: [.authorization: try Self.field(user: user, password: password)],
            identity: .of(account, scheme: "basic", user, password))
    }

    /// Returns the value of `Authorization` or `Proxy-Authorization`.
    ///
    /// - Throws: ``AuthenticationError`` if the user has a colon, or if the user or the password has control characters.
    public static func field(user: String, password: String) throws(AuthenticationError) -> String {
        if user.utf8.contains(UInt8(ascii: ":")) {
            throw AuthenticationError(.invalidCredentials("the user for Basic must not have a colon"))
        }
        try checkControls(in: user + password, "the user and the password for Basic")
        return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
}

extension BasicScheme: CustomStringConvertible, HidesStorage {
    /// `basic`.
    public var description: String { label }
}

extension AuthenticationScheme where Self == BasicScheme {
    /// A user and a password, sent by the Basic scheme. See ``BasicScheme``.
    ///
    /// - Parameters:
    ///   - user: the name of the user, without a colon and without control characters.
    ///   - password: the password, without control characters.
    ///   - isPreemptive: whether the first request carries the password. Default: `true`.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    public static func basic(user: String, password: String, isPreemptive: Bool = true, account: String? = nil) -> BasicScheme {
        BasicScheme(user: user, password: password, isPreemptive: isPreemptive, account: account)
    }
}
#endif
