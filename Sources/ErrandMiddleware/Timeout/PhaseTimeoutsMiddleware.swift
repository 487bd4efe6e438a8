public import ErrandCore

/// Limits the duration of each phase of every exchange with ``/ErrandCore/PhaseTimeouts``. Also limits the duration of each
/// attempt as a whole.
///
/// ```swift
/// let stack = transport.phaseTimeouts(connect: .seconds(5), firstByte: .seconds(10), attempt: .seconds(20)).retry()
/// ```
///
/// **Place:** in a stack that sorts its layers, inside all layers except `sign`. In any other stack, the layer can be anywhere around
/// the transport, because the transport's boundary enforces the limits. An attempt begins at this layer. If the layer is inside
/// `retry` and `redirect`, each attempt and each hop has its own time. With 3 attempts of at most 20 s each, a call takes up to 60 s
/// plus the backoffs. `timeout(_:)` limits the whole call. If a stack has two `phaseTimeouts` layers, the shorter value of each limit
/// applies.
///
/// **Per request:** set `request.options.phaseTimeouts` to `.off`, or to a value such as `.use(PhaseTimeouts(firstByte: .seconds(2)))`.
/// The value replaces all limits of the stack. `request.options.attemptTimeout` replaces the limit of each attempt. Both options also apply
/// without this middleware. In a stack without this middleware, an attempt begins at the transport.
public struct PhaseTimeoutsMiddleware: HTTPMiddleware {
    private let limits: PhaseTimeouts
    private let attempt: Duration?
    /// The limits, shared by all requests.
    private let shared: StackLimits

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - limits: the limits of the phases.
    ///   - attempt: the limit for each attempt, including the body of the response; more than zero. With `nil`, the default,
    ///     there is no limit.
    public init(_ limits: PhaseTimeouts, attempt: Duration? = nil) {
        precondition(attempt.map { $0 > .zero } ?? true, "attempt must be more than zero, or nil (is \((attempt ?? .zero).inWords))")
        (self.limits, self.attempt, shared) = (limits, attempt, StackLimits(limits))
    }

    public var place: MiddlewarePlace { .phaseTimeouts }

    public var label: String {
        let named = limits.named + (attempt.map { [("attempt", $0)] } ?? [])
        return "phaseTimeouts(\(named.map { "\($0.name): \($0.limit.inWords)" }.joined(separator: ", ")))"
    }

    public func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        var bounded = request
        if !limits.isEmpty {
            // The limits of this layer are combined with the limits of an outer layer. If the request has its own limits, these
            // limits replace the limits of both layers.
            bounded.options.call.phaseLimits =
                request.options.call.phaseLimits.map { StackLimits(limits.tightened(by: $0.limits)) } ?? shared
        }
        let (attempt, setter): (Duration?, LimitSetter) =
            switch request.options.attemptTimeout {
            case .inherited: (self.attempt, .phaseTimeouts)
            case .off: (nil, .phaseTimeouts)
            case .use(let limit): (limit, .attemptTimeoutOption)
            }
        if setter == .attemptTimeoutOption { bounded.options.call.hasAttemptDeadline = true }
        if let attempt { bounded.deadline = .earlier(request.deadline, Deadline(by: setter, after: attempt, clock: limits.clock)) }
        return try await next.send(bounded)
    }
}

extension PhaseTimeouts {
    /// Returns the shorter of the two limits for each phase. The clock of `outer` measures the returned limits.
    fileprivate func tightened(by outer: PhaseTimeouts) -> PhaseTimeouts {
        var limits = map { limit, duration in [duration, outer[limit]].compactMap(\.self).min() }
        limits.clock = outer.clock
        return limits
    }
}

extension HTTPSender {
    /// Limits the duration of each phase of every exchange, and of each attempt as a whole. With `nil`, the default, there is no
    /// limit. For the parameters, see ``/ErrandCore/PhaseTimeouts``; for the place in a stack, see ``PhaseTimeoutsMiddleware``.
    ///
    /// ```swift
    /// transport.phaseTimeouts(connect: .seconds(5), firstByte: .seconds(10))
    /// ```
    ///
    /// - Throws: (when sending) ``/ErrandCore/TransportError`` with the code `timedOut`, the phase, and the elapsed time.
    public func phaseTimeouts(
        queue: Duration? = nil, connect: Duration? = nil, firstByte: Duration? = nil, idleRead: Duration? = nil,
        idleWrite: Duration? = nil, attempt: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) -> HTTPStack {
        let limits = PhaseTimeouts(
            queue: queue, connect: connect, firstByte: firstByte, idleRead: idleRead, idleWrite: idleWrite, clock: clock)
        return wrapped(by: PhaseTimeoutsMiddleware(limits, attempt: attempt))
    }
}
