#if Auth
public import ErrandCore

/// The error for a file of a ``FileTokenStore`` that can't be used.
public struct TokenFileError: NumberedFailure, CustomStringConvertible {
    /// The path of the file.
    public let path: String
    /// The reason why the file can't be used.
    public let reason: String
    /// Whether the file has no valid token. If the value is false, another process keeps the file busy.
    var isCorrupt = false

    /// The path and the reason.
    public var description: String { "cannot use the token in \(path.shownSafely(limit: 200)): \(reason)" }
    public var failureNumber: FailureNumber { isCorrupt ? .tokenFileInvalid : .tokenFileBusy }
    /// The path and the reason.
    public var failureReason: String? { SafeText.sentence(description) }
    /// The step that a person can take. A sign-in replaces a file without a token.
    public var recoverySuggestion: String? { isCorrupt ? "Sign in again, then try again." : "Try again later." }
}

extension TokenFileError: SafelyDescribedError {}

extension TokenFileError: SignInFailure {
    /// Whether the file has no readable token.
    public var isFailureOfMissingSignIn: Bool { isCorrupt }
}
#endif
