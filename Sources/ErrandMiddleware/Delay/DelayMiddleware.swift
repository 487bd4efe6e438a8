public import ErrandCore

/// Waits before each request, to simulate a slow network or to pace requests.
///
/// ```swift
/// let slow = transport.delay(by: .seconds(2)).timeout(.seconds(30))
/// ```
///
/// **Place:** anywhere. Inside `retry`, the middleware delays each attempt. If the delay would end after the request's
/// deadline, the request fails immediately with the code `timedOut`, in the phase `queue`.
///
/// **Per request:** set `request.options.delay` to `.off`, or to a value such as `.use(.seconds(1))`.
public struct DelayMiddleware: HTTPMiddleware {
    private let delay: Duration
    private let clock: any Clock<Duration>

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - delay: the time to wait before each request; at least zero.
    ///   - clock: the clock that measures the delay.
    public init(by delay: Duration, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(delay >= .zero, "delay must be at least zero (is \(delay.inWords))")
        (self.delay, self.clock) = (delay, clock)
    }

    public var place: MiddlewarePlace { .delay }
    public var appliesToPreparedRequests: Bool { false }
    public var label: String { "delay(\(delay.inWords))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let delay = request.options.delay.resolved(delay), delay > .zero else { return try await next.send(request) }
        if let remaining = request.deadline?.remaining, delay >= remaining {
            throw TransportError(
                .timedOut, phase: .queue, message: "the deadline would pass during the delay of \(delay.inWords)", request: request,
                delivery: .notSent)
        }
        try await clock.sleep(for: delay.bounded)
        return try await next.send(request)
    }
}

private enum DelayOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
    static var requiredMiddleware: MiddlewarePlace { .delay }
}

extension RequestOptions {
    /// Replaces the stack's delay for this request. `.off`: no delay. Default: `.inherited`, the stack's delay.
    public var delay: OptionOverride<Duration> {
        get { self[DelayOptionKey.self] }
        set { self[DelayOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Waits before each request. See ``DelayMiddleware``.
    ///
    /// - Parameters:
    ///   - delay: the time to wait; at least zero.
    ///   - clock: the clock that measures the delay.
    public func delay(by delay: Duration, clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: DelayMiddleware(by: delay, clock: clock))
    }
}
