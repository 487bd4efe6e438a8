public import ErrandFormats

/// The error for a response whose status is not accepted, with the head and the beginning of the body.
///
/// The description has the request, the status, the title of the problem, `Retry-After`, the earlier attempts, and, after a redirect,
/// the first request:
///
/// ```
/// GET https://a.example/x: status 503 Service Unavailable; the server asks to wait for 30 s; attempt 1: 503, then waited 100 ms
/// GET https://a.example/new: status 404 Not Found; redirected from POST https://a.example/old (2 hops)
/// GET https://a.example/y: nothing was sent (status 504); the request allows only a stored response, and no response is stored for the URL
/// ```
///
/// To catch an error type of your own, let the client create the error: `APIClient(stack) { refused in try refused.json(as:
/// APIProblem.self) }`.
public struct StatusError: RequestFailure {
    /// The maximum number of bytes of the response's body that an error keeps: 64 KiB. The rest is abandoned.
    public static let bodyLimitBytes = 64 * 1024

    /// The request of the response. The value is never `nil`, and setting `nil` has no effect.
    public var request: Request? {
        get { refused.request }
        set { if let newValue { refused.request = newValue } }
    }
    /// The head: status and fields.
    public var head: HTTPResponse { refused.head }
    /// The first bytes of the body, at most ``bodyLimitBytes``; fewer if the body broke off.
    public let bodyPrefix: Data
    /// Whether ``bodyPrefix`` is the whole body: the body was not longer, and did not break off.
    public let bodyIsWhole: Bool
    /// The server's description of the problem, if the server sent `application/problem+json`
    /// ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)); `nil` otherwise.
    public let problem: ProblemDetails?
    public var attempts: [AttemptRecord] {
        get { refused.metadata.attempts }
        set { refused.metadata.attempts = newValue }
    }
    public var retryStop: RetryStop? {
        get { refused.metadata.retryStop }
        set { refused.metadata.retryStop = newValue }
    }
    /// The followed redirects, and the other changes of the URL, in order: ``ResponseMetadata/redirects``. Empty if no redirect was
    /// followed.
    public var redirects: [RedirectRecord] { refused.metadata.redirects }
    /// The response without its body, for observers that are outer layers of `validateStatus`.
    var refused: Response
    /// Whether the body of the response was a stream.
    package let bodyWasStreamed: Bool
    /// The error that the body describes in the client's envelope, before the request and the response are added. `nil` if the client has
    /// no envelope, or the body describes no error.
    private let described: ServiceError?

    /// The status that is not accepted.
    public var status: HTTPResponse.Status { head.status }
    public var response: HTTPResponse? { head }
    public var phase: ExchangePhase { .response }
    /// `sent`. If a cache has made the 504, because the request allows only a stored response (``CacheStatus/isUnavailable``), the highest
    /// delivery of the earlier attempts; `notSent` if there were none.
    public var delivery: Delivery { isUnavailable ? attempts.delivery : .sent }

    /// The wait that the server asks for before the next request (`Retry-After`,
    /// [RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)); `nil` if the server asks for no wait.
    public var retryAfter: Duration? { head.headerFields.retryAfter }

