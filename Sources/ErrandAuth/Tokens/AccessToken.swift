#if Auth
public import ErrandCore

/// A token that gives access ([RFC 6749, section 1.4](https://www.rfc-editor.org/rfc/rfc6749#section-1.4)), with what is needed to refresh it.
///
/// Descriptions and mirrors show no token: `token, expires 2026-01-01 12:00:00 +0000, can be refreshed`. What it encodes to has the tokens.
public struct AccessToken: Sendable, Hashable, Codable {
    /// The token as it is sent.
    public var value: String
    /// When it expires; `nil` if that is not known.
    public var expiresAt: Date?
    /// The token that gets the next access token; `nil` if the server sent none. An empty text is `nil`.
    public var refreshToken: String? { didSet { refreshToken = Self.present(refreshToken) } }
    /// What the token gives access to; empty if that is not known.
    public var scopes: [String]
    /// The ID token of OpenID Connect; `nil` if the server sent none. An empty text is `nil`.
    public var idToken: String? { didSet { idToken = Self.present(idToken) } }
    /// When it was obtained; `nil` if that is not known.
    public var obtainedAt: Date?
    /// The sign-in that a stored token belongs to: a random text, which a refresh keeps. By it, processes that share a ``TokenStore`` tell accounts apart.
    ///
    /// ``TokenSource`` sets it in the tokens that a store gets, and ignores that of other tokens. A store keeps it: one that encodes the whole token does.
    /// `nil` in the tokens of a source, and in those that an earlier version of this library has stored.
    public var signInID: String?

    /// Creates a token.
    ///
    /// - Parameters:
    ///   - value: the token as it is sent.
    ///   - expiresAt: when it expires; `nil` if that is not known.
    ///   - refreshToken: the token that gets the next access token; `nil` if the server sent none.
    ///   - scopes: what it gives access to.
    ///   - idToken: the ID token of OpenID Connect.
    ///   - obtainedAt: when it was obtained: with ``expiresAt`` it tells how long the token lives.
    public init(
        _ value: String, expiresAt: Date? = nil, refreshToken: String? = nil, scopes: [String] = [], idToken: String? = nil,
        obtainedAt: Date? = nil
    ) {
        (self.value, self.expiresAt, self.refreshToken, self.scopes) = (value, expiresAt, Self.present(refreshToken), scopes)
        (self.idToken, self.obtainedAt) = (Self.present(idToken), obtainedAt)
    }

    /// Reads a token that was stored. An empty refresh token or ID token is missing.
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

    /// The token with the identifier of a sign-in, or without one.
    func belonging(to signInID: String?) -> AccessToken {
        var token = self
        token.signInID = signInID
        return token
    }

    /// Whether it has expired at `date`; false if it is not known when it does.
    public func hasExpired(at date: Date) -> Bool { expiresAt.map { $0 <= date } ?? false }
}

extension AccessToken: CustomStringConvertible, CustomReflectable {
    /// When it expires, and whether it can be refreshed.
    public var description: String {
        var parts = ["token"]
        if let expiresAt { parts.append("expires \(expiresAt)") }
        if refreshToken != nil { parts.append("can be refreshed") }
        if !scopes.isEmpty { parts.append("for \(scopes.map { $0.shownSafely(limit: 80) }.joined(separator: " "))") }
        return parts.joined(separator: ", ")
    }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["token": description]) }
}
#endif
