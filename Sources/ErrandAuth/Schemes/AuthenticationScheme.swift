#if Auth
public import ErrandCore
internal import ErrandFormats

/// An authentication scheme ([RFC 9110, section 11](https://www.rfc-editor.org/rfc/rfc9110#section-11)).
///
/// A scheme makes the credentials that a request carries, and responds to the challenges of servers. The middleware sends the
/// requests, so a scheme works with every transport.
///
/// ```swift
/// struct TicketScheme: AuthenticationScheme {
///     let tickets: TicketOffice
///
///     func proof(for request: Request) async throws -> AuthenticationProof? {
///         let ticket = try await tickets.current()
///         return AuthenticationProof(
///             headers: [.authorization: "QueueTicket \(ticket.text)"], identity: CredentialIdentity(scheme: "ticket", account: ticket.owner))
///     }
/// }
///
/// let stack = HTTPStack.default.authenticate(TicketScheme(tickets: tickets))
/// ```
public protocol AuthenticationScheme: Sendable {
    /// The name of this scheme in the description of a stack, without secrets: `digest`. By default, the name of the type.
    var label: String { get }

    /// Returns the proof that a request carries before any challenge; `nil` to send the request without a proof and wait for a
    /// challenge.
    ///
    /// - Throws: an error if the proof can't be made. The call fails with the error.
    func proof(for request: Request) async throws -> AuthenticationProof?

    /// Returns the proof in response to a challenge. `nil`, the default: the scheme has no proof, and the response is returned to
    /// the caller.
    ///
    /// A proof that the server has refused in this call is not sent again: see ``AuthenticationProof/fingerprint``.
    ///
    /// - Throws: an error if the proof can't be made. The call fails with the error, and the response is not returned.
    func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof?

    /// Returns whether a response asks for a proof, or refuses the proof of the request. By default, this function checks
    /// whether the status is 401 ([RFC 9110, section 15.5.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2)).
    func isChallenge(_ response: HTTPResponse) -> Bool

    /// Whether the scheme may send a request, or wait for a request, before the scheme responds to a challenge, for example to refresh a
    /// token. By default true.
    ///
    /// If `sendsRequests` is true, the body of the challenge is read before the scheme responds. Therefore, the connection and the queue
    /// slot of the challenge are free for the requests of the scheme. If the body takes more than 100 ms, the bytes read so far are kept,
    /// and the connection is closed.
    ///
    /// If `sendsRequests` is false, the body is read only if the request is sent again. Therefore, a challenge that is returned to the
    /// caller has a streaming body.
    var sendsRequests: Bool { get }

    /// Returns the account to which a request belongs, although the request has no proof; `nil`, the default, if the account is not known.
    ///
    /// If a refresh fails because its server can't be reached, a cache may still have a fresh response of this account. In this case, the
    /// request gets that response.
    func identity(for request: Request) async -> CredentialIdentity?

    /// Records a response that is not a challenge, and therefore accepts a proof of this scheme. By default, does nothing.
    func recordAcceptance(of proof: AuthenticationProof, for request: Request, by response: HTTPResponse)
}

extension AuthenticationScheme {
    /// The name of the type.
    public var label: String { "\(Self.self)" }
    /// Returns `nil`, because the scheme responds to no challenge.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? { nil }
    /// Returns whether the status is 401.
    public func isChallenge(_ response: HTTPResponse) -> Bool { response.status == .unauthorized }
    /// True.
    public var sendsRequests: Bool { true }
    /// Returns `nil`.
    public func identity(for request: Request) async -> CredentialIdentity? { nil }
    /// Does nothing.
    public func recordAcceptance(of proof: AuthenticationProof, for request: Request, by response: HTTPResponse) {}
}

/// The fields and query items that prove the identity of a request's account. The description shows only names.
public struct AuthenticationProof: Sendable, CustomStringConvertible, HidesStorage {
    /// The header fields, usually `Authorization`. These fields replace the request's fields with the same names. The request
    /// declares the names of these fields as sensitive.
    public let headers: HTTPFields
    /// The query items, which are appended to the request's own items. The request declares the names of these items as
    /// sensitive.
    public let query: URLQuery
    /// The account that the proof is for.
    public let identity: CredentialIdentity
    /// The value by which proofs are compared. By default, the fingerprint consists of the values of the fields and items.
    ///
    /// If the server has refused a proof in this call, no proof with the same fingerprint is sent again. A scheme whose fields
    /// differ each time, such as Digest, needs its own fingerprint.
    public let fingerprint: AuthenticationFingerprint
    /// The data that the scheme keeps with the proof, for ``ServerChallenge/refused`` and
    /// ``AuthenticationScheme/recordAcceptance(of:for:by:)``.
    var context: Context?

