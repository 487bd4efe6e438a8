#if NIO
internal import ErrandCore

/// Connections that exchanges of several keys use.
///
/// A connection belongs to one key, its host, which it counts for. Exchanges of a guest, another key, begin on it while it has room, and
/// never wait for it: without room, the guest has connections of its own.
extension PoolMachine {
    /// From now on, exchanges of another key may begin on a connection, too, as long as it is open. Those that wait begin now, as far as it has
    /// room.
    ///
    /// - Returns: `nil` if they must not: none waits, the connection has no room, or the key was kept apart.
    mutating func share(_ link: Link, with key: Key, at now: Duration) -> Work? {
        guard !isShutDown, apart[key] == nil, let group = groups[key], !group.queue.isEmpty else { return nil }
        guard let slot = table.slot(of: link), table[slot].key != key, canBegin(slot, isFresh: group.needsProof, at: now) else {
            return nil
        }
        if sharedSlots[key] != slot {
            sharedSlots[key] = slot
            table[slot].guests.append(key)
        }
        var work = Work()
        while let next = canBegin(slot, isFresh: false, at: now) ? groups[key]?.queue.dequeueNext() : nil {
            begin(slot)
            work.begin.append((next, link))
        }
        dropSurplusAttempts(of: key, &work)
        refill(key, &work)
        return work
    }

    /// An exchange begins on the connection that its key shares, if there is one with room.
    mutating func beginShared(_ key: Key, isFresh: Bool, at now: Duration) -> Link? {
        guard !sharedSlots.isEmpty, let slot = sharedSlots[key], canBegin(slot, isFresh: isFresh, at: now) else { return nil }
        begin(slot)
        return table[slot].link
    }

    private func canBegin(_ slot: Int, isFresh: Bool, at now: Duration) -> Bool {
        guard table[slot].hasRoom, table[slot].isUsable(at: now) else { return false }
        return !isFresh || table[slot].place == .roomy && table[slot].isProven
    }

    private mutating func begin(_ slot: Int) {
        if let host = groups.index(forKey: table[slot].key) { begin(slot, in: host) }
    }

    /// From now on, a key shares no connection. Of the keys that this was called for, the last 1024 are remembered.
    mutating func keepApart(_ key: Key) {
        sharedSlots[key] = nil
        apart.update(key, default: ()) { _ in }
    }

    /// The keys whose exchanges may begin on a connection although it belongs to another.
    func guests(of link: Link) -> [Key] {
        guard let slot = table.slot(of: link) else { return [] }
        return table[slot].guests.filter { sharedSlots[$0] == slot }
    }

    /// A connection is taken out.
    mutating func endSharing(_ slot: Int) {
        for guest in table[slot].guests where sharedSlots[guest] == slot { sharedSlots[guest] = nil }
    }
}
#endif
