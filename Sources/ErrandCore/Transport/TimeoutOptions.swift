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
    /// Of ``PhaseTimeouts``, what can be compared: the durations, and the kind of the clock.
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
    /// What limits the phases of an exchange: the request's own, or those of its stack.
    var effectivePhaseTimeouts: PhaseTimeouts? {
        switch phaseTimeouts {
        case .inherited: call.phaseLimits?.limits
        case .off: nil
        case .use(let limits): limits
        }
    }

    /// Sets the limits that a transport is to obey by itself, which are the request's own then.
    mutating func limitPhases(by limits: PhaseTimeouts) { phaseTimeouts = .use(limits) }

    /// The limits are those of `outer` again.
    mutating func restorePhaseTimeouts(of outer: RequestOptions) { restore(PhaseTimeoutsKey.self, of: outer) }

    /// Whether the time of an attempt or of one of its phases is limited, or was asked not to be.
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
    /// `timeout(_:)` obeys it. Where the stack has none, `.use` still holds: the deadline is set where the call enters its outermost stack, on the
    /// continuous clock.
    public var timeout: OptionOverride<Duration> {
        get { self[TimeoutOptionKey.self] }
        set { self[TimeoutOptionKey.self] = newValue }
    }

    /// Another timeout for each attempt of this request, or `.off`.
    ///
    /// `phaseTimeouts(attempt:)` obeys it. Where the stack has none, `.use` still holds: each attempt has so long from where it reaches the transport,
    /// body included, on the continuous clock.
    public var attemptTimeout: OptionOverride<Duration> {
        get { self[AttemptTimeoutKey.self] }
        set { self[AttemptTimeoutKey.self] = newValue }
    }

    /// The limits for this request's phases. `.inherited` has none but the stack's. They need no middleware: the transport's boundary holds them.
    public var phaseTimeouts: OptionOverride<PhaseTimeouts> {
        get { self[PhaseTimeoutsKey.self] }
        set { self[PhaseTimeoutsKey.self] = newValue }
    }
}
