/// The tokens of a server that replaces both tokens at each refresh, and revokes the whole family when a refresh token is used twice.
///
/// The access tokens are `access-0`, `access-1`, …; the refresh tokens `refresh-0`, `refresh-1`, ….
public struct RotatingTokens: Sendable {
    /// The access token that clients begin with.
    public static let firstAccess = "access-0"
    /// The refresh token that clients begin with.
    public static let firstRefresh = "refresh-0"

    private var accessNumber = 0
    private var refreshNumber = 0
    /// Whether a refresh token was used twice.
    public private(set) var isRevoked = false

    public init() {}

    /// The only access token that is accepted.
    public var access: String { "access-\(accessNumber)" }
    /// The only refresh token that is accepted.
    public var refresh: String { "refresh-\(refreshNumber)" }

    /// Makes the current access token invalid.
    public mutating func expire() { accessNumber += 1 }

    /// Whether a request with this value of `Authorization` is accepted.
    public func accept(authorization: String?) -> Bool { authorization == "Bearer \(access)" && !isRevoked }

    /// Replaces both tokens; `false`, and revokes them, if `token` is not the current refresh token.
    public mutating func rotate(with token: String?) -> Bool {
        guard token == refresh, !isRevoked else {
            isRevoked = true
            return false
        }
        (accessNumber, refreshNumber) = (accessNumber + 1, refreshNumber + 1)
        return true
    }
}
