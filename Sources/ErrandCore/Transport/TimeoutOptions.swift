private enum TimeoutOptionKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
    static func identity(of value: OptionOverride<Duration>) -> OptionIdentity { .ignored }
}

private enum AttemptTimeoutKey: CrossOriginOptionKey {
    static var defaultValue: OptionOverride<Duration> { .inherited }
}

private enum PhaseTimeoutsKey: CrossOriginOptionKey {
    /// The comparable part of ``PhaseTimeouts``: the durations, and the type of the clock.
    private struct Limits: Hashable {
        let durations: [Duration?]
        let clock: ObjectIdentifier
    }

    static var defaultValue: OptionOverride<PhaseTimeouts> { .inherited }

    static func identity(of value: OptionOverride<PhaseTimeouts>) -> OptionIdentity {
        switch value {
        case .inherited: .ignored
        case .off: .ofSwitch(value)
        case .use(let limits): .value(Limits(durations: limits.durations, clock: ObjectIdentifier(type(of: limits.clock))))
        }
    }
}

extension RequestOptions {
    /// The limits of the phases that apply to the request: its own limits if they are set, otherwise the limits of its stack.
    var effectivePhaseTimeouts: PhaseTimeouts? {
        switch phaseTimeouts {
        case .inherited: return call.phaseLimits?.limits
        case .off: return nil
        case .use(var limits):
            limits.setter = .phaseTimeoutsOption
            return limits
        }
    }

    /// Sets the limits for a transport that enforces limits itself. The limits become the request's own limits.
    mutating func limitPhases(by limits: PhaseTimeouts) { phaseTimeouts = .use(limits) }

    /// Restores the limits that `outer` has.
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

    /// Replaces the stack's timeout for the call of this request. `.off`: no timeout. Default: `.inherited`, the stack's timeout.
    ///
    /// The `timeout(_:)` middleware obeys this option. In a stack without this middleware, `.use` still applies: the deadline is
    /// set on the continuous clock when the call enters its outermost stack.
    public var timeout: OptionOverride<Duration> {
        get { self[TimeoutOptionKey.self] }
        set { self[TimeoutOptionKey.self] = newValue }
    }

    /// Replaces the stack's timeout for each attempt of this request. `.off`: no timeout. Default: `.inherited`, the stack's
    /// timeout.
    ///
    /// The `phaseTimeouts(attempt:)` middleware obeys this option. In a stack without this middleware, `.use` still applies. The
    /// duration starts on the continuous clock when an attempt reaches the transport. The duration includes the body.
    public var attemptTimeout: OptionOverride<Duration> {
        get { self[AttemptTimeoutKey.self] }
        set { self[AttemptTimeoutKey.self] = newValue }
    }

    /// Replaces the stack's phase limits for this request. `.off`: no limits. Default: `.inherited`, the stack's limits. This option
    /// requires no middleware, because the transport or its boundary enforces the limits.
    public var phaseTimeouts: OptionOverride<PhaseTimeouts> {
        get { self[PhaseTimeoutsKey.self] }
        set { self[PhaseTimeoutsKey.self] = newValue }
    }
}
