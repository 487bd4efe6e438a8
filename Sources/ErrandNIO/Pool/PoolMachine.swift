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
        /// The number of exchanges that the first connection for a key is expected to take at a time, at least 1. `nil` if the number is
        /// unknown.
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
    /// The exchanges of one connection share the cost of opening the connection.
    static var minimumExchanges: Int { 8 }
    /// The maximum number of remembered keys without connections. For each of these keys, the pool remembers how many exchanges a
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
    var lastNumber = 0
    private(set) var isShutDown = false
    /// For each key without connections, the number of exchanges that its last connection took at a time.
    var remembered = BoundedTable<Key, Int>(limit: Self.rememberedKeys)
    /// The number of preferred keys.
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

    /// Finds a connection for an exchange. If no connection is available, queues the exchange.
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

    mutating func addGroup(_ key: Key) {
        guard groups[key] == nil else { return }
        groups[key] = Group(queue: AttemptQueue(streamsPerLink: remembered[key] ?? limits.firstStreams(key)))
    }

    /// Returns the most recently used connection on `loop`. If no connection on `loop` is free, returns a connection of another event loop.
    /// While a new connection can be opened, an idle connection of another loop is returned only if the connection takes several exchanges
    /// at a time.
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
    /// - Parameter own: the attempt that was made for the removed waiter; `nil` if the waiter had no attempt.
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
