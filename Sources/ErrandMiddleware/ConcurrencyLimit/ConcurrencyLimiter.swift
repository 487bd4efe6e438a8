internal import ErrandCore
internal import Synchronization

/// The slots of each key, and the queued requests.
final class ConcurrencyLimiter: Sendable {
    private struct Waiter: Sendable {
        let ticket: QueueTicket
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Line: Sendable {
        var limit: Double
        var inUse = 0
        var queue = WaitQueue<Waiter>()

        /// Whether a slot is free. If a slot is free, the queue is empty, because a freed slot goes to the next waiter.
        var hasRoom: Bool { inUse < ConcurrencyLimit.slots(limit) }
        var isIdle: Bool { inUse == 0 && queue.isEmpty }
    }

    /// The largest number of idle keys that an adaptive limit keeps. Beyond this number, the least recently used key is removed. Keys in
    /// use are kept, without a limit.
    private static let keyLimit = 1_000

    let limit: ConcurrencyLimit
    private let lines = Mutex(BoundedTable<RequestScope.Key, Line>(limit: keyLimit, isPinned: { !$0.isIdle }))

    init(_ limit: ConcurrencyLimit) { self.limit = limit }

    var keyCount: Int { lines.withLock(\.count) }

    func state(of key: RequestScope.Key) -> ConcurrencyLimitMiddleware.State {
        lines.withLock { lines in
            guard let line = lines[key] else { return .init(inFlight: 0, queued: 0, limit: ConcurrencyLimit.slots(Double(limit.initial))) }
            return .init(inFlight: line.inUse, queued: line.queue.count, limit: ConcurrencyLimit.slots(line.limit))
        }
    }

    /// Waits for a slot. Returns when the request has a slot.
    ///
    /// - Throws: `CancellationError`; ``/ErrandCore/TransportError`` when the deadline passes first.
    func acquire(_ key: RequestScope.Key, for request: Request) async throws {
        try Task.checkCancellation()
        if take(key) { return }
        request.report(.queueStart)
        defer { request.report(.queueEnd) }
        try await request.withinDeadline(
            .queue, delivery: .notSent, discard: { self.release(key, .cancelled) }, operation: { try await self.wait(key, for: request) })
    }

    /// Changes the state of a key in place. The time to copy a queue would grow with its length.
    private func within<Result: Sendable>(_ key: RequestScope.Key, _ body: (inout Line) -> Result) -> Result {
        lines.withLock { lines in
            let (result, isIdle) = lines.update(key, default: Line(limit: Double(limit.initial))) { line in
                let result = body(&line)
                return (result, line.isIdle)
            }
            // For an adaptive limit, the idle key keeps the current value.
            if limit.kind == .fixed, isIdle { lines.removeValue(forKey: key) }
            return result
        }
    }

    private func take(_ key: RequestScope.Key) -> Bool {
        within(key) { line in
            guard line.hasRoom else { return false }
            line.inUse += 1
            return true
        }
    }

    private func wait(_ key: RequestScope.Key, for request: Request) async throws {
        try await waitInQueue { (ticket, continuation: CheckedContinuation<Void, any Error>) in
            within(key) { line in
                if ticket.isCancelled { return .failure(CancellationError()) }
                if line.hasRoom {
                    line.inUse += 1
                    return .success(())
                }
                ticket.place = line.queue.append(
                    Waiter(ticket: ticket, continuation: continuation), lane: request.options.priority.urgency)
                return nil
            }
        } leave: { [self] ticket in
            within(key) { $0.queue.cancel(ticket)?.continuation }
        }
    }

    /// Frees a slot, which goes to the next waiter.
    func release(_ key: RequestScope.Key, _ outcome: ConcurrencyLimit.Outcome) {
        let next = within(key) { line -> [Waiter] in
            line.limit = limit.next(after: outcome, limit: line.limit, inUse: line.inUse)
            line.inUse -= 1
            var next: [Waiter] = []
            while line.hasRoom, let waiter = line.queue.popNext() {
                line.inUse += 1
                waiter.ticket.place = nil  // another queue may issue the same number
                next.append(waiter)
            }
            return next
        }
        for waiter in next { waiter.continuation.resume() }
    }
}
