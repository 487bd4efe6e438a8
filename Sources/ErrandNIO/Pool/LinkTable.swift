#if SWIFT_NIO
/// The open connections of a pool. The table has the number of exchanges of each connection, and the order in which the
/// connections were last used.
///
/// Every operation takes constant time, except ``last(of:where:)`` and ``count(in:where:)``, which iterate over a list. Places in the
/// table are reused, so that an exchange on a kept connection allocates nothing.
struct LinkTable<Key: Hashable & Sendable, Link: AnyObject & Sendable>: Sendable {
    /// The list that a connection is in.
    enum Place: Sendable {
        /// No list: the connection takes no exchange now.
        case none
        case idle
        /// The connection is in use, and has room for another exchange.
        case roomy
    }

    struct Entry: Sendable {
        /// The connection; `nil` after it was removed.
        fileprivate(set) var link: Link?
        let key: Key
        let loop: ObjectIdentifier
        /// The time at which the connection reaches its maximum age, on the clock of the caller; `nil` if the age is not limited.
        let end: Duration?
        /// The number of exchanges that the connection takes at a time.
        var streams: Int
        /// The number of exchanges in progress.
        private(set) var inUse = 0
        /// The number of exchanges that have begun on the connection.
        private(set) var begun = 0
        /// Whether the connection takes no further exchange.
        fileprivate(set) var isDraining = false
        /// Whether the connection drains to make room for another origin.
        fileprivate var makesRoom = false
        /// Whether the server has sent data since the connection was last idle. If the value is false, the connection may be
        /// lost.
        var isProven = true
        /// The time at which an idle connection becomes unusable.
        var expiry = Duration.zero
        fileprivate(set) var place = Place.none
        /// The other keys whose exchanges may begin on the connection now, or could begin on the connection earlier: see
        /// ``PoolMachine/share(_:with:at:)``.
        var guests: [Key] = []

        var hasRoom: Bool { inUse < streams && !isDraining }

        func isUsable(at now: Duration) -> Bool {
            if inUse == 0 { return expiry > now }
            return end.map { $0 > now } ?? true
        }

        fileprivate mutating func begin() {
            if place == .idle { isProven = false }
            (inUse, begun) = (inUse + 1, begun + 1)
        }

        mutating func endStream() { (inUse, isProven) = (max(0, inUse - 1), true) }
    }

    private var entries: [Entry] = []
    private var free: [Int] = []
    private var slots: [ObjectIdentifier: Int] = [:]
    /// The links of each origin's lists. A connection is in at most one of these lists.
    private var ofOrigin = ChainLinks()
    /// The links of the list of all idle connections.
    private var ofAll = ChainLinks()
    private var allIdle = Chain()
    private(set) var idleCount = 0
    /// The number of connections that drain to make room for another origin. This number does not include connections that drain
    /// for another reason.
    private(set) var roomMakingCount = 0

    var count: Int { slots.count }

    subscript(slot: Int) -> Entry {
        get { entries[slot] }
        _modify { yield &entries[slot] }
    }

    func slot(of link: Link) -> Int? { slots[ObjectIdentifier(link)] }

    mutating func add(_ link: Link, of key: Key, on loop: ObjectIdentifier, until end: Duration?, streams: Int) -> Int {
        let entry = Entry(link: link, key: key, loop: loop, end: end, streams: streams)
        let slot = free.popLast() ?? entries.count
        if slot == entries.count { entries.append(entry) } else { entries[slot] = entry }
        slots[ObjectIdentifier(link)] = slot
        return slot
    }

    /// Removes a connection that is in no list.
    mutating func remove(_ slot: Int) {
        guard let link = entries[slot].link else { return }
        if entries[slot].makesRoom { roomMakingCount -= 1 }
        slots[ObjectIdentifier(link)] = nil
        (entries[slot].link, entries[slot].isDraining, entries[slot].makesRoom) = (nil, false, false)
        free.append(slot)
    }

    mutating func begin(_ slot: Int) { entries[slot].begin() }

    mutating func drain(_ slot: Int, toMakeRoom makesRoom: Bool) {
        guard !entries[slot].isDraining else { return }
        (entries[slot].isDraining, entries[slot].makesRoom) = (true, makesRoom)
        if makesRoom { roomMakingCount += 1 }
    }

    // MARK: - The lists

    /// Moves a connection to the end of a list.
    ///
    /// - Parameters:
    ///   - idle: the idle connections of the connection's origin.
    ///   - roomy: the connections of the same origin that are in use and have room.
    mutating func move(_ slot: Int, to place: Place, idle: inout Chain, roomy: inout Chain) {
        switch entries[slot].place {
        case .none: break
        case .roomy: ofOrigin.remove(slot, from: &roomy)
        case .idle:
            ofOrigin.remove(slot, from: &idle)
            ofAll.remove(slot, from: &allIdle)
            idleCount -= 1
        }
        entries[slot].place = place
        switch place {
        case .none: break
        case .roomy: ofOrigin.append(slot, to: &roomy)
        case .idle:
            ofOrigin.append(slot, to: &idle)
            ofAll.append(slot, to: &allIdle)
            idleCount += 1
        }
    }

    /// Returns the most recently used connection that satisfies the condition, from a list of an origin.
    func last(of chain: Chain, where isWanted: (Entry) -> Bool) -> Int? {
        var next = chain.last
        while let slot = next {
            if isWanted(entries[slot]) { return slot }
            next = ofOrigin.previous(slot)
        }
        return nil
    }

    /// Returns the number of connections that satisfy the condition, in a list of an origin.
    func count(in chain: Chain, where isWanted: (Entry) -> Bool) -> Int {
        var (count, next) = (0, chain.last)
        while let slot = next {
            if isWanted(entries[slot]) { count += 1 }
            next = ofOrigin.previous(slot)
        }
        return count
    }

    /// The connection that has been idle for the longest time.
    var oldestIdle: Int? { allIdle.first }
}
#endif
