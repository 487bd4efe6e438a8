#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The limit of one phase of an exchange.
struct PhaseLimit: Sendable {
    let kind: PhaseTimeouts.Limit
    let duration: Duration
    var due: NIODeadline

    /// Starts the limit now. Returns `nil` if `limits` has no limit of this kind.
    init?(_ kind: PhaseTimeouts.Limit, of limits: PhaseTimeouts?) {
        guard let duration = limits?[kind] else { return nil }
        (self.kind, self.duration, due) = (kind, duration, .now() + duration.timeAmount)
    }
}

extension Duration {
    var timeAmount: TimeAmount { .nanoseconds(wholeNanoseconds) }
}
#endif
