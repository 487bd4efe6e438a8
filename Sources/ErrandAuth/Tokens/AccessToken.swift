#if Auth
public import ErrandCore

/// An access token ([RFC 6749, section 1.4](https://www.rfc-editor.org/rfc/rfc6749#section-1.4)), with its refresh token and its dates.
///
/// Descriptions and mirrors show no token: `token, expires 2026-01-01 12:00:00 +0000, can be refreshed`. The encoded form contains all
/// tokens.
public struct AccessToken: Sendable, Hashable, Codable {
    /// The access token, in the form that requests carry.
    public var value: String
    /// The date when the access token expires; `nil` if the date is not known.
    public var expiresAt: Date?
    /// The token that gets the next access token; `nil` if the server sent no refresh token. An empty text becomes `nil`.
    public var refreshToken: String? { didSet { refreshToken = Self.present(refreshToken) } }
    /// The scopes of the access token; empty if the scopes are not known.
    ///
    /// Servers separate scopes by spaces ([RFC 6749, section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)). GitHub
    /// separates scopes by commas. An ``OAuthClient`` separates at commas if the response has no space and names a requested
    /// scope.
    public var scopes: [String]
    /// The ID token of OpenID Connect; `nil` if the server sent no ID token. An empty text becomes `nil`.
    public var idToken: String? { didSet { idToken = Self.present(idToken) } }
    /// The date when the access token was obtained; `nil` if the date is not known.
    public var obtainedAt: Date?
    /// The identifier of the sign-in that a stored token belongs to: a random text, which a refresh keeps.
    ///
    /// Processes that share a ``TokenStore`` distinguish accounts by the identifier. ``TokenSource`` sets the identifier in each
    /// token that it saves, and ignores the identifiers of other tokens. A store must keep the identifier. A store that encodes the
    /// whole token keeps the identifier.
    ///
    /// The identifier is `nil` in new tokens, in the tokens that a source returns, and in tokens that an earlier version of this library
    /// has stored.
    ///
    /// Two tokens of different sign-ins are not equal. Therefore, a stored token is not equal to the token that the app passed to the
    /// sign-in. To compare only the access tokens, compare ``value``.
    public var signInID: String?

    /// Creates a token.
    ///
    /// - Parameters:
    ///   - value: the access token, in the form that requests carry.
    ///   - expiresAt: the date when the access token expires; `nil` if the date is not known.
    ///   - refreshToken: the token that gets the next access token; `nil` if the server sent no refresh token.
    ///   - scopes: the scopes of the access token.
    ///   - idToken: the ID token of OpenID Connect.
    ///   - obtainedAt: the date when the access token was obtained. The token's lifetime is the time from this date to
    ///     ``expiresAt``.
    public init(
        _ value: String, expiresAt: Date? = nil, refreshToken: String? = nil, scopes: [String] = [], idToken: String? = nil,
        obtainedAt: Date? = nil
    ) {
        self.value = value
        self.expiresAt = expiresAt
        self.refreshToken = Self.present(refreshToken)
        self.scopes = scopes
        (self.idToken, self.obtainedAt) = (Self.present(idToken), obtainedAt)
    }

    /// Decodes a stored token. An empty refresh token or ID token is treated as missing.
    ///
    /// - Throws: `DecodingError`, also for an empty token.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(String.self, forKey: .value),
            expiresAt: try container.decodeIfPresent(Date.self, forKey: .expiresAt),
            refreshToken: try container.decodeIfPresent(String.self, forKey: .refreshToken),
            scopes: try container.decode([String].self, forKey: .scopes),
            idToken: try container.decodeIfPresent(String.self, forKey: .idToken),
            obtainedAt: try container.decodeIfPresent(Date.self, forKey: .obtainedAt))
        signInID = Self.present(try container.decodeIfPresent(String.self, forKey: .signInID))
        guard !value.isEmpty else {
            throw DecodingError.dataCorruptedError(forKey: .value, in: container, debugDescription: "it is empty")
        }
    }

    private static func present(_ text: String?) -> String? { text?.isEmpty == true ? nil : text }

    /// Returns the token with the identifier of a sign-in, or without an identifier.
    func belonging(to signInID: String?) -> AccessToken {
        var token = self
        token.signInID = signInID
        return token
    }

    /// Returns whether the access token has expired at `date`. If ``expiresAt`` is `nil`, returns false.
    public func hasExpired(at date: Date) -> Bool { expiresAt.map { $0 <= date } ?? false }
}

extension AccessToken: CustomStringConvertible, HidesStorage {
    /// The date when the token expires, and whether the token can be refreshed.
    public var description: String {
        var parts = ["token"]
        if let expiresAt { parts.append("expires \(expiresAt)") }
        if refreshToken != nil { parts.append("can be refreshed") }
        if !scopes.isEmpty { parts.append("for \(scopes.map { $0.shownSafely(limit: 80) }.joined(separator: " "))") }
        return parts.joined(separator: ", ")
    }
}
#endif
