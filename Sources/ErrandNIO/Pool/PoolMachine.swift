#if NIO
internal import ErrandCore

/// Decides which connection each exchange uses: a value without locks, channels and clocks.
///
/// Each event is a method that returns what to do about it. `Key` is an origin, `Waiter` an exchange that waits for a connection, `Link` a
/// connection.
struct PoolMachine<Key: Hashable & Sendable, Waiter: Sendable, Link: AnyObject & Sendable>: Sendable {
    struct Limits: Sendable {
        var connectionsPerOrigin: Int
        var connections: Int
        /// The time for which an unused connection is kept; zero: none is.
        var idleTime: Duration
    }

    /// A waiter's place in the queue.
    struct Ticket: Sendable, Hashable {
        fileprivate let key: Key
        fileprivate let number: Int

        func isLater(than other: Ticket) -> Bool { number > other.number }
    }

    /// An attempt to connect.
    struct Attempt: Sendable, Hashable {
        let key: Key
        let number: Int
    }

    /// What to do.
    struct Work: Sendable {
        /// These exchanges begin on these connections.
        var begin: [(waiter: Waiter, link: Link)] = []
        var connect: [Attempt] = []
        /// These attempts are no longer needed.
        var cancel: [Attempt] = []
        var close: [Link] = []

        var isEmpty: Bool { begin.isEmpty && connect.isEmpty && cancel.isEmpty && close.isEmpty }
    }

    fileprivate struct Idle: Sendable {
        let link: Link
        let loop: ObjectIdentifier
        /// From when on it is not used, on the clock of the caller.
        let expiry: Duration
    }

    /// What is known of a waiter.
    fileprivate struct Standing: Sendable {
        /// Its place in the queue.
        let place: Int
        /// The attempt that was made for it; `nil`: it has a place among the waiters without one.
        var attempt: Int?
        var placeWithoutAttempt: Int?
    }

    fileprivate struct Group: Sendable {
        /// The last used is the last.
        var idle: [Idle] = []
        /// Connections in use and idle.
        var open = 0
        /// The attempts, each with the ticket that it was made for; 0 for a connection that was asked for without an exchange.
        var attempts: [Int: Int] = [:]
        /// How many attempts have no ticket.
        var preconnects = 0
        var waiters = WaitQueue<(number: Int, waiter: Waiter)>()
        /// What is known of the waiters, by ticket.
        var standings: [Int: Standing] = [:]
        /// The tickets of the waiters that no attempt was made for.
        var withoutAttempt = WaitQueue<Int>(lanes: 1)
        /// The place among the starved origins.
        var starvedPlace: Int?

        var isEmpty: Bool { open == 0 && attempts.isEmpty && waiters.isEmpty }
        var needsAttempt: Bool { attempts.count < waiters.count }
        var hasSurplusAttempt: Bool { attempts.count - preconnects > waiters.count }
        /// An attempt that was made for a waiter that has another connection now.
        var spareAttempt: Int? { attempts.lazy.filter { $0.value != 0 && standings[$0.value] == nil }.map(\.key).max() }
        /// Connections and attempts.
        var connections: Int { open + attempts.count }
    }

    let limits: Limits
    private var groups: [Key: Group] = [:]
    /// Connections and attempts of all origins.
    private(set) var total = 0
    /// Origins whose exchanges wait because there are too many connections in all.
    private var starved = WaitQueue<Key>(lanes: 1)
    private var lastNumber = 0
    private(set) var isShutDown = false

    init(_ limits: Limits) { self.limits = limits }

    // MARK: - Exchanges

    enum Lease: Sendable {
        /// The exchange begins on an idle connection. The second: connections that were idle for too long.
        case use(Link, closing: [Link])
        case wait(Ticket, Work)
        case shutDown
    }

    /// An exchange needs a connection.
    ///
    /// - Parameters:
    ///   - lane: its urgency; lower is more urgent.
    ///   - loop: the event loop that its task runs on, if it runs on one. A connection of this loop is preferred, and opened if there is room.
    ///   - isFresh: whether idle connections are not to be used.
    ///   - now: on the clock of the caller.
    mutating func lease(
        _ waiter: Waiter, for key: Key, lane: Int, on loop: ObjectIdentifier?, isFresh: Bool, at now: Duration
    ) -> Lease {
        guard !isShutDown else { return .shutDown }
        var closing: [Link] = []
        if !isFresh {
            while let idle = takeIdle(of: key, on: loop) {
                if idle.expiry > now { return .use(idle.link, closing: closing) }
                close(idle.link, of: key, &closing)
            }
        }
        lastNumber += 1
        let number = lastNumber
        groups[key, default: Group()].enqueue(waiter, number, lane: lane)
        var work = Work()
        work.close = closing
        connectIfNeeded(key, for: number, &work)
        return .wait(Ticket(key: key, number: number), work)
    }

