#if Auth
public import ErrandCore

/// The error for a request that can't be authenticated.
///
/// ```
/// GET https://a.example/me: cannot authenticate: nobody is signed in (not sent); the sign-in request needs .with(\.authenticate, .off)
/// GET https://a.example/me: cannot authenticate: no new token could be obtained: POST https://auth.example/token: … (not sent)
/// ```
public struct AuthenticationError: RequestFailure, NumberedFailure {
    /// The kind of a failure. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code. Codes with equal names are equal.
        private let name: String
        /// The code in words.
        public let description: String

        /// Creates your own code.
        ///
        /// - Parameters:
        ///   - name: the text that identifies the code. The library never uses reverse-DNS names.
        ///   - description: the code in words, without secrets.
        public init(_ name: String, _ description: String) { (self.name, self.description) = (name, description) }

        /// The user, the password, the key or the token can't be sent.
        public static func invalidCredentials(_ why: String) -> Code { Code("invalidCredentials", why) }
        /// Nobody is signed in: there is no token, and only a sign-in by a person can obtain a token.
        public static let signedOut = Code("signedOut", "nobody is signed in")
        /// The authorization server has refused to refresh the token: a person must sign in again.
        public static let refreshRefused = Code("refreshRefused", "the token is not valid any more, and the server gives no new token")
        /// The token could not be refreshed, but a later refresh may succeed. ``AuthenticationError/underlying`` says why.
        public static let refreshFailed = Code("refreshFailed", "no new token could be obtained")
        /// The token was refreshed too often in a short time, because servers refuse each new token, or because the refresh fails
        /// repeatedly. ``AuthenticationError/underlying`` is the error of the last refresh; `nil` if that refresh succeeded.
        public static let tooManyRefreshes = Code("tooManyRefreshes", "the token was refreshed too often in a short time")
        /// The store could not load or save the token. ``AuthenticationError/underlying`` says why.
        public static let storeFailed = Code("storeFailed", "the token could not be loaded or saved")
        /// Another account has signed in since the request began. The request was not sent with the token of the new account.
        public static let accountChanged = Code("accountChanged", "another account has signed in since the request began")
        /// The function that refreshes or stores a token has itself requested this token.
        public static let withinRefresh = Code("withinRefresh", "the function that refreshes or stores the token has requested this token")

        /// Returns whether the names of two codes are equal.
        public static func == (first: Code, second: Code) -> Bool { first.name == second.name }
        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// The reason for which the request can't be authenticated.
    public let code: Code
    /// The error of the refresh or of the store; `nil` if there is no such error.
    public let underlying: (any Error)?
    public var request: Request?
    public var response: HTTPResponse?
    public var attempts: [AttemptRecord] = []
    public var retryStop: RetryStop?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the reason for which the request can't be authenticated.
    ///   - underlying: the error of the refresh or of the store; `nil` if there is no such error. A description shows the text
    ///     of this library's errors. For other errors, the description shows only the type, because their texts may have
    ///     secrets.
    ///   - request: the request in its last form.
    ///   - response: the head of the response that asked for credentials.
    public init(_ code: Code, underlying: (any Error)? = nil, request: Request? = nil, response: HTTPResponse? = nil) {
        self.code = code
        self.underlying = underlying
        self.request = request
        self.response = response
    }

    public var phase: ExchangePhase { response == nil ? .queue : .response }
    public var delivery: Delivery { response == nil ? attempts.delivery : .sent }

    public var description: String {
        var text = shownRequest + "cannot authenticate: \(code)"
        if let underlying { text += ": \(SafeText.error(underlying))" }
        return text + " (\(response == nil ? Delivery.notSent.phrase : Delivery.sent.phrase))" + hint + shownAttempts
    }

    /// A hint about the option for a sign-in through the same client. The request of the sign-in has no credentials yet.
    private var hint: String { code == .signedOut && response == nil ? "; the sign-in request needs .with(\\.authenticate, .off)" : "" }

    /// The failure number for ``code``. If a request for the credentials failed, such as a refresh, the value is the number of that
    /// failure. For such a failure, `localizedDescription` also describes the failed request for the credentials, for example:
    /// `Could not connect to the server.`
    public var failureNumber: FailureNumber {
        if let failure = decidingFailure as? any NumberedFailure { return failure.failureNumber }
        return switch code {
        case .signedOut: .signedOut
        case .refreshRefused: .refreshRefused
        case .refreshFailed: .refreshFailed
        case .tooManyRefreshes: .tooManyRefreshes
        case .storeFailed: .tokenStore
        case .accountChanged: .accountChanged
        case .withinRefresh: .withinRefresh
        case .invalidCredentials(""): .invalidCredentials
        default: .authentication
        }
    }
    public var failureReason: String? { SafeText.sentence(code.description) }
    /// The step that a person can take; `nil` if only a developer can help. If a request for the credentials failed, such as a
    /// refresh, the value is the step for that failure.
    public var recoverySuggestion: String? {
        if let decidingFailure { return decidingFailure.recoverySuggestion }
        return switch code {
        case .signedOut: "Sign in, then try again."
        case .refreshRefused: "Sign in again, then try again."
        case .accountChanged: "Try again."
        case .refreshFailed, .tooManyRefreshes: underlying is OAuthError ? nil : "Try again later."
        case .storeFailed: storeSuggestion
        default: nil
        }
    }
}

extension AuthenticationError {
    /// The step that a person can take if a file store fails; `nil` for other stores.
    private var storeSuggestion: String? {
        switch underlying {
        // A sign-in replaces an unreadable file.
        case is FileReadError: "Sign in again, then try again."
        case let error as FileWriteError: error.recoverySuggestion
        case let error as TokenFileError: error.recoverySuggestion
        default: nil
        }
    }
}

extension AuthenticationError: DependentFailure {
    /// The failure of the refresh, or of a request of the store. `nil` for the codes `signedOut`, `refreshRefused` and `accountChanged`:
    /// for these codes, the failure number, the texts and the suggestion describe this error itself.
    public var decidingFailure: (any RequestFailure)? {
        switch code {
        case .signedOut, .refreshRefused, .accountChanged: nil
        default: underlying as? any RequestFailure
        }
    }
}

extension AuthenticationError: SignInFailure {
    /// Whether a person must sign in.
    public var isFailureOfMissingSignIn: Bool {
        switch code {
        case .signedOut, .refreshRefused: true
        // The refresh itself may need a sign-in at another server. A sign-in also replaces a file without a token.
        case .refreshFailed, .tooManyRefreshes, .storeFailed: (underlying as? any SignInFailure)?.isFailureOfMissingSignIn ?? false
        default: false
        }
    }
}
#endif
