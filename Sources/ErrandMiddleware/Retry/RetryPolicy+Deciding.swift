public import ErrandCore

extension RetryPolicy {
    /// An attempt that has ended, with what is known of it: what a decision of your own looks at.
    public struct Attempt: Sendable {
        /// The request, as it was when the attempt began.
        public let request: Request
        /// The number of the attempt, from 1.
        public let number: Int
        /// The head of the response, without its body, or the error.
        public let result: Result<HTTPResponse, any Error>
        /// What the policy would do.
        public let decision: Decision

        /// The head of the response; `nil` where the attempt failed without one.
        public var response: HTTPResponse? { try? result.get() }
        /// The error; `nil` where there is a response, with any status.
        public var error: (any Error)? {
            if case .failure(let error) = result { error } else { nil }
        }

        /// - Parameters:
        ///   - request: the request, as it was when the attempt began.
        ///   - number: the number of the attempt, from 1.
        ///   - result: the head of the response, or the error.
        ///   - decision: what the policy would do.
        public init(request: Request, number: Int, result: Result<HTTPResponse, any Error>, decision: Decision) {
            (self.request, self.number, self.result, self.decision) = (request, number, result, decision)
        }
    }

    /// What a decision of your own says about an attempt.
    public struct Choice: Sendable, Hashable {
        enum Kind: Hashable {
            case byPolicy
            case retry(after: Duration?)
            case stop
        }

        let kind: Kind

        /// What the policy decides.
        public static let byPolicy = Choice(kind: .byPolicy)
        /// One more attempt, after the backoff of the policy and not before `Retry-After`, whatever the method and the status.
        ///
        /// The attempt counts: ``maxAttempts``, the budget, the deadline, and a body that can be read once only still end the retries.
        public static let retry = Choice(kind: .retry(after: nil))
        /// The response or the error stands: there is no further attempt.
        public static let stop = Choice(kind: .stop)
        /// One more attempt as with ``retry``, after exactly this wait; a negative one is none.
        public static func retry(after wait: Duration) -> Choice { Choice(kind: .retry(after: max(.zero, wait))) }
    }

    /// This policy, with a decision of your own before it.
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
    /// It is asked after each attempt, also after one that succeeded, and never after a cancellation. It must be quick, as the call waits
    /// for it. A request that is not idempotent ([RFC 9110, section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)) may be
    /// processed twice where it says ``Choice/retry``: ``Attempt/decision`` is what the policy, which knows that, would do.
    ///
    /// It takes part in the retry budget and the attempts of the policy. To wait for a result that is not ready, such as after a 202, use a
    /// response validator with `.retry(_:atMost:)`, which counts for itself and takes nothing from the budget.
    ///
    /// Where `retry` stands outside `validateStatus`, a status that is not accepted arrives as a `StatusError`.
    ///
    /// - Parameter decide: replaces an earlier decision of this policy.
    public func deciding(_ decide: @escaping @Sendable (Attempt) -> Choice) -> RetryPolicy {
        var policy = self
        policy.choose = decide
        return policy
    }

    /// ``decide(_:random:)``, after the decision of the app's own if there is one.
    func decision(
        on situation: Situation, of request: Request, _ result: Result<Response, any Error>, random: @autoclosure () -> Double
    ) -> Decision {
        guard let choose else { return decide(situation, random: random()) }
        // One number for both, as callers that share an exchange draw one.
        let number = random()
        let standard = decide(situation, random: number)
        let choice = choose(Attempt(request: request, number: situation.attempt, result: result.map(\.head), decision: standard))
        switch choice.kind {
        case .byPolicy: return standard
        case .stop: return .stop(.final)
        case .retry(let wait):
            return waiting(situation, counts: true, exactly: wait, atLeast: situation.outcome.retryAfter ?? .zero) { number }
        }
    }
}

extension RetryPolicy.Attempt: CustomStringConvertible, HidesStorage {
    /// The number, the request, and the status or the failure, without secrets.
    public var description: String {
        let outcome: AttemptRecord.Outcome =
            switch result {
            case .success(let response): .status(response.status)
            case .failure(let error): .failure(error)
            }
        return "attempt \(number) of \(request): \(outcome)"
    }
}

extension RetryPolicy.Outcome {
    fileprivate var retryAfter: Duration? {
        if case .status(_, let retryAfter) = self { retryAfter } else { nil }
    }
}