    /// Takes the idle connection that was used last, of those on `loop`. One of another event loop is taken if none can be opened.
    private mutating func takeIdle(of key: Key, on loop: ObjectIdentifier?) -> Idle? {
        guard let index = groups.index(forKey: key), !groups.values[index].idle.isEmpty else { return nil }
        guard let loop else { return groups.values[index].idle.popLast() }
        if let place = groups.values[index].idle.lastIndex(where: { $0.loop == loop }) {
            return groups.values[index].idle.remove(at: place)
        }
        let canOpen =
            total < limits.connections
            && groups.values[index].open + groups.values[index].attempts.count < limits.connectionsPerOrigin
        return canOpen ? nil : groups.values[index].idle.popLast()
    }

    private mutating func close(_ link: Link, of key: Key, _ closing: inout [Link]) {
        groups[key]?.open -= 1
        total -= 1
        closing.append(link)
    }

    /// An exchange leaves the queue. Returns it; `nil` if it has a connection already.
    mutating func withdraw(_ ticket: Ticket) -> (waiter: Waiter, work: Work)? {
        guard let (waiter, attempt) = groups[ticket.key]?.dequeue(ticket.number) else { return nil }
        var work = Work()
        dropSurplusAttempt(of: ticket.key, own: attempt, &work)
        forgetIfEmpty(ticket.key)
        return (waiter, work)
    }

    /// Cancels an attempt that was made for a waiter, if there are more of them than waiters.
    ///
    /// - Parameter own: the attempt of the waiter that has left, if one was made for it.
    private mutating func dropSurplusAttempt(of key: Key, own: Int?, _ work: inout Work) {
        guard groups[key]?.hasSurplusAttempt == true, let attempt = own ?? groups[key]?.spareAttempt else { return }
        groups[key]?.attempts[attempt] = nil
        total -= 1
        work.cancel.append(Attempt(key: key, number: attempt))
        feedStarved(&work)
    }

    // MARK: - Connecting

    /// Connections are wanted that no exchange has asked for yet.
    ///
    /// - Parameter count: how many connections are to be idle. Those that are being opened count, but for those that waiters will use.
    /// - Returns: the attempts to make: none beyond the limits.
    mutating func preconnect(_ count: Int, for key: Key, at now: Duration) -> [Attempt] {
        guard !isShutDown else { return [] }
        let group = groups[key] ?? Group()
        let spare = group.idle.count { $0.expiry > now } + max(0, group.attempts.count - group.waiters.count)
        let room = min(limits.connections - total, limits.connectionsPerOrigin - group.open - group.attempts.count)
        let missing = min(max(0, count) - spare, room)
        guard missing > 0 else { return [] }
        total += missing
        return (0..<missing).map { _ in
            lastNumber += 1
            groups[key, default: Group()].attempts[lastNumber] = 0
            groups[key]?.preconnects += 1
            return Attempt(key: key, number: lastNumber)
        }
    }

    /// An attempt of ``preconnect(_:for:at:)`` is not wanted any more. It goes on if a waiter needs it.
    mutating func withdraw(_ attempt: Attempt) -> Work {
        var work = Work()
        guard groups[attempt.key]?.attempts[attempt.number] == 0 else { return work }
        _ = groups[attempt.key]?.removeAttempt(attempt.number)
        if let next = groups[attempt.key]?.firstWithoutAttempt() {
            groups[attempt.key]?.add(attempt.number, for: next)
            return work
        }
        total -= 1
        work.cancel.append(attempt)
        feedStarved(&work)
        forgetIfEmpty(attempt.key)
        return work
    }

    /// Whether an exchange waits that needs another connection, and its origin may have one.
    private func canUseConnection(_ key: Key) -> Bool {
        guard let index = groups.index(forKey: key), groups.values[index].needsAttempt else { return false }
        return groups.values[index].connections < limits.connectionsPerOrigin
    }

    private mutating func connectIfNeeded(_ key: Key, for number: Int, _ work: inout Work) {
        guard canUseConnection(key) else { return }
        if total >= limits.connections, !evictIdle(&work) {
            if groups[key]?.starvedPlace == nil { groups[key]?.starvedPlace = starved.append(key, lane: 0) }
            return
        }
        lastNumber += 1
        groups[key]?.add(lastNumber, for: number)
        total += 1
        work.connect.append(Attempt(key: key, number: lastNumber))
    }

