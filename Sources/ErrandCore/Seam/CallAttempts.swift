/// The attempts that a middleware makes for one call.
///
/// Between two attempts, ``followUp(with:after:counting:waiting:on:orUntil:onDecision:)`` releases the response of the first attempt, so
/// that its connection becomes free. The function records the attempt for observers and for the caller, waits, and returns the request
/// to send next.
///
/// ```swift
/// struct TryAgain: HTTPMiddleware {
///     func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
///         var request = request
///         var attempts = CallAttempts()
///         while true {
///             let result = try await next.attempt(request)
///             guard attempts.count < 2, request.body.canBeSent, request.mayBeSentAgain(after: result), result.isTransient else {
///                 return try attempts.adding(to: result)
///             }
///             request = try await attempts.followUp(with: request, after: result, waiting: .seconds(1))
///         }
///     }
/// }
/// ```
///
/// Each middleware of this library that sends requests again uses this type and the functions of this file.
public struct CallAttempts: Sendable {
    /// The earlier attempts of this middleware and of its inner layers, oldest first. An attempt is recorded when another
    /// attempt follows.
    public private(set) var records: [AttemptRecord]
    /// The number of earlier attempts of this middleware, without the attempts of its inner layers.
    public private(set) var count = 0
    /// The warnings of the released responses, oldest first, for the final response.
    private var warnings: [String] = []

    /// Creates the attempts of a call.
    ///
    /// - Parameter records: the earlier attempts. Default: no attempts.
    public init(_ records: [AttemptRecord] = []) { self.records = records }

    /// Releases the response of an attempt, records the attempt, waits, and returns the request of the next attempt.
    ///
    /// At most 16 KiB of the response are read, for at most 100 ms: see ``Response/release(within:on:)``. The function keeps the warnings
    /// of the response (``ResponseMetadata/warnings``) for the final response, to which `adding(to:)` adds these warnings.
    ///
    /// - Parameters:
    ///   - request: the request to send next: the request of the attempt, or a changed copy.
    ///   - result: the response or the failure of the attempt.
    ///   - counts: whether the attempt is recorded in ``records`` and ``count``. Default: `true`. Pass false for a hop of a
    ///     redirect, which is not an attempt.
    ///   - delay: the wait before the next attempt. Default: zero.
    ///   - clock: the clock that measures the waits.
    ///   - wake: a closure. If the closure returns during the wait, the wait ends early. With `nil`, the default, the wait has its full
    ///     length.
    ///   - onDecision: a closure that reports the decision. The closure runs after the attempt was recorded, and before the wait.
    ///     By default, the closure does nothing.
    /// - Returns: `request`, with the count of attempts in ``RequestOptions/resendCount``.
    /// - Throws: `CancellationError` if the task is cancelled; any error that `wake` throws.
    public mutating func followUp(
        with request: Request, after result: Result<Response, any Error>, counting counts: Bool = true,
        waiting delay: Duration = .zero, on clock: any Clock<Duration> = ContinuousClock(),
        orUntil wake: (@Sendable () async throws -> Void)? = nil, onDecision: () -> Void = {}
    ) async throws -> Request {
        try await result.release(on: clock)
        if case .success(let response) = result { warnings += response.metadata.warnings }
        if counts { append(result, delay: delay) }
        onDecision()
        try await request.wait(for: delay, on: clock, orUntil: wake)
        var next = request
        next.countResend(after: result)
        return next
    }

    /// Records an attempt, and the attempts that inner layers made for this attempt.
    ///
    /// - Parameters:
    ///   - result: the response or the failure of the attempt.
    ///   - delay: the wait before the next attempt. Default: zero.
    public mutating func append(_ result: Result<Response, any Error>, delay: Duration = .zero) {
        let outcome: AttemptRecord.Outcome
        switch result {
        case .success(let response):
            records = records.followed(by: response.metadata.attempts)
            outcome = .status(response.head.status)
        case .failure(let error):
            records = records.followed(by: (error as? any RequestFailure)?.attempts ?? [])
            outcome = .failure(error)
        }
        records.append(AttemptRecord(number: records.count + 1, outcome: outcome, delay: delay))
        count += 1
    }

