#if SWIFT_NIO
internal import ErrandCore

/// The sharing of connections between keys.
///
/// A connection belongs to one key (the host), and is included in the host's number of connections. Exchanges of another key (a guest)
/// begin on the connection while the connection has room, and never wait for the connection. If the connection has no room, the guest opens
/// its own connections.
extension PoolMachine {
    /// Shares a connection with another key, as long as the connection is open. Queued exchanges of the key begin now, while the
    /// connection has room.
    ///
    /// - Returns: `nil` if the connection is not shared: no exchange is queued, the connection has no room, or the key is excluded
    ///   from sharing.
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

    /// Begins an exchange on the connection that the exchange's key shares. Returns `nil` if the key shares no connection, or if the
    /// connection has no room.
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

    /// Excludes a key from sharing. The pool remembers the last 1024 excluded keys.
    mutating func keepApart(_ key: Key) {
        sharedSlots[key] = nil
        apart.update(key, default: ()) { _ in }
    }

    /// Returns the guests of a connection, which are the other keys whose exchanges may begin on the connection.
    func guests(of link: Link) -> [Key] {
        guard let slot = table.slot(of: link) else { return [] }
        return table[slot].guests.filter { sharedSlots[$0] == slot }
    }

    /// Ends the sharing of a connection that is removed.
    mutating func endSharing(_ slot: Int) {
        for guest in table[slot].guests where sharedSlots[guest] == slot { sharedSlots[guest] = nil }
    }
}
#endif
