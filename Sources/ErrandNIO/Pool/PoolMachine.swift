#if SWIFT_NIO
internal import ErrandCore

/// The decisions of the pool about the connection of each exchange. The value has no locks, no channels and no clocks.
///
/// For each event, a method returns the work to do. A `Key` is a route to an origin. A `Waiter` is an exchange that waits for a
/// connection. A `Link` is a connection: it takes one exchange at a time (HTTP/1.1), or several, each on a separate stream (HTTP/2).
struct PoolMachine<Key: Hashable & Sendable, Waiter: Sendable, Link: AnyObject & Sendable>: Sendable {
    struct Limits: Sendable {
        var connectionsPerOrigin: Int
        var connections: Int
        /// The time for which an unused connection is kept. If the time is zero, unused connections are closed.
        var idleTime: Duration
        /// The age after which a connection takes no further exchange; `nil` if the age is not limited.
        var age: Duration?
        /// The number of exchanges that the first connection for a key is expected to take at a time, at least 1; `nil` if unknown.
        var firstStreams: @Sendable (Key) -> Int? = { _ in 1 }
    }

    /// A waiter's place in the queue.
    struct Ticket: Sendable, Hashable {
        let key: Key
        let number: Int

        func isLater(than other: Ticket) -> Bool { number > other.number }
    }

    /// An attempt to connect.
    struct Attempt: Sendable, Hashable {
        let key: Key
        let number: Int
    }

    /// The work to do after an event.
    struct Work: Sendable {
        /// The exchanges to begin, with their connections.
        var begin: [(waiter: Waiter, link: Link)] = []
        var connect: [Attempt] = []
        /// The attempts that are no longer needed.
        var cancel: [Attempt] = []
        var close: [Link] = []

        var isEmpty: Bool { begin.isEmpty && connect.isEmpty && cancel.isEmpty && close.isEmpty }
    }

    struct Group: Sendable {
        /// The connections without an exchange, in the order of their last use.
        var idle = Chain()
        /// The connections in use that have room for another exchange, in the order of their last use.
        var roomy = Chain()
        /// The number of connections, in use and idle.
        var open = 0
        var queue = AttemptQueue<Waiter>()
        /// The place among the starved origins; `nil` if the origin is not starved.
        var starvedPlace: Int?
        /// See ``PoolMachine/prefer(_:)``.
        var isPreferred = false
        /// Whether one of the waiters must not begin on an idle connection of another key, because an idle connection may be lost.
        var needsProof = false

        var isEmpty: Bool { open == 0 && queue.attempts.isEmpty && queue.isEmpty }
        /// The number of connections and attempts.
        var connections: Int { open + queue.attempts.count }
    }

    /// The number of exchanges after which a connection may make room for another origin, even if exchanges of its own origin are queued.
    /// These exchanges share the cost of opening the connection.
    static var minimumExchanges: Int { 8 }
    /// The maximum number of remembered keys without connections. For each such key, the machine remembers how many exchanges a
    /// connection took at a time.
    static var rememberedKeys: Int { 1024 }

    let limits: Limits
    var groups: [Key: Group] = [:]
    var table = LinkTable<Key, Link>()
    /// The number of connections and attempts of all origins.
    var total = 0
    /// The starved origins: their exchanges wait because of the limit on all connections. Some of these origins may no longer need a
    /// connection.
    var starved = WaitQueue<Key>(lanes: 1)
    private var lastNumber = 0
    private(set) var isShutDown = false
    /// For each key without connections, the number of exchanges that its last connection took at a time.
    private var remembered = BoundedTable<Key, Int>(limit: Self.rememberedKeys)
    /// The number of preferred groups.
    var preferredCount = 0
    /// The slots of shared connections, by the keys of the guests.
    var sharedSlots: [Key: Int] = [:]
    /// The keys that share no connection.
    var apart = BoundedTable<Key, Void>(limit: Self.rememberedKeys)

    init(_ limits: Limits) { self.limits = limits }

    // MARK: - Exchanges

    enum Lease: Sendable {
        /// The exchange begins on a connection. `closing` lists the connections that were idle for too long.
        case use(Link, closing: [Link])
        case wait(Ticket, Work)
        case shutDown
    }

