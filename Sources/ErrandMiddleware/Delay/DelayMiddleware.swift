public import ErrandCore

/// Waits before each request: to see how an app feels on a slow day, or to keep a pause.
///
/// **Place:** anywhere; inside `retry` it delays each attempt. A wait that would pass the request's deadline is not begun: the request
/// fails at once with the code `timedOut`, in the phase `queue`.
///
/// **Per request:** `request.options.delay = .off`, or `.use(.seconds(1))`.
public struct DelayMiddleware: HTTPMiddleware {
    private let delay: Duration
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - delay: zero or more.
    ///   - clock: what it is measured by.
    public init(by delay: Duration, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(delay >= .zero, "delay must be at least zero (is \(delay))")
        (self.delay, self.clock) = (delay, clock)
    }

    public var place: MiddlewarePlace? { .delay }
    public var label: String { "delay(\(delay))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let delay = request.options.delay.resolved(delay), delay > .zero else { return try await next.send(request) }
        if let remaining = request.deadline?.remaining, delay >= remaining {
            throw TransportError(
                .timedOut, phase: .queue, message: "a delay of \(delay) would pass the deadline", request: request, delivery: .notSent)
        }
        try await clock.sleep(for: delay.bounded)
        return try await next.send(request)
    }
}

private enum DelayOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
    static var crossesOrigins: Bool { true }
    static var servedBy: MiddlewarePlace? { .delay }
}

extension RequestOptions {
    /// Another delay for this request, or `.off`.
    public var delay: OptionOverride<Duration> {
        get { self[DelayOptionKey.self] }
        set { self[DelayOptionKey.self] = newValue }
    }
}

extension HTTPSender {
    /// Waits before each request. See ``DelayMiddleware``.
    public func delay(by delay: Duration, clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: DelayMiddleware(by: delay, clock: clock))
    }
}