    /// Creates the error of a response: reads the beginning of the body, and abandons the rest.
    ///
    /// - Throws: `CancellationError`; ``TransportError`` if a timeout or the deadline passes while the body is read. If the body breaks off
    ///   for another reason, the error keeps the bytes read so far, because the status is still useful.
    public init(reading response: Response) async throws {
        let limitBytes = Self.bodyLimitBytes
        var (front, isWhole) = (Data(), false)
        do {
            var iterator = response.body.makeAsyncIterator()
            while front.count <= limitBytes, !isWhole {
                if let chunk = try await iterator.next() { front.append(chunk) } else { isWhole = true }
            }
        } catch {
            try Task.checkCancellation()
            if error is CancellationError { throw error }
            if let failure = error as? TransportError, failure.code == .timedOut { throw failure }
        }
        response.body.abandon()
        var refused = response
        refused.body = ResponseBody()
        refused.metadata.callEnd = nil
        self.refused = refused
        bodyWasStreamed = response.body.bufferedData == nil
        bodyPrefix = front.count > limitBytes ? Data(front.prefix(limitBytes)) : front
        bodyIsWhole = isWhole
        let type = response.head.headerFields.single(.contentType).flatMap { MediaType($0) }
        problem = type?.essence == ProblemDetails.mediaType ? try? ProblemDetails(parsing: bodyPrefix) : nil
        described = isWhole && front.count <= limitBytes ? response.request.options.call.serviceErrors?.read(bodyPrefix) : nil
        guard let end = response.metadata.callEnd else { return }
        // An exchange in progress refers to the observers of the call. If an observer also referred to the exchange, the observer and the
        // exchange would stay in memory until the exchange ends.
        var reported = self
        reported.refused = Response(
            head: head, body: ResponseBody(), request: refused.request, exchange: ExchangeLifetime(outcome: .complete))
        reported.refused.metadata = refused.metadata
        end.end(.refused(reported))
    }

    /// The error of the back end; `nil` if the client of the call has no envelope, or the body describes no error. The client
    /// throws the back end's error, and the observers of the call get the same error.
    public var serviceError: ServiceError? {
        described?.completed(request, head, attempts, retryStop)
    }

    /// Returns a value decoded from the error's body, such as the API's own error type.
    ///
    /// ```swift
    /// catch let error as StatusError where error.status == .conflict {
    ///     let reason = try error.json(as: APIProblem.self).reason
    /// }
    /// ```
    ///
    /// - Parameter coding: the rules for decoding. With `nil`, the default, the coding of the client that made the call
    ///   applies. If the call had no client, ``JSONCoding/standard`` applies.
    /// - Throws: `DecodingError` if ``bodyIsWhole`` is false, or if ``JSONCoding/decode(_:from:)`` refuses the body.
    public func json<Value: Decodable>(as type: Value.Type = Value.self, coding: JSONCoding? = nil) throws -> Value {
        // An incomplete body is refused, because its beginning may be valid JSON by chance.
        guard bodyIsWhole else {
            let message =
                "only the first \(bodyPrefix.count.counted("byte")) of the body are available: "
                + "the body broke off, or is longer than \(Self.bodyLimitBytes) bytes"
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: message))
        }
        return try (coding ?? refused.request.options.call.json ?? .standard).decode(type, from: bodyPrefix)
    }

    /// The request, the status, the problem's title, `Retry-After`, the earlier attempts and the first request of a redirect. The text
    /// shows no header field except `Retry-After`, and no part of the body. A title that seems to contain a secret is left out.
    public var description: String {
        var text = shownRequest
        text += isUnavailable ? "nothing was sent (status \(head.status.code))" : shownStatus
        text += shownProblem
        if let note = refused.metadata.statusNote { text += "; \(note)" }
        return text + head.shownRemarks + shownAttempts + redirects.shown(before: request)
    }

    /// Whether a cache has made the response without a request.
    var isUnavailable: Bool { refused.metadata.cacheStatus?.isUnavailable == true }

    /// The title of the problem in parentheses; empty if ``safeProblem`` is `nil`.
    package var shownProblem: String { safeProblem.map { " (\($0))" } ?? "" }

    /// The title and the type of the problem. `nil` if the server does not describe the problem, or if the text seems to contain a secret.
    /// The signs of a secret are a sensitive name with its value, a URL with a secret, and a secret of the request.
    private var safeProblem: String? {
        guard let text = problem?.description, !text.isEmpty else { return nil }
        let sensitivity = refused.request.options.sensitivity
        if SecretMention(sensitivity: sensitivity, isWithin: true).isIn(Array(text.utf8)) { return nil }
        var secrets = SecretValues(shortestBytes: 6)
        secrets.learn(fromHeadOf: refused.request, by: sensitivity)
        secrets.learn(fromBodyOf: refused.request, by: sensitivity)
        return secrets.isIn(text) ? nil : text.shownSafely()
    }
}

