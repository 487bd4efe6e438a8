public import ErrandCore
internal import ErrandFormats

/// Sends a request again after a temporary failure. The ``RetryPolicy`` decides whether and when the request is sent again. The
/// ``RetryBudget`` of the origin must have a token.
///
/// ```swift
/// let stack = transport.retry().validateStatus().timeout(.seconds(30))
/// print(stack)    // timeout(30 s) > validateStatus(2xx) > retry(3 attempts, …, budget 5 + 20 % of successes) > …
/// ```
///
/// **Place:** inside `validateStatus` and `timeout`, and outside `authenticate`, so that each attempt passes all inner layers again and
/// gets a fresh access token. If a wait would end after the request's deadline, the retries end immediately. Use only one `retry` in a
/// stack. The numbers of attempts of two `retry` layers multiply: two layers with 3 attempts each make up to 9 attempts.
///
/// A response that was returned is final: if the body of the response fails, the request is not sent again. After the last attempt, the
/// last response is returned or the last error is thrown. The `attempts` of this response or error list the earlier attempts, including the
/// attempts of an inner layer that sends requests again. If the policy asks for another attempt that is not possible, `retryStop` gives the
/// reason. The property `retryStop` is in the error, or in the metadata of the response. The description of the error shows the reason:
///
/// ```
/// GET https://a.example/x: status 503 Service Unavailable; no further attempt: the retry budget of this origin is used up
/// ```
///
/// A small program uses up its budget quickly: five retries, and then one retry for every five successful calls or every ten seconds. To
/// test retries, pass `budget: nil`.
///
/// A call that is cancelled is never sent again.
///
/// If calls shared an exchange (with ``CoalesceMiddleware`` as an inner layer), these calls are retried together. The failure of a shared
/// exchange takes only one token of the budget. Calls with the same policy wait for the same time, so that they can share the next attempt.
/// If a shared exchange succeeds, the budget gets tokens only once.
///
/// **Per request:** set `request.options.retry` to `.off` or `.use(policy)`. With `request.options.idempotencyKey = .attached`, a
/// POST can be sent again, with the same key each time.
public struct RetryMiddleware: HTTPMiddleware {
    private let policy: RetryPolicy
    private let budget: RetryBudget?
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - policy: the conditions for retries, and the waits before retries.
    ///   - budget: the budget of all calls through this middleware. Default: a new budget for this middleware. `nil`: no budget
    ///     limits the retries.
    ///   - clock: the clock that measures the waits.
    ///   - random: a closure that returns the random number for the jitter, at least 0 and less than 1.
    public init(
        _ policy: RetryPolicy = .standard, budget: RetryBudget? = RetryBudget(), clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.policy = policy
        self.budget = budget
        self.clock = clock
        self.random = random
    }

    public var place: MiddlewarePlace { .retry }

    public var neighbors: [MiddlewareNeighbor] {
        let rules: [MiddlewareNeighbor] = [
            .inside(.fallback, because: "retry would never see the failures"),
            .outside(.authenticate, because: "a retried request would carry an expired token"),
            .once(because: "the attempts of both layers would be multiplied"),
        ]
        // Only a policy with statuses must be inside `validateStatus`.
        guard !policy.statuses.isEmpty else { return rules }
        return [.inside(.validateStatus, because: "retry would get an error instead of the status")] + rules
    }

    public var label: String { "retry(\(policy), \(budget?.label ?? "no budget"))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let policy = request.options.retry.resolved(policy) else { return try await next.send(request) }
        var request = request
        // A shared decision in the options belongs to an earlier failure of this request, and is no longer valid.
        if request.options.sharedRetry != nil { request.options.sharedRetry = nil }
        let hasKey = request.attachIdempotencyKey(for: policy.keyedMethods)
        var attempts = CallAttempts()
        var made = 0
        var uncounted = 0
        var hasUsedFreeAttempt = false
        while true {
            let result = try await next.attempt(request)
            let kind = Self.kind(of: result)
            made += 1
            let shared = SharedRetry.of(result)
            let decision = policy.decision(
                on: RetryPolicy.Situation(
                    attempt: made, uncounted: uncounted, outcome: kind, method: request.method, hasKey: hasKey,
                    canReplay: request.body.canBeSent,
                    remaining: request.deadline?.remaining, hasUsedFreeAttempt: hasUsedFreeAttempt),
                of: request, result, random: shared?.random(random) ?? random())
            guard case .retry(let delay, let counts) = decision, !counts || hasToken(for: request, shared) else {
                // A status that the policy would retry is not a success, even if the app's own decision makes the response final. If a
                // shared exchange succeeds, only the caller whose request was sent adds tokens to the budget.
                if decision == .stop(.final), case .success(let response) = result, !policy.statuses.contains(response.head.status),
                    response.metadata.coalescedInto == nil
                {
                    budget?.deposit(request.origin)
                }
                let stop = if case .stop(let reason) = decision { reason } else { RetryStop.budgetUsedUp }
                request.report(.retryDecision, decision: Self.reported(.stop(stop), result))
                return try Self.final(result, after: attempts, stop)
            }
            if !counts {
                uncounted += 1
                if kind == .unprocessed { hasUsedFreeAttempt = true }
            }
            let wake = policy.wake(for: request, after: result)
            request = try await attempts.followUp(with: request, after: result, waiting: delay, on: clock, orUntil: wake) {
                request.report(.retryDecision, decision: Self.reported(decision, result))
            }
        }
    }