    /// Finds a connection for an exchange, or queues the exchange.
    ///
    /// - Parameters:
    ///   - lane: the urgency of the exchange; a lower value is more urgent.
    ///   - loop: the event loop on which the task of the exchange runs; `nil` if the task does not run on an event loop. A
    ///     connection of this loop is preferred. If the pool has room, a connection on this loop is opened, unless the origin has
    ///     connections that take several exchanges.
    ///   - isFresh: whether to skip connections that have received no data since they were last idle.
    ///   - now: the time, on the clock of the caller.
    mutating func lease(
        _ waiter: Waiter, for key: Key, lane: Int, on loop: ObjectIdentifier?, isFresh: Bool, at now: Duration
    ) -> Lease {
        guard !isShutDown else { return .shutDown }
        var closing: [Link] = []
        if let index = groups.index(forKey: key) {
            while let slot = candidate(in: index, on: loop, isFresh: isFresh), let link = table[slot].link {
                if table[slot].isUsable(at: now) {
                    begin(slot, in: index)
                    return .use(link, closing: closing)
                }
                if table[slot].inUse > 0 { drain(slot, in: index) } else { close(slot, in: index, &closing) }
            }
        }
        if let link = beginShared(key, isFresh: isFresh, at: now) {
            if !closing.isEmpty { removeGroupIfEmpty(key) }
            return .use(link, closing: closing)
        }
        lastNumber += 1
        let number = lastNumber
        addGroup(key)
        if let index = groups.index(forKey: key) {
            groups.values[index].needsProof = isFresh || groups.values[index].needsProof && !groups.values[index].queue.isEmpty
            groups.values[index].queue.enqueue(waiter, number, lane: lane)
        }
        var work = Work()
        work.close = closing
        connectIfNeeded(key, for: number, &work)
        return .wait(Ticket(key: key, number: number), work)
    }

    private mutating func addGroup(_ key: Key) {
        guard groups[key] == nil else { return }
        groups[key] = Group(queue: AttemptQueue(streamsPerLink: remembered[key] ?? limits.firstStreams(key)))
    }

    /// Returns the most recently used connection on `loop`. If no connection can be opened, returns a connection of another event loop.
    ///
    /// A connection in use is preferred, because an idle connection may be lost.
    private func candidate(in index: Dictionary<Key, Group>.Index, on loop: ObjectIdentifier?, isFresh: Bool) -> Int? {
        let (roomy, idle) = (groups.values[index].roomy, groups.values[index].idle)
        if !isFresh {
            guard let loop else { return roomy.last ?? table.last(of: idle) { $0.hasRoom } }
            if let slot = table.last(of: roomy, where: { $0.loop == loop }) { return slot }
            if let slot = table.last(of: idle, where: { $0.loop == loop && $0.hasRoom }) { return slot }
            if let slot = roomy.last { return slot }
            guard let slot = table.last(of: idle, where: { $0.hasRoom }) else { return nil }
            let canOpen = total < limits.connections && groups.values[index].connections < limits.connectionsPerOrigin
            return canOpen && table[slot].streams == 1 ? nil : slot
        }
        return table.last(of: roomy) { $0.isProven }
    }

    /// Begins an exchange on a connection.
    mutating func begin(_ slot: Int, in index: Dictionary<Key, Group>.Index) {
        table.begin(slot)
        move(slot, to: table[slot].hasRoom ? .roomy : .none, in: index)
    }

    mutating func move(_ slot: Int, to place: LinkTable<Key, Link>.Place, in index: Dictionary<Key, Group>.Index) {
        if place == .none, table[slot].place == .none { return }
        var (idle, roomy) = (groups.values[index].idle, groups.values[index].roomy)
        table.move(slot, to: place, idle: &idle, roomy: &roomy)
        (groups.values[index].idle, groups.values[index].roomy) = (idle, roomy)
    }

    /// Starts no further exchange on a connection in use.
    ///
    /// - Parameter makesRoom: whether the connection makes room for another origin.
    mutating func drain(_ slot: Int, in index: Dictionary<Key, Group>.Index, toMakeRoom makesRoom: Bool = false) {
        table.drain(slot, toMakeRoom: makesRoom)
        move(slot, to: .none, in: index)
    }

    /// Removes a connection, and adds it to the connections to close.
    mutating func close(_ slot: Int, in index: Dictionary<Key, Group>.Index, _ closing: inout [Link]) {
        if let link = table[slot].link { closing.append(link) }
        remove(slot, in: index)
    }

