internal import ErrandCore
internal import Synchronization

/// The slots of each key, and the queued requests.
final class ConcurrencyLimiter: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct Queue: Sendable {
        var limit: Double
        var inUse = 0
        var waiters = WaitQueue<Waiter>()

        /// Whether a slot is free. A released slot goes to the next queued request. Therefore, a slot is free only if the queue
        /// is empty.
        var hasRoom: Bool { inUse < ConcurrencyLimit.slots(limit) }
        var isIdle: Bool { inUse == 0 && waiters.isEmpty }
    }

    /// The largest number of idle keys that an adaptive limit keeps. Beyond this number, the least recently used key is removed. The
    /// number of keys in use is not limited.
    private static let keyLimit = 1_000

    let limit: ConcurrencyLimit
    private let queues = Mutex(BoundedTable<RequestScope.Key, Queue>(limit: keyLimit, isPinned: { !$0.isIdle }))

    init(_ limit: ConcurrencyLimit) { self.limit = limit }

    var keyCount: Int { queues.withLock(\.count) }

    func state(of key: RequestScope.Key) -> ConcurrencyLimitMiddleware.State {
        queues.withLock { queues in
            let queue = queues[key] ?? Queue(limit: Double(limit.initial))
            return .init(inFlight: queue.inUse, queued: queue.waiters.count, limit: ConcurrencyLimit.slots(queue.limit))
        }
    }

    /// Waits for a slot. Returns when the request has a slot.
    ///
    /// - Throws: `CancellationError`; ``/ErrandCore/TransportError`` if the deadline passes before the request has a slot.
    func acquire(_ key: RequestScope.Key, for request: Request) async throws {
        try Task.checkCancellation()
        if take(key) { return }
        request.report(.queueStart)
        defer { request.report(.queueEnd) }
        try await request.withinDeadline(
            .queue, delivery: .notSent, discard: { self.release(key, .cancelled) }, operation: { try await self.wait(key, for: request) })
    }

    /// Changes the state of a key in place. A copy of the queue would take time proportional to the queue's length.
    private func within<Result: Sendable>(_ key: RequestScope.Key, _ body: (inout Queue) -> Result) -> Result {
        queues.withLock { queues in
            let (result, isIdle) = queues.update(key, default: Queue(limit: Double(limit.initial))) { queue in
                let result = body(&queue)
                return (result, queue.isIdle)
            }
            // The entry of an idle key stays in the table if the limit is adaptive, because the entry has the current limit.
            if limit.kind == .fixed, isIdle { queues.removeValue(forKey: key) }
            return result
        }
    }

    private func take(_ key: RequestScope.Key) -> Bool {
        within(key) { queue in
            guard queue.hasRoom else { return false }
            queue.inUse += 1
            return true
        }
    }

    private func wait(_ key: RequestScope.Key, for request: Request) async throws {
        try await waitInQueue { (ticket, continuation: Waiter) in
            within(key) { queue in
                if ticket.isCancelled { return .failure(CancellationError()) }
                if queue.hasRoom {
                    queue.inUse += 1
                    return .success(())
                }
                queue.waiters.append(continuation, lane: request.options.priority.urgency, ticket: ticket)
                return nil
            }
        } leave: { [self] ticket in
            within(key) { $0.waiters.cancel(ticket) }
        }
    }

    /// Frees a slot, which goes to the next waiter.
    func release(_ key: RequestScope.Key, _ outcome: ConcurrencyLimit.Outcome) {
        let next = within(key) { queue -> [Waiter] in
            queue.limit = limit.next(after: outcome, limit: queue.limit, inUse: queue.inUse)
            queue.inUse -= 1
            var next: [Waiter] = []
            while queue.hasRoom, let waiter = queue.waiters.popNext() {
                queue.inUse += 1
                next.append(waiter)
            }
            return next
        }
        for waiter in next { waiter.resume() }
    }
}
