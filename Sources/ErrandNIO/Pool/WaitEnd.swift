#if NIO
internal import ErrandCore
internal import NIOCore

/// Why an exchange stops waiting for a connection at an instant: its deadline, or the limit for queueing or connecting.
struct WaitEnd: Sendable {
    let ticket: Pool.Ticket
    /// Whether a connection was being opened for the exchange when this wait began. Otherwise it waits for one that is in use: this wait
    /// is over when a connection is opened for it.
    let isConnecting: Bool
    /// `nil`: the deadline.
    let limit: PhaseLimit?

    func failure(of exchange: Exchange) -> TransportError {
        let phase = isConnecting ? ExchangePhase.connect : .queue
        guard let limit else { return exchange.deadlinePassed(phase, delivery: .notSent) }
        return exchange.limitPassed(limit, phase, delivery: .notSent)
    }
}

extension Exchange {
    /// How the wait ends if no connection comes: at the deadline, or when the limit for queueing or connecting has passed; `nil` if there
    /// are neither.
    func waitEnd(_ ticket: Pool.Ticket, isConnecting: Bool) -> (due: NIODeadline, wait: WaitEnd)? {
        let limit = isConnecting ? PhaseLimit("connect", limits?.connect) : PhaseLimit("queue", limits?.queue)
        guard let due = [limit?.due, deadline].compactMap({ $0 }).min() else { return nil }
        return (due, WaitEnd(ticket: ticket, isConnecting: isConnecting, limit: limit?.due == due ? limit : nil))
    }
}
#endif
