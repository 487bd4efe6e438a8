internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// The queues by key. The first waiter is the leader. The leader asks the store whether a request may be sent, and sleeps until it asks
/// again. Each other waiter is suspended until it gets a grant from the leader, or becomes the leader.
///
/// A queue without a leader is empty. When a leader gets a grant, fails or is cancelled, the next waiter becomes the leader.
final class RateLimiter: Sendable {
    struct Settings: Sendable {
        var limit: RateLimit?
        var maxWait: Duration?
        var maxServerWait: Duration
        var storeFailure: RateLimitMiddleware.StoreFailure
    }

    private struct Keys: Sendable {
        var queues: [String: Queue] = [:]
        var serverWaits: ServerWaits
    }

    /// Permission to send a request.
    struct Permit: Sendable {
        /// The grant of the store; `nil` if the store failed.
        var grant: RateLimitGrant?
        /// Whether the request is a probe. Other requests are refused until the probe has a response.
        var isProbe = false
    }

    /// The longest sleep of a leader, if the server caused the wait. After the sleep, the leader asks the store again, because a shared
    /// store may have newer fields.
    static let longestSleep = Duration.seconds(60)
    /// The longest time for which the limiter obeys a server's wait. If `maxServerWait` in the settings is longer, the limiter
    /// obeys the wait for `maxServerWait`.
    private static let longestServerWait = Duration.seconds(3600)

    let settings: Settings
    let store: any RateLimitStore
    private let immediate: (any ImmediateRateLimits)?
    let clock: any Clock<Duration>
    let elapsed: @Sendable () -> Duration
    private let keys: Mutex<Keys>

    init(_ settings: Settings, store: any RateLimitStore, clock: any Clock<Duration>) {
        (self.settings, self.store, self.clock) = (settings, store, clock)
        immediate = store.immediate
        elapsed = makeStopwatch(on: clock)
        keys = Mutex(Keys(serverWaits: ServerWaits(limit: max(settings.maxServerWait, Self.longestServerWait))))
    }

    /// Returns the number of queued requests, including the leader.
    func queued(for key: String) -> Int {
        keys.withLock { keys in keys.queues[key].map { $0.waiters.count + ($0.leader == nil ? 0 : 1) } ?? 0 }
    }

    func available(_ key: String) async throws -> Int? { try await store.available(key, limit: settings.limit) }

    // MARK: A request

    /// Waits until the request may be sent.
    ///
    /// - Throws: `CancellationError`; ``/ErrandCore/TransportError`` when the deadline passes; ``RateLimitError``; ``RateLimitStoreError``.
    func acquire(_ key: String, for request: Request) async throws -> Permit {
        try Task.checkCancellation()
        let (isFree, isProbe) = try admit(key, request)
        // If no request is queued, and the store gives a grant immediately, the request does not wait. The queue and the deadline are not
        // used.
        if let immediate, isFree, case .granted(let grant) = immediate.take(key, limit: settings.limit) {
            return Permit(grant: grant, isProbe: isProbe)
        }
        request.report(.queueStart)
        defer { request.report(.queueEnd) }
        let call = Call(request: request, arrived: elapsed(), isProbe: isProbe)
        do {
            guard let expiry = expiry(of: call) else { return Permit(grant: try await waitForGrant(key, call), isProbe: isProbe) }
            let grant = try await withExpiry(expiry, discard: { self.pass($0, key) }, operation: { try await self.waitForGrant(key, call) })
            return Permit(grant: grant, isProbe: isProbe)
        } catch {
            if isProbe { endProbe(key, hasResponse: false) }
            throw error
        }
    }

    /// Returns whether the queue is empty, and whether the request is a probe. A probe finds out whether the server accepts requests
    /// again.
    ///
    /// - Throws: ``RateLimitError`` while requests are refused, because the server asked for a wait above the maximum.
    private func admit(_ key: String, _ request: Request) throws -> (isFree: Bool, isProbe: Bool) {
        let now = elapsed()
        let (isFree, entry) = keys.withLock { keys in
            let entry = keys.serverWaits.enter(key, at: now) {
                // The wait has ended early if the store asks for no wait now: the app has removed the key, or newer fields have arrived.
                immediate.map { $0.wait(key, limit: nil) == nil } ?? false
            }
            return (keys.queues[key] == nil, entry)
        }
        if case .refused(let wait) = entry { throw RateLimitError(request: request, retryAfter: wait, cause: .server) }
        return (isFree, entry == .probe)
    }

    /// Ends a probe, after the fields of its response were observed.
    func endProbe(_ key: String, hasResponse: Bool) {
        let now = elapsed()
        keys.withLock { $0.serverWaits.endProbe(key, hasResponse: hasResponse, at: now) }
    }

    /// Returns for how long requests are still refused, because the server asked for a wait above the maximum.
    func excess(_ key: String) -> Duration? {
        let now = elapsed()
        return keys.withLock { $0.serverWaits.wait(key, at: now) }
    }

    // MARK: The queue