    enum Context: Sendable {
        /// The token of a ``TokenSource``.
        case token(TokenMachine.Issued)
        /// The Digest challenge to which the proof responds. `isFresh` is true if the server sent the challenge in this call.
        case digest(DigestResponse, isFresh: Bool)
    }

    /// Creates a proof.
    ///
    /// - Parameters:
    ///   - headers: the header fields.
    ///   - query: the query items.
    ///   - identity: the account that the proof is for.
    ///   - fingerprint: the value by which proofs are compared. `nil`, the default, compares the values of the fields and
    ///     items.
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

/// The value by which proofs are compared. The value may be secret, so the description does not show the value.
public struct AuthenticationFingerprint: Sendable, Hashable, CustomStringConvertible, HidesStorage {
    private let parts: [OctetKey]

    /// Creates a fingerprint of texts. Two fingerprints are equal if they have the same texts in the same order. Texts are
    /// compared octet by octet.
    public init(_ parts: [String]) { self.parts = parts.map { OctetKey($0) } }

    /// `fingerprint`.
    public var description: String { "fingerprint" }
}

/// A response that asks for credentials, or refuses the credentials that were sent.
public struct ServerChallenge: Sendable, CustomStringConvertible, HidesStorage {
    /// The ways to authenticate that the server accepts (`WWW-Authenticate`), in the server's order. Empty if the response has no
    /// `WWW-Authenticate` field, which is common for APIs.
    public let challenges: [AuthenticationChallenge]
    /// The head of the response.
    public let response: HTTPResponse
    /// The proof that the request carried and the server refused; `nil` if the request carried no proof.
    public let refused: AuthenticationProof?
    /// The number of challenges in this call, including this challenge: 1 for the first challenge.
    public let round: Int

    /// Creates a challenge, for tests of a scheme. The challenges are read from `response`.
    public init(_ response: HTTPResponse, refused: AuthenticationProof? = nil, round: Int = 1) {
        (self.response, self.refused, self.round) = (response, refused, round)
        challenges = AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
    }

    /// Returns the challenges of a scheme. The scheme's name is compared without regard to case.
    public func challenges(of scheme: String) -> [AuthenticationChallenge] { challenges.filter { $0.isScheme(scheme) } }

    /// `401, Basic realm, Digest realm, nonce`.
    public var description: String { (["\(response.status.code)"] + challenges.map(\.description)).joined(separator: ", ") }
}

extension CredentialIdentity {
    /// Returns the identity of an account. If `account` is `nil`, the identity is volatile. The secrets are compared only in this process.
    static func of(_ account: String?, scheme: String, _ token: String) -> CredentialIdentity {
        account.map { CredentialIdentity(scheme: scheme, account: $0, token) } ?? CredentialIdentity(scheme: scheme, token)
    }

    /// Returns the identity of an account. If `account` is `nil`, the identity is volatile. The user and the password are compared only in
    /// this process.
    static func of(_ account: String?, scheme: String, _ user: String, _ password: String) -> CredentialIdentity {
        account.map { CredentialIdentity(scheme: scheme, account: $0, user, password) }
            ?? CredentialIdentity(scheme: scheme, user, password)
    }
}

/// Returns the value if the value can be sent in a field.
///
/// - Throws: ``AuthenticationError`` if the value is empty or has control characters.
///
/// - Parameter isOneWord: whether spaces and non-ASCII characters are also refused.
func checkedFieldValue(_ value: String, _ name: String, isOneWord: Bool = false) throws(AuthenticationError) -> String {
    if value.isEmpty { throw AuthenticationError(.invalidCredentials("\(name) must not be empty")) }
    try checkControls(in: value, name)
    if isOneWord, value.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
        throw AuthenticationError(.invalidCredentials("\(name) must not have spaces or non-ASCII characters"))
    }
    return value
}

/// - Throws: ``AuthenticationError`` if the text has control characters.
func checkControls(in text: String, _ name: String) throws(AuthenticationError) {
    if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
        throw AuthenticationError(.invalidCredentials("\(name) must not have control characters"))
    }
}
#endif
