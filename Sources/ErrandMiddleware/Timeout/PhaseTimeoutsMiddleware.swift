public import ErrandCore

/// Bounds each phase of every exchange, by ``PhaseTimeouts``, and each attempt as a whole.
///
/// **Place:** anywhere: the transport's boundary holds the limits. An attempt begins where this stands, so inside `retry` and `redirect`
/// each attempt, and each step, has its own time. `timeout(_:)` bounds the whole call. Where two of these stand around each other, the shorter
/// one of each limit holds.
///
/// **Per request:** `request.options.phaseTimeouts = .off`, or `.use(PhaseTimeouts(firstByte: .seconds(2)))`, which replaces all limits of the stack;
/// `request.options.attemptTimeout` likewise. A stack without this middleware obeys them as well: an attempt then begins at the transport.
public struct PhaseTimeoutsMiddleware: HTTPMiddleware {
    private let limits: PhaseTimeouts
    private let attempt: Duration?
    /// The limits, for each request.
    private let shared: StackLimits

    /// - Parameter attempt: the longest that an attempt takes, body included; nil is without bounds.
    public init(_ limits: PhaseTimeouts, attempt: Duration? = nil) {
        precondition(attempt.map { $0 > .zero } ?? true, "attempt must be more than zero, or nil (is \(attempt ?? .zero))")
        (self.limits, self.attempt, shared) = (limits, attempt, StackLimits(limits))
    }

    public var label: String {
        let named: [(String, Duration?)] = [
            ("queue", limits.queue), ("connect", limits.connect), ("firstByte", limits.firstByte), ("idleRead", limits.idleRead),
            ("idleWrite", limits.idleWrite), ("attempt", attempt),
        ]
        return "phaseTimeouts(" + named.compactMap { name, limit in limit.map { "\(name): \($0)" } }.joined(separator: ", ") + ")"
    }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var bounded = request
        if !limits.isEmpty {
            // Those of another one outside. What the request itself has replaces both.
            bounded.options.call.phaseLimits =
                request.options.call.phaseLimits.map { StackLimits(limits.tightened(by: $0.limits)) } ?? shared
        }
        let attempt: Duration? =
            switch request.options.attemptTimeout {
            case .inherited: attempt
            case .off: nil
            case .use(let limit): limit
            }
        if case .use = request.options.attemptTimeout { bounded.options.call.hasAttemptDeadline = true }
        if let attempt { bounded.deadline = .earlier(request.deadline, Deadline(after: attempt.bounded, clock: limits.clock)) }
        return try await next.send(bounded, inCallOf: request)
    }
}

extension PhaseTimeouts {
    /// Of each limit, the shorter one; by the clock of `outer`.
    fileprivate func tightened(by outer: PhaseTimeouts) -> PhaseTimeouts {
        func shorter(_ limit: KeyPath<PhaseTimeouts, Duration?>) -> Duration? {
            [self[keyPath: limit], outer[keyPath: limit]].compactMap(\.self).min()
        }
        return PhaseTimeouts(
            queue: shorter(\.queue), connect: shorter(\.connect), firstByte: shorter(\.firstByte), idleRead: shorter(\.idleRead),
            idleWrite: shorter(\.idleWrite), clock: outer.clock)
    }
}

extension HTTPSender {
    /// Bounds each phase of every exchange, and each attempt as a whole; nil is without bounds. See ``PhaseTimeouts`` for what each of
    /// them bounds.
    ///
    /// - Throws (when sending): ``TransportError`` with the code `timedOut`, its phase and how long it took.
    public func phaseTimeouts(
        queue: Duration? = nil, connect: Duration? = nil, firstByte: Duration? = nil, idleRead: Duration? = nil,
        idleWrite: Duration? = nil, attempt: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        let limits = PhaseTimeouts(
            queue: queue, connect: connect, firstByte: firstByte, idleRead: idleRead, idleWrite: idleWrite, clock: clock)
        return wrapped(by: PhaseTimeoutsMiddleware(limits, attempt: attempt))
    }
}
