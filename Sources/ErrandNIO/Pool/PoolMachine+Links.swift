#if NIO
internal import ErrandCore

/// What becomes of open connections.
extension PoolMachine {
    enum Arrival: Sendable {
        /// This exchange begins on the new connection.
        case begin(Waiter)
        /// It is kept unused for this time.
        case idle(Duration)
        /// It must be closed: an exchange with another origin needs its room.
        case close(Work)
        /// It is not needed any more, or the pool is shut down: it must be closed.
        case refuse
    }

    /// An attempt has succeeded.
    ///
    /// - Parameter streams: how many exchanges the connection takes at a time. If one begins, ``beginMore(on:of:at:)`` follows.
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

    /// What is known of a connection has changed: the waiters that it has room for begin on it. If it takes several, attempts to connect
    /// that are no longer needed are given up. If it takes fewer than was expected, those that are missing are made.
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

    /// A server has changed how many exchanges a connection takes at a time
    /// ([RFC 9113, section 6.5.2](https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2)).
    ///
    /// - Parameter count: zero, too: then nothing begins on it until the next change. Exchanges in progress go on.
    mutating func setStreams(_ link: Link, of key: Key, to count: Int, at now: Duration) -> Work {
        guard !isShutDown, let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return Work() }
        (table[slot].streams, table[slot].isProven) = (max(0, count), true)
        groups.values[index].queue.expect(streamsPerLink: count)
        if table[slot].inUse > 0 { move(slot, to: table[slot].hasRoom ? .roomy : .none, in: index) }
        return beginMore(on: link, of: key, at: now)
    }

    /// Whether another exchange may begin on a connection.
    func hasRoom(_ link: Link) -> Bool { table.slot(of: link).map { table[$0].hasRoom } ?? false }

    enum Release: Sendable {
        /// This exchange begins on the connection.
        case begin(Waiter)
        /// It is kept unused for this time.
        case idle(Duration)
        /// Other exchanges are in progress on it.
        case inUse
        /// It must be closed.
        case close(Work)
    }

    /// An exchange is over, and its connection can take another. If one begins, and there is room for more, ``beginMore(on:of:at:)``
    /// follows.
    ///
    /// - Parameter idleTime: for how long the connection may be kept unused; no longer than the limit.
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
        // One that takes no exchange makes room for one that does.
        let isUseless = !table[slot].hasRoom && groups.values[index].queue.needsAttempt
        if isUseless || isRoomNeeded() { return .close(remove(link, of: key)) }
        return .idle(becomeIdle(slot, of: key, for: idleTime, at: now))
    }

    /// Whether a connection makes room for another origin: when the exchange that has waited longest there came before those that wait here.
    ///
    /// So no origin waits forever behind a busy one. A connection gives way after ``turns`` exchanges. One with other exchanges in progress
    /// gives its room later: at most one more connection drains than origins wait.
    private mutating func givesWay(_ slot: Int, in index: Dictionary<Key, Group>.Index, of key: Key) -> Bool {
        guard total >= limits.connections, !starved.isEmpty, table[slot].begun >= Self.turns else { return false }
        guard table[slot].inUse == 0 || table.roomMakingCount <= starved.count else { return false }
        if let place = groups.values[index].starvedPlace, starved.count > 1, starved.oldest() == key {
            // It has its turn now.
            _ = starved.remove(place)
            groups.values[index].starvedPlace = starved.append(key, lane: 0)
        }
        guard isRoomNeeded(), let other = starved.oldest(), other != key else { return false }
        guard let first = groups[other]?.queue.firstWithoutAttempt() else { return false }
        return first < groups.values[index].queue.oldest() ?? .max
    }

    /// Nothing begins any more on a connection: the server has asked for it
    /// ([RFC 9113, section 6.8](https://www.rfc-editor.org/rfc/rfc9113#section-6.8)). It counts until it has closed, and is closed after
    /// its last exchange.
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

    /// A connection has closed, or will be.
    mutating func remove(_ link: Link, of key: Key) -> Work {
        var work = Work()
        guard let slot = table.slot(of: link), let index = groups.index(forKey: key) else { return work }
        remove(slot, in: index)
        refill(key, &work)
        return work
    }

    /// Takes an idle connection out. Returns false if an exchange uses it, or it was taken out before.
    mutating func removeIfIdle(_ link: Link, of key: Key) -> (isRemoved: Bool, work: Work) {
        guard let slot = table.slot(of: link), table[slot].place == .idle else { return (false, Work()) }
        return (true, remove(link, of: key))
    }
}
#endif
