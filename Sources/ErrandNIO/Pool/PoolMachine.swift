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
        /// The time for which an unused connection is kept.
        var idleTime: Duration
    }

    /// A waiter's place in the queue.
    struct Ticket: Sendable, Hashable {
        fileprivate let key: Key
        fileprivate let number: Int
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
        /// The places in the queue by ticket.
        var places: [Int: Int] = [:]
        var isStarved = false

        var isEmpty: Bool { open == 0 && attempts.isEmpty && waiters.isEmpty }
    }

    let limits: Limits
    private var groups: [Key: Group] = [:]
    /// Connections and attempts of all origins.
    private(set) var total = 0
    /// Origins whose exchanges wait because there are too many connections in all.
    private var starved: [Key] = []
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
        guard let waiter = groups[ticket.key]?.dequeue(ticket.number) else { return nil }
        var work = Work()
        dropSurplusAttempt(of: ticket.key, madeFor: ticket.number, &work)
        forgetIfEmpty(ticket.key)
        return (waiter, work)
    }

    /// Cancels an attempt that was made for a waiter, if there are more of them than waiters.
    private mutating func dropSurplusAttempt(of key: Key, madeFor number: Int, _ work: inout Work) {
        guard let group = groups[key], group.attempts.count - group.preconnects > group.waiters.count else { return }
        let others = group.attempts.lazy.filter { $0.value != 0 }
        guard let attempt = others.first(where: { $0.value == number })?.key ?? others.map(\.key).max() else { return }
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
        let missing = min(count - spare, room)
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
        guard let group = groups[attempt.key], group.attempts[attempt.number] == 0 else { return work }
        groups[attempt.key]?.preconnects -= 1
        if group.attempts.count <= group.waiters.count, let number = group.firstUnserved {
            groups[attempt.key]?.attempts[attempt.number] = number
            return work
        }
        groups[attempt.key]?.attempts[attempt.number] = nil
        total -= 1
        work.cancel.append(attempt)
        feedStarved(&work)
        forgetIfEmpty(attempt.key)
        return work
    }

    private mutating func connectIfNeeded(_ key: Key, for number: Int, _ work: inout Work) {
        guard let group = groups[key], group.attempts.count < group.waiters.count else { return }
        guard group.open + group.attempts.count < limits.connectionsPerOrigin else { return }
        if total >= limits.connections, !evictIdle(&work) {
            if !group.isStarved {
                groups[key]?.isStarved = true
                starved.append(key)
            }
            return
        }
        lastNumber += 1
        groups[key]?.attempts[lastNumber] = number
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
            let key = starved.removeFirst()
            groups[key]?.isStarved = false
            guard let number = groups[key]?.firstWithoutAttempt else { continue }
            connectIfNeeded(key, for: number, &work)
        }
    }

    /// The exchange that an attempt was made for, if it still waits.
    func waiter(of attempt: Attempt) -> Waiter? {
        guard let group = groups[attempt.key], let number = group.attempts[attempt.number] else { return nil }
        return group.places[number].flatMap { group.waiters.peek($0)?.waiter }
    }

    enum Arrival: Sendable {
        /// This exchange begins on the new connection.
        case begin(Waiter)
        case idle
        /// It is not needed any more, or the pool is shut down: it must be closed.
        case refuse
    }

    /// An attempt has succeeded.
    mutating func connected(_ attempt: Attempt, _ link: Link, on loop: ObjectIdentifier, at now: Duration) -> Arrival {
        guard groups[attempt.key]?.removeAttempt(attempt.number) != nil else { return .refuse }
        groups[attempt.key]?.open += 1
        if let waiter = groups[attempt.key]?.dequeueNext() { return .begin(waiter) }
        groups[attempt.key]?.idle.append(Idle(link: link, loop: loop, expiry: now + limits.idleTime))
        return .idle
    }

    /// An attempt has failed. Returns the exchange that it was made for, which fails, if it still waits.
    mutating func failed(_ attempt: Attempt) -> (waiter: Waiter?, work: Work) {
        var work = Work()
        guard let number = groups[attempt.key]?.removeAttempt(attempt.number) else { return (nil, work) }
        total -= 1
        let waiter = groups[attempt.key]?.dequeue(number)
        if let next = groups[attempt.key]?.firstWithoutAttempt { connectIfNeeded(attempt.key, for: next, &work) }
        feedStarved(&work)
        forgetIfEmpty(attempt.key)
        return (waiter, work)
    }

    // MARK: - Connections

    enum Release: Sendable {
        /// This exchange begins on the connection.
        case begin(Waiter)
        /// It is kept until `expiry`.
        case idle
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
        if !starved.isEmpty, total >= limits.connections { return .close(closed(link, of: key)) }
        groups[key]?.idle.append(Idle(link: link, loop: loop, expiry: now + min(idleTime, limits.idleTime)))
        return .idle
    }

    /// A connection has closed, or will be.
    mutating func closed(_ link: Link, of key: Key) -> Work {
        var work = Work()
        guard groups[key] != nil else { return work }
        if let place = groups[key]?.idle.lastIndex(where: { $0.link === link }) { groups[key]?.idle.remove(at: place) }
        groups[key]?.open -= 1
        total -= 1
        if let next = groups[key]?.firstWithoutAttempt { connectIfNeeded(key, for: next, &work) }
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
        if groups[key]?.isEmpty == true { groups[key] = nil }
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
            (group.idle, group.attempts, group.preconnects, group.isStarved) = ([], [:], 0, false)
            groups[key] = group
        }
        groups = groups.filter { !$0.value.isEmpty }
        starved = []
        return (waiters, work)
    }

    /// How many exchanges wait, in all.
    var waiterCount: Int { groups.values.reduce(0) { $0 + $1.waiters.count } }
    /// How many exchanges wait, for each key that has some.
    var waiterCounts: [Key: Int] { groups.mapValues(\.waiters.count).filter { $0.value > 0 } }
    /// How many connections are idle, in all.
    var idleCount: Int { groups.values.reduce(0) { $0 + $1.idle.count } }
}

extension PoolMachine.Group {
    fileprivate mutating func enqueue(_ waiter: Waiter, _ number: Int, lane: Int) {
        places[number] = waiters.append((number, waiter), lane: lane)
    }

    fileprivate mutating func dequeue(_ number: Int) -> Waiter? {
        guard let place = places.removeValue(forKey: number) else { return nil }
        return waiters.remove(place)?.waiter
    }

    fileprivate mutating func dequeueNext() -> Waiter? {
        guard !waiters.isEmpty, let (number, waiter) = waiters.popNext() else { return nil }
        places[number] = nil
        return waiter
    }

    /// Removes an attempt, and returns the ticket that it was made for; `nil` if there is no such attempt.
    fileprivate mutating func removeAttempt(_ number: Int) -> Int? {
        let ticket = attempts.removeValue(forKey: number)
        if ticket == 0 { preconnects -= 1 }
        return ticket
    }

    /// A waiter that no attempt was made for; `nil` if there are as many attempts as waiters.
    fileprivate var firstWithoutAttempt: Int? { attempts.count < waiters.count ? firstUnserved : nil }

    /// A waiter that no attempt was made for.
    fileprivate var firstUnserved: Int? {
        let served = Set(attempts.values)
        return places.keys.filter { !served.contains($0) }.min()
    }
}
#endif
