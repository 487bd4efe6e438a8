public import ErrandCore

/// Fails requests immediately while their origin is failing. The origin gets no requests for some time, and then gets a few
/// probe requests.
///
/// ```swift
/// let breaker = CircuitBreaker()
/// let stack = transport.concurrencyLimit(6).circuitBreaker(breaker).retry()
/// breaker.state(of: try Origin("https://a.example"))  // .closed, .open(for: 4.2 seconds), …
/// ```
///
/// **Place:** inside `retry`, so that the breaker counts each attempt. The breaker is outside the limits, so that a refused
/// request takes no slot. A refused request fails with ``CircuitBreakerError``. The request was not sent, and is not retried.
///
/// **Opening:** by default, the circuit opens when at least 20 calls were made within 30 s, and half of these calls have failed. If the
/// window contains many successful calls, a failing server gets many more requests before half of the calls have failed. Therefore, the
/// circuit also opens after 20 failures in succession (``CircuitBreakerPolicy/consecutiveFailures``).
///
/// A call counts as failed if there is no response, or if the status is 429, 500, 502, 503 or 504. The breaker ignores these outcomes,
/// which say nothing about the server:
/// - a cancelled call
/// - an invalid request
/// - a request whose deadline passes in a queue, or during a wait for a network
/// - a failure because the device is offline
/// - a call whose own timeout passes within 1 s (``CircuitBreakerPolicy/callTimeoutThreshold``)
///
/// A call's own timeout is `options.timeout` or `request.deadline`, as in `endpoint.with(\.timeout, .use(remaining))`. Set
/// `callTimeoutThreshold` to the time that a healthy server needs for a response. With a shorter threshold, callers with short deadlines
/// can open the circuit for all callers.
///
/// **Per request:** with `request.options.circuitBreaker = .off`, the request bypasses the breaker and is not counted.
public struct CircuitBreakerMiddleware: HTTPMiddleware {
    private let breaker: CircuitBreaker

    /// Creates the middleware. If several stacks use the same breaker, the stacks share the circuits of the breaker.
    public init(_ breaker: CircuitBreaker) { self.breaker = breaker }

    public var place: MiddlewarePlace { .circuitBreaker }
    public var appliesToPreparedRequests: Bool { false }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .inside(.retry, because: "the breaker would count a call once, not its attempts"),
            .inside(.coalesce, because: "the breaker would count a shared exchange once for each call"),
            .inside(.hedge, because: "the breaker would not see the attempts"),
            .outside(.rateLimit, because: "a request that the breaker refuses would use up the limit"),
            .outside(.concurrencyLimit, because: "a request that the breaker refuses would wait for a slot"),
        ]
    }

    public var label: String { "circuitBreaker(\(breaker.policy))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard !request.options.circuitBreaker.isOff else { return try await next.send(request) }
        let origin = request.origin
        let (generation, began) = try breaker.enter(origin, request)
        let response: Response
        do {
            response = try await next.send(request)
        } catch {
            let isEvidence = !isHasty(error, request, after: breaker.now - began)
            breaker.leave(origin, generation, isEvidence ? Self.outcome(of: error) : .cancelled)
            throw error
        }
        breaker.leave(
            origin, generation,
            StatusRule.evidenceAgainstServer.contains(response.head.status)
                ? .failed(retryAfter: response.head.headerFields.retryAfter) : .succeeded(after: breaker.now - began))
        return response
    }

    /// Whether the call's own timeout ended the attempt before the server had enough time.
    private func isHasty(_ error: any Error, _ request: Request, after elapsed: Duration) -> Bool {
        guard (error as? TransportError)?.code == .timedOut, let deadline = request.deadline, deadline.belongsToCall else { return false }
        return deadline.hasPassed && elapsed < breaker.policy.callTimeoutThreshold
    }

    private static func outcome(of error: any Error) -> CircuitBreakerMachine.Outcome {
        let isEvidence = !Task.isCancelled && (error as? TransportError)?.isEvidenceAgainstServer == true
        return isEvidence ? .failed(retryAfter: nil) : .cancelled
    }
}

private enum CircuitBreakerKey: SwitchOptionKey {}

extension RequestOptions {
    /// Whether the circuit breaker applies to this request. `.off`: the request bypasses the breaker.
    public var circuitBreaker: OptionOverride<Never> {
        get { self[CircuitBreakerKey.self] }
        set { self[CircuitBreakerKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Fails requests immediately while their origin is failing. See ``CircuitBreakerMiddleware``.
    ///
    /// ```swift
    /// let breaker = CircuitBreaker()
    /// let stack = transport.circuitBreaker(breaker).retry()
    /// ```
    ///
    /// - Parameter breaker: the circuits. To read the state of a circuit later, keep a reference to the breaker.
    public func circuitBreaker(_ breaker: CircuitBreaker = CircuitBreaker()) -> HTTPStack {
        wrapped(by: CircuitBreakerMiddleware(breaker))
    }
}
