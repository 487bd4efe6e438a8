#if SWIFT_NIO
internal import ErrandCore
internal import NIOCore

/// The end of an exchange's wait for a connection: the deadline of the exchange, or the limit for queueing or connecting.
struct WaitEnd: Sendable {
    let ticket: Pool.Ticket
    /// Whether a connection was being opened for the exchange when this wait began. If the value is false, the exchange waits until a
    /// connection in use is free. This wait is over when a connection is opened for the exchange.
    let isConnecting: Bool
    /// The limit that ends the wait. `nil`: the deadline ends the wait.
    let limit: PhaseLimit?

    func failure(of exchange: Exchange) -> TransportError {
        let phase = isConnecting ? ExchangePhase.connect : .queue
        guard let limit else { return exchange.deadlinePassed(phase, delivery: .notSent) }
        return exchange.limitPassed(limit, phase, delivery: .notSent)
    }
}

extension Exchange {
    /// Returns the end of the wait for an exchange that gets no connection. The wait ends at the deadline, or at the limit for queueing
    /// or connecting. `nil` if the wait has neither a deadline nor a limit.
    func waitEnd(_ ticket: Pool.Ticket, isConnecting: Bool) -> (due: NIODeadline, wait: WaitEnd)? {
        let limit = PhaseLimit(isConnecting ? .connect : .queue, of: limits)
        guard let due = [limit?.due, deadline].compactMap({ $0 }).min() else { return nil }
        return (due, WaitEnd(ticket: ticket, isConnecting: isConnecting, limit: limit?.due == due ? limit : nil))
    }
}
#endif
