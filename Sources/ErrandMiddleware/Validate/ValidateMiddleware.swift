public import ErrandCore

/// Passes each response to a chain of ``ResponseValidator``s. A validator can accept or change the response, fail the call, or repeat
/// the request.
///
/// ```swift
/// let ready = ResponseValidator("ready") { _, response, _ in
///     response.status == .accepted ? .retry(.constant(.seconds(1)), atMost: 10) : .next
/// }
/// let stack = transport.validate(ready).timeout(.seconds(30))
/// ```
///
/// **Place:** inside `timeout` and `validateStatus`; outside `redirect`, `authenticate` and the cache. Retries are counted for each call
/// separately, so that concurrent calls don't use up the retries of other calls. Each wait obeys the request's deadline.
///
/// **Per request:** `request.options.validators` are applied before the validators of the chain. With `request.options.validate =
/// .off`, no validator is applied.
public struct ValidateMiddleware: HTTPMiddleware {
    private let validators: [ResponseValidator]
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - validators: the chain, in order.
    ///   - clock: the clock that measures the waits.
    public init(_ validators: [ResponseValidator], clock: any Clock<Duration> = ContinuousClock()) {
        (self.validators, self.clock) = (validators, clock)
    }

    public var place: MiddlewarePlace { .validate }
    public var label: String { "validate(\(validators.map(\.name).joined(separator: ", ")))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        let chain = request.options.validators + validators
        guard !request.options.validate.isOff, !chain.isEmpty else { return try await next.send(request) }
        var request = request
        var retries = Array(repeating: 0, count: chain.count)
        var attempts = CallAttempts()
        while true {
            let received = try await attempts.send(request, to: next)
            var response = attempts.adding(to: received)
            let ruling: (index: Int, delay: Duration)?
            do {
                ruling = try await rule(on: &response, request: request, by: chain, retries: retries, next: next)
            } catch {
                response.discard()
                // A cancelled call fails with `CancellationError`, even if the validator throws another error.
                try Task.checkCancellation()
                request.reportRefusal(of: response.head, with: error)
                throw CallAttempts(response.metadata.attempts).adding(to: error)
            }
            guard let (index, delay) = ruling else { return response }
            retries[index] += 1
            request = try await attempts.followUp(with: request, after: .success(received), waiting: delay, on: clock)
        }
    }

    /// Applies the chain to a response. Returns `nil` if all validators accept the response. If a validator wants to repeat the
    /// request, returns the index of the validator, and the wait before the next attempt.
    private func rule(
        on response: inout Response, request: Request, by chain: [ResponseValidator], retries: [Int], next: some HTTPSender
    ) async throws -> (index: Int, delay: Duration)? {
        var checked = CheckedBody(response.body)
        response.body = checked.body
        defer { checked.stop() }
        func passOn(_ response: inout Response) {
            let next = checked.next(after: response.body)
            if response.body.bufferedData == nil, next.bufferedData != nil { checked = CheckedBody(next) }
            response.body = next
        }
        for (index, validator) in chain.enumerated() {
            let limit: Int
            var delay = Duration.zero
            let verdict = try await validator.check(response.request, response, retries[index])
            switch verdict {
            case .next:
                passOn(&response)
                continue
            case .accept(var accepted):
                accepted.body = checked.next(after: accepted.body)
                if accepted.metadata.attempts.isEmpty { accepted.metadata.attempts = response.metadata.attempts }
                response = accepted
                return nil
            case .fail(let error): throw error
            case .retry(let backoff, let atMost): (limit, delay) = (atMost, backoff.delay(afterAttempt: retries[index] + 1))
            case .retryAfterSending, .retryAfterRunning: limit = 1
            }
            let hasNewMethod = validator.returnsLastResponse && response.request.method != request.method
            let stop =
                RetryStop.reason(used: retries[index], of: limit, canReplay: request.body.canBeSent)
                ?? RetryStop.reason(delay: delay, remaining: request.deadline?.remaining) ?? (hasNewMethod ? .notIdempotent : nil)
            if let stop {
                guard validator.returnsLastResponse else {
                    throw ResponseValidationError(name: validator.name, retries: retries[index], retryStop: stop, of: response)
                }
                response.metadata.retryStop = stop
                passOn(&response)
                continue
            }
            // The response is released before the next request is sent, because that request may need the same connection or
            // slot.
            try await response.release(on: clock)
            if case .retryAfterSending(var other) = verdict {
                other.deadline = .earlier(other.deadline, request.deadline)
                try await next.withResponse(to: other) { _ = try await $0.body.drain() }
            }
            if case .retryAfterRunning(let work) = verdict {
                var sent = response.request
                sent.deadline = request.deadline
                try await sent.withinDeadline(
                    .backoff, delivery: .sent, "during the work before the retry", discard: { _ in }, operation: work)
            }
            return (index, delay)
        }
        return nil
    }
}

private enum ValidationKey: SwitchOptionKey {}

private enum ValidatorsKey: CrossOriginOptionKey {
    static var defaultValue: [ResponseValidator] { [] }
    /// Requests with different validators may share an exchange. Validators run outside `coalesce`, so that each caller's validators check
    /// the caller's own response.
    static func identity(of value: [ResponseValidator]) -> OptionIdentity { .ignored }
    static var requiredMiddleware: MiddlewarePlace { .validate }
}

extension RequestOptions {
    /// Whether validators apply to this request. `.off`: no validator checks the response.
    public var validate: OptionOverride<Never> {
        get { self[ValidationKey.self] }
        set { self[ValidationKey.self] = newValue }
    }

    /// Validators for this request. These validators are applied before the validators of the stack. Default: none. The option requires a
    /// ``ValidateMiddleware`` in the stack.
    public var validators: [ResponseValidator] {
        get { self[ValidatorsKey.self] }
        set { self[ValidatorsKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Passes each response to validators. See ``ValidateMiddleware``.
    ///
    /// - Parameters:
    ///   - validators: the chain, in order.
    ///   - clock: the clock that measures the waits.
    public func validate(_ validators: ResponseValidator..., clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: ValidateMiddleware(validators, clock: clock))
    }
}
