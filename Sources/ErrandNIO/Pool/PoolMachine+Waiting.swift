#if NIO
extension PoolMachine {
    /// What a waiter waits for.
    enum Wait: Sendable, Equatable {
        /// The attempt that was made for it.
        case attempt(Attempt)
        /// One of the connections to its origin, of which there are as many as allowed.
        case origin
        /// One of all connections, of which there are as many as allowed.
        case all
        /// An attempt that was made for another.
        case otherAttempt
    }

    /// Returns what a waiter waits for; `nil` if it waits no longer.
    func wait(of ticket: Ticket) -> Wait? {
        guard let group = groups[ticket.key], group.queue.isWaiting(ticket.number) else { return nil }
        if let number = group.queue.attempt(for: ticket.number) { return .attempt(Attempt(key: ticket.key, number: number)) }
        if group.connections >= limits.connectionsPerOrigin { return .origin }
        return total >= limits.connections ? .all : .otherAttempt
    }
}
#endif
