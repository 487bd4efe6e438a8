internal import ErrandCore

extension RateLimiter {
    /// The outcome of waiting in the queue.
    enum QueueOutcome: Sendable {
        case lead
        /// The request may be sent. The grant is `nil` if the store failed.
        case go(RateLimitGrant?)
    }

    /// A queued request.
    struct Call: Sendable {
        let request: Request
        let arrived: Duration
        let isProbe: Bool
        var lane: Int { request.options.priority.urgency }
    }

    struct Waiter: Sendable {
        let call: Call
        let continuation: CheckedContinuation<QueueOutcome, any Error>
    }

    struct Queue: Sendable {
        /// The queue lane that belongs to the leader's priority; `nil` if there is no leader.
        var leader: Int?
        /// The pause of the leader; `nil` while the leader asks the store.
        var pause: Pause?
        /// The number of times that the server sent fields while there was a leader.
        var updateCount = 0
        var waiters = WaitQueue<Waiter>()

        /// The number of grants since the oldest waiter of the queue last got a grant.
        var grantsSinceOldest = 0

        var isEmpty: Bool { leader == nil && waiters.isEmpty }

        /// Makes the next waiter, if any, the leader.
        mutating func promote() -> Waiter? {
            pause = nil
            let next = waiters.popFirst()
            leader = next?.call.lane
            return next
        }
    }

    /// The time until a leader asks the store again.
    struct Pause: Sendable {
        let end: Duration
        let cause: RateLimitDecision.Cause
        /// The alarm that wakes the leader; `nil` if fields of the server can't shorten the wait.
        let alarm: AsyncStream<Void>.Continuation?
    }
}
