#if Auth
public import ErrandCore
internal import ErrandFormats

/// The Bearer scheme: a token in `Authorization` ([RFC 6750](https://www.rfc-editor.org/rfc/rfc6750)), and never in a URL.
///
/// ```swift
/// stack.authenticate(.bearer(tokens))                 // a TokenSource: refreshed once for all requests
/// stack.authenticate(.bearer("ghp_…"))                // a token that does not change
/// ```
///
/// With a ``TokenSource``, a response with the status 401 causes a refresh of the token. If the body can be sent again, the request is sent
/// again with the new token. If the server refuses the new token too, the response is returned.
///
/// If an API uses 401 for other reasons too, pass the rule for refused tokens to ``init(_:isRefused:)``. These responses do not
/// cause a refresh ([RFC 6750, section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1)):
/// - a challenge with the error `insufficient_scope` or `invalid_request`
/// - a response for which the rule returns false: by default, every status except 401
public struct BearerScheme: AuthenticationScheme {
    private enum Token: Sendable {
        case fixed(String, account: String?)
        case source(TokenSource)
    }

    private let token: Token
    private let isRefused: @Sendable (HTTPResponse) -> Bool

    /// Creates a scheme with a token that does not change.
    ///
    /// - Parameters:
    ///   - token: the token. If the token is empty or has control characters, each request fails with ``AuthenticationError``.
    ///   - account: the name of the account. All runs of the app must use this name for this account only. Caches and cookie jars keep the
    ///     account's data under this name (``/ErrandCore/CredentialIdentity/isDurable``). `nil`, the default: the account's data is kept in
    ///     memory only.
    public init(_ token: String, account: String? = nil) {
        self.token = .fixed(token, account: account)
        isRefused = { $0.status == .unauthorized }
    }

    /// Creates a scheme with the token of a source.
    ///
    /// - Parameters:
    ///   - source: the source that holds and refreshes the token.
    ///   - isRefused: a closure that returns whether a response means that the token is no longer valid. By default, the closure checks
    ///     whether the status is 401.
    public init(_ source: TokenSource, isRefused: @escaping @Sendable (HTTPResponse) -> Bool = { $0.status == .unauthorized }) {
        (token, self.isRefused) = (.source(source), isRefused)
    }

    public var label: String { "bearer" }
    /// Whether the token belongs to a source, which may refresh the token.
    public var sendsRequests: Bool { if case .source = token { true } else { false } }

    /// Returns whether the response means that the token is no longer valid.
    public func isChallenge(_ response: HTTPResponse) -> Bool { isRefused(response) }

    /// Returns the proof that contains the token. Each request carries this proof. With a source, the result is `nil` if the
    /// request has its own `Authorization`, or belongs to a refresh of the source.
    ///
    /// - Throws: ``AuthenticationError``; ``/ErrandCore/TransportError`` if the deadline passes.
    public func proof(for request: Request) async throws -> AuthenticationProof? {
        switch token {
        case .fixed(let token, let account):
            return AuthenticationProof(
                headers: [.authorization: "Bearer " + (try checkedFieldValue(token, "a token", isOneWord: true))],
                identity: .of(account, scheme: "bearer", token))
        case .source(let source):
            // A field that the app has set is sent unchanged. A request with this field needs neither a token nor a refresh.
            if source.isRefreshing || request.head.headerFields.contains(.authorization) { return nil }
            return try proof(try await source.issue(by: request.deadline, for: request), source)
        }
    }

    /// Returns the proof with a refreshed token. `nil` if the token does not change, or if a new token would not help.
    ///
    /// - Throws: ``AuthenticationError``; ``/ErrandCore/TransportError`` if the deadline passes.
    public func proof(for request: Request, inResponseTo challenge: ServerChallenge) async throws -> AuthenticationProof? {
        guard case .source(let source) = token, case .token(let refused) = challenge.refused?.context,
            refused.source == source.number, !source.isRefreshing
        else { return nil }
        // The server has refused the new token. Therefore the server would also refuse another new token.
        if refused.isNew { return nil }
        let errors = challenge.challenges(of: "Bearer").compactMap { $0["error"] }
        if errors.contains(where: { $0.isExactly("insufficient_scope") || $0.isExactly("invalid_request") }) { return nil }
        return try proof(try await source.issue(refusing: refused, by: request.deadline, for: request), source)
    }

    /// Returns the account of the token, even if the token has expired; `nil` if nobody is signed in.
    public func identity(for request: Request) async -> CredentialIdentity? {
        switch token {
        case .fixed(let token, let account): .of(account, scheme: "bearer", token)
        case .source(let source): source.currentIdentity
        }
    }

    private func proof(_ issued: TokenMachine.Issued, _ source: TokenSource) throws(AuthenticationError) -> AuthenticationProof {
        var proof = AuthenticationProof(
            headers: [.authorization: "Bearer " + (try checkedFieldValue(issued.token.value, "a token", isOneWord: true))],
            identity: source.identity(ofAccount: issued.account))
        proof.context = .token(issued)
        return proof
    }
}

extension BearerScheme: CustomStringConvertible, HidesStorage {
    /// `bearer`.
    public var description: String { label }
}

extension AuthenticationScheme where Self == BearerScheme {
    /// A token that does not change. See ``BearerScheme``.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - account: the name under which caches and cookie jars keep the account's data. `nil`, the default: the data is kept in memory
    ///     only.
    public static func bearer(_ token: String, account: String? = nil) -> BearerScheme { BearerScheme(token, account: account) }
    /// The token of a source, which refreshes the token. See ``BearerScheme``.
    public static func bearer(_ source: TokenSource) -> BearerScheme { BearerScheme(source) }
}
#endif
