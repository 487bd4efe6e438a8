public import ErrandCore

/// The error for a list that could not be read to its end.
///
/// ```
/// GET https://a.example/items?page=3: pages in a loop: ?page=1 was read already
/// ```
public struct PaginationError: RequestFailure, NumberedFailure {
    /// The kind of the problem. Other codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words, such as `pages in a loop`.
        public let description: String
        /// Creates a code.
        ///
        /// - Parameter description: the code in words, as the start of the error's description.
        public init(_ description: String) { self.description = description }

        /// The next page was read already.
        public static let loop = Code("pages in a loop")
        /// There are more pages than the policy allows.
        public static let tooManyPages = Code("too many pages")
        /// The next page is at an origin that the policy does not allow.
        public static let foreignOrigin = Code("next page at another origin")
        /// The next page has a URL that can't be requested.
        public static let invalidURL = Code("invalid URL of the next page")
    }

    /// The problem.
    public let code: Code
    /// The details in words. The text contains no secrets.
    public let message: String
    /// The request for the last page that was read, or the call itself if no page was read.
    public var request: Request?
    /// The head of the last page; `nil` if no page was read.
    public let response: HTTPResponse?
    public var attempts: [AttemptRecord] = []

    init(_ code: Code, _ message: String, request: Request, _ response: HTTPResponse?) {
        self.code = code
        self.message = message
        self.request = request
        self.response = response
    }

    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { response == nil ? .notSent : .sent }

    /// The request, the code and the details.
    public var description: String { shownRequest + "\(code): \(message)" }
    public var failureNumber: FailureNumber {
        switch code {
        case .tooManyPages: .tooManyPages
        case .foreignOrigin: .pageAtForeignOrigin
        case .invalidURL: .invalidPageURL
        default: .pageLoop
        }
    }
    public var failureReason: String? { "\(code): \(message)".asSentence }
    /// `nil`, because only a developer can fix the problem.
    public var recoverySuggestion: String? { nil }
}
