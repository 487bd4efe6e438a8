#if NIO
internal import ErrandCore

/// The exchanges that wait for a connection to one origin, and the attempts to connect that are made for them.
///
/// Each attempt is made for one waiter, whose events it reports and which fails with it. A connection goes to the waiter whose turn it is.
struct AttemptQueue<Waiter: Sendable>: Sendable {
    /// What is known of a waiter.
    private struct Standing: Sendable {
        /// Its place in the queue.
        let place: Int
        /// The attempt that was made for it.
        var attempt: Int?
        /// Whether it is among the waiters without an attempt. One that has an attempt may still be there.
        var isListed = true
    }

    private var waiters = WaitQueue<(number: Int, waiter: Waiter)>()
    /// By ticket.
    private var standings: [Int: Standing] = [:]
    /// The tickets of the waiters that no attempt was made for, in their order. Others may be among them.
    private var withoutAttempt = DueQueue<Int, Int>()
    /// The attempts, each with the ticket that it was made for; 0 for a connection that was asked for without an exchange.
    private(set) var attempts: [Int: Int] = [:]
    /// How many attempts have no ticket.
    private var preconnects = 0
    /// How many exchanges the next connection is expected to take at a time: as many as the last one; at least 1. `nil` before the first
    /// one, if that can't be known: then one attempt is made, and its connection shows how many more are needed.
    private(set) var streamsPerLink: Int?
    /// How many exchanges the last connection took at a time; `nil` if there was none.
    private(set) var learnedStreams: Int?

    init(streamsPerLink: Int? = 1) { self.streamsPerLink = streamsPerLink }

    var count: Int { waiters.count }
    var isEmpty: Bool { waiters.isEmpty }
    /// How many attempts the waiters need.
    private var needed: Int {
        guard let streamsPerLink else { return min(count, 1) }
        return streamsPerLink == 1 ? count : (count + streamsPerLink - 1) / streamsPerLink
    }
    var needsAttempt: Bool { attempts.count < needed }
    var hasSurplusAttempt: Bool { attempts.count - preconnects > needed }
    /// How many attempts will give a connection that nobody waits for.
    var spareCount: Int { max(0, attempts.count - needed) }

    /// - Parameter streams: of the connection that was opened last. Zero is ignored: servers set it only temporarily.
    mutating func expect(streamsPerLink streams: Int) { if streams > 0 { (streamsPerLink, learnedStreams) = (streams, streams) } }

    /// Each waiter needs an attempt of its own, because one has failed: nothing is known of the next connection.
    mutating func expectSingleExchanges() { streamsPerLink = 1 }

    // MARK: - Waiters

    mutating func enqueue(_ waiter: Waiter, _ number: Int, lane: Int) {
        let place = waiters.append((number, waiter), lane: lane)
        standings[number] = Standing(place: place)
        list(number)
    }

    private mutating func list(_ number: Int) {
        let standings = standings
        withoutAttempt.insert(number, due: number) { standings[$0] != nil }
    }

    /// A waiter leaves. Returns the attempt that was made for it, too, if there is one.
    mutating func dequeue(_ number: Int) -> (waiter: Waiter, attempt: Int?)? {
        guard let standing = standings.removeValue(forKey: number), let waiter = waiters.remove(standing.place)?.waiter else { return nil }
        return (waiter, standing.attempt)
    }

    mutating func dequeueNext() -> Waiter? {
        guard !waiters.isEmpty, let (number, waiter) = waiters.popNext() else { return nil }
        standings[number] = nil
        return waiter
    }

    /// The ticket of the waiter that came first.
    mutating func oldest() -> Int? { waiters.oldest()?.number }

    func isWaiting(_ number: Int) -> Bool { standings[number] != nil }

    /// The attempt that was made for a waiter, if one was.
    func attempt(for number: Int) -> Int? { standings[number]?.attempt }

    /// The waiter that an attempt was made for, if it still waits.
    func waiter(of attempt: Int) -> Waiter? {
        guard let number = attempts[attempt], let standing = standings[number] else { return nil }
        return waiters.peek(standing.place)?.waiter
    }

    // MARK: - Attempts

    /// Adds an attempt for a waiter that has none.
    mutating func add(_ attempt: Int, for number: Int) {
        attempts[attempt] = number
        standings[number]?.attempt = attempt
    }

    /// Adds an attempt that no waiter has asked for.
    mutating func addPreconnect(_ attempt: Int) {
        attempts[attempt] = 0
        preconnects += 1
    }

    /// Removes an attempt, and returns the ticket that it was made for; `nil` if there is no such attempt.
    mutating func removeAttempt(_ attempt: Int) -> Int? {
        guard let number = attempts.removeValue(forKey: attempt) else { return nil }
        if number == 0 { preconnects -= 1 }
        if let standing = standings[number] {
            standings[number]?.attempt = nil
            standings[number]?.isListed = true
            if !standing.isListed { list(number) }
        }
        return number
    }

    mutating func removeAllAttempts() { (attempts, preconnects) = ([:], 0) }

    /// The waiter that no attempt was made for, and has waited longest for one; `nil` if there are enough attempts.
    mutating func firstWithoutAttempt() -> Int? {
        guard needsAttempt else { return nil }
        while let number = withoutAttempt.first?.element {
            if let standing = standings[number], standing.attempt == nil { return number }
            standings[number]?.isListed = false
            withoutAttempt.removeFirst()
        }
        return nil
    }

    /// The attempts in the order in which they are given up, when there are too many: those of waiters that have another connection first,
    /// of each kind the last one first.
    var dispensableAttempts: [Int] {
        let made = attempts.filter { $0.value != 0 }
        let (waiting, spare) = (made.filter { isWaiting($0.value) }.keys, made.filter { !isWaiting($0.value) }.keys)
        return spare.sorted(by: >) + waiting.sorted(by: >)
    }
}
#endif
