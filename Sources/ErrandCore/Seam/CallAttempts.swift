/// The attempts that a middleware makes for one call.
///
/// It releases what came of an attempt, so that its connection is free, notes the attempt for observers and for the caller, waits, and returns the
/// request to send next.
///
/// ```swift
/// struct TryAgain: HTTPMiddleware {
///     func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
///         var request = request
///         var attempts = CallAttempts()
///         while true {
///             let result = try await next.attempt(request)
///             guard attempts.count < 2, request.body.canBeSent, request.mayBeSentAgain(after: result), result.isTransient else {
///                 return try attempts.finish(result)
///             }
///             request = try await attempts.followUp(with: request, after: result, waiting: .seconds(1))
///         }
///     }
/// }
/// ```
///
/// The middleware of this library that sends requests again does it by this type and by the functions beside it.
public struct CallAttempts: Sendable {
    /// The attempts after which the middleware, or a layer inside it, made another; oldest first.
    public private(set) var records: [AttemptRecord]
    /// The number of attempts that this middleware has followed with another, without those of layers inside.
    public private(set) var count = 0

    /// - Parameter records: attempts that were made before; none by default.
    public init(_ records: [AttemptRecord] = []) { self.records = records }

    /// Releases what came of an attempt, notes the attempt, waits, and returns the request of the next attempt.
    ///
    /// Of the response, at most 16 KiB are read, for at most 100 ms: ``Response/release(within:on:)``.
    ///
    /// - Parameters:
    ///   - request: the request to send next: the same one, or one that was made of it.
    ///   - result: what came of the attempt.
    ///   - delay: the wait before the next attempt; zero by default.
    ///   - clock: the clock that measures the waits.
    /// - Returns: `request`, with its count of attempts.
    /// - Throws: `CancellationError`.
    public mutating func followUp(
        with request: Request, after result: Result<Response, any Error>, waiting delay: Duration = .zero,
        on clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> Request {
        try await result.release(on: clock)
        append(result, delay: delay)
        try await request.wait(for: delay, on: clock)
        var next = request
        next.countResend(after: result)
        return next
    }

    /// Notes an attempt, and those that layers inside made for it.
    ///
    /// - Parameters:
    ///   - result: what came of the attempt.
    ///   - delay: the wait before the next attempt; zero by default.
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

    /// Returns the response of the last attempt, with the attempts before it, or throws its failure with them.
    public func finish(_ result: Result<Response, any Error>) throws -> Response {
        switch result {
        case .success(let response): return finish(response)
        case .failure(let error): throw finish(error)
        }
    }

    /// Returns the response of the last attempt, with the attempts before it in ``ResponseMetadata/attempts``.
    public func finish(_ response: Response) -> Response {
        if records.isEmpty { return response }
        var response = response
        response.metadata.attempts = records.followed(by: response.metadata.attempts)
        return response
    }

    /// Returns the failure of the last attempt, with the attempts before it if it is a ``RequestFailure``.
    public func finish(_ error: any Error) -> any Error {
        guard !records.isEmpty, var failure = error as? any RequestFailure else { return error }
        failure.attempts = records.followed(by: failure.attempts)
        return failure
    }
}

extension HTTPSender {
    /// Sends a request for a middleware that looks at the failure, too.
    ///
    /// - Throws: only `CancellationError`: a cancelled call is over, whatever error a layer inside threw.
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
    /// Whether the same request may succeed later: by its status (``HTTPResponse/Status/isTransient``), or by its error (``Swift/Error/isTransient``).
    public var isTransient: Bool {
        switch self {
        case .success(let response): response.head.status.isTransient
        case .failure(let error): error.isTransient
        }
    }

    /// Releases the response, if there is one: ``Response/release(within:on:)``.
    public func release(on clock: any Clock<Duration> = ContinuousClock()) async throws {
        if case .success(let response) = self { try await response.release(on: clock) }
    }
}

extension Response {
    /// Releases a response that is not the call's own, before the next request of the same call.
    ///
    /// If the body declares a length of at most 16 KiB and arrives within `limit`, its connection can be used again. Otherwise the body is abandoned.
    ///
    /// - Parameters:
    ///   - limit: how long the body may take; ``releaseLimit`` by default.
    ///   - clock: the clock that measures it.
    /// - Throws: only `CancellationError`.
    public func release(within limit: Duration = releaseLimit, on clock: any Clock<Duration> = ContinuousClock()) async throws {
        defer { discard() }
        try await body.drain(within: limit, on: clock)
    }

    /// Abandons a response that is not the call's own, without reading its body.
    public func discard() {
        body.abandon()
        metadata.callEnd?.end(.discarded)
    }
}

extension Request {
    /// Counts an attempt of this call: layers inside may have sent it several times.
    ///
    /// - Parameter result: what came of the attempt.
    public mutating func countResend(after result: Result<Response, any Error>) {
        options.call.observation?.sentAgain()
        let last: Request? =
            switch result {
            case .success(let response): response.request
            case .failure(let error): (error as? any RequestFailure)?.request
            }
        let count = max(options.resendCount, last?.id == id ? last?.options.resendCount ?? 0 : 0)
        options.resendCount = min(count, .max - 1) + 1
    }

    /// Whether no server can process this request twice if the request is sent again: after a failure, as
    /// for its error; after a response, if ``mayBeSentAgain`` is true.
    public func mayBeSentAgain(after result: Result<Response, any Error>) -> Bool {
        switch result {
        case .success: mayBeSentAgain
        case .failure(let error): mayBeSentAgain(after: error)
        }
    }

    /// Waits before the next attempt, and reports the wait to the event sink. Zero or less is no wait.
    ///
    /// - Throws: `CancellationError`.
    public func wait(for delay: Duration, on clock: any Clock<Duration> = ContinuousClock()) async throws {
        guard delay > .zero else { return }
        report(.waitStart)
        defer { report(.waitEnd) }
        try await clock.sleep(for: delay.bounded)
    }
}