private enum StatusNoteKey: MetadataKey { static var defaultValue: String? { nil } }

extension ResponseMetadata {
    /// A layer's remark about the status, for the description of a ``StatusError``: a clause without secrets. `nil` if there is no
    /// remark.
    public var statusNote: String? {
        get { self[StatusNoteKey.self] }
        set { self[StatusNoteKey.self] = newValue }
    }
}

extension HTTPResponse {
    /// The remarks about the response's head, as text that follows the status in a message. Empty if the head has no remarks.
    ///
    /// The remarks are the wait that the server asks for (`Retry-After`), and a redirect that was not followed.
    package var shownRemarks: String {
        (headerFields.retryAfter.map { "; the server asks to wait for \($0.inWords)" } ?? "")
            + (isRedirect ? "; the redirect was not followed: add .redirect() to the stack, or change its policy" : "")
    }
}

extension StatusError {
    private var shownStatus: String {
        "status \(head.status.code)" + (head.status.reasonPhrase.isEmpty ? "" : " \(head.status.reasonPhrase.shownSafely())")
    }

    /// The status, and the title of the problem if the server describes the problem. A title that seems to contain a secret is left out.
    /// For the 504 of a cache, the reason why no stored response was used.
    public var failureReason: String? {
        if isUnavailable { return (refused.metadata.statusNote ?? "nothing was sent").asSentence }
        guard let safeProblem else { return "The server responded with \(shownStatus)." }
        return "The server responded with \(shownStatus): \(safeProblem)".asSentence
    }

    /// The advice for a person, with the wait that the server asks for; `nil` if only a developer can help.
    public var recoverySuggestion: String? {
        isUnavailable ? "Connect to a network, then try again." : suggestion(after: head.status, retryAfter: retryAfter, to: request)
    }
}

extension StatusError: NumberedFailure {
    /// The number is 2000 plus the status for 401, 403, 404, 410 and 429. For any other status, the number depends on the class of the
    /// status. For the 504 of a cache that has no usable response, the number is ``FailureNumber/notStored``.
    public var failureNumber: FailureNumber {
        switch head.status.code {
        case _ where isUnavailable: .notStored
        case 401: .unauthorized
        case 403: .forbidden
        case 404: .notFound
        case 410: .gone
        case 429: .tooManyRequests
        case 400...499: .clientError
        case 500...599: .serverError
        default: .status
        }
    }
}

/// Returns the advice for a person after a response with an error; `nil` if only a developer can help.
///
/// - Parameters:
///   - retryAfter: the wait that the server asks for; `nil` if the server asks for no wait.
///   - request: the request that got the response; `nil` if the request is not known.
func suggestion(after status: HTTPResponse.Status, retryAfter: Duration?, to request: Request?) -> String? {
    switch status.code {
    case 401: suggestionToSignIn(after: request)
    case 403: "Check the permissions of the account."
    case 408, 425, 429, 500...599: tryAgain(in: retryAfter)
    default: nil
    }
}

/// Returns the advice for a person whose request was refused with the status 401.
///
/// A request without a secret field may be a sign-in with a wrong password, or a request of a person who never signed in. For a request
/// without a secret field, the advice does not say that the person was signed in before.
package func suggestionToSignIn(after request: Request?) -> String {
    guard let request, !request.headers.contains(where: { request.options.sensitivity.isSensitive($0) }) else {
        return "Sign in again, then try again."
    }
    return "Sign in with valid credentials, then try again."
}

extension StatusError {
    /// Not available: the number of the status is `status.code`.
    @available(*, unavailable, message: "write status.code")
    public var statusCode: Int { status.code }

    /// Not available: only the beginning of the body is kept, as ``bodyPrefix``.
    @available(*, unavailable, message: "write bodyPrefix, or json(as:) for JSON: only the beginning of the body is kept")
    public var body: Data { bodyPrefix }
}

extension StatusError {
    public var customMirror: Mirror {
        Mirror(self, children: ["failure": description, "body": bodyPrefix.count.counted("byte")] as KeyValuePairs<String, Any>)
    }
}
