#if SWIFT_NIO
extension PoolMachine {
    /// The reason why a waiter is queued.
    enum Wait: Sendable, Equatable {
        /// The waiter waits for its own attempt to connect.
        case attempt(Attempt)
        /// The waiter waits for a connection to its origin, because the origin has the maximum number of connections.
        case origin(Occupancy)
        /// The waiter waits until any connection ends, because the pool has the maximum number of connections.
        case all(Occupancy)
        /// The waiter waits for an attempt that was made for another waiter; `nil` if the attempt is unknown.
        case otherAttempt(Attempt?)

        /// The attempt that the waiter waits for, or an attempt that counts toward the limit that was reached.
        var knownAttempt: Attempt? {
            switch self {
            case .attempt(let attempt): attempt
            case .origin(let places), .all(let places): places.attempt
            case .otherAttempt(let attempt): attempt
            }
        }
    }

    /// The connections and attempts that count toward the limit of a pool or an origin.
    struct Occupancy: Sendable, Equatable {
        /// The number of open connections.
        let open: Int
        /// The number of connections that are being opened.
        let connecting: Int
        /// An attempt to open a connection, if no connection is open; otherwise `nil`.
        let attempt: Attempt?
    }

    /// Returns the reason why a waiter is queued; `nil` if the waiter is no longer queued.
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
