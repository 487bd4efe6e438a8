private enum TimeoutOptionKey: OptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
    static func identity(of value: OptionOverride<Duration>) -> OptionIdentity { .none }
    static var crossesOrigins: Bool { true }
}

private enum AttemptTimeoutKey: OptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
    static var crossesOrigins: Bool { true }
}

private enum PhaseTimeoutsKey: OptionKey {
    /// The comparable part of ``PhaseTimeouts``: the durations, and the type of the clock.
    private struct Limits: Hashable {
        let durations: [Duration?]
        let clock: ObjectIdentifier
    }

    static var defaultValue: OptionOverride<PhaseTimeouts> { .inherited }

    static func identity(of value: OptionOverride<PhaseTimeouts>) -> OptionIdentity {
        switch value {
        case .inherited: .none
        case .off: .ofSwitch(value)
        case .use(let limits): .value(Limits(durations: limits.durations, clock: ObjectIdentifier(type(of: limits.clock))))
        }
    }

    static var crossesOrigins: Bool { true }
}

extension RequestOptions {
    /// The effective limits of the phases: the request's own, or those of its stack.
    var effectivePhaseTimeouts: PhaseTimeouts? {
        switch phaseTimeouts {
        case .inherited: return call.phaseLimits?.limits
        case .off: return nil
        case .use(var limits):
            limits.setter = .phaseTimeoutsOption
            return limits
        }
    }

    /// Sets the limits that a transport enforces itself. They become the request's own.
    mutating func limitPhases(by limits: PhaseTimeouts) { phaseTimeouts = .use(limits) }

    /// Restores the limits as they are in `outer`.
    mutating func restorePhaseTimeouts(of outer: RequestOptions) { restore(PhaseTimeoutsKey.self, of: outer) }

    /// Whether the attempt or one of its phases has a limit, or a limit was switched off.
    var hasLimits: Bool {
        if call.phaseLimits != nil { return true }
        if isEmpty { return false }
        switch (attemptTimeout, phaseTimeouts) {
        case (.inherited, .inherited): return false
        default: return true
        }
    }

    /// Another timeout for this request's call, or `.off`.
    ///
    /// `timeout(_:)` obeys it. In a stack without it, `.use` still applies: the deadline is set when the call enters its outermost stack,
    /// on the continuous clock.
    public var timeout: OptionOverride<Duration> {
        get { self[TimeoutOptionKey.self] }
        set { self[TimeoutOptionKey.self] = newValue }
    }

    /// Another timeout for each attempt of this request, or `.off`.
    ///
    /// `phaseTimeouts(attempt:)` obeys it. In a stack without it, `.use` still applies: each attempt has this duration from when it reaches
    /// the transport, including its body, on the continuous clock.
    public var attemptTimeout: OptionOverride<Duration> {
        get { self[AttemptTimeoutKey.self] }
        set { self[AttemptTimeoutKey.self] = newValue }
    }

    /// Other phase limits for this request, or `.off`. With `.inherited`, only the stack's limits apply. They require no middleware: the
    /// transport's boundary enforces them.
    public var phaseTimeouts: OptionOverride<PhaseTimeouts> {
        get { self[PhaseTimeoutsKey.self] }
        set { self[PhaseTimeoutsKey.self] = newValue }
    }
}
