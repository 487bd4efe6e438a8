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

    private struct Keys: Sendable {
        var lines: [String: Line] = [:]
        var belief: RateLimitBelief
    }

    /// That a request may go.
    struct Permit: Sendable {
        /// Nil where the store failed.
        var grant: RateLimitGrant?
        /// Whether others wait for what comes of it.
        var isProbe = false
    }

    /// A store that several share may have better news: whoever waits for the server asks again after so long at the latest.
    static let longestSleep = Duration.seconds(60)
    /// Beyond this, and beyond the longest wait, what a server says is not believed.
    private static let longestBelief = Duration.seconds(3600)

    let settings: Settings
    let store: any RateLimitStore
    private let memory: MemoryRateLimitStore?
    let clock: any Clock<Duration>
    let elapsed: @Sendable () -> Duration
    private let keys: Mutex<Keys>

    init(_ settings: Settings, store: any RateLimitStore, clock: any Clock<Duration>) {
        (self.settings, self.store, self.clock) = (settings, store, clock)
        memory = store as? MemoryRateLimitStore
        elapsed = stopwatch(clock)
        keys = Mutex(Keys(belief: RateLimitBelief(limit: max(settings.longestServerWait, Self.longestBelief))))
    }

    /// How many are in line, the leader included.
    func waiting(for key: String) -> Int {
        keys.withLock { keys in keys.lines[key].map { $0.queue.count + ($0.leader == nil ? 0 : 1) } ?? 0 }
    }

    func available(_ key: String) async throws -> Int? { try await store.available(key, limit: settings.limit) }

    // MARK: A request

    /// Returns when the request may go.
    ///
    /// - Throws: `CancellationError`; ``TransportError`` when the deadline passes; ``RateLimitError``; ``RateLimitStoreError``.
    func acquire(_ key: String, for request: Request) async throws -> Permit {
        try Task.checkCancellation()
        let (isFree, isProbe) = try admit(key, request)
        // Nobody is in line, and the answer is at hand: no race, and no line.
        if let memory, isFree, case .granted(let grant) = memory.take(key, limit: settings.limit) {
            return Permit(grant: grant, isProbe: isProbe)
        }
        request.tell(.queueStart)
        defer { request.tell(.queueEnd) }
        let call = Call(request: request, arrived: elapsed(), isProbe: isProbe)
        do {
            guard let expiry = expiry(of: call) else { return Permit(grant: try await turn(key, call), isProbe: isProbe) }
            let grant = try await racing(expiry, discard: { self.pass($0, key) }, operation: { try await self.turn(key, call) })
            return Permit(grant: grant, isProbe: isProbe)
        } catch {
            if isProbe { endProbe(key, isAnswered: false) }
            throw error
        }
    }

    /// Whether nobody is in line, and whether the request is the one that goes to see whether the server can be asked again.
    ///
    /// - Throws: ``RateLimitError`` while a server is left alone that asked for more than it is believed.
    private func admit(_ key: String, _ request: Request) throws -> (isFree: Bool, isProbe: Bool) {
        let now = elapsed()
        let (isFree, entry) = keys.withLock { keys in
            let entry = keys.belief.enter(key, at: now) {
                // The store was told to forget it, or something better.
                memory.map { $0.wait(key, limit: nil) == nil } ?? false
            }
            return (keys.lines[key] == nil, entry)
        }
        if case .refused(let wait) = entry { throw RateLimitError(request: request, retryAfter: wait, cause: .server) }
        return (isFree, entry == .probe)
    }

    /// A probe is over, and what its response said was observed.
    func endProbe(_ key: String, isAnswered: Bool) {
        let now = elapsed()
        keys.withLock { $0.belief.endProbe(key, isAnswered: isAnswered, at: now) }
    }

    /// How long the server is left alone because it asked for more than it is believed.
    func excess(_ key: String) -> Duration? {
        let now = elapsed()
        return keys.withLock { $0.belief.wait(key, at: now) }
    }

    // MARK: A request's turn

    /// What ends the wait: the deadline or `maxWait`, whichever is earlier.
    private func expiry(of call: Call) -> (@Sendable () async throws -> TransportError)? {
        let request = call.request
        let before = request.deadline?.remaining
        if let deadline = request.deadline, let before, settings.maxWait.map({ $0 == .zero || before <= $0 }) ?? true {
            return {
                try await deadline.wait()
                return .timedOut(.queue, after: before - deadline.remaining, request: request, delivery: .notSent)
            }
        }
        guard let maxWait = settings.maxWait, maxWait > .zero else { return nil }
        return { [clock] in
            try await clock.sleep(for: maxWait.bounded)
            throw RateLimitError(request: request, retryAfter: nil, cause: .limit)
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
            guard settings.storeFailure == .failOpen else { throw RateLimitStoreError(request: call.request, underlying: error) }
            return nil
        }
        switch decision {
        case .granted(let grant): return grant
        case .wait(let wait, let cause): throw RateLimitError(request: call.request, retryAfter: wait, cause: cause)
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
                if let (wait, cause) = knownWait(call, key, in: line), let refusal = refusal(call, wait, cause) { return .failure(refusal) }
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
    private func knownWait(_ call: Call, _ key: String, in line: Line) -> (Duration, RateLimitDecision.Cause)? {
        guard let opening = line.opening, let leader = line.leader else { return nil }
        var (opens, cause) = (max(.zero, opening.at - elapsed()), opening.cause)
        // What the store says now counts, and not what it said when the leader asked.
        if let memory, case let (wait, why) = memory.wait(key, limit: settings.limit) ?? (.zero, .limit), wait < opens {
            // Not for the moment between two looks at a clock.
            if opens - wait > .milliseconds(100) { opening.alarm?.yield() }
            (opens, cause) = (wait, why)
        }
        let before = line.queue.count(upTo: call.lane) + (leader <= call.lane ? 1 : 0)
        // Bounded, because the product of a long interval and a long queue can overflow.
        let ahead = settings.limit.map { $0.interval.bounded * min(1_000_000, max(0, before + 1 - $0.burst)) } ?? .zero
        return (opens + ahead, cause)
    }

    /// Why the call must not wait so long; nil if it may.
    func refusal(_ call: Call, _ wait: Duration, _ cause: RateLimitDecision.Cause) -> RateLimitError? {
        let isTooLong =
            settings.maxWait.map { elapsed() - call.arrived + wait > $0 } ?? false
            || call.request.deadline.map { wait > $0.remaining } ?? false
            || cause == .server && wait > settings.longestServerWait
        return isTooLong ? RateLimitError(request: call.request, retryAfter: wait, cause: cause) : nil
    }

    /// A grant whose owner left goes to the next in line. If nobody is there, it was in vain.
    func pass(_ grant: RateLimitGrant?, _ key: String) {
        guard let grant else { return }
        let next = within(key) { $0.popFirst() }
        next?.continuation.resume(returning: .go(grant))
    }

    // MARK: Answers

    /// Tells the store what a response says. A store that fails has not heard it.
    func observe(_ fields: RateLimitFields, _ key: String, after grant: RateLimitGrant?, within deadline: Deadline?) async {
        let now = elapsed()
        let fields = keys.withLock { $0.belief.believed(fields, key, at: now) }
        defer { wakeLeader(key) }
        if let memory { return memory.observe(key, fields, after: grant) }
        let store = store
        guard let deadline else { return (try? await store.observe(key, fields, after: grant)) ?? () }
        try? await racing(
            deadline, onTimeout: { .timedOut(.response, after: .zero, request: nil, delivery: .sent) }, discard: { _ in },
            operation: { try await store.observe(key, fields, after: grant) })
    }

    /// The leader asks the store again: what it waits for may have changed.
    private func wakeLeader(_ key: String) {
        let alarm = keys.withLock { keys -> AsyncStream<Void>.Continuation? in
            guard keys.lines[key] != nil else { return nil }
            keys.lines[key]?.news += 1
            guard let alarm = keys.lines[key]?.opening?.alarm else { return nil }
            keys.lines[key]?.opening = nil
            return alarm
        }
        alarm?.yield()
    }

    /// Changes a line where it stands, and forgets one that nobody is in.
    func within<Result: Sendable>(_ key: String, _ body: (inout Line) -> Result) -> Result {
        keys.withLock { keys in
            let result = body(&keys.lines[key, default: Line()])
            if keys.lines[key]?.isEmpty == true { keys.lines[key] = nil }
            return result
        }
    }
}
