internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// Lines by key. Who is first leads: alone it asks the store and sleeps; the others are parked, and get what it is granted, or its lead.
///
/// A line without a leader has nobody in it. Whoever leads and ends, however it ends, has somebody else lead.
final class RateLimiter: Sendable {
    struct Settings: Sendable {
        var limit: RateLimit?
        var maxWait: Duration?
        var longestServerWait: Duration
        var storeFailure: RateLimitMiddleware.StoreFailure
    }

    /// What a wait in line comes to.
    private enum Turn: Sendable {
        case lead
        /// The grant is nil where the store failed.
        case go(RateLimitGrant?)
    }

    private struct Waiter: Sendable {
        let ticket: Ticket
        let call: Call
        let continuation: CheckedContinuation<Turn, any Error>
    }

    private struct Line: Sendable {
        /// The lane of who leads; nil where nobody does.
        var leader: Int?
        /// When the leader will ask again, and for whose sake it waits; nil while it asks.
        var opening: (at: Duration, cause: RateLimitDecision.Cause)?
        var queue = WaitQueue<Waiter>()

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
    }

    /// A request in line.
    private struct Call: Sendable {
        let request: Request
        let arrived: Duration
        var lane: Int { request.options.priority.urgency }
    }

    private let settings: Settings
    private let store: any RateLimitStore
    private let memory: MemoryRateLimitStore?
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration
    private let lines = Mutex<[String: Line]>([:])

    init(_ settings: Settings, store: any RateLimitStore, clock: any Clock<Duration>) {
        (self.settings, self.store, self.clock) = (settings, store, clock)
        memory = store as? MemoryRateLimitStore
        elapsed = stopwatch(clock)
    }

    /// How many are in line, the leader included.
    func waiting(for key: String) -> Int { lines.withLock { lines in lines[key].map { $0.queue.count + ($0.leader == nil ? 0 : 1) } ?? 0 } }

    func available(_ key: String) async throws -> Int? { try await store.available(key, limit: settings.limit) }

    // MARK: A request

    /// Returns when the request may go; with nil where the store failed.
    ///
    /// - Throws: `CancellationError`; ``TransportError`` when the deadline passes; ``RateLimited``; ``RateLimitStoreFailed``.
    func acquire(_ key: String, for request: Request) async throws -> RateLimitGrant? {
        try Task.checkCancellation()
        // Nobody is in line, and the answer is at hand: no race, and no line.
        if let memory, lines.withLock({ $0[key] == nil }), case .granted(let grant) = memory.take(key, limit: settings.limit) {
            return grant
        }
        request.tell(.queueStart)
        defer { request.tell(.queueEnd) }
        let call = Call(request: request, arrived: elapsed())
        guard let expiry = expiry(of: call) else { return try await turn(key, call) }
        return try await racing(expiry, discard: { self.pass($0, key) }, operation: { try await self.turn(key, call) })
    }

    /// What ends the wait: the deadline or `maxWait`, whichever is earlier.
    private func expiry(of call: Call) -> (@Sendable () async throws -> TransportError)? {
        let request = call.request
        let before = request.deadline?.remaining
        if let deadline = request.deadline, let before, settings.maxWait.map({ $0 == .zero || before <= $0 }) ?? true {
            return {
                try await deadline.wait()
                return .timedOut(.queue, after: before - deadline.remaining, request: request, wasSent: .no)
            }
        }
        guard let maxWait = settings.maxWait, maxWait > .zero else { return nil }
        return { [clock] in
            try await clock.sleep(for: maxWait)
            throw RateLimited(request: request, retryAfter: nil, cause: .limit)
        }
    }

    private func turn(_ key: String, _ call: Call) async throws -> RateLimitGrant? {
        if settings.maxWait == .zero { return try await askOnce(key, call) }
        switch try await enter(key, call) {
        case .go(let grant):
            guard Task.isCancelled else { return grant }
            pass(grant, key)
            throw CancellationError()
        case .lead:
            do {
                return try await lead(key, call)
            } catch {
                within(key) { $0.promote() }?.continuation.resume(returning: .lead)
                throw error
            }
        }
    }

    /// Where nobody waits, there is no line.
    private func askOnce(_ key: String, _ call: Call) async throws -> RateLimitGrant? {
        let decision: RateLimitDecision
        do {
            decision = try await store.take(key, limit: settings.limit)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            guard settings.storeFailure == .failOpen else { throw RateLimitStoreFailed(request: call.request, underlying: error) }
            return nil
        }
        switch decision {
        case .granted(let grant): return grant
        case .wait(let wait, let cause): throw RateLimited(request: call.request, retryAfter: wait, cause: cause)
        }
    }

    /// Parks the call until it is granted or leads.
    private func enter(_ key: String, _ call: Call) async throws -> Turn {
        try await parked { ticket, continuation in
            within(key) { line in
                if ticket.isCancelled { return .failure(CancellationError()) }
                if line.leader == nil {
                    (line.leader, line.opening) = (call.lane, nil)
                    return .success(.lead)
                }
                if let (wait, cause) = knownWait(call, in: line), let refusal = refusal(call, wait, cause) { return .failure(refusal) }
                ticket.place = line.queue.append(Waiter(ticket: ticket, call: call, continuation: continuation), lane: call.lane)
                return nil
            }
        } leave: { [self] ticket in
            within(key) { line in
                ticket.isCancelled = true
                return ticket.place.flatMap { line.queue.remove($0) }?.continuation
            }
        }
    }

