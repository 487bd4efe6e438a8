internal import ErrandCore

extension RateLimiter {
    /// What a wait in line comes to.
    enum Turn: Sendable {
        case lead
        /// The grant is nil where the store failed.
        case go(RateLimitGrant?)
    }

    /// A request in line.
    struct Call: Sendable {
        let request: Request
        let arrived: Duration
        let isProbe: Bool
        var lane: Int { request.options.priority.urgency }
    }

    struct Waiter: Sendable {
        let ticket: Ticket
        let call: Call
        let continuation: CheckedContinuation<Turn, any Error>
    }

    struct Line: Sendable {
        /// The lane of who leads; nil where nobody does.
        var leader: Int?
        /// When the leader will ask again, and for whose sake it waits; nil while it asks.
        var opening: Opening?
        /// How many times the server said something while somebody led.
        var news = 0
        var queue = WaitQueue<Waiter>()

        /// Grants since the last that went to whoever had waited longest.
        var turns = 0

        var isEmpty: Bool { leader == nil && queue.isEmpty }

        /// Who is next leads, if there is anybody.
        mutating func promote() -> Waiter? {
            opening = nil
            let next = popFirst()
            leader = next?.call.lane
            return next
        }

        /// The ticket's place is void then: another line may give the number again.
        mutating func popFirst(before lane: Int? = nil) -> Waiter? {
            let next = queue.popFirst(before: lane)
            next?.ticket.place = nil
            return next
        }

        mutating func popOldest() -> Waiter? {
            let next = queue.popOldest()
            next?.ticket.place = nil
            return next
        }
    }

    /// When a leader asks again.
    struct Opening: Sendable {
        let at: Duration
        let cause: RateLimitDecision.Cause
        /// Wakes the leader; nil where nothing the server says could.
        let alarm: AsyncStream<Void>.Continuation?
    }
}
