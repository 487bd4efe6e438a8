internal import ErrandCore

// The actions of the leader of a queue.
extension RateLimiter {
    func lead(_ key: String, _ call: Call) async throws -> RateLimitGrant? {
        while true {
            try Task.checkCancellation()
            if !call.isProbe, let wait = excess(key) { throw RateLimitError(request: call.request, retryAfter: wait, cause: .server) }
            let updateCount = within(key) { $0.updateCount }
            let decision: RateLimitDecision
            do {
                decision = try await store.take(key, limit: settings.limit)
            } catch {
                if Task.isCancelled { throw CancellationError() }
                switch settings.storeFailure {
                case .failOpen:
                    // All queued requests are sent now. If the requests stayed queued, each request in turn would wait for the failing
                    // store.
                    for waiter in dissolve(key) { waiter.continuation.resume(returning: .go(nil)) }
                    return nil
                case .failClosed:
                    for waiter in removeAll(key, where: { _ in true }) {
                        waiter.continuation.resume(throwing: RateLimitStoreError(request: waiter.call.request, underlying: error))
                    }
                    throw RateLimitStoreError(request: call.request, underlying: error)
                }
            }
            switch decision {
            case .granted(let grant):
                if Task.isCancelled {
                    pass(grant, key)
                    throw CancellationError()
                }
                let (next, outcome) = settle(grant, key, call)
                next?.continuation.resume(returning: outcome)
                if case .go = outcome { continue }
                return grant
            case .wait(let wait, let cause):
                if cause == .server { refuseOthers(key, wait) }
                if let refusal = refusal(call, wait, cause) { throw refusal }
                try await sleep(key, wait, cause, unlessAfter: updateCount)
            }
        }
    }

    /// Sleeps until the leader must ask the store again. The sleep ends when `wait` has passed. If the server caused the wait, the sleep
    /// also ends after a minute, or when newer fields of the server arrive. If the queue's `updateCount` has changed, newer fields have
    /// arrived already, and there is no sleep.
    private func sleep(_ key: String, _ wait: Duration, _ cause: RateLimitDecision.Cause, unlessAfter updateCount: Int) async throws {
        let end = elapsed() + wait.bounded
        func begin(_ alarm: AsyncStream<Void>.Continuation?) -> Bool {
            within(key) { queue in
                guard queue.updateCount == updateCount else { return false }
                queue.pause = Pause(end: end, cause: cause, alarm: alarm)
                return true
            }
        }
        defer { within(key) { $0.pause = nil } }
        // Rate-limit fields of the server can't shorten a wait that the app's own limit causes.
        if cause != .server {
            if begin(nil) { try await clock.sleep(for: wait.bounded) }
            return
        }
        let (alarms, alarm) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        guard begin(alarm) else { return }
        try await firstOf({ [clock] in try await clock.sleep(for: min(wait, Self.longestSleep)) }, { for await _ in alarms { return } })
    }

    /// Decides which waiter gets a grant. If a waiter is more urgent than the leader, this waiter gets the grant. If no waiter is more
    /// urgent, the leader gets the grant. If the leader gets the grant, the next waiter becomes the leader. Every tenth grant goes to the
    /// waiter that has queued longest.
    private func settle(_ grant: RateLimitGrant, _ key: String, _ call: Call) -> (Waiter?, QueueOutcome) {
        within(key) { queue in
            queue.grantsSinceOldest += 1
            if queue.grantsSinceOldest >= WaitQueue<Waiter>.oldestInterval {
                queue.grantsSinceOldest = 0
                guard let oldest = queue.waiters.oldest(), oldest.call.arrived < call.arrived else { return (queue.promote(), .lead) }
                return (queue.waiters.popOldest(), .go(grant))
            }
            if let urgent = queue.waiters.popFirst(before: call.lane) { return (urgent, .go(grant)) }
            return (queue.promote(), .lead)
        }
    }

    /// If a waiter can't wait as long as the server asks, the waiter fails now, before it becomes the leader.
    private func refuseOthers(_ key: String, _ wait: Duration) {
        for waiter in removeAll(key, where: { self.refusal($0.call, wait, .server) != nil }) {
            waiter.continuation.resume(throwing: RateLimitError(request: waiter.call.request, retryAfter: wait, cause: .server))
        }
    }

    private func removeAll(_ key: String, where isLeaving: (Waiter) -> Bool) -> [Waiter] {
        within(key) { $0.waiters.removeAll(where: isLeaving) }
    }

    private func dissolve(_ key: String) -> [Waiter] {
        within(key) { queue in
            (queue.leader, queue.pause) = (nil, nil)
            return queue.waiters.removeAll()
        }
    }
}
