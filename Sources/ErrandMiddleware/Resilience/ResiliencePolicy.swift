public import ErrandCore

/// The settings of `standardResilience(_:)`: timeouts, retry, circuit breaker, concurrency limit and hedging. The initializer checks that
/// the settings are compatible.
///
/// ```swift
/// let stack = transport.standardResilience()                              // 30 s in total, 3 attempts of at most 10 s
/// let patient = try ResiliencePolicy(totalTimeout: .seconds(60), attemptTimeout: .seconds(15))
/// let other = transport.standardResilience(patient)
/// ```
public struct ResiliencePolicy: Sendable, CustomStringConvertible {
    /// The timeout of the whole call, including all attempts, waits and the body: 30 s by default.
    public let totalTimeout: Duration
    /// The timeout of each attempt, without the wait for a slot: 10 s by default.
    public let attemptTimeout: Duration
    /// The retry policy: ``RetryPolicy/standard`` by default.
    public let retry: RetryPolicy
    /// The circuit breaker's policy: ``CircuitBreakerPolicy/standard`` by default.
    public let circuitBreaker: CircuitBreakerPolicy
    /// The number of exchanges that may be in progress at each origin: 1,000 by default. Further requests queue.
    public let concurrencyLimit: ConcurrencyLimit
    /// The hedging policy. With `nil`, the default, no request is hedged.
    public let hedge: HedgePolicy?

    /// Creates settings from compatible parts.
    ///
    /// - Throws: ``ResilienceError`` with all problems if the parts are not compatible.
    public init(
        totalTimeout: Duration = .seconds(30), attemptTimeout: Duration = .seconds(10), retry: RetryPolicy = .standard,
        circuitBreaker: CircuitBreakerPolicy = .standard, concurrencyLimit: ConcurrencyLimit = .fixed(1_000), hedge: HedgePolicy? = nil
    ) throws(ResilienceError) {
        self.init(unchecked: totalTimeout, attemptTimeout, retry, circuitBreaker, concurrencyLimit, hedge)
        let problems = problems
        guard problems.isEmpty else { throw ResilienceError(problems: problems) }
    }

    private init(
        unchecked totalTimeout: Duration, _ attemptTimeout: Duration, _ retry: RetryPolicy, _ circuitBreaker: CircuitBreakerPolicy,
        _ concurrencyLimit: ConcurrencyLimit, _ hedge: HedgePolicy?
    ) {
        (self.totalTimeout, self.attemptTimeout, self.retry) = (totalTimeout, attemptTimeout, retry)
        (self.circuitBreaker, self.concurrencyLimit, self.hedge) = (circuitBreaker, concurrencyLimit, hedge)
    }

    /// 30 s in total, 3 attempts of at most 10 s, the standard breaker, and 1,000 exchanges at each origin.
    public static let standard = ResiliencePolicy(unchecked: .seconds(30), .seconds(10), .standard, .standard, .fixed(1_000), nil)

    /// The problems of the settings; each problem is a sentence. The array is empty for every value that an initializer has
    /// created.
    var problems: [String] {
        var problems: [String] = []
        func expect(_ isSound: Bool, _ problem: @autoclosure () -> String) { if !isSound { problems.append(problem()) } }
        expect(
            totalTimeout > .zero && attemptTimeout > .zero,
            "totalTimeout and attemptTimeout must be more than zero (are \(totalTimeout.inWords) and \(attemptTimeout.inWords))")
        expect(
            attemptTimeout < totalTimeout,
            "attemptTimeout must be less than totalTimeout (are \(attemptTimeout.inWords) and \(totalTimeout.inWords)): "
                + "no time would be left for another attempt")
        expect(
            circuitBreaker.window >= attemptTimeout * 2,
            "circuitBreaker.window must be at least twice attemptTimeout (are \(circuitBreaker.window.inWords) and \(attemptTimeout.inWords)): "
                + "the circuit breaker would forget one attempt before the next attempt has failed")
        if retry.maxAttempts > 1 {
            let wait = retry.backoff.delay(afterAttempt: 1)
            expect(
                wait < totalTimeout,
                "the first wait of retry.backoff must be less than totalTimeout (are \(wait.inWords) and \(totalTimeout.inWords)): "
                    + "no further attempt would be made")
        }
        if let slow = circuitBreaker.slowCallThreshold {
            expect(
                slow < attemptTimeout,
                "circuitBreaker.slowCallThreshold must be less than attemptTimeout (are \(slow.inWords) and \(attemptTimeout.inWords)): "
                    + "no call would count as slow"
            )
        }
        if case .fixed(let delay)? = hedge?.delay.kind {
            expect(
                delay < attemptTimeout,
                "the delay of hedge must be less than attemptTimeout (are \(delay.inWords) and \(attemptTimeout.inWords)): "
                    + "the attempt would end before the next attempt begins")
        }
        return problems
    }

    public var description: String {
        "\(totalTimeout.inWords) in total, \(attemptTimeout.inWords) for each attempt, retry: \(retry), "
            + "circuitBreaker: \(circuitBreaker), concurrencyLimit: \(concurrencyLimit)"
            + (hedge.map { ", hedge: \($0)" } ?? "")
    }
}

/// The error of incompatible settings. The error is thrown when a ``ResiliencePolicy`` is created, not when the policy is used.
public struct ResilienceError: NumberedFailure, Sendable, Hashable, CustomStringConvertible {
    /// The problems of the settings; each problem is a sentence with the values. Never empty.
    public let problems: [String]

    /// All problems.
    public var description: String { problems.joined(separator: "; ") }
    public var failureNumber: FailureNumber { .resilience }
    public var failureReason: String? { description.asSentence }
}

extension ResilienceError: SafelyDescribedError {}

extension HTTPSender {
    /// Adds retry, a circuit breaker, a concurrency limit, a call timeout and an attempt timeout around this sender, in the canonical
    /// order.
    ///
    /// ```swift
    /// let stack = transport.standardResilience()
    /// ```
    ///
    /// The layers, outermost first, are: the deadline of the call, retry, hedging if set, the breaker, the concurrency limit, and the
    /// deadline of an attempt. No slot is held during a backoff. The wait for a slot is included in the time of the call, but not in the
    /// time of the attempt. Hedging is outside the breaker, and shares the budget with retry. Each part can be switched off per request.
    ///
    /// - Parameters:
    ///   - resilience: the settings. Default: ``ResiliencePolicy/standard``.
    ///   - budget: the budget that retry and hedging share. Default: a new budget for this stack. `nil`: no budget limits the
    ///     retries, and hedging gets a new budget.
    ///   - breaker: a breaker that you share or inspect. The policy of this breaker replaces `resilience.circuitBreaker`. Default:
    ///     `nil`, a new breaker.
    ///   - clock: the clock that measures the durations of the layers. A budget, and a breaker that you pass, keep their own clocks.
    public func standardResilience(
        _ resilience: ResiliencePolicy = .standard, budget: RetryBudget? = RetryBudget(), breaker: CircuitBreaker? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        let guarded = phaseTimeouts(attempt: resilience.attemptTimeout, clock: clock)
            .concurrencyLimit(resilience.concurrencyLimit, per: .origin, clock: clock)
            .circuitBreaker(breaker ?? CircuitBreaker(resilience.circuitBreaker, clock: clock))
        let hedged = resilience.hedge.map { guarded.hedge($0, budget: budget, clock: clock) } ?? guarded
        return hedged.retry(resilience.retry, budget: budget, clock: clock).timeout(resilience.totalTimeout, clock: clock)
    }
}
