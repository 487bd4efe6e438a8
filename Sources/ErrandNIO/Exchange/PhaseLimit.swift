#if NIO
internal import ErrandCore
internal import NIOCore

/// The limit of one phase of an exchange.
struct PhaseLimit: Sendable {
    let name: String
    let duration: Duration
    var due: NIODeadline

    /// - Parameter duration: the limit. `nil`: the initializer returns `nil`.
    init?(_ name: String, _ duration: Duration?) {
        guard let duration else { return nil }
        (self.name, self.duration, due) = (name, duration, .now() + duration.timeAmount)
    }
}

extension Duration {
    var timeAmount: TimeAmount { .nanoseconds(wholeNanoseconds) }
}
#endif
