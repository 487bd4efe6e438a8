#if Auth
public import ErrandCore

/// A change of the account of a ``TokenSource``.
public enum TokenChange: Sendable, CustomStringConvertible, HidesStorage {
    /// An account has signed in, or its token was loaded from the store. The value is the token.
    case signedIn(AccessToken)
    /// The account's token was refreshed. The value is the new token.
    case refreshed(AccessToken)
    /// Nobody is signed in. The error is `nil` if the app has signed out. If a server has refused a refresh, the error is the
    /// error of that refresh.
    case signedOut(because: (any Error)?)

    /// The change in words. The text contains no secrets.
    public var description: String {
        switch self {
        case .signedIn: "signed in"
        case .refreshed: "refreshed"
        case .signedOut(let error): "signed out" + (error.map { ": \(safeDescription(of: $0))" } ?? "")
        }
    }
}
#endif
