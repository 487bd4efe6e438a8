public import ErrandCore

extension RetryPolicy {
    /// A finished attempt, which is the input of your own decision.
    public struct Attempt: Sendable {
        /// The request, as it was when the attempt began.
        public let request: Request
        /// The number of the attempt, from 1.
        public let number: Int
        /// The head of the response, without its body, or the error.
        public let result: Result<HTTPResponse, any Error>
        /// The decision of the policy.
        public let decision: Decision

        /// The head of the response; `nil` if the attempt failed without a response.
        public var response: HTTPResponse? { try? result.get() }
        /// The error; `nil` if there is a response with any status.
        public var error: (any Error)? {
            if case .failure(let error) = result { error } else { nil }
        }

        /// Creates a finished attempt. Use this initializer in tests of your own decision.
        ///
        /// - Parameters:
        ///   - request: the request, as it was when the attempt began.
        ///   - number: the number of the attempt, from 1.
        ///   - result: the head of the response, or the error.
        ///   - decision: the decision of the policy.
        public init(request: Request, number: Int, result: Result<HTTPResponse, any Error>, decision: Decision) {
            self.request = request
            self.number = number
            self.result = result
            self.decision = decision
        }
    }

    /// The result of your own decision.
    public struct Choice: Sendable, Hashable {
        enum Kind: Hashable {
            case byPolicy
            case retry(after: Duration?)
            case stop
        }

        let kind: Kind

        /// The decision of the policy.
        public static let byPolicy = Choice(kind: .byPolicy)
        /// Make another attempt, with any method and after any status. The attempt begins after the policy's backoff, and not before the
        /// time in `Retry-After`.
        ///
        /// The usual limits apply to this attempt: ``maxAttempts``, the budget, the deadline, and whether the body can be sent
        /// again.
        public static let retry = Choice(kind: .retry(after: nil))
        /// The response or the error is final, and no further attempt is made.
        public static let stop = Choice(kind: .stop)
        /// Make another attempt as with ``retry``, after exactly this wait. A negative wait is treated as zero.
        public static func retry(after wait: Duration) -> Choice { Choice(kind: .retry(after: max(.zero, wait))) }
    }

    /// Returns this policy with a closure whose decision takes precedence over the policy's decision.
    ///
    /// ```swift
    /// stack.retry(.standard.deciding { attempt in
    ///     switch attempt.result {
    ///     case .success(let response) where response.status.code == 423: .retry(after: .seconds(1))   // another user writes
    ///     case .failure(let error as TransportError) where error.code == .tls: .stop
    ///     default: .byPolicy
    ///     }
    /// })
    /// ```
    ///
    /// The closure is called after each attempt, even after a successful attempt, but not after a cancellation. The closure must be quick,
    /// because the call waits for the closure. A request that is not idempotent ([RFC 9110, section
    /// 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)) may be processed twice if the closure returns ``Choice/retry``. The
    /// policy's own decision, ``Attempt/decision``, never causes this risk.
    ///
    /// The retry budget and the policy's number of attempts also limit the attempts that the closure asks for. If a result is not ready,
    /// such as after a 202, use a response validator with `.retry(_:atMost:)`. The validator has its own number of attempts, and takes no
    /// tokens from the budget.
    ///
    /// If `retry` is outside `validateStatus`, the closure gets a `StatusError` for an unwanted status.
    ///
    /// - Parameter decide: the closure that decides. The closure replaces an earlier closure of this policy.
    public func deciding(_ decide: @escaping @Sendable (Attempt) -> Choice) -> RetryPolicy {
        var policy = self
        policy.choose = decide
        return policy
    }

    /// Returns the app's own decision. If the app does not decide, returns the result of ``decide(_:random:)``.
    func decision(
        on situation: Situation, of request: Request, _ result: Result<Response, any Error>, random: @autoclosure () -> Double
    ) -> Decision {
        guard let choose else { return decide(situation, random: random()) }
        // Both decisions use the same random number, because callers that share an exchange also share one random number.
        let number = random()
        let standard = decide(situation, random: number)
        let choice = choose(Attempt(request: request, number: situation.attempt, result: result.map(\.head), decision: standard))
        switch choice.kind {
        case .byPolicy: return standard
        case .stop: return .stop(.final)
        case .retry(let wait):
            return waiting(situation, exactly: wait) { number }
        }
    }
}

extension RetryPolicy.Attempt: CustomStringConvertible, CustomReflectable {
    /// The number, the request, and the status or the failure. Secrets are replaced.
    public var description: String {
        let outcome: AttemptRecord.Outcome =
            switch result {
            case .success(let response): .status(response.status)
            case .failure(let error): .failure(error)
            }
        return "attempt \(number) of \(request): \(outcome)"
    }

    /// The description.
    public var customMirror: Mirror { Mirror(self, children: ["attempt": description]) }
}