    /// Closes the idle connection that expires first.
    private mutating func evictIdle(_ work: inout Work) -> Bool {
        let oldest = groups.compactMap { key, group in group.idle.first.map { (key, $0.expiry) } }.min { $0.1 < $1.1 }
        guard let (key, _) = oldest, let idle = groups[key]?.idle.removeFirst() else { return false }
        close(idle.link, of: key, &work.close)
        forgetIfEmpty(key)
        return true
    }

    /// There is room for a connection: the origin that has waited longest for one gets it.
    private mutating func feedStarved(_ work: inout Work) {
        while total < limits.connections, !starved.isEmpty {
            guard let key = starved.popFirst() else { return }
            groups[key]?.starvedPlace = nil
            guard let number = groups[key]?.firstWithoutAttempt() else { continue }
            connectIfNeeded(key, for: number, &work)
        }
    }

    /// Whether another origin needs the room of a connection. Origins whose exchanges have left, or got a connection, are taken out.
    private mutating func isRoomNeeded() -> Bool {
        guard total >= limits.connections else { return false }
        while let key = starved.oldest() {
            if canUseConnection(key) { return true }
            _ = starved.popFirst()
            groups[key]?.starvedPlace = nil
        }
        return false
    }

    /// Whether an attempt is still wanted, or its connection is.
    func isWanted(_ attempt: Attempt) -> Bool { groups[attempt.key]?.attempts[attempt.number] != nil }

    /// The exchange that an attempt was made for, if it still waits.
    func waiter(of attempt: Attempt) -> Waiter? {
        guard let group = groups[attempt.key], let number = group.attempts[attempt.number] else { return nil }
        return group.standings[number].flatMap { group.waiters.peek($0.place)?.waiter }
    }

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
    mutating func connected(_ attempt: Attempt, _ link: Link, on loop: ObjectIdentifier, at now: Duration) -> Arrival {
        guard groups[attempt.key]?.removeAttempt(attempt.number) != nil else { return .refuse }
        groups[attempt.key]?.open += 1
        if let waiter = groups[attempt.key]?.dequeueNext() { return .begin(waiter) }
        if isRoomNeeded() { return .close(closed(link, of: attempt.key)) }
        groups[attempt.key]?.idle.append(Idle(link: link, loop: loop, expiry: now + limits.idleTime))
        return .idle(limits.idleTime)
    }

    /// An attempt has failed. Returns the exchange that it was made for, which fails, if it still waits.
    mutating func failed(_ attempt: Attempt) -> (waiter: Waiter?, work: Work) {
        var work = Work()
        guard let number = groups[attempt.key]?.removeAttempt(attempt.number) else { return (nil, work) }
        total -= 1
        let waiter = groups[attempt.key]?.dequeue(number)?.waiter
        if let next = groups[attempt.key]?.firstWithoutAttempt() { connectIfNeeded(attempt.key, for: next, &work) }
        feedStarved(&work)
        forgetIfEmpty(attempt.key)
        return (waiter, work)
    }

    // MARK: - Connections

    enum Release: Sendable {
        /// This exchange begins on the connection.
        case begin(Waiter)
        /// It is kept unused for this time.
        case idle(Duration)
        /// It must be closed.
        case close(Work)
    }

    /// An exchange is over, and its connection can take another.
    ///
    /// - Parameter idleTime: for how long the connection may be kept unused; no longer than the limit.
    mutating func release(_ link: Link, of key: Key, on loop: ObjectIdentifier, idleTime: Duration, at now: Duration) -> Release {
        guard !isShutDown else { return .close(closed(link, of: key)) }
        if let waiter = groups[key]?.dequeueNext() { return .begin(waiter) }
        guard idleTime > .zero else { return .close(closed(link, of: key)) }
        if isRoomNeeded() { return .close(closed(link, of: key)) }
        let time = min(idleTime, limits.idleTime)
        groups[key]?.idle.append(Idle(link: link, loop: loop, expiry: now + time))
        return .idle(time)
    }

    /// A connection has closed, or will be.
    mutating func closed(_ link: Link, of key: Key) -> Work {
        var work = Work()
        guard groups[key] != nil else { return work }
        if let place = groups[key]?.idle.lastIndex(where: { $0.link === link }) { groups[key]?.idle.remove(at: place) }
        groups[key]?.open -= 1
        total -= 1
        if let next = groups[key]?.firstWithoutAttempt() { connectIfNeeded(key, for: next, &work) }
        feedStarved(&work)
        forgetIfEmpty(key)
        return work
    }

    /// Takes an idle connection out. Returns false if an exchange uses it, or it was taken out before.
    mutating func retire(_ link: Link, of key: Key) -> (isRetired: Bool, work: Work) {
        guard let place = groups[key]?.idle.lastIndex(where: { $0.link === link }) else { return (false, Work()) }
        groups[key]?.idle.remove(at: place)
        return (true, closed(link, of: key))
    }

