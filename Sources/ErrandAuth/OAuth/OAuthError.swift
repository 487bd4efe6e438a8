#if Auth
public import ErrandCore
internal import ErrandFormats

/// An OAuth 2 server refuses a request ([RFC 6749, section 5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2)), or sends a response that
/// can't be used.
///
/// ```
/// POST https://auth.example/token: OAuth 2: invalid_grant: the refresh token has expired
/// ```
public struct OAuthError: Error, LocalizedError, CustomStringConvertible, HidesStorage {
    /// Why the request failed: a code that the server sent, or one of this library for a response that can't be used. An open set.
    ///
    /// Codes are compared octet by octet.
    public struct Code: Sendable, Hashable, CustomStringConvertible, HidesStorage {
        private let sent: OctetKey
        /// The code as it is sent. In the error of a server, secrets of the request are replaced.
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
        /// The server does not know the client, or its secret is wrong.
        public static let invalidClient = Code("invalid_client")
        /// The code, the refresh token or the assertion is invalid, expired, revoked, or was used before: a person has to sign in again.
        public static let invalidGrant = Code("invalid_grant")
        /// The server does not let this client use this grant type.
        public static let unauthorizedClient = Code("unauthorized_client")
        /// The server does not support this grant type.
        public static let unsupportedGrantType = Code("unsupported_grant_type")
        /// A scope is unknown, or is not granted.
        public static let invalidScope = Code("invalid_scope")
        /// The person, or the server, has refused.
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

        /// The response has no valid token and no valid error. Servers do not send this code or those below.
        public static let invalidResponse = Code("invalid response")
        /// The `state` of the redirect is not that of the request: somebody else may have begun it
        /// ([RFC 6749, section 10.12](https://www.rfc-editor.org/rfc/rfc6749#section-10.12)).
        public static let stateMismatch = Code("state mismatch")
        /// The redirect, or the metadata, comes from another issuer ([RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)).
        public static let issuerMismatch = Code("issuer mismatch")
        /// There is no refresh token.
        public static let noRefreshToken = Code("no refresh token")
        /// The server does not offer the endpoint that is needed.
        public static let unsupported = Code("unsupported")
    }

    /// Why the request failed.
    public let code: Code
    /// The server's explanation (`error_description`), or why a response can't be used. Empty if the server sent none. A description shows at most
    /// 200 characters of it.
    public let message: String
    /// The address of a page about the error (`error_uri`); `nil` if the server sent none.
    public let uri: String?

    /// The method and the URL of the refused request, without secrets: `POST https://auth.example/token`. `nil` if the error belongs to no request, such as
    /// that of a redirect.
    public internal(set) var request: String?
    /// What the request was for: it decides the sentence for people.
    var purpose = Purpose.signIn

    enum Purpose: Sendable { case signIn, signOut }

    /// Creates an error.
    public init(_ code: Code, _ message: String = "", uri: String? = nil) { (self.code, self.message, self.uri) = (code, message, uri) }

    /// Whether a person has to sign in again: the server refused the refresh token, or there is no refresh token.
    ///
    /// These are `invalidGrant`, `noRefreshToken` and `expiredToken`, and the codes that GitHub and Slack send in place of `invalid_grant`:
    /// `bad_refresh_token`, `invalid_refresh_token`, `token_expired` and `token_revoked`.
    public var isFinal: Bool { Self.finalCodes.contains(code) }

    private static let finalCodes: Set<Code> = [
        .invalidGrant, .noRefreshToken, .expiredToken, Code("bad_refresh_token"), Code("invalid_refresh_token"), Code("token_expired"),
        Code("token_revoked"),
    ]

    /// The request, the code and the server's explanation, without control characters.
    public var description: String {
        (request.map { "\($0): " } ?? "") + "OAuth 2: \(code.description.shownSafely(limit: 80))"
            + (message.isEmpty ? "" : ": \(message.shownSafely(limit: 200))")
    }
    /// A sentence for people.
    public var errorDescription: String? {
        if purpose == .signOut { return "Could not sign out at the server." }
        return switch code {
        case .accessDenied: "Access was refused."
        case .invalidGrant: "The sign-in was not accepted, or is not valid any more."
        case .noRefreshToken: "You are not signed in any more."
        case .expiredToken: "The code has expired. Sign in again."
        default: "Could not sign in."
        }
    }
    public var failureReason: String? { description.asSentence }
}

extension OAuthError: SafelyDescribedError {}

extension OAuthError: SignInFailure {
    /// Whether the authorization has ended.
    public var failureNeedsSignIn: Bool { isFinal }
}
#endif
