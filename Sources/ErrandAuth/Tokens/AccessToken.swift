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
    /// The token that gets the next access token; `nil` if the server sent none.
    public var refreshToken: String?
    /// What the token gives access to; empty if that is not known.
    public var scopes: [String]
    /// The ID token of OpenID Connect; `nil` if the server sent none.
    public var idToken: String?
    /// When it was obtained; `nil` if that is not known.
    public var obtainedAt: Date?

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
        (self.value, self.expiresAt, self.refreshToken, self.scopes) = (value, expiresAt, refreshToken, scopes)
        (self.idToken, self.obtainedAt) = (idToken, obtainedAt)
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