    private func hasToken(for request: Request, _ shared: SharedRetry?) -> Bool {
        guard let budget else { return true }
        return shared?.withdraw(budget, request.origin) ?? budget.withdraw(request.origin)
    }

    private static func reported(_ decision: RetryPolicy.Decision, _ result: Result<Response, any Error>) -> ExchangeEvent.Decision {
        let what =
            switch result {
            case .success(let response): "\(response.status.code)"
            case .failure(let error as TransportError): "\(error.code)"
            case .failure(let error): "\(type(of: error))"
            }
        return switch decision {
        case .retry(let delay, let counts): .init(continues: true, after: delay, "\(what), \(counts ? "again" : "again, uncounted")")
        case .stop(let reason): .init(continues: false, "\(what), \(reason)")
        }
    }

    private static func final(
        _ result: Result<Response, any Error>, after attempts: CallAttempts, _ stop: RetryStop
    ) throws -> Response {
        switch result {
        case .success(let response):
            var response = attempts.adding(to: response)
            if stop != .final { response.metadata.retryStop = stop }
            return response
        case .failure(let error):
            let error = attempts.adding(to: error)
            // If the deadline has passed, the error is already a timeout.
            let isTooLate =
                stop == .deadlineTooNear && error.isTimeout && (error as? any RequestFailure)?.request?.deadline?.hasPassed == true
            guard stop != .final, !isTooLate, var failure = error as? any RequestFailure else { throw error }
            failure.retryStop = stop
            throw failure
        }
    }

    private static func kind(of result: Result<Response, any Error>) -> RetryPolicy.Outcome {
        switch result {
        // The request allows only a stored response. Another attempt would have the same result.
        case .success(let response) where response.metadata.cacheStatus?.isUnavailable == true: .permanent
        case .success(let response): .status(response.head.status, retryAfter: response.head.headerFields.retryAfter)
        case .failure(let error as TransportError) where error.isTransient:
            error.wasLeftUnprocessed ? .unprocessed : error.mayHaveBeenProcessed ? .lost : .neverSent
        // A failure is final if it is not a temporary transport failure. An example is a failed refresh of a token. The layer that threw
        // the error decides when to try again.
        case .failure: .permanent
        }
    }
}

private enum RetryOptionKey: OptionKey {
    static var defaultValue: OptionOverride<RetryPolicy> { .inherited }
    static func identity(of value: OptionOverride<RetryPolicy>) -> OptionIdentity { .ofSwitch(value) }
    static var requiredMiddleware: MiddlewarePlace { .retry }
    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// Replaces the stack's retry policy for this request. `.off`: the request is sent once. Default: `.inherited`, the stack's policy.
    ///
    /// If the stack has no `retry`, the request fails with ``/ErrandCore/UnsupportedOptionError``.
    public var retry: OptionOverride<RetryPolicy> {
        get { self[RetryOptionKey.self] }
        set { self[RetryOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Sends requests again after a temporary failure. See ``RetryMiddleware``.
    ///
    /// ```swift
    /// transport.retry(RetryPolicy(maxAttempts: 5))
    /// ```
    ///
    /// - Parameters:
    ///   - policy: the conditions for retries, and the waits before retries. Default: three attempts.
    ///   - budget: the budget of all calls through this middleware. Default: a new budget for this middleware. `nil`: no budget
    ///     limits the retries.
    ///   - clock: the clock that measures the waits.
    ///   - random: a closure that returns the random number for the jitter, at least 0 and less than 1.
    public func retry(
        _ policy: RetryPolicy = .standard, budget: RetryBudget? = RetryBudget(), clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) -> HTTPStack {
        wrapped(by: RetryMiddleware(policy, budget: budget, clock: clock, random: random))
    }

    /// Sends requests again after temporary failures, with at most `maxAttempts` attempts: `retry(3)` sends a request at most three times.
    ///
    /// All other settings are as in ``RetryPolicy/standard``. See ``RetryMiddleware``.
    ///
    /// - Parameters:
    ///   - maxAttempts: the largest number of attempts, including the first attempt; at least 1.
    ///   - budget: the budget of all calls through this middleware. Default: a new budget for this middleware. `nil`: no budget
    ///     limits the retries.
    public func retry(_ maxAttempts: Int, budget: RetryBudget? = RetryBudget()) -> HTTPStack {
        retry(RetryPolicy(maxAttempts: maxAttempts), budget: budget)
    }

    /// Not available, because a duration is a part of the policy: `retry(RetryPolicy(backoff: .constant(.seconds(3))))`.
    @available(*, unavailable, message: "write retry(RetryPolicy(backoff: .constant(.seconds(3)))): a wait belongs to the policy")
    @_disfavoredOverload
    public func retry(_ wait: Duration) -> HTTPStack { retry(RetryPolicy(backoff: .constant(wait))) }
}