    /// Sends a request. If the attempt fails with a ``RequestFailure``, the earlier attempts are added to the failure.
    ///
    /// - Throws: the failure of the attempt.
    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        do {
            return try await next.send(request)
        } catch {
            throw adding(to: error)
        }
    }

    /// Returns the response or throws the failure of the last attempt, with the records of the earlier attempts.
    public func adding(to result: Result<Response, any Error>) throws -> Response {
        switch result {
        case .success(let response): return adding(to: response)
        case .failure(let error): throw adding(to: error)
        }
    }

    /// Returns the response of the last attempt, with the earlier attempts in ``ResponseMetadata/attempts``, and the warnings of the
    /// released responses in ``ResponseMetadata/warnings``.
    public func adding(to response: Response) -> Response {
        if records.isEmpty, warnings.isEmpty { return response }
        var response = response
        if !records.isEmpty { response.metadata.attempts = records.followed(by: response.metadata.attempts) }
        if !warnings.isEmpty { response.metadata.warnings = warnings + response.metadata.warnings }
        return response
    }

    /// Returns the failure of the last attempt. If the failure is a ``RequestFailure``, the earlier attempts are added.
    public func adding(to error: any Error) -> any Error {
        guard !records.isEmpty, var failure = error as? any RequestFailure else { return error }
        failure.attempts = records.followed(by: failure.attempts)
        return failure
    }
}

extension HTTPSender {
    /// Sends a request, and returns a failure instead of throwing it.
    ///
    /// - Throws: only `CancellationError`. If the task is cancelled, this function throws `CancellationError`, even if an inner
    ///   layer threw another error.
    public func attempt(_ request: Request) async throws -> Result<Response, any Error> {
        do {
            return .success(try await send(request))
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            return .failure(error)
        }
    }
}

extension Result where Success == Response, Failure == any Error {
    /// Whether the same request may succeed later, according to the status (``HTTPResponse/Status/isTransient``) or the error
    /// (``Swift/Error/isTransient``). False for the 504 of a cache that has no usable response.
    public var isTransient: Bool {
        switch self {
        case .success(let response): response.isTransient()
        case .failure(let error): error.isTransient
        }
    }

    /// Releases the response, if there is one: see ``Response/release(within:on:)``.
    public func release(on clock: any Clock<Duration> = ContinuousClock()) async throws {
        if case .success(let response) = self { try await response.release(on: clock) }
    }

    /// Abandons the response, if there is one: see ``Response/discard()``.
    public func discard() {
        if case .success(let response) = self { response.discard() }
    }
}

extension Response {
    /// Releases a response that the call does not return, before the next request of the same call.
    ///
    /// If the body declares a length of at most 16 KiB and arrives within `limit`, its connection can be used again. Any other body is
    /// abandoned.
    ///
    /// - Parameters:
    ///   - limit: the longest time for reading the body. Default: ``releaseLimit``.
    ///   - clock: the clock that measures the time.
    /// - Throws: only `CancellationError`.
    public func release(within limit: Duration = releaseLimit, on clock: any Clock<Duration> = ContinuousClock()) async throws {
        defer { discard() }
        try await body.drain(within: limit, on: clock)
    }

    /// Abandons a response that the call does not return, without reading its body.
    public func discard() {
        body.abandon()
        metadata.callEnd?.end(.discarded)
    }
}

extension Request {
    /// Counts an attempt of this call, and the attempts of inner layers.
    ///
    /// - Parameter result: the response or the failure of the attempt; `nil` if the attempt is still in progress.
    public mutating func countResend(after result: Result<Response, any Error>?) {
        options.call.observation?.recordResend()
        let last: Request? =
            switch result {
            case .success(let response): response.request
            case .failure(let error): (error as? any RequestFailure)?.request
            case nil: nil
            }
        let inner = last?.id == id ? last?.options : nil
        let count = max(options.resendCount, inner?.resendCount ?? 0)
        if let wait = inner?.networkWait { options.networkWait = wait }
        options.resendCount = min(count, .max - 1) + 1
    }

    /// Returns whether it is safe to send the request again.
    ///
    /// - After a response: ``mayBeSentAgain``.
    /// - After a failure: ``mayBeSentAgain(after:)`` for the error of the attempt.
    public func mayBeSentAgain(after result: Result<Response, any Error>) -> Bool {
        switch result {
        case .success: mayBeSentAgain
        case .failure(let error): mayBeSentAgain(after: error)
        }
    }

    /// Waits before the next attempt, and reports the wait to the event sink. If `delay` is zero or less, the function returns
    /// immediately.
    ///
    /// - Parameters:
    ///   - delay: the length of the wait.
    ///   - clock: the clock that measures the wait.
    ///   - wake: a closure. If the closure returns during the wait, the wait ends early. At the end of the wait, a running closure is
    ///     cancelled. With `nil`, the default, the wait has its full length.
    /// - Throws: `CancellationError` if the task is cancelled; any error that `wake` throws.
    public func wait(
        for delay: Duration, on clock: any Clock<Duration> = ContinuousClock(), orUntil wake: (@Sendable () async throws -> Void)? = nil
    ) async throws {
        guard delay > .zero else { return }
        report(.waitStart)
        defer { report(.waitEnd) }
        guard let wake else { return try await clock.sleep(for: delay.bounded) }
        try await firstOf({ try await clock.sleep(for: delay.bounded) }, { try await wake() })
    }
}
