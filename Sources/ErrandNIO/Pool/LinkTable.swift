#if NIO
/// The open connections of a pool: how many exchanges each has and may have, and in which order they were used.
///
/// Every operation takes constant time. Places in the table are used again, so that an exchange on a kept connection allocates nothing.
struct LinkTable<Key: Hashable & Sendable, Link: AnyObject & Sendable>: Sendable {
    /// The list that a connection is in.
    enum Place: Sendable {
        /// None: it takes no exchange now.
        case none
        case idle
        /// It is in use, and has room for another exchange.
        case roomy
    }

    struct Entry: Sendable {
        /// `nil` after it was removed.
        fileprivate(set) var link: Link?
        let key: Key
        let loop: ObjectIdentifier
        /// When it has its maximum age, on the clock of the caller; `nil`: it has none.
        let end: Duration?
        /// How many exchanges it takes at a time.
        var streams: Int
        /// How many exchanges it has.
        private(set) var inUse = 0
        /// How many exchanges have begun on it.
        private(set) var begun = 0
        /// Whether nothing begins on it any more.
        fileprivate(set) var isDraining = false
        /// Whether the server was heard since the connection was idle. It may be lost otherwise.
        var isProven = true
        /// From when on it is not used, if it is idle.
        var expiry = Duration.zero
        fileprivate(set) var place = Place.none

        fileprivate init(_ link: Link, of key: Key, on loop: ObjectIdentifier, until end: Duration?, streams: Int) {
            (self.link, self.key, self.loop, self.end, self.streams) = (link, key, loop, end, streams)
        }

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
    /// Through the lists of the origins. A connection is in one of them at most.
    private var ofOrigin = ChainLinks()
    /// Through the idle connections of all origins.
    private var ofAll = ChainLinks()
    private var allIdle = Chain()
    private(set) var idleCount = 0
    /// How many connections take no further exchange, and still have some.
    private(set) var drainingCount = 0

    var count: Int { slots.count }

    subscript(slot: Int) -> Entry {
        get { entries[slot] }
        _modify { yield &entries[slot] }
    }

    func slot(of link: Link) -> Int? { slots[ObjectIdentifier(link)] }

    mutating func add(_ link: Link, of key: Key, on loop: ObjectIdentifier, until end: Duration?, streams: Int) -> Int {
        let entry = Entry(link, of: key, on: loop, until: end, streams: streams)
        let slot = free.popLast() ?? entries.count
        if slot == entries.count { entries.append(entry) } else { entries[slot] = entry }
        slots[ObjectIdentifier(link)] = slot
        return slot
    }

    /// Removes a connection that is in no list.
    mutating func remove(_ slot: Int) {
        guard let link = entries[slot].link else { return }
        if entries[slot].isDraining { drainingCount -= 1 }
        slots[ObjectIdentifier(link)] = nil
        (entries[slot].link, entries[slot].isDraining) = (nil, false)
        free.append(slot)
    }

    mutating func begin(_ slot: Int) { entries[slot].begin() }

    mutating func drain(_ slot: Int) {
        guard !entries[slot].isDraining else { return }
        entries[slot].isDraining = true
        drainingCount += 1
    }

    // MARK: - The lists

    /// Moves a connection to the end of a list.
    ///
    /// - Parameters:
    ///   - idle: the idle connections of its origin.
    ///   - roomy: the connections of its origin that are in use and have room.
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

    /// The connection that was used last, of those in a list of its origin that satisfy the condition.
    func last(of chain: Chain, where isWanted: (Entry) -> Bool) -> Int? {
        var next = chain.last
        while let slot = next {
            if isWanted(entries[slot]) { return slot }
            next = ofOrigin.previous(slot)
        }
        return nil
    }

    /// How many connections in a list of an origin satisfy the condition.
    func count(in chain: Chain, where isWanted: (Entry) -> Bool) -> Int {
        var (count, next) = (0, chain.last)
        while let slot = next {
            if isWanted(entries[slot]) { count += 1 }
            next = ofOrigin.previous(slot)
        }
        return count
    }

    /// The connection that was idle for the longest time.
    var oldestIdle: Int? { allIdle.first }
}

/// A list of slots, the links of which are in ``ChainLinks``.
struct Chain: Sendable {
    fileprivate(set) var first: Int?
    fileprivate(set) var last: Int?

    var isEmpty: Bool { first == nil }
}

/// The links between slots. A slot is in one chain at most.
struct ChainLinks: Sendable {
    private var nodes: [(previous: Int?, next: Int?)] = []

    func previous(_ slot: Int) -> Int? { nodes[slot].previous }

    mutating func append(_ slot: Int, to chain: inout Chain) {
        while nodes.count <= slot { nodes.append((nil, nil)) }
        nodes[slot] = (chain.last, nil)
        if let last = chain.last { nodes[last].next = slot } else { chain.first = slot }
        chain.last = slot
    }

    mutating func remove(_ slot: Int, from chain: inout Chain) {
        let (previous, next) = nodes[slot]
        if let previous { nodes[previous].next = next } else { chain.first = next }
        if let next { nodes[next].previous = previous } else { chain.last = previous }
    }
}
#endif
