public import ErrandCore

// Spellings that a newcomer tries first: they work, or the compiler says what to write.

extension HTTPSender {
    /// Sends requests again that failed temporarily, with `maxAttempts` attempts in all: `retry(3)` sends a request at most three times.
    ///
    /// Everything else is as in ``RetryPolicy/standard``. See ``RetryMiddleware``.
    ///
    /// - Parameters:
    ///   - maxAttempts: the first attempt included; at least 1.
    ///   - budget: shared by all calls through this middleware; a budget of its own by default. `nil` retries without a budget.
    public func retry(_ maxAttempts: Int, budget: RetryBudget? = RetryBudget()) -> HTTPStack {
        retry(RetryPolicy(maxAttempts: maxAttempts), budget: budget)
    }

    /// Not available: a timeout has a unit, `timeout(.seconds(30))`.
    @available(*, unavailable, message: "write timeout(.seconds(30)): a timeout is a Duration")
    public func timeout(_ seconds: Int) -> HTTPStack { timeout(.seconds(seconds)) }

    /// Not available: a timeout has a unit, `timeout(.milliseconds(500))`.
    @available(*, unavailable, message: "write timeout(.seconds(0.5)): a timeout is a Duration")
    public func timeout(_ seconds: Double) -> HTTPStack { timeout(.seconds(seconds)) }
}
