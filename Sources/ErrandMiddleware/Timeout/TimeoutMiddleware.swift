public import ErrandCore

/// Sets the deadline of a request: everything below obeys it, to the last byte of the body, with queues, connections, retries and
/// their waits inside.
///
/// **Place:** outside `retry`, where it bounds the whole call. Inside `retry` it bounds each attempt. Where a request has a deadline
/// already, the earlier one holds.
///
/// **Per request:** `request.options.timeout = .use(.seconds(2))`, or `.off` for a stream without an end. A stack without this middleware obeys
/// `.use` as well, from where the call enters it.
///
/// It costs no task and no timer of its own: the transport has one, and Core races the reads of those that have none.
public struct TimeoutMiddleware: HTTPMiddleware {
    private let duration: Duration
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - duration: from the moment the request passes here; positive.
    ///   - clock: what the deadline stands on.
    public init(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) {
        precondition(duration > .zero, "duration must be more than zero (is \(duration))")
        (self.duration, self.clock) = (duration, clock)
    }

    public var place: MiddlewarePlace? { .timeout }
    public var label: String { "timeout(\(duration))" }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        guard let duration = request.options.timeout.resolved(duration) else { return try await next.send(request) }
        var bounded = request
        bounded.deadline = .earlier(request.deadline, Deadline(after: duration.bounded, clock: clock))
        return try await next.send(bounded, inCallOf: request)
    }
}

extension HTTPSender {
    /// Fails requests that are not over, body included, after `duration`. See ``TimeoutMiddleware``.
    ///
    /// - Throws (when sending): ``TransportError`` with the code `timedOut`, its phase and how long it took.
    public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> HTTPStack {
        wrapped(by: TimeoutMiddleware(duration, clock: clock))
    }
}
