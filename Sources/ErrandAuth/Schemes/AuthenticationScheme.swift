#if Auth
public import ErrandCore
internal import ErrandFormats

/// An authentication scheme ([RFC 9110, section 11](https://www.rfc-editor.org/rfc/rfc9110#section-11)).
///
/// A scheme makes the credentials that a request carries, and responds to the challenges of servers. A scheme itself sends no request, and works on every
/// transport.
///
/// ```swift
/// struct TicketScheme: AuthenticationScheme {
///     let tickets: TicketOffice
///
///     func proof(for request: Request) async throws -> AuthenticationProof? {
///         let ticket = try await tickets.current()
///         return AuthenticationProof(
///             headers: [.authorization: "Ticket \(ticket.text)"], identity: CredentialIdentity(scheme: "ticket", account: ticket.owner))
///     }
/// }
///
/// let stack = HTTPStack.default.authenticate(TicketScheme(tickets: tickets))
/// ```
public protocol AuthenticationScheme: Sendable {
    /// The scheme in the description of a stack, without secrets: `digest`. By default the name of the type.
    var label: String { get }

    /// Returns the proof that a request carries before the server has asked for any; `nil` to wait for a challenge.
    ///
    /// - Throws: an error if there is no proof. It fails the call.
    func proof(for request: Request) async throws -> AuthenticationProof?

    /// Returns the proof in response to challenges; `nil` if the scheme has none, so that the response is returned to the caller.
    ///
    /// A proof that the server has refused in this call is not sent again: see ``AuthenticationProof/fingerprint``. By default `nil`.
    ///
    /// - Throws: an error that fails the call in place of the response.
    func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof?

    /// Whether a response asks for a proof, or refuses the one that was sent. By default, whether its status is 401
    /// ([RFC 9110, section 15.5.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2)).
    func isChallenge(_ response: HTTPResponse) -> Bool

    /// Whether the scheme may send a request, or wait for one, before it responds to a challenge. An example is the refresh of a token. By default true.
    ///
    /// If true, the body of the challenge is read first, so that the connection and the place in a queue are free for the requests of the scheme. A body
    /// that takes more than 100 ms is kept as far as it has come, and its connection is closed. If false, the body is read only if the request is sent again.
    /// The response that is returned then streams.
    var sendsRequests: Bool { get }

    /// Takes note of a response that is not a challenge, to a request with a proof of this scheme. By default it does nothing.
    func noteAccepted(_ proof: AuthenticationProof, for request: Request, by response: HTTPResponse)
}

extension AuthenticationScheme {
    /// The name of the type.
    public var label: String { "\(Self.self)" }
    /// `nil`: the scheme responds to no challenge.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? { nil }
    /// Whether the status is 401.
    public func isChallenge(_ response: HTTPResponse) -> Bool { response.status == .unauthorized }
    /// True.
    public var sendsRequests: Bool { true }
    /// Does nothing.
    public func noteAccepted(_ proof: AuthenticationProof, for request: Request, by response: HTTPResponse) {}
}

/// The fields and query items of a request that prove who asks. The description shows only names.
public struct AuthenticationProof: Sendable, CustomStringConvertible, HidesStorage {
    /// The header fields, usually `Authorization`. These fields replace fields of the same names. The request declares their names as sensitive.
    public let headers: HTTPFields
    /// The query items, which follow the request's own items. The request declares their names as sensitive.
    public let query: URLQuery
    /// The account that the proof is for.
    public let identity: CredentialIdentity
    /// The value by which two proofs are the same. By default, the values of the fields and items.
    ///
    /// If the server has refused a fingerprint in this call, no proof with that fingerprint is sent again. A scheme whose fields differ each time, such as
    /// Digest, needs a fingerprint of its own.
    public let fingerprint: AuthenticationFingerprint
    /// What its scheme keeps with it, for ``ServerChallenge/refused`` and ``AuthenticationScheme/noteAccepted(_:for:by:)``.
    var context: Context?

    enum Context: Sendable {
        /// The token of a ``TokenSource``.
        case token(TokenMachine.Issued)
        /// The challenge of Digest to which the proof responds. `isFresh`: the server sent it in this call.
        case digest(DigestResponse, isFresh: Bool)
    }