    private mutating func forgetIfEmpty(_ key: Key) {
        guard groups[key]?.isEmpty == true else { return }
        if let place = groups[key]?.starvedPlace { _ = starved.remove(place) }
        groups[key] = nil
    }

    // MARK: - The end

    /// Nothing begins any more. Returns the waiters and the attempts; idle connections are to be closed.
    mutating func shutDown() -> (waiters: [Waiter], work: Work) {
        isShutDown = true
        var (waiters, work): ([Waiter], Work) = ([], Work())
        for (key, group) in groups {
            var group = group
            while let waiter = group.dequeueNext() { waiters.append(waiter) }
            for idle in group.idle {
                work.close.append(idle.link)
                group.open -= 1
                total -= 1
            }
            work.cancel += group.attempts.keys.map { Attempt(key: key, number: $0) }
            total -= group.attempts.count
            (group.idle, group.attempts, group.preconnects, group.starvedPlace) = ([], [:], 0, nil)
            groups[key] = group
        }
        groups = groups.filter { !$0.value.isEmpty }
        starved = WaitQueue(lanes: 1)
        return (waiters, work)
    }

    /// What a waiter waits for.
    enum Wait: Sendable, Equatable {
        /// The attempt that was made for it.
        case attempt(Attempt)
        /// One of the connections to its origin, of which there are as many as allowed.
        case origin
        /// One of all connections, of which there are as many as allowed.
        case all
        /// An attempt that was made for another.
        case otherAttempt
    }

    /// Returns what a waiter waits for; `nil` if it waits no longer.
    func wait(of ticket: Ticket) -> Wait? {
        guard let group = groups[ticket.key], let standing = group.standings[ticket.number] else { return nil }
        if let number = standing.attempt { return .attempt(Attempt(key: ticket.key, number: number)) }
        if group.connections >= limits.connectionsPerOrigin { return .origin }
        return total >= limits.connections ? .all : .otherAttempt
    }

    /// How many exchanges wait, in all.
    var waiterCount: Int { groups.values.reduce(0) { $0 + $1.waiters.count } }
    /// How many exchanges wait, for each key that has some.
    var waiterCounts: [Key: Int] { groups.mapValues(\.waiters.count).filter { $0.value > 0 } }
    /// How many origins wait because there are too many connections in all, or did.
    var starvedCount: Int { starved.count }
    /// How many connections are idle, in all.
    var idleCount: Int { groups.values.reduce(0) { $0 + $1.idle.count } }
}

extension PoolMachine.Group {
    fileprivate mutating func enqueue(_ waiter: Waiter, _ number: Int, lane: Int) {
        let place = waiters.append((number, waiter), lane: lane)
        standings[number] = .init(place: place, placeWithoutAttempt: withoutAttempt.append(number, lane: 0))
    }

    /// A waiter leaves. Returns the attempt that was made for it, too, if there is one.
    fileprivate mutating func dequeue(_ number: Int) -> (waiter: Waiter, attempt: Int?)? {
        guard let standing = forget(number), let waiter = waiters.remove(standing.place)?.waiter else { return nil }
        return (waiter, standing.attempt)
    }

    fileprivate mutating func dequeueNext() -> Waiter? {
        guard !waiters.isEmpty, let (number, waiter) = waiters.popNext() else { return nil }
        _ = forget(number)
        return waiter
    }

    private mutating func forget(_ number: Int) -> PoolMachine.Standing? {
        guard let standing = standings.removeValue(forKey: number) else { return nil }
        if let place = standing.placeWithoutAttempt { _ = withoutAttempt.remove(place) }
        return standing
    }

    /// Adds an attempt for a waiter that has none.
    fileprivate mutating func add(_ attempt: Int, for number: Int) {
        attempts[attempt] = number
        if let place = standings[number]?.placeWithoutAttempt { _ = withoutAttempt.remove(place) }
        standings[number]?.placeWithoutAttempt = nil
        standings[number]?.attempt = attempt
    }

    /// Removes an attempt, and returns the ticket that it was made for; `nil` if there is no such attempt.
    fileprivate mutating func removeAttempt(_ attempt: Int) -> Int? {
        guard let number = attempts.removeValue(forKey: attempt) else { return nil }
        if number == 0 { preconnects -= 1 }
        if standings[number] != nil {
            standings[number]?.attempt = nil
            standings[number]?.placeWithoutAttempt = withoutAttempt.append(number, lane: 0)
        }
        return number
    }

    /// The waiter that no attempt was made for, and has waited longest for one; `nil` if there are as many attempts as waiters.
    fileprivate mutating func firstWithoutAttempt() -> Int? { needsAttempt ? withoutAttempt.oldest() : nil }
}
#endif
