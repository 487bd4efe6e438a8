public import ErrandFormats

/// An error that a back end describes in the envelope of its responses: a code, a message, and the identifier of the request.
///
/// ```swift
/// nonisolated extension ServiceError.Code {       // nonisolated: for envelopes in apps as Xcode 26 creates them
///     static let balanceTooLow: Self = 40_012
/// }
///
/// do {
///     try await client.post("/orders", body: .json(order))
/// } catch let error as ServiceError where error.code == .balanceTooLow {
///     showTopUp(error.message)
/// }
/// ```
///
/// A client with a ``ResponseEnvelope`` throws this error. The description has the code, the message and the identifier:
///
/// ```
/// POST https://a.example/orders: service error 40012: the balance is too low (request ID r-17, status 200)
/// ```
///
/// If the server asks for a wait (`Retry-After`), the description ends with the wait: `…; the server asks to wait for 7 s`.
public struct ServiceError: RequestFailure {
    /// The number or the name that the back end has for the error. Declare the codes that your app handles.
    public struct Code: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
        /// The code as text: `40012`, `insufficient_funds`.
        public let description: String

        /// Creates a code that is a number.
        public init(_ number: some BinaryInteger) { description = "\(number)" }
        /// Creates a code that is a text.
        public init(_ text: String) { description = text }
        /// Creates a code that is a number.
        public init(integerLiteral number: Int) { self.init(number) }
        /// Creates a code that is a text.
        public init(stringLiteral text: String) { self.init(text) }

        /// The number; `nil` if the code is not a number.
        public var number: Int? { Int(description) }
    }

    /// The code of the error.
    public let code: Code
    /// The back end's message; empty if the back end sent no message. `errorDescription` shows this message to people.
    public let message: String
    /// The identifier of the request at the back end; `nil` if the back end sent no identifier.
    public let requestID: String?
    /// Further details of the back end, such as the invalid fields of a form; ``/ErrandFormats/JSONValue/null`` if there are no
    /// details. The description does not show the details.
    public let details: JSONValue
    /// The status that the code corresponds to, for back ends that send errors with the status 200. If the value is `nil`, the
    /// status of the response applies.
    ///
    /// The status decides `isUnauthorized`, `needsSignIn`, `isClientError`, `isServerError` and the suggestion for people. If the
    /// refresh of a token fails and this status is 401, `authenticate` signs out. In any other call, a 401 in this property
    /// refreshes no token, because `authenticate` sees only the status of the response.
    public let equivalentStatus: HTTPResponse.Status?
    public var request: Request?
    public var response: HTTPResponse?
    public var attempts: [AttemptRecord] = []
    public var retryStop: RetryStop?

    /// Creates an error. The client adds the request and the response.
    ///
    /// - Parameters:
    ///   - code: the code of the error.
    ///   - message: the back end's message. Default: empty.
    ///   - requestID: the identifier of the request at the back end. Default: `nil`.
    ///   - details: further details of the back end. Default: no details.
    ///   - equivalentStatus: the status that the code corresponds to. Default: the status of the response.
    public init(
        _ code: Code, message: String = "", requestID: String? = nil, details: JSONValue = .null,
        equivalentStatus: HTTPResponse.Status? = nil
    ) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.details = details
        self.equivalentStatus = equivalentStatus
    }

    /// The status of the response; `nil` if there was no response.
    public var status: HTTPResponse.Status? { response?.status }
    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { .sent }

    /// The wait that the server asks for before the next request (`Retry-After`,
    /// [RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)); `nil` if the server asks for no wait.
    public var retryAfter: Duration? { response?.headerFields.retryAfter }

    /// The request, the code, the message, the identifier, the status, `Retry-After` and the earlier attempts, without control characters.
    public var description: String {
        var text = shownRequest + "service error \(code.description.shownSafely(limit: 80))"
        if !message.isEmpty { text += ": \(message.shownSafely(limit: 200))" }
        let remarks = [requestID.map { "request ID \($0.shownSafely(limit: 80))" }, status.map { "status \($0.code)" }].compactMap { $0 }
        return text + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))") + (response?.shownRemarks ?? "") + shownAttempts
    }
    /// The message of the back end for people, at most 500 characters; `nil` if the back end sent no message.
    var messageForPeople: String? { message.isEmpty ? nil : message.shownSafely(limit: 500) }
    public var failureReason: String? { "The server reported the error \(code.description.shownSafely(limit: 80))." }
    /// The advice for a person, with the wait that the server asks for; `nil` if only a developer can help. The status that the
    /// code corresponds to determines the advice.
    public var recoverySuggestion: String? {
        (equivalentStatus ?? status).flatMap { suggestion(after: $0, retryAfter: retryAfter, to: request) }
            ?? retryAfter.map { tryAgain(in: $0) }
    }
}

extension ServiceError: NumberedFailure {
    /// ``FailureNumber/serviceMessage`` if the back end sent a message, ``FailureNumber/serviceError`` otherwise. The code of the back end
    /// is ``code``.
    public var failureNumber: FailureNumber { message.isEmpty ? .serviceError : .serviceMessage }
}

extension ServiceError {
    /// Returns this error with the request and the response of the call.
    package func completed(by response: Response) -> ServiceError {
        completed(response.request, response.head, response.metadata.attempts, response.metadata.retryStop)
    }

    /// Returns this error with the request, the head of the response, the earlier attempts and the reason why `retry` stopped.
    func completed(_ request: Request?, _ head: HTTPResponse, _ attempts: [AttemptRecord], _ retryStop: RetryStop?) -> ServiceError {
        var error = self
        error.request = request
        error.response = head
        error.attempts = attempts
        error.retryStop = retryStop
        return error
    }
}