    /// At least so long, as the line stands: until the leader asks again, and then for those in front beyond a burst.
    private func knownWait(_ call: Call, in line: Line) -> (Duration, RateLimitDecision.Cause)? {
        guard let opening = line.opening, let leader = line.leader else { return nil }
        let before = line.queue.count(upTo: call.lane) + (leader <= call.lane ? 1 : 0)
        let opens = max(.zero, opening.at - elapsed())
        return (settings.limit.map { opens + $0.interval * max(0, before + 1 - $0.burst) } ?? opens, opening.cause)
    }

    /// Why the call must not wait so long; nil if it may.
    private func refusal(_ call: Call, _ wait: Duration, _ cause: RateLimitDecision.Cause) -> RateLimited? {
        let isTooLong =
            settings.maxWait.map { elapsed() - call.arrived + wait > $0 } ?? false
            || call.request.deadline.map { wait > $0.remaining } ?? false
            || cause == .server && wait > settings.longestServerWait
        return isTooLong ? RateLimited(request: call.request, retryAfter: wait, cause: cause) : nil
    }

    // MARK: The leader

    private func lead(_ key: String, _ call: Call) async throws -> RateLimitGrant? {
        while true {
            try Task.checkCancellation()
            let decision: RateLimitDecision
            do {
                decision = try await store.take(key, limit: settings.limit)
            } catch {
                if Task.isCancelled { throw CancellationError() }
                switch settings.storeFailure {
                case .failOpen:
                    // Everybody: each would have to wait for the failing store in turn.
                    for waiter in dissolve(key) { waiter.continuation.resume(returning: .go(nil)) }
                    return nil
                case .failClosed:
                    for waiter in removeAll(key, where: { _ in true }) {
                        waiter.continuation.resume(throwing: RateLimitStoreFailed(request: waiter.call.request, underlying: error))
                    }
                    throw RateLimitStoreFailed(request: call.request, underlying: error)
                }
            }
            switch decision {
            case .granted(let grant):
                if Task.isCancelled {
                    pass(grant, key)
                    throw CancellationError()
                }
                let (next, turn) = settle(grant, key, call)
                next?.continuation.resume(returning: turn)
                if case .go = turn { continue }
                return grant
            case .wait(let wait, let cause):
                if cause == .server { refuseOthers(key, wait) }
                if let refusal = refusal(call, wait, cause) { throw refusal }
                let opensAt = elapsed() + wait
                within(key) { $0.opening = (opensAt, cause) }
                try await clock.sleep(for: wait)
                within(key) { $0.opening = nil }
            }
        }
    }

    /// Who gets the grant: one who is more urgent than the leader; or else the leader, and the next one leads.
    private func settle(_ grant: RateLimitGrant, _ key: String, _ call: Call) -> (Waiter?, Turn) {
        within(key) { line in
            if let urgent = line.popFirst(before: call.lane) { return (urgent, .go(grant)) }
            return (line.promote(), .lead)
        }
    }

    /// A grant whose owner left goes to the next in line. If nobody is there, it was in vain.
    private func pass(_ grant: RateLimitGrant?, _ key: String) {
        guard let grant else { return }
        let next = within(key) { $0.popFirst() }
        next?.continuation.resume(returning: .go(grant))
    }

    /// Those who can't wait as long as the server wants need not wait until they find out.
    private func refuseOthers(_ key: String, _ wait: Duration) {
        for waiter in removeAll(key, where: { self.refusal($0.call, wait, .server) != nil }) {
            waiter.continuation.resume(throwing: RateLimited(request: waiter.call.request, retryAfter: wait, cause: .server))
        }
    }

    private func removeAll(_ key: String, where isLeaving: (Waiter) -> Bool) -> [Waiter] {
        within(key) { line in
            let leaving = line.queue.removeAll(where: isLeaving)
            for waiter in leaving { waiter.ticket.place = nil }
            return leaving
        }
    }

    private func dissolve(_ key: String) -> [Waiter] {
        within(key) { line in
            let all = line.queue.removeAll()
            for waiter in all { waiter.ticket.place = nil }
            (line.leader, line.opening) = (nil, nil)
            return all
        }
    }

    // MARK: Answers

    /// Tells the store what a response says. A store that fails has not heard it.
    func observe(_ fields: RateLimitFields, _ key: String, after grant: RateLimitGrant?, within deadline: Deadline?) async {
        if let memory { return memory.observe(key, fields, after: grant) }
        let store = store
        guard let deadline else { return (try? await store.observe(key, fields, after: grant)) ?? () }
        try? await racing(
            deadline, onTimeout: { .timedOut(.response, after: .zero, request: nil, wasSent: .yes) }, discard: { _ in },
            operation: { try await store.observe(key, fields, after: grant) })
    }

    /// Changes a line where it stands, and forgets one that nobody is in.
    private func within<Result: Sendable>(_ key: String, _ body: (inout Line) -> Result) -> Result {
        lines.withLock { lines in
            let result = body(&lines[key, default: Line()])
            if lines[key]?.isEmpty == true { lines[key] = nil }
            return result
        }
    }
}
