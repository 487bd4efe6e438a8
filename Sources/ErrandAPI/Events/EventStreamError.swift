public import ErrandCore
internal import ErrandFormats

/// The error for a response that is not a usable event stream.
///
/// ```
/// GET https://a.example/prices: not an event stream: the Content-Type is text/html, not text/event-stream (status 200)
/// GET https://a.example/prices: silent event stream: no byte came within 5 min; a proxy may buffer the response … (status 200)
/// POST https://a.example/chat: incomplete event stream: it ended before its terminator (status 200)
/// ```
public struct EventStreamError: RequestFailure, NumberedFailure {
    /// The kind of the failure. Other codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words, such as `not an event stream`.
        public let description: String
        /// Creates a code.
        ///
        /// - Parameter description: the code in words, as the start of the error's description.
        public init(_ description: String) { self.description = description }

        /// The status is 2xx but neither 200 nor 204, or the media type is not `text/event-stream`.
        public static let notAnEventStream = Code("not an event stream")
        /// No byte arrived within the silence timeout of the policy.
        public static let silent = Code("silent event stream")
        /// The stream ended before its terminator, or repeatedly ended without an event.
        public static let incomplete = Code("incomplete event stream")
    }

    /// The kind of the failure.
    public let code: Code
    /// The details in words. The text contains no secrets.
    public let message: String
    public var request: Request?
    /// The head of the response; `nil` if there was no response.
    public let response: HTTPResponse?
    public var attempts: [AttemptRecord]
    /// The first request of a redirect, as text for the end of the description; empty if no redirect was followed.
    private let redirected: String

    public var phase: ExchangePhase { response == nil ? .response : .body }
    public var delivery: Delivery { response == nil ? .unknown : .sent }

    private init(
        _ code: Code, _ message: String, request: Request?, _ response: HTTPResponse?, attempts: [AttemptRecord] = [],
        redirected: String = ""
    ) {
        self.code = code
        self.message = message
        self.request = request
        self.response = response
        self.attempts = attempts
        self.redirected = redirected
    }

    init?(checking response: Response) {
        let problem: String
        let type = response.head.headerFields.single(.contentType)
        if response.status != .ok {
            problem = "the status is \(response.status.code), not 200"
        } else if let type, MediaType(type)?.essence != Self.mediaType {
            problem = "the Content-Type is \((MediaType(type)?.essence ?? type).shownSafely(limit: 80)), not \(Self.mediaType)"
        } else if type == nil {
            problem = "the Content-Type is missing, not \(Self.mediaType)"
        } else if let codings = response.head.shownContentCodings {
            problem =
                "the body is encoded (Content-Encoding: \(codings)), and no layer decodes the body; decompress() decodes the codings that it knows"
        } else {
            return nil
        }
        self.init(
            .notAnEventStream, problem, request: response.request, response.head, attempts: response.metadata.attempts,
            redirected: response.metadata.redirects.shown(before: response.request))
    }

    static let mediaType = "text/event-stream"

    static func silent(for limit: Duration, fromStart: Bool, request: Request?, _ head: HTTPResponse?) -> EventStreamError {
        let advice =
            "; a proxy may buffer the response (for nginx, the server must send X-Accel-Buffering: no), "
            + "or the server sends no comments while there are no events"
        let what = head == nil ? "no stream came" : "no byte came"
        return EventStreamError(
            .silent, fromStart ? "\(what) within \(limit.inWords)\(advice)" : "\(what) for \(limit.inWords)", request: request, head)
    }

    static func endedBeforeTerminator(request: Request?, _ head: HTTPResponse?) -> EventStreamError {
        EventStreamError(.incomplete, "it ended before its terminator", request: request, head)
    }

    static func endedTooOften(_ reconnects: Int, request: Request?, _ head: HTTPResponse?) -> EventStreamError {
        let count = reconnects.counted("reconnect")
        return EventStreamError(.incomplete, "it ended again after \(count) in a row without an event", request: request, head)
    }

    /// The request, the code, the message, the status if a response arrived, and the first request of a redirect.
    public var description: String {
        "\(shownRequest)\(happened)\(response.map { " (status \($0.status.code))" } ?? "")\(shownAttempts)\(redirected)"
    }

    private var happened: String { "\(code): \(message)" }

    public var failureNumber: FailureNumber {
        switch code {
        case .silent: .silentEventStream
        case .incomplete: .incompleteEventStream
        default: .notAnEventStream
        }
    }
    /// The details.
    public var failureReason: String? { happened.asSentence }
    /// The advice for a person; `nil` for a response that is not an event stream, because another attempt would get the same
    /// response.
    public var recoverySuggestion: String? { code == .notAnEventStream ? nil : "Try again later." }
}
