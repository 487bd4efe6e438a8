public import ErrandCore

/// Sets the deadline of a request. All inner layers obey the deadline in queues, while connecting, in retries and in waits, until
/// the last byte of the body.
///
/// ```swift
/// let stack = transport.retry().timeout(.seconds(30))
/// ```
///
/// **Place:** outside `retry`, so that the deadline limits the whole call. Inside `retry`, the deadline limits each attempt. If a
/// request already has a deadline, the earlier deadline applies.
///
/// **Per request:** set `request.options.timeout` to a value such as `.use(.seconds(2))`, or to `.off` for an endless stream.
/// In a stack without this middleware, `.use` also applies, and the time begins when the call enters the stack.
///
/// The layer adds no task and no timer, because the transport has a timer. If the transport does not support deadlines, each
/// read is stopped at the deadline.
public struct TimeoutMiddleware: HTTPMiddleware {
    private let duration: Duration
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - duration: the timeout, more than zero. The time begins when the request passes this layer.
    ///   - clock: the clock of the deadline.
    public init(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(duration > .zero, "duration must be more than zero (is \(duration.inWords))")
        (self.duration, self.clock) = (duration, clock)
    }

    public var place: MiddlewarePlace { .timeout }

    public var neighbors: [MiddlewareNeighbor] {
        [
            .outside(
                .retry,
                because: "the timeout would limit each attempt and not the call; phaseTimeouts(attempt:) limits an attempt"),
            .onceWhenSorted(because: "both would limit the whole call; phaseTimeouts(attempt:) limits each attempt"),
        ]
    }

    public var label: String { "timeout(\(duration.inWords))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let duration = request.options.timeout.resolved(duration) else { return try await next.send(request) }
        var bounded = request
        let setter: LimitSetter = if case .use = request.options.timeout { .timeoutOption } else { .timeout }
        bounded.deadline = .earlier(request.deadline, Deadline(by: setter, after: duration, clock: clock))
        return try await next.send(bounded)
    }
}

extension HTTPSender {
    /// Fails each request that takes longer than `duration`, including the body of the response. See ``TimeoutMiddleware``.
    ///
    /// ```swift
    /// transport.retry().timeout(.seconds(30))
    /// ```
    ///
    /// - Parameters:
    ///   - duration: the timeout; more than zero.
    ///   - clock: the clock of the deadline.
    /// - Throws: (when sending) ``/ErrandCore/TransportError`` with the code `timedOut`, the phase, and the elapsed time.
    public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: TimeoutMiddleware(duration, clock: clock))
    }

    /// Not available, because a timeout needs a unit, as in `timeout(.seconds(30))`.
    @available(*, unavailable, message: "write timeout(.seconds(30)): a timeout is a Duration")
    public func timeout(_ seconds: Double) -> HTTPStack { timeout(.seconds(seconds)) }
}
