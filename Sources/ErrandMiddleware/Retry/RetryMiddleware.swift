public import ErrandCore
internal import ErrandFormats

/// Sends a request again that failed in passing, by a ``RetryPolicy``.
///
/// **Place:** inside `validateStatus` and `timeout`, outside `authenticate`, so that each attempt goes through the whole inner stack
/// again, with a fresh token. The waits obey the request's deadline: one that would pass it ends the retries at once.
///
/// When the attempts are used up, the last response is returned or the last error thrown, with the earlier ones in its `attempts`.
///
/// **Per request:** `request.options.retry = .off`, or `.use(policy)`.
public struct RetryMiddleware: HTTPMiddleware {
    private let policy: RetryPolicy
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double

    /// - Parameters:
    ///   - clock: what the waits are measured by.
    ///   - random: a number from 0 up to, but not including, 1: the jitter.
    public init(
        _ policy: RetryPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        (self.policy, self.clock, self.random) = (policy, clock, random)
    }

    public var place: MiddlewarePlace? { .retry }
    public var label: String { "retry(\(policy))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let policy = request.options.retry.resolved(policy) else { return try await next.send(request) }
        var attempts: [AttemptRecord] = []
        while true {
            let number = attempts.count + 1
            let outcome: AttemptRecord.Outcome
            let wait: Duration?
            do {
                var response = try await next.send(request)
                wait = delay(
                    by: policy, after: number, request: request,
                    .status(response.head.status.code, retryAfter: response.head.headerFields.retryAfter))
                guard wait != nil else {
                    if !attempts.isEmpty { response.metadata.attempts = attempts }
                    return response
                }
                response.body.abandon()
                outcome = .status(response.head.status)
            } catch {
                // However the layers below put it: a cancelled call is over.
                if Task.isCancelled || error is CancellationError { throw CancellationError() }
                wait = delay(by: policy, after: number, request: request, Self.outcome(of: error))
                guard wait != nil else {
                    guard !attempts.isEmpty, var failure = error as? any RequestFailure else { throw error }
                    failure.attempts = attempts
                    throw failure
                }
                outcome = .failure(error)
            }
            let delay = wait ?? .zero
            attempts.append(AttemptRecord(number: number, outcome: outcome, delay: delay))
            try await clock.sleep(for: delay)
        }
    }

    private func delay(by policy: RetryPolicy, after attempt: Int, request: Request, _ outcome: RetryPolicy.Outcome) -> Duration? {
        policy.delay(
            afterAttempt: attempt, outcome, method: request.method, canReplay: request.body.replay.canRestart,
            remaining: request.deadline?.remaining, random: random())
    }

    private static func outcome(of error: any Error) -> RetryPolicy.Outcome {
        guard let error = error as? TransportError else { return .failure(isTransient: false, wasSent: .maybe) }
        let isTransient = [.cannotFindHost, .cannotConnect, .connectionLost, .timedOut].contains(error.code)
        return .failure(isTransient: isTransient, wasSent: error.wasSent)
    }
}

extension HTTPFields {
    /// What `Retry-After` asks for, measured from the response's own `Date`; nil where it is missing or unreadable.
    var retryAfter: Duration? {
        guard let value = self[.retryAfter] else { return nil }
        let now = HTTPDate(secondsSinceEpoch: Int64(Date.now.timeIntervalSince1970))
        return RetryAfter.wait(value, date: self[.date], now: now)
    }
}

private enum RetryOptionKey: TypedKey { static var defaultValue: Override<RetryPolicy> { .inherited } }

extension RequestOptions {
    /// Another policy for this request, or `.off`.
    public var retry: Override<RetryPolicy> {
        get { self[RetryOptionKey.self] }
        set { self[RetryOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends requests again that failed in passing. See ``RetryMiddleware``.
    public func retry(
        _ policy: RetryPolicy = .standard, clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) -> HTTPStack {
        wrapped(by: RetryMiddleware(policy, clock: clock, random: random))
    }
}
