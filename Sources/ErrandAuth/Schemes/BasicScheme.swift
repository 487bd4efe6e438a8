#if Auth
public import ErrandCore
internal import ErrandFormats

/// A user and a password ([RFC 7617](https://www.rfc-editor.org/rfc/rfc7617)), in UTF-8, not normalized.
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
    ///   - user: without a colon and without control characters ([RFC 7617, section 2](https://www.rfc-editor.org/rfc/rfc7617#section-2)).
    ///     Any other fails each request with ``AuthenticationError``.
    ///   - password: without control characters.
    ///   - isPreemptive: whether the first request carries the password; true by default, which saves a round trip. If false, only a server that asks
    ///     for the password gets it.
    ///   - account: the name under which stores keep the account's data (``/ErrandCore/CredentialIdentity/isDurable``), such as the user. All runs of the
    ///     app use it for this account and for no other. `nil`, the default: what belongs to the account is kept in memory alone. Pass a name only if the
    ///     password was proved: data that is stored under the name can be read with any password.
    public init(user: String, password: String, isPreemptive: Bool = true, account: String? = nil) {
        (self.user, self.password, self.isPreemptive, self.account) = (user, password, isPreemptive, account)
    }

    public var label: String { "basic" }
    /// False: the scheme sends no request.
    public var sendsRequests: Bool { false }

    /// Returns the proof that a request carries before the server has asked for any; `nil` to wait for a challenge.
    ///
    /// - Throws: ``AuthenticationError``.
    public func proof(for request: Request) throws -> AuthenticationProof? { isPreemptive ? try proof() : nil }

    /// Returns the proof that answers a challenge; `nil` if the server does not offer this scheme.
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

    /// The value of `Authorization` or `Proxy-Authorization`.
    ///
    /// - Throws: ``AuthenticationError`` for a user with a colon, and for control characters.
    public static func field(user: String, password: String) throws(AuthenticationError) -> String {
        if user.utf8.contains(UInt8(ascii: ":")) { throw AuthenticationError(.invalidCredentials("a user of Basic must not have a colon")) }
        try checkControls(in: user + password, "a user and a password of Basic")
        return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }
}

extension BasicScheme: CustomStringConvertible, HidesStorage {
    /// `basic`.
    public var description: String { label }
}

extension AuthenticationScheme where Self == BasicScheme {
    /// A user and a password, as ``BasicScheme`` sends them.
    ///
    /// - Parameters:
    ///   - user: without a colon and without control characters.
    ///   - password: without control characters.
    ///   - isPreemptive: whether the first request carries the password already; true by default.
    ///   - account: the name under which stores keep the account's data; `nil`, the default, for memory alone.
    public static func basic(user: String, password: String, isPreemptive: Bool = true, account: String? = nil) -> BasicScheme {
        BasicScheme(user: user, password: password, isPreemptive: isPreemptive, account: account)
    }
}
#endif