    /// Creates a proof.
    ///
    /// - Parameters:
    ///   - headers: the header fields.
    ///   - query: the query items.
    ///   - identity: whose proof it is.
    ///   - fingerprint: what makes two proofs the same; by default the values of fields and items.
    public init(
        headers: HTTPFields = HTTPFields(), query: URLQuery = URLQuery(), identity: CredentialIdentity,
        fingerprint: AuthenticationFingerprint? = nil
    ) {
        (self.headers, self.query, self.identity) = (headers, query, identity)
        self.fingerprint =
            fingerprint ?? AuthenticationFingerprint(headers.map { "\($0.name.canonicalName):\($0.value)" } + [query.encoded])
    }

    /// `proof in authorization`.
    public var description: String {
        "proof in \((headers.map(\.name.canonicalName) + query.items.map { "?" + $0.name }).joined(separator: ", "))"
    }
}

/// The value by which two proofs are the same. The value may be secret: the description does not show it.
public struct AuthenticationFingerprint: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    private let parts: [OctetKey]

    /// Creates a fingerprint of texts, in their order. Texts are compared octet by octet.
    public init(_ parts: [String]) { self.parts = parts.map { OctetKey($0) } }

    /// `fingerprint`.
    public var description: String { "fingerprint" }
}

/// A response that asks for credentials, or refuses the credentials that were sent.
public struct ServerChallenge: Sendable, CustomStringConvertible, HidesStorage {
    /// The ways to authenticate that the server accepts (`WWW-Authenticate`), in its order. Empty if it lists none, as many APIs do.
    public let challenges: [AuthenticationChallenge]
    /// The head of the response.
    public let response: HTTPResponse
    /// The proof that the request carried, which was refused; `nil` if it carried none.
    public let refused: AuthenticationProof?
    /// How many challenges came in this call, this one included: 1 for the first.
    public let round: Int

    /// Creates a challenge, for tests of a scheme. The challenges are read from `response`.
    public init(_ response: HTTPResponse, refused: AuthenticationProof? = nil, round: Int = 1) {
        (self.response, self.refused, self.round) = (response, refused, round)
        challenges = AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
    }

    /// The challenges of a scheme, in any case of its name.
    public func challenges(of scheme: String) -> [AuthenticationChallenge] { challenges.filter { $0.isScheme(scheme) } }

    /// `401, Basic realm, Digest realm, nonce`.
    public var description: String { (["\(response.status.code)"] + challenges.map(\.description)).joined(separator: ", ") }
}

extension CredentialIdentity {
    /// The identity of an account, which is volatile without a name. The secrets are compared in this process alone.
    static func of(_ account: String?, scheme: String, _ token: String) -> CredentialIdentity {
        account.map { CredentialIdentity(scheme: scheme, account: $0, token) } ?? CredentialIdentity(scheme: scheme, token)
    }

    /// The identity of an account, which is volatile without a name. The user and the password are compared in this process alone.
    static func of(_ account: String?, scheme: String, _ user: String, _ password: String) -> CredentialIdentity {
        account.map { CredentialIdentity(scheme: scheme, account: $0, user, password) }
            ?? CredentialIdentity(scheme: scheme, user, password)
    }
}

/// Returns a value that can be sent in a field.
///
/// - Throws: ``AuthenticationError`` for an empty value, and for control characters.
///
/// - Parameter isOneWord: whether spaces, and characters that are not of ASCII, are refused as well.
func checkedFieldValue(_ value: String, _ name: String, isOneWord: Bool = false) throws(AuthenticationError) -> String {
    if value.isEmpty { throw AuthenticationError(.invalidCredentials("\(name) must not be empty")) }
    try checkControls(in: value, name)
    if isOneWord, value.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
        throw AuthenticationError(.invalidCredentials("\(name) must not have spaces, nor characters that are not of ASCII"))
    }
    return value
}

/// - Throws: ``AuthenticationError`` for control characters.
func checkControls(in text: String, _ name: String) throws(AuthenticationError) {
    if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
        throw AuthenticationError(.invalidCredentials("\(name) must not have control characters"))
    }
}
#endif
