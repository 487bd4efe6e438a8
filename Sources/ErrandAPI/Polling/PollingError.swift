public import ErrandCore

/// The error for a poll that ended without a result.
///
/// ```
/// GET https://a.example/jobs/7: polling timed out: not done after 10 min and 34 requests
/// ```
public struct PollingError: RequestFailure, NumberedFailure {
    /// The kind of the problem. Other codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words, such as `polling timed out`.
        public let description: String
        /// Creates a code.
        ///
        /// - Parameter description: the code in words, as the start of the error's description.
        public init(_ description: String) { self.description = description }

        /// The work was not done within the policy's timeout.
        public static let timedOut = Code("polling timed out")
        /// There is no URL to poll. A request with a method other than GET and HEAD got a 202 without a `Location`, or another status that
        /// does not end the polling.
        public static let noLocation = Code("no URL to poll")
        /// The `Location` is at an origin that the policy does not allow.
        public static let foreignOrigin = Code("URL to poll at another origin")
        /// The `Location` can't be requested.
        public static let invalidLocation = Code("invalid URL to poll")
    }

    /// The problem.
    public let code: Code
    /// The details in words. The text contains no secrets.
    public let message: String
    public var request: Request?
    /// The head of the last response; `nil` if there was no response.
    public let response: HTTPResponse?
    /// The last tolerated failure; `nil` if the last request succeeded.
    public let underlying: (any Error)?
    public var attempts: [AttemptRecord] = []

    init(_ code: Code, _ message: String, request: Request?, _ response: HTTPResponse?, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.request = request
        self.response = response
        self.underlying = underlying
    }

    public var phase: ExchangePhase { .response }
    /// `sent` if there was a response. If there was no response, the delivery of the last failure.
    public var delivery: Delivery { response == nil ? (underlying as? any RequestFailure)?.delivery ?? .sent : .sent }

    /// The request, the code, the details and the last failure.
    public var description: String {
        shownRequest + "\(code): \(message)"
            + (underlying.map { "; the last request failed: \(safeDescription(of: $0))" } ?? "")
    }
    public var failureNumber: FailureNumber {
        switch code {
        case .timedOut: .pollingTimedOut
        case .foreignOrigin: .pollingAtForeignOrigin
        case .invalidLocation: .invalidPollingURL
        default: .noPollingURL
        }
    }
    public var failureReason: String? { "\(code): \(message)".asSentence }
    /// The advice for a person; `nil` if only a developer can help.
    public var recoverySuggestion: String? { code == .timedOut ? "Try again later." : nil }
}

extension PollingError: TimeoutFailure {
    /// Whether the timeout of the policy has passed.
    public var isFailureOfTimeout: Bool { code == .timedOut }
}
