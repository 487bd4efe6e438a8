public import ErrandCore

/// Checks a response, and decides how the call continues.
///
/// ```swift
/// let ready = ResponseValidator("report is ready") { _, response, _ in
///     response.status == .accepted ? .retry(.constant(.seconds(1)), atMost: 10) : .next
/// }
/// let stack = transport.validate(ready)
/// ```
///
/// A validator may read the whole body if the body has at most 64 MiB. The next reader gets the same bytes from memory. If a validator
/// reads only a part of a streamed body, or a longer streamed body, the next reader gets a ``/ErrandCore/BodyAlreadyUsedError``. To
/// return a body with other bytes, set the body of the response, and return `.accept(response)`.
///
/// ## Validators and retry
///
/// If a response is valid but not ready, such as a 202, use `.retry(_:atMost:)`. `.retry(_:atMost:)` repeats a request with any method, has
/// its own count, and takes no token from a retry budget. For failures of the server or the network, use `retry` (``RetryMiddleware``). The
/// layer `retry` obeys `Retry-After`, has a budget, and repeats a request only if the repetition is safe.
///
/// ## Refreshing a token
///
/// If several calls get a 401 at the same time, each call would refresh the token, because each call is checked separately. With a
/// ``/ErrandCore/SingleFlight``, these calls share one refresh. If a 401 for the old token arrives after another call has refreshed the
/// token, no second refresh begins, and the request is repeated:
///
/// ```swift
/// let refreshes = SingleFlight<String, Void>()
/// let signedIn = ResponseValidator("signed in") { request, response, _ in
///     guard response.status == .unauthorized else { return .next }
///     let rejected = request.head.headerFields[.authorization]
///     return .retryAfterRunning {
///         try await refreshes.run("token", mustFinish: true) {
///             guard await session.authorization == rejected else { return }
///             try await session.refresh()
///         }
///     }
/// }
/// let stack = transport
///     .transformRequest { $0.head.headerFields[.authorization] = await session.authorization }
///     .validate(signedIn)
/// ```
///
/// A layer inside `validate` sets the token, so that the second attempt gets the new token.
public struct ResponseValidator: Sendable {
    /// The name, for the stack's description and for failures.
    public let name: String
    let check: @Sendable (_ request: Request, _ response: Response, _ retries: Int) async throws -> Verdict
    /// Whether the call returns the last response if the request can't be repeated any more. If `returnsLastResponse` is false, the call
    /// fails with a ``ResponseValidationError``.
    var returnsLastResponse = false

    /// Creates a validator.
    ///
    /// - Parameters:
    ///   - name: the name of the validator in the stack's description and in failures.
    ///   - check: a closure that gets the sent request, the response, and the number of times that this validator has repeated the
    ///     call. If the closure throws, the call fails with the closure's error.
    public init(
        _ name: String,
        _ check: @escaping @Sendable (_ request: Request, _ response: Response, _ retries: Int) async throws -> Verdict
    ) {
        (self.name, self.check) = (name, check)
    }

    /// The decision on the call.
    public enum Verdict: Sendable {
        /// The validator accepts the response, and the next validator checks it. After the last validator, the response is
        /// returned.
        case next
        /// The call returns this response, and no further validator checks the response.
        case accept(Response)
        /// The call fails with this error.
        case fail(any Error)
        /// The request is sent again after a wait, at most `atMost` times by this validator. If the validator asks for more repetitions,
        /// the call fails with ``ResponseValidationError``. The backoff sets the wait: the field `Retry-After` is ignored.
        case retry(Backoff, atMost: Int)
        /// Another request is sent, for example to renew a session. After the response to the other request, the original request is sent
        /// again. The other request passes the inner layers. The response to the other request may have any status, and is discarded. If
        /// the other request fails, the call fails with the error of that request. A validator can return this decision at most once for a
        /// call.
        case retryAfterSending(Request)
        /// The request is sent again after some work of the app. The work is cancelled if the call is cancelled, or if the deadline of the
        /// call passes. A validator can return this decision at most once for a call.
        case retryAfterRunning(@Sendable () async throws -> Void)
    }
}

/// The error for a call that a validator wants to repeat, but that can't be sent again.
public struct ResponseValidationError: RequestFailure, NumberedFailure {
    /// The name of the validator.
    public let name: String
    /// The number of times that the validator has repeated the call.
    public let retries: Int
    /// The reason why the request is not sent again: ``/ErrandCore/RetryStop/attemptsUsedUp`` for the validator's own retries,
    /// ``/ErrandCore/RetryStop/bodyCannotBeReplayed`` or ``/ErrandCore/RetryStop/deadlineTooNear``.
    public var retryStop: RetryStop?
    /// The request as it was sent.
    public var request: Request?
    /// The head of the response that the validator rejected.
    public let response: HTTPResponse?
    /// The attempts of the call so far.
    public var attempts: [AttemptRecord] = []

    public var phase: ExchangePhase { .response }
    public var delivery: Delivery { .sent }

    init(name: String, retries: Int, retryStop: RetryStop, of response: Response) {
        (self.name, self.retries, self.retryStop) = (name, retries, retryStop)
        (request, self.response) = (response.request, response.head)
    }

    public var description: String { "\(shownRequest)\(happened)\(shownAttempts)" }

    private var happened: String {
        let status = response.map { "status \($0.status.code), " } ?? ""
        return "\(status)refused by '\(name)' after \(retries.counted("retry", "retries"))"
    }

    public var failureNumber: FailureNumber { .responseValidation }
    public var failureReason: String? { (happened + (retryStop.map { ": \($0.words)" } ?? "")).asSentence }
    public var recoverySuggestion: String? { response?.status.code == 401 ? suggestionToSignIn(after: request) : "Try again later." }
}
