public import ErrandCore

/// Looks at an answer, and says what becomes of the call.
///
/// ```swift
/// let signedIn = ResponseValidator("signed in") { request, response, _ in
///     response.status == .unauthorized ? .retryAfter { try await session.signIn() } : .next
/// }
/// ```
///
/// One that reads the body must put it back: `let response = try await response.buffered()`, then `.accept(response)`.
public struct ResponseValidator: Sendable {
    /// For the stack's description and for failures.
    public let name: String
    let check: @Sendable (_ request: Request, _ response: Response, _ retries: Int) async throws -> Verdict

    /// - Parameter check: gets the request as it was sent, the answer, and how often this validator has had this call sent again. What it
    ///   throws fails the call.
    public init(
        _ name: String,
        _ check: @escaping @Sendable (_ request: Request, _ response: Response, _ retries: Int) async throws -> Verdict
    ) {
        (self.name, self.check) = (name, check)
    }

    /// What becomes of the call.
    public enum Verdict: Sendable {
        /// Nothing to say: the next validator is asked, and behind the last one the answer is returned.
        case next
        /// This answer is returned, and no further validator is asked.
        case accept(Response)
        /// The call fails with this error.
        case fail(any Error)
        /// The request is sent again after a wait, at most so often by this validator; then the call fails with ``ResponseValidationError``.
        case retry(Backoff, atMost: Int)
        /// The same, without a wait, once another request was answered, whatever its status: one that wakes a session, say. It goes through the
        /// layers inside this one; its answer is dropped, and an error of it fails the call. At most once by this validator.
        case retryAfterSending(Request)
        /// The same, once some work is done. The work is cancelled when the call is, and when its deadline passes. At most once by this
        /// validator.
        case retryAfter(@Sendable () async throws -> Void)
    }
}

extension Response {
    /// This response with its whole body in memory: `body.bufferedData` shows the bytes, and the caller can still read them, once.
    ///
    /// - Throws: what ``ResponseBody/collect(upTo:)`` throws.
    public func buffered(upTo limitBytes: Int = ResponseBody.defaultCollectLimitBytes) async throws -> Response {
        var copy = self
        let data = try await body.collect(upTo: limitBytes)
        copy.body = ResponseBody(data, trailers: body.trailers)
        return copy
    }
}

/// A validator would have had a request sent once more often than it may.
public struct ResponseValidationError: RequestFailure {
    /// The validator's.
    public let name: String
    /// How often it had the call sent again.
    public let retries: Int
    /// Why not once more.
    public let reason: Reason
    public var request: Request?
    public let response: HTTPResponse?
    public var attempts: [AttemptRecord] = []

    public enum Reason: String, Sendable, Hashable {
        case retriesUsedUp = "its retries are used up"
        case bodyCannotBeReplayed = "the body can't be sent again"
        case deadlineTooNear = "the wait would pass the deadline"
    }

    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { .sent }

    init(name: String, retries: Int, reason: Reason, of response: Response) {
        (self.name, self.retries, self.reason) = (name, retries, reason)
        (request, self.response) = (response.request, response.head)
    }

    public var description: String {
        var text = request.map { "\($0): " } ?? ""
        if let response { text += "status \(response.status.code), " }
        text += "refused by '\(name)' after \(retries == 1 ? "1 retry" : "\(retries) retries"): \(reason.rawValue)"
        return attempts.isEmpty ? text : text + "; " + attempts.map(\.description).joined(separator: "; ")
    }
}

extension ResponseValidationError: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["failure": description]) }
}