    /// Returns a function that ends the wait with an error, at the deadline or after `maxWait`, whichever is earlier.
    private func expiry(of call: Call) -> (@Sendable () async throws -> TransportError)? {
        let request = call.request
        let before = request.deadline?.remaining
        if let deadline = request.deadline, let before, settings.maxWait.map({ $0 == .zero || before <= $0 }) ?? true {
            return {
                try await deadline.wait()
                return deadline.timeoutError(in: .queue, since: before, request: request, delivery: .notSent)
            }
        }
        guard let maxWait = settings.maxWait, maxWait > .zero else { return nil }
        return { [clock] in
            try await clock.sleep(for: maxWait.bounded)
            throw RateLimitError(request: request, retryAfter: nil, cause: .limit)
        }
    }

    private func waitForGrant(_ key: String, _ call: Call) async throws -> RateLimitGrant? {
        // If `maxWait` is zero, there is no queue, and each request asks the store once.
        if settings.maxWait == .zero { return try await lead(key, call) }
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

    /// Suspends the call until it has a grant or becomes the leader.
    private func enter(_ key: String, _ call: Call) async throws -> QueueOutcome {
        try await waitInQueue { ticket, continuation in
            within(key) { queue in
                if ticket.isCancelled { return .failure(CancellationError()) }
                if queue.leader == nil {
                    (queue.leader, queue.pause) = (call.lane, nil)
                    return .success(.lead)
                }
                if let (wait, cause) = knownWait(call, key, in: queue), let refusal = refusal(call, wait, cause) {
                    return .failure(refusal)
                }
                queue.waiters.append(Waiter(call: call, continuation: continuation), lane: call.lane, ticket: ticket)
                return nil
            }
        } leave: { [self] ticket in
            within(key) { $0.waiters.cancel(ticket)?.continuation }
        }
    }

    /// Returns the shortest possible wait in the current queue. The wait has two parts. The first part is the time until the leader
    /// asks the store again. The second part is the time for the earlier waiters, if there are more waiters than the burst allows.
    private func knownWait(_ call: Call, _ key: String, in queue: Queue) -> (Duration, RateLimitDecision.Cause)? {
        guard let pause = queue.pause, let leader = queue.leader else { return nil }
        var (rest, cause) = (max(.zero, pause.end - elapsed()), pause.cause)
        // If the store now gives a shorter wait than the wait of the leader, the shorter wait applies.
        if let immediate, case let (wait, why) = immediate.wait(key, limit: settings.limit) ?? (.zero, .limit), wait < rest {
            // Small differences are ignored, because some time passes between two readings of a clock.
            if rest - wait > .milliseconds(100) { pause.alarm?.yield() }
            (rest, cause) = (wait, why)
        }
        let before = queue.waiters.count(upTo: call.lane) + (leader <= call.lane ? 1 : 0)
        // The wait is bounded, because the product of a long interval and a long queue can overflow.
        let ahead = settings.limit.map { $0.interval.bounded * min(1_000_000, max(0, before + 1 - $0.burst)) } ?? .zero
        return (rest + ahead, cause)
    }

    /// Returns the error of a call for which `wait` is too long; `nil` if the call may wait.
    func refusal(_ call: Call, _ wait: Duration, _ cause: RateLimitDecision.Cause) -> RateLimitError? {
        let isTooLong =
            settings.maxWait.map { $0 == .zero || elapsed() - call.arrived + wait > $0 } ?? false
            || call.request.deadline.map { wait > $0.remaining } ?? false
            || cause == .server && wait > settings.maxServerWait
        return isTooLong ? RateLimitError(request: call.request, retryAfter: wait, cause: cause) : nil
    }

    /// Passes a grant to the next waiter, because the owner of the grant no longer waits. If no request waits, the grant is lost.
    func pass(_ grant: RateLimitGrant?, _ key: String) {
        guard let grant else { return }
        let next = within(key) { $0.waiters.popFirst() }
        next?.continuation.resume(returning: .go(grant))
    }

    // MARK: Responses

    /// Records the fields of a response in the store. An error of the store is ignored.
    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?, of request: Request) async {
        let now = elapsed()
        let fields = keys.withLock { $0.serverWaits.update(by: fields, key, at: now) }
        defer { wakeLeader(key) }
        if let immediate { return immediate.observe(fields, for: key, after: grant) }
        try? await request.withinDeadline(
            .response, delivery: .sent, discard: { _ in },
            operation: { [store] in try await store.observe(fields, for: key, after: grant) })
    }

    /// Makes the leader ask the store again, because the wait of the leader may have changed.
    private func wakeLeader(_ key: String) {
        let alarm = keys.withLock { keys -> AsyncStream<Void>.Continuation? in
            guard keys.queues[key] != nil else { return nil }
            keys.queues[key]?.updateCount += 1
            guard let alarm = keys.queues[key]?.pause?.alarm else { return nil }
            keys.queues[key]?.pause = nil
            return alarm
        }
        alarm?.yield()
    }

    /// Changes a queue in place, and removes the queue if it is empty.
    func within<Result: Sendable>(_ key: String, _ body: (inout Queue) -> Result) -> Result {
        keys.withLock { keys in
            let result = body(&keys.queues[key, default: Queue()])
            if keys.queues[key]?.isEmpty == true { keys.queues[key] = nil }
            return result
        }
    }
}