    mutating func remove(_ slot: Int, in index: Dictionary<Key, Group>.Index) {
        move(slot, to: .none, in: index)
        endSharing(slot)
        table.remove(slot)
        groups.values[index].open -= 1
        total -= 1
    }

    /// Removes an exchange from the queue, and returns the exchange; `nil` if the exchange already has a connection.
    mutating func withdraw(_ ticket: Ticket) -> (waiter: Waiter, work: Work)? {
        guard let (waiter, attempt) = groups[ticket.key]?.queue.dequeue(ticket.number) else { return nil }
        var work = Work()
        dropSurplusAttempt(of: ticket.key, own: attempt, &work)
        removeGroupIfEmpty(ticket.key)
        return (waiter, work)
    }

    func isWaiting(_ ticket: Ticket) -> Bool { groups[ticket.key]?.queue.isWaiting(ticket.number) ?? false }

    /// Cancels an attempt that was made for a waiter, if there are more attempts than the waiters need.
    ///
    /// - Parameter own: the attempt that was made for the removed waiter; `nil` if there is no such attempt.
    private mutating func dropSurplusAttempt(of key: Key, own: Int?, _ work: inout Work) {
        guard groups[key]?.queue.hasSurplusAttempt == true, let attempt = own ?? groups[key]?.queue.dispensableAttempts.first
        else { return }
        cancel(Attempt(key: key, number: attempt), &work)
        feedStarved(&work)
    }

    /// Cancels all surplus attempts, which no waiter needs.
    mutating func dropSurplusAttempts(of key: Key, _ work: inout Work) {
        guard let queue = groups[key]?.queue, queue.hasSurplusAttempt else { return }
        for attempt in queue.dispensableAttempts where groups[key]?.queue.hasSurplusAttempt == true {
            cancel(Attempt(key: key, number: attempt), &work)
        }
        feedStarved(&work)
    }

    private mutating func cancel(_ attempt: Attempt, _ work: inout Work) {
        _ = groups[attempt.key]?.queue.removeAttempt(attempt.number)
        total -= 1
        work.cancel.append(attempt)
    }

    // MARK: - Connecting

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

    /// Returns whether a queued exchange needs another connection, and whether its origin may have another connection. To make room, an
    /// idle connection can be closed if the waiter can't use the connection.
    func canUseConnection(_ key: Key) -> Bool {
        guard let index = groups.index(forKey: key), groups.values[index].queue.needsAttempt else { return false }
        return groups.values[index].connections < limits.connectionsPerOrigin || !groups.values[index].idle.isEmpty
    }

    /// Makes an attempt to connect if a waiter needs an attempt. Returns whether an attempt is made.
    @discardableResult private mutating func connectIfNeeded(_ key: Key, for number: Int, _ work: inout Work) -> Bool {
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
    private mutating func starve(_ key: Key) {
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

    /// Returns whether a starved origin needs the place of a connection. Origins without queued exchanges leave the queue of
    /// starved origins.
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
    /// The exchange fails.
    ///
    /// The capacity of the next connection is unknown. Therefore each of the other waiters gets its own attempt, so that the waiters
    /// don't fail one after the other.
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

    // MARK: - The end

    /// Refuses further exchanges. Returns the waiters, and the work: the attempts to cancel and the idle connections to close.
    mutating func shutDown() -> (waiters: [Waiter], work: Work) {
        isShutDown = true
        var (waiters, work): ([Waiter], Work) = ([], Work())
        for key in Array(groups.keys) {
            guard let index = groups.index(forKey: key) else { continue }
            while let waiter = groups.values[index].queue.dequeueNext() { waiters.append(waiter) }
            while let slot = groups.values[index].idle.first { close(slot, in: index, &work.close) }
            work.cancel += groups.values[index].queue.attempts.keys.map { Attempt(key: key, number: $0) }
            total -= groups.values[index].queue.attempts.count
            groups.values[index].queue.removeAllAttempts()
            groups.values[index].starvedPlace = nil
        }
        groups = groups.filter { !$0.value.isEmpty }
        starved = WaitQueue(lanes: 1)
        return (waiters, work)
    }

    /// The number of queued exchanges.
    var waiterCount: Int { groups.values.reduce(0) { $0 + $1.queue.count } }
    /// The number of queued exchanges of each key that has queued exchanges.
    var waiterCounts: [Key: Int] { groups.mapValues(\.queue.count).filter { $0.value > 0 } }
    /// The number of idle connections.
    var idleCount: Int { table.idleCount }
}
#endif
