#if NIO
extension PoolMachine {
    /// What a waiter waits for.
    enum Wait: Sendable, Equatable {
        /// The attempt that was made for it.
        case attempt(Attempt)
        /// One of the connections to its origin, of which there are as many as allowed.
        case origin(Occupancy)
        /// One of all connections, of which there are as many as allowed.
        case all(Occupancy)
        /// An attempt that was made for another: this one, if it is known.
        case otherAttempt(Attempt?)

        /// An attempt that it waits for, or that has a place.
        var knownAttempt: Attempt? {
            switch self {
            case .attempt(let attempt): attempt
            case .origin(let places), .all(let places): places.attempt
            case .otherAttempt(let attempt): attempt
            }
        }
    }

    /// What has the places of connections.
    struct Occupancy: Sendable, Equatable {
        /// How many are open.
        let open: Int
        /// How many are being opened.
        let connecting: Int
        /// One of the attempts, if no connection is open.
        let attempt: Attempt?
    }

    /// Returns what a waiter waits for; `nil` if it waits no longer.
    func wait(of ticket: Ticket) -> Wait? {
        guard let group = groups[ticket.key], group.queue.isWaiting(ticket.number) else { return nil }
        if let number = group.queue.attempt(for: ticket.number) { return .attempt(Attempt(key: ticket.key, number: number)) }
        func firstAttempt(_ key: Key) -> Attempt? {
            groups[key]?.queue.attempts.keys.min().map { Attempt(key: key, number: $0) }
        }
        if group.connections >= limits.connectionsPerOrigin {
            let attempt = group.open == 0 ? firstAttempt(ticket.key) : nil
            return .origin(Occupancy(open: group.open, connecting: group.queue.attempts.count, attempt: attempt))
        }
        guard total >= limits.connections else { return .otherAttempt(firstAttempt(ticket.key)) }
        let open = table.count
        let attempt = open == 0 ? groups.keys.lazy.compactMap(firstAttempt).first : nil
        return .all(Occupancy(open: open, connecting: total - open, attempt: attempt))
    }
}
#endif
