#if SWIFT_NIO
internal import ErrandCore

/// The events of open connections.
extension PoolMachine {
    enum Arrival: Sendable {
        /// This exchange begins on the new connection.
        case begin(Waiter)
        /// The connection is kept unused for this time.
        case idle(Duration)
        /// The connection must be closed, because the limit on connections is reached, and an exchange with another origin needs a
        /// connection.
        case close(Work)
        /// The connection must be closed, because it is no longer needed, or the pool is shut down.
        case refuse
    }

    /// Adds the connection of an attempt that has succeeded. If an exchange begins, the caller must call ``beginMore(on:of:at:)`` next.
    ///
    /// - Parameter streams: the number of exchanges that the connection takes at a time.
    mutating func connected(
        _ attempt: Attempt, _ link: Link, on loop: ObjectIdentifier, streams: Int = 1, at now: Duration
    ) -> Arrival {
        guard let index = groups.index(forKey: attempt.key), groups.values[index].queue.removeAttempt(attempt.number) != nil else {
            return .refuse
        }
        groups.values[index].open += 1
        groups.values[index].queue.expect(streamsPerLink: streams)
        let slot = table.add(link, of: attempt.key, on: loop, until: limits.age.map { now + $0 }, streams: streams)
        if table[slot].hasRoom, let waiter = groups.values[index].queue.dequeueNext() {
            begin(slot, in: index)
            return .begin(waiter)
        }
        if isRoomNeeded() { return .close(remove(link, of: attempt.key)) }
        return .idle(becomeIdle(slot, of: attempt.key, for: limits.idleTime, at: now))
    }

    private mutating func becomeIdle(_ slot: Int, of key: Key, for idleTime: Duration, at now: Duration) -> Duration {
        guard let index = groups.index(forKey: key) else { return .zero }
        var time = min(idleTime, limits.idleTime)
        if let end = table[slot].end { time = min(time, max(.zero, end - now)) }
        table[slot].expiry = now + time
        move(slot, to: .idle, in: index)
        return time
    }

