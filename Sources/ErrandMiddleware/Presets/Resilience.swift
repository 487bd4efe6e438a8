public import ErrandCore

/// What a call needs to survive a server in trouble, as one value whose parts fit each other: it can't be built otherwise.
///
/// ```swift
/// let stack = transport.standardResilience()                              // 30 s in all, 3 attempts of at most 10 s
/// let patient = try Resilience(total: .seconds(60), attempt: .seconds(15))
/// let other = transport.standardResilience(patient)
/// ```
public struct Resilience: Sendable, CustomStringConvertible {
    /// For the whole call, with all attempts, waits and the body: 30 s by default.
    public let total: Duration
    /// For each attempt, once it has its slot: 10 s by default.
    public let attempt: Duration
    /// ``RetryPolicy/standard`` by default.
    public let retry: RetryPolicy
    /// ``CircuitPolicy/standard`` by default.
    public let circuit: CircuitPolicy
    /// How many exchanges may be under way at each origin: 1,000 by default; the others wait.
    public let concurrency: ConcurrencyLimit
    /// Nil, the default, hedges nothing.
    public let hedge: HedgePolicy?

    /// - Throws: ``ResilienceError`` where the parts don't fit each other, with all that is wrong.
    public init(
        total: Duration = .seconds(30), attempt: Duration = .seconds(10), retry: RetryPolicy = .standard,
        circuit: CircuitPolicy = .standard, concurrency: ConcurrencyLimit = .fixed(1_000), hedge: HedgePolicy? = nil
    ) throws(ResilienceError) {
        self.init(unchecked: total, attempt, retry, circuit, concurrency, hedge)
        let problems = problems
        guard problems.isEmpty else { throw ResilienceError(problems: problems) }
    }

    private init(
        unchecked total: Duration, _ attempt: Duration, _ retry: RetryPolicy, _ circuit: CircuitPolicy, _ concurrency: ConcurrencyLimit,
        _ hedge: HedgePolicy?
    ) {
        (self.total, self.attempt, self.retry) = (total, attempt, retry)
        (self.circuit, self.concurrency, self.hedge) = (circuit, concurrency, hedge)
    }

    /// 30 s in all, 3 attempts of 10 s at most, the standard breaker, 1,000 exchanges at each origin.
    public static let standard = Resilience(unchecked: .seconds(30), .seconds(10), .standard, .standard, .fixed(1_000), nil)

    /// What does not fit, each as a sentence; empty for every value that can be had.
    var problems: [String] {
        var problems: [String] = []
        func expect(_ isSound: Bool, _ problem: @autoclosure () -> String) { if !isSound { problems.append(problem()) } }
        expect(total > .zero && attempt > .zero, "a time for the call of \(total) and for an attempt of \(attempt): both must be positive")
        expect(attempt < total, "an attempt of \(attempt) would use up the \(total) of the call: nothing would be left for another")
        expect(
            circuit.window >= attempt * 2,
            "the breaker's window of \(circuit.window) is less than two attempts of \(attempt): it would forget one before the next has failed"
        )
        if retry.maxAttempts > 1 {
            let wait = retry.backoff.wait(afterAttempt: 1)
            expect(wait < total, "the first backoff of \(wait) would pass the \(total) of the call: nothing would be tried again")
        }
        if let slow = circuit.slowCall {
            expect(slow < attempt, "a call is slow after \(slow), but no attempt takes longer than \(attempt): none would count")
        }
        if case .fixed(let delay)? = hedge?.delay.kind {
            expect(delay < attempt, "a hedge after \(delay) would come when the attempt of \(attempt) is over")
        }
        return problems
    }

    public var description: String {
        "\(total) in all, \(attempt) an attempt, retry: \(retry), circuit: \(circuit), at once: \(concurrency)"
            + (hedge.map { ", hedge: \($0)" } ?? "")
    }
}

/// Parts that don't fit each other. It is found when a ``Resilience`` is built, not when it is needed.
public struct ResilienceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Each a sentence, with the values; never empty.
    public let problems: [String]

    public var description: String { problems.joined(separator: "; ") }
}

extension HTTPSender {
    /// Retry, circuit breaker, concurrency limit and both timeouts around this sender, in the canonical order.
    ///
    /// Outermost first: the deadline of the whole call, retry, the breaker for each attempt, hedging if wanted, the limit, the deadline of
    /// an attempt. A slot is not held during a backoff; waiting for one counts against the call, not against the attempt. Hedging is outside
    /// the breaker, and shares its budget with retry. Each part has its own switch per request.
    ///
    /// - Parameters:
    ///   - budget: shared by retry and hedging; one of its own by default. Nil retries without bounds, and hedges by a budget of
    ///     its own.
    ///   - breaker: to look at the circuits; one of its own by default, with the policy of `resilience`, which it replaces.
    ///   - clock: what all of it is measured by.
    public func standardResilience(
        _ resilience: Resilience = .standard, budget: RetryBudget? = RetryBudget(), breaker: CircuitBreaker? = nil,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        let guarded = phaseTimeouts(attempt: resilience.attempt, clock: clock)
            .concurrencyLimit(resilience.concurrency, per: .origin, clock: clock)
            .circuitBreaker(breaker ?? CircuitBreaker(resilience.circuit, clock: clock))
        let hedged = resilience.hedge.map { guarded.hedge($0, budget: budget, clock: clock) } ?? guarded
        return hedged.retry(resilience.retry, budget: budget, clock: clock).timeout(resilience.total, clock: clock)
    }
}
