#if Auth
public import ErrandCore
internal import ErrandFormats

/// The error for a request that an OAuth 2 server refuses ([RFC 6749, section 5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)),
/// or for an unusable response of the server.
///
/// ```
/// POST https://auth.example/token: OAuth 2: invalid_grant: the refresh token has expired
/// ```
public struct OAuthError: NumberedFailure, CustomStringConvertible, HidesStorage {
    /// The reason why the request failed: the server's `error` code, or a code of this library if the response is unusable. Other
    /// codes may be added.
    ///
    /// Codes are compared octet by octet.
    public struct Code: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        private let sent: OctetKey
        /// The code as the server sends it. If the code repeats a secret of the request, the secret is replaced.
        public let description: String
        /// Creates a code from the text that a server sends.
        public init(_ description: String) { self.init(description, shownAs: description) }

        init(_ sent: String, shownAs description: String) { (self.sent, self.description) = (OctetKey(sent), description) }

        /// Whether both codes have the same octets.
        public static func == (one: Code, other: Code) -> Bool { one.sent == other.sent }
        /// Hashes the octets of the code.
        public func hash(into hasher: inout Hasher) { hasher.combine(sent) }

        /// A parameter of the request is missing or invalid.
        public static let invalidRequest = Code("invalid_request")
        /// The server does not know the client, or the client's secret is wrong.
        public static let invalidClient = Code("invalid_client")
        /// The code, the refresh token or the assertion is invalid, expired, revoked, or used before: a person must sign in again.
        public static let invalidGrant = Code("invalid_grant")
        /// The server does not let this client use this grant type.
        public static let unauthorizedClient = Code("unauthorized_client")
        /// The server does not support this grant type.
        public static let unsupportedGrantType = Code("unsupported_grant_type")
        /// A scope is unknown, or is not granted.
        public static let invalidScope = Code("invalid_scope")
        /// The person or the server has refused access.
        public static let accessDenied = Code("access_denied")
        /// The authorization endpoint does not support this response type.
        public static let unsupportedResponseType = Code("unsupported_response_type")
        /// The authorization endpoint has failed.
        public static let serverError = Code("server_error")
        /// The server can't handle the request at the moment.
        public static let temporarilyUnavailable = Code("temporarily_unavailable")
        /// The person has not decided yet ([RFC 8628, section 3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)).
        public static let authorizationPending = Code("authorization_pending")
        /// The person has not decided yet, and the client asks too often.
        public static let slowDown = Code("slow_down")
        /// The code for the device has expired.
        public static let expiredToken = Code("expired_token")

        /// The response has no valid token and no valid error. Servers do not send this code or the codes below.
        public static let invalidResponse = Code("invalid response")
        /// The `state` of the redirect differs from the `state` of the request: somebody else may have begun the sign-in
        /// ([RFC 6749, section 10.12](https://www.rfc-editor.org/rfc/rfc6749#section-10.12)).
        public static let stateMismatch = Code("state mismatch")
        /// The redirect or the metadata comes from another issuer ([RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)).
        public static let issuerMismatch = Code("issuer mismatch")
        /// There is no refresh token.
        public static let noRefreshToken = Code("no refresh token")
        /// The server does not offer a needed endpoint or feature.
        public static let unsupported = Code("unsupported")
    }

    /// The reason why the request failed.
    public let code: Code
    /// The server's explanation (`error_description`), or the reason for which the response is unusable. Empty if the server sent
    /// no explanation. A description shows at most 200 characters of the message.
    public let message: String
    /// The URL of a page about the error (`error_uri`); `nil` if the server sent no URL.
    public let uri: String?

    /// The method and the URL of the refused request, with secrets replaced: `POST https://auth.example/token`. `nil` if the
    /// error belongs to no request, such as the error in a redirect.
    public internal(set) var request: String?
    /// The purpose of the request. The purpose determines the sentence that people read.
    var purpose = Purpose.signIn

    enum Purpose: Sendable { case signIn, signOut }

    /// Creates an error.
    public init(_ code: Code, _ message: String = "", uri: String? = nil) { (self.code, self.message, self.uri) = (code, message, uri) }

    /// Whether a person must sign in again, because the server refused the refresh token, or because there is no refresh token.
    ///
    /// True for `invalidGrant`, `noRefreshToken` and `expiredToken`, and for the codes that GitHub and Slack send in place of
    /// `invalid_grant`: `bad_refresh_token`, `invalid_refresh_token`, `token_expired` and `token_revoked`.
    public var isFinal: Bool { Self.finalCodes.contains(code) }

    private static let finalCodes: Set<Code> = [
        .invalidGrant, .noRefreshToken, .expiredToken, Code("bad_refresh_token"), Code("invalid_refresh_token"), Code("token_expired"),
        Code("token_revoked"),
    ]

    private static let numbers: [Code: FailureNumber] = [
        .invalidRequest: .oauthInvalidRequest, .invalidClient: .oauthInvalidClient, .invalidGrant: .oauthInvalidGrant,
        .unauthorizedClient: .oauthUnauthorizedClient, .unsupportedGrantType: .oauthUnsupportedGrantType,
        .invalidScope: .oauthInvalidScope, .accessDenied: .oauthAccessDenied,
        .unsupportedResponseType: .oauthUnsupportedResponseType, .serverError: .oauthServerError,
        .temporarilyUnavailable: .oauthTemporarilyUnavailable, .authorizationPending: .oauthAuthorizationPending,
        .slowDown: .oauthSlowDown, .expiredToken: .oauthExpiredToken, .invalidResponse: .oauthInvalidResponse,
        .stateMismatch: .oauthStateMismatch, .issuerMismatch: .oauthIssuerMismatch, .noRefreshToken: .oauthNoRefreshToken,
        .unsupported: .oauthUnsupported,
    ]

    /// The request, the code and the server's explanation, without control characters.
    public var description: String {
        (request.map { "\($0): " } ?? "") + "OAuth 2: \(code.description.shownSafely(limit: 80))"
            + (message.isEmpty ? "" : ": \(message.shownSafely(limit: 200))")
    }
    /// The number of this failure, by its ``code``; ``/ErrandCore/FailureNumber/oauthSignOut`` if the request was part of a sign-out.
    public var failureNumber: FailureNumber { purpose == .signOut ? .oauthSignOut : Self.numbers[code] ?? .oauth }
    public var failureReason: String? { description.asSentence }
}

extension OAuthError: SafelyDescribedError {}

extension OAuthError: SignInFailure {
    /// Whether a person must sign in again: ``isFinal``.
    public var isFailureOfMissingSignIn: Bool { isFinal }
}
#endif