    /// Starts queued exchanges on a connection while the connection has room. If the connection takes several exchanges, surplus
    /// attempts to connect are cancelled. If the connection takes fewer exchanges than expected, the missing attempts are made.
    mutating func beginMore(on link: Link, of key: Key, at now: Duration) -> Work {
        var work = Work()
        guard !isShutDown, let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return work }
        while table[slot].hasRoom, table[slot].end.map({ $0 > now }) ?? true, let waiter = groups.values[index].queue.dequeueNext() {
            begin(slot, in: index)
            work.begin.append((waiter, link))
        }
        if table[slot].streams > 1 { dropSurplusAttempts(of: key, &work) }
        refill(key, &work)
        return work
    }

    /// Sets the number of exchanges that a connection takes at a time, after its server has changed the number
    /// ([RFC 9113, section 6.5.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2)).
    ///
    /// - Parameter count: the new number. If the number is zero, no exchange begins on the connection until the next change.
    ///   Exchanges in progress continue.
    mutating func setStreams(_ link: Link, of key: Key, to count: Int, at now: Duration) -> Work {
        guard !isShutDown, let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return Work() }
        table[slot].streams = max(0, count)
        table[slot].isProven = true
        groups.values[index].queue.expect(streamsPerLink: count)
        if table[slot].inUse > 0 { move(slot, to: table[slot].hasRoom ? .roomy : .none, in: index) }
        return beginMore(on: link, of: key, at: now)
    }

    /// Returns whether another exchange may begin on a connection.
    func hasRoom(_ link: Link) -> Bool { table.slot(of: link).map { table[$0].hasRoom } ?? false }

    enum Release: Sendable {
        /// This exchange begins on the connection.
        case begin(Waiter)
        /// The connection is kept unused for this time.
        case idle(Duration)
        /// Other exchanges are in progress on the connection.
        case inUse
        /// The connection must be closed.
        case close(Work)
    }

    /// Releases a connection after an exchange. If an exchange begins, and the connection has room for more, the caller must call
    /// ``beginMore(on:of:at:)`` next.
    ///
    /// - Parameter idleTime: the time for which the connection may be kept unused, up to the limit.
    mutating func release(_ link: Link, of key: Key, idleTime: Duration, at now: Duration) -> Release {
        guard let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return .close(Work()) }
        table[slot].endStream()
        let isOld = table[slot].end.map { $0 <= now } ?? false
        let isLast = isShutDown || isOld || table[slot].isDraining
        if isLast || givesWay(slot, in: index, of: key) {
            guard table[slot].inUse > 0 else { return .close(remove(link, of: key)) }
            drain(slot, in: index, toMakeRoom: !isLast)
            return .inUse
        }
        if table[slot].hasRoom, let waiter = groups.values[index].queue.dequeueNext() {
            begin(slot, in: index)
            return .begin(waiter)
        }
        if table[slot].inUse > 0 {
            move(slot, to: table[slot].hasRoom ? .roomy : .none, in: index)
            return .inUse
        }
        guard idleTime > .zero else { return .close(remove(link, of: key)) }
        // If the server allows no exchange on this connection, the connection makes room for a usable connection.
        let isUseless = !table[slot].hasRoom && groups.values[index].queue.needsAttempt
        if isUseless || isRoomNeeded() { return .close(remove(link, of: key)) }
        return .idle(becomeIdle(slot, of: key, for: idleTime, at: now))
    }

    /// Returns whether a connection makes room for another origin. The oldest queued exchange of that origin must be older than all
    /// queued exchanges of the connection's origin.
    ///
    /// This rule prevents a busy origin from making other origins wait forever. A connection makes room after ``minimumExchanges``
    /// exchanges. A connection with other exchanges in progress drains first. The number of draining connections is at most one more
    /// than the number of waiting origins.
    private mutating func givesWay(_ slot: Int, in index: Dictionary<Key, Group>.Index, of key: Key) -> Bool {
        guard total >= limits.connections, !starved.isEmpty, table[slot].begun >= Self.minimumExchanges else { return false }
        guard table[slot].inUse == 0 || table.roomMakingCount <= starved.count else { return false }
        if let place = groups.values[index].starvedPlace, starved.count > 1, starved.oldest() == key {
            // Here, the connection's own origin has been starved for the longest time. The origin uses this connection for its queued
            // exchange. Therefore the origin moves to the end of the queue of starved origins.
            _ = starved.remove(place)
            groups.values[index].starvedPlace = starved.append(key, lane: 0)
        }
        guard isRoomNeeded(), let other = starved.oldest(), other != key else { return false }
        guard let first = groups[other]?.queue.firstWithoutAttempt() else { return false }
        return first < groups.values[index].queue.oldest() ?? .max
    }

    /// Starts no further exchange on a connection, for example after a GOAWAY ([RFC 9113, section
    /// 6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)). The connection is closed after its last exchange. A draining connection
    /// is included in the number of connections.
    mutating func drain(_ link: Link, of key: Key) -> Work {
        guard let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return Work() }
        guard table[slot].inUse == 0 else {
            drain(slot, in: index)
            return Work()
        }
        var work = remove(link, of: key)
        work.close.append(link)
        return work
    }

    /// Removes a connection that has closed, or that the caller closes.
    mutating func remove(_ link: Link, of key: Key) -> Work {
        var work = Work()
        guard let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return work }
        remove(slot, in: index)
        refill(key, &work)
        return work
    }

    /// Removes a connection if it is idle. Returns false if an exchange uses the connection, or the connection was removed before.
    mutating func removeIfIdle(_ link: Link, of key: Key) -> (isRemoved: Bool, work: Work) {
        guard let slot = table.slot(of: link), table[slot].place == .idle else { return (false, Work()) }
        return (true, remove(link, of: key))
    }
}
#endif
