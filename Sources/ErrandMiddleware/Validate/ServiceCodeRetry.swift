public import ErrandCore
internal import ErrandFormats

extension ResponseValidator {
    /// The largest body of known length that is searched for a code: 64 KiB.
    private static let bodyLimitBytes = 64 * 1024
    /// The longest `Retry-After` that this validator obeys.
    private static let maxRetryAfter = Duration.seconds(60)

    /// Returns a validator that repeats a call if its response contains one of these codes. The envelope of the client must
    /// describe where the code is.
    ///
    /// ```swift
    /// let stack = transport.validate(.retry(onServiceCodes: [50300, "busy"], backoff: .constant(.milliseconds(200)), atMost: 5))
    /// ```
    ///
    /// With the envelope of the `APIClient`, the validator reads a ``/ErrandCore/ServiceError`` from the body, and compares the code of
    /// this error with `codes`. The status of the response does not matter. A request with any method is repeated, because the back end
    /// itself reports the failure. List only codes which mean that the back end has processed nothing.
    ///
    /// If `Retry-After` is longer than the backoff, and is at most 60 s, the call waits for `Retry-After`. If the call can't be
    /// repeated any more, it fails with the last `ServiceError`, which lists the attempts. The call can't be repeated in these
    /// cases:
    /// - the call was already repeated `atMost` times
    /// - the wait would end after the deadline, or `Retry-After` is longer than 60 s
    /// - the body of the request can be read only once
    /// - a redirect has changed the method of the request, so that the first request was already processed
    ///
    /// Only typed calls of a client with an envelope are repeated. The validator reads only bodies whose `Content-Type` is JSON. A body
    /// whose known length exceeds 64 KiB is not read. A body of unknown length is kept in memory, up to 64 MiB. For a longer download of
    /// unknown length, set `request.options.validate = .off`.
    ///
    /// - Parameters:
    ///   - codes: the codes, numbers or texts.
    ///   - backoff: the wait before each repetition. Default: 100 ms, doubled each time, up to 20 s.
    ///   - atMost: the largest number of repetitions of a call, at least 0. Default: 3.
    public static func retry(
        onServiceCodes codes: Set<ServiceError.Code>, backoff: Backoff = .exponential(), atMost: Int = 3
    ) -> ResponseValidator {
        precondition(atMost >= 0, "atMost must be at least 0 (is \(atMost))")
        let names = codes.map { $0.description.shownSafely(limit: 80) }.sorted().joined(separator: " ")
        var validator = ResponseValidator("no service code \(names)") { request, response, retries in
            guard let code = try await serviceCode(of: response, to: request), codes.contains(code) else { return .next }
            let asked = response.headers.retryAfter
            let wait = backoff.wait(afterAttempt: retries + 1, jitter: .none, retryAfter: asked, atMost: maxRetryAfter)
            return wait.map { .retry(.constant($0), atMost: atMost) } ?? .next
        }
        // If the call can't be repeated any more, the client throws the error of the back end.
        validator.returnsLastResponse = true
        return validator
    }

    /// Returns the code of the error that the body describes; `nil` if the call has no envelope. Also `nil` if the body is too long, is not
    /// JSON, or describes no error.
    private static func serviceCode(of response: Response, to request: Request) async throws -> ServiceError.Code? {
        guard request.options.call.awaitsDecoding, let reader = request.options.call.serviceErrors,
            response.body.expectedLength ?? 0 <= Int64(bodyLimitBytes), response.head.isJSON
        else { return nil }
        return reader.read(try await response.body.collect())?.code
    }
}
