#if SWIFT_NIO
internal import ErrandCore

/// The attempts to connect, and the starved origins, whose exchanges wait because of the limit on all connections.
extension PoolMachine {
    /// Opens connections before an exchange needs them.
    ///
    /// - Parameter count: the number of connections that must be idle, or have room for another exchange. This number includes
    ///   connections that are being opened, except connections that waiters will use.
    /// - Returns: the attempts to make, within the limits.
    mutating func preconnect(_ count: Int, for key: Key, at now: Duration) -> [Attempt] {
        guard !isShutDown else { return [] }
        let group = groups[key] ?? Group()
        let usable = table.count(in: group.idle) { $0.isUsable(at: now) } + table.count(in: group.roomy) { $0.isUsable(at: now) }
        let spare = usable + group.queue.spareCount
        let room = min(limits.connections - total, limits.connectionsPerOrigin - group.connections)
        let missing = min(max(0, count) - spare, room)
        guard missing > 0 else { return [] }
        total += missing
        addGroup(key)
        return (0..<missing).map { _ in
            lastNumber += 1
            groups[key]?.queue.addPreconnect(lastNumber)
            return Attempt(key: key, number: lastNumber)
        }
    }

    /// Withdraws an attempt of ``preconnect(_:for:at:)``. If a waiter needs the attempt, the attempt continues.
    mutating func withdraw(_ attempt: Attempt) -> Work {
        var work = Work()
        guard groups[attempt.key]?.queue.attempts[attempt.number] == 0 else { return work }
        _ = groups[attempt.key]?.queue.removeAttempt(attempt.number)
        if let next = groups[attempt.key]?.queue.firstWithoutAttempt() {
            groups[attempt.key]?.queue.add(attempt.number, for: next)
            return work
        }
        total -= 1
        work.cancel.append(attempt)
        feedStarved(&work)
        removeGroupIfEmpty(attempt.key)
        return work
    }

    /// Returns whether a queued exchange needs another connection, and its origin may open this connection. If the origin has the maximum
    /// number of connections, one of its idle connections can be closed to make room.
    func canUseConnection(_ key: Key) -> Bool {
        guard let index = groups.index(forKey: key), groups.values[index].queue.needsAttempt else { return false }
        return groups.values[index].connections < limits.connectionsPerOrigin || !groups.values[index].idle.isEmpty
    }

    /// Makes an attempt to connect if a waiter needs an attempt. Returns whether an attempt is made.
    @discardableResult mutating func connectIfNeeded(_ key: Key, for number: Int, _ work: inout Work) -> Bool {
        guard canUseConnection(key), let index = groups.index(forKey: key) else { return false }
        if groups.values[index].connections >= limits.connectionsPerOrigin, let idle = groups.values[index].idle.first {
            close(idle, in: index, &work.close)
        }
        if total >= limits.connections, !evictIdle(&work) {
            starve(key)
            return false
        }
        lastNumber += 1
        groups[key]?.queue.add(lastNumber, for: number)
        total += 1
        work.connect.append(Attempt(key: key, number: lastNumber))
        return true
    }

    /// Adds an origin to the end of the queue of starved origins, if the origin can use a connection.
    mutating func starve(_ key: Key) {
        guard groups[key]?.starvedPlace == nil, canUseConnection(key) else { return }
        groups[key]?.starvedPlace = starved.append(key, lane: 0)
    }

    /// Closes the connection that has been idle for the longest time.
    private mutating func evictIdle(_ work: inout Work) -> Bool {
        guard let slot = table.oldestIdle else { return false }
        let key = table[slot].key
        guard let index = groups.index(forKey: key) else { return false }
        close(slot, in: index, &work.close)
        removeGroupIfEmpty(key)
        return true
    }

    /// Opens connections to `key` if more connections are needed and allowed. Origins that have been starved for longer come first.
    mutating func refill(_ key: Key, _ work: inout Work) {
        starve(key)
        feedStarved(&work)
        removeGroupIfEmpty(key)
    }

    /// Opens connections to the starved origins while the pool has room. In rotation, each of these origins gets one
    /// connection, as long as the origin can use connections.
    mutating func feedStarved(_ work: inout Work) {
        while !starved.isEmpty, total < limits.connections || idleCount > 0, let key = starved.popFirst() {
            groups[key]?.starvedPlace = nil
            guard let number = groups[key]?.queue.firstWithoutAttempt(), connectIfNeeded(key, for: number, &work) else { continue }
            starve(key)
        }
    }

    /// Returns whether the limit on all connections is reached, and a starved origin needs a connection. Origins that can no longer use a
    /// connection leave the queue of starved origins.
    mutating func isRoomNeeded() -> Bool {
        guard total >= limits.connections else { return false }
        while let key = starved.oldest() {
            if canUseConnection(key) { return true }
            _ = starved.popFirst()
            groups[key]?.starvedPlace = nil
        }
        return false
    }

    /// Returns the ticket of the exchange that an attempt was made for; `nil` if the exchange is no longer queued.
    func ticket(of attempt: Attempt) -> Ticket? {
        guard let queue = groups[attempt.key]?.queue, let number = queue.attempts[attempt.number], queue.isWaiting(number) else {
            return nil
        }
        return Ticket(key: attempt.key, number: number)
    }

    /// Returns whether an attempt, or its connection, is still needed.
    func isWanted(_ attempt: Attempt) -> Bool { groups[attempt.key]?.queue.attempts[attempt.number] != nil }

    /// Returns the exchange that an attempt was made for; `nil` if the exchange is no longer queued.
    func waiter(of attempt: Attempt) -> Waiter? { groups[attempt.key]?.queue.waiter(of: attempt.number) }

    /// Removes an attempt that has failed. Returns the exchange that the attempt was made for; `nil` if the exchange is no longer queued.
    /// The caller must fail the exchange.
    ///
    /// The capacity of the next connection is unknown. Therefore, each of the other waiters gets its own attempt, so that the waiters don't
    /// fail one after the other.
    mutating func failed(_ attempt: Attempt) -> (waiter: Waiter?, work: Work) {
        var work = Work()
        guard let number = groups[attempt.key]?.queue.removeAttempt(attempt.number) else { return (nil, work) }
        total -= 1
        let waiter = groups[attempt.key]?.queue.dequeue(number)?.waiter
        groups[attempt.key]?.queue.expectSingleExchanges()
        refill(attempt.key, &work)
        return (waiter, work)
    }

    mutating func removeGroupIfEmpty(_ key: Key) {
        guard let group = groups[key], group.isEmpty else { return }
        if let place = group.starvedPlace { _ = starved.remove(place) }
        if group.isPreferred { preferredCount -= 1 }
        if let streams = group.queue.learnedStreams { remembered.update(key, default: streams) { $0 = streams } }
        groups[key] = nil
    }
}
#endif
