#if Auth
public import ErrandCore

/// The error for a ``CookieJar`` whose store can't be read or written.
///
/// ```
/// GET https://a.example/: the cookies could not be loaded: cannot read …: … (not sent)
/// ```
public struct CookieJarError: RequestFailure, NumberedFailure {
    /// The kind of a failure. New codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The cookies could not be loaded. Therefore the request was not sent.
        public static let loadFailed = Code("the cookies could not be loaded")
        /// The changes could not be written.
        public static let saveFailed = Code("the cookies could not be saved")
    }

    /// The kind of the failure.
    public let code: Code
    /// The error of the store.
    public let underlying: any Error
    public var request: Request?
    public var attempts: [AttemptRecord] = []

    init(_ code: Code, underlying: any Error, request: Request? = nil) {
        (self.code, self.underlying, self.request) = (code, underlying, request)
    }

    public var phase: ExchangePhase { .queue }
    public var delivery: Delivery { attempts.delivery }

    public var description: String {
        "\(shownRequest)\(code): \(SafeText.error(underlying))" + (request == nil ? "" : " (\(Delivery.notSent.phrase))") + shownAttempts
    }

    public var failureNumber: FailureNumber { .cookieStore }
    public var failureReason: String? { SafeText.sentence("\(code): \(SafeText.error(underlying))") }
    /// The suggestion of the store's error, if there is one.
    public var recoverySuggestion: String? { (underlying as? any LocalizedError)?.recoverySuggestion }
}
#endif
