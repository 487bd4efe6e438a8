#if SWIFT_NIO
internal import ErrandCore

/// The queued exchanges of one origin, and the attempts to connect that were made for these exchanges.
///
/// Each attempt is made for one waiter, except for attempts of `preconnect`. An attempt reports its connection events for the exchange of
/// its waiter. If an attempt fails, its waiter fails. An opened connection goes to the next waiter in the queue. Another attempt may have
/// been made for this waiter.
struct AttemptQueue<Waiter: Sendable>: Sendable {
    /// The state of a waiter.
    private struct Standing: Sendable {
        /// The waiter's place in the queue.
        let place: Int
        /// The attempt that was made for the waiter; `nil` if the waiter has no attempt.
        var attempt: Int?
        /// Whether the waiter is listed among the waiters that have no attempt yet. After a waiter has got an attempt, the waiter may still
        /// be listed.
        var isListed = true
    }

    private var waiters = WaitQueue<(number: Int, waiter: Waiter)>()
    /// The states of the waiters, by ticket.
    private var standings: [Int: Standing] = [:]
    /// The tickets of the waiters that have no attempt yet, in the order of the waiters. The list may also have tickets of waiters that
    /// already have an attempt, and of waiters that are no longer queued.
    private var withoutAttempt = DueQueue<Int, Int>()
    /// The attempts, each with the ticket that the attempt was made for; 0 for an attempt of `preconnect`.
    private(set) var attempts: [Int: Int] = [:]
    /// The number of attempts without a ticket.
    private var preconnects = 0
    /// The number of exchanges that the next connection is expected to take at a time, at least 1: the number that the last connection
    /// took. `nil` if the number is unknown before the first connection. While the number is unknown, only one attempt is made, and its
    /// connection shows how many further attempts are needed.
    private(set) var streamsPerLink: Int?
    /// The number of exchanges that the last connection took at a time; `nil` if there was no connection.
    private(set) var learnedStreams: Int?

    init(streamsPerLink: Int? = 1) { self.streamsPerLink = streamsPerLink }

    var count: Int { waiters.count }
    var isEmpty: Bool { waiters.isEmpty }
    /// The number of attempts that the waiters need.
    private var needed: Int {
        guard let streamsPerLink else { return min(count, 1) }
        return streamsPerLink == 1 ? count : (count + streamsPerLink - 1) / streamsPerLink
    }
    var needsAttempt: Bool { attempts.count < needed }
    var hasSurplusAttempt: Bool { attempts.count - preconnects > needed }
    /// The number of attempts whose connections no waiter needs.
    var spareCount: Int { max(0, attempts.count - needed) }

    /// Sets the expected number of exchanges per connection.
    ///
    /// - Parameter streams: the number of exchanges that the last opened connection takes at a time. Zero is ignored, because servers set
    ///   zero only temporarily.
    mutating func expect(streamsPerLink streams: Int) { if streams > 0 { (streamsPerLink, learnedStreams) = (streams, streams) } }

    /// Expects one exchange per connection after an attempt has failed, because the capacity of the next connection is unknown. After this
    /// call, each waiter needs a separate attempt.
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

    /// Removes and returns a waiter, and the attempt that was made for the waiter.
    mutating func dequeue(_ number: Int) -> (waiter: Waiter, attempt: Int?)? {
        guard let standing = standings.removeValue(forKey: number), let waiter = waiters.remove(standing.place)?.waiter else { return nil }
        return (waiter, standing.attempt)
    }

    mutating func dequeueNext() -> Waiter? {
        guard !waiters.isEmpty, let (number, waiter) = waiters.popNext() else { return nil }
        standings[number] = nil
        return waiter
    }

    /// Returns the ticket of the oldest waiter.
    mutating func oldest() -> Int? { waiters.oldest()?.number }

    func isWaiting(_ number: Int) -> Bool { standings[number] != nil }

    /// Returns the attempt that was made for a waiter; `nil` if the waiter has no attempt.
    func attempt(for number: Int) -> Int? { standings[number]?.attempt }

    /// Returns the waiter that an attempt was made for; `nil` if the waiter is no longer queued.
    func waiter(of attempt: Int) -> Waiter? {
        guard let number = attempts[attempt], let standing = standings[number] else { return nil }
        return waiters.peek(standing.place)?.waiter
    }

    // MARK: - Attempts

    /// Adds an attempt for a waiter that has no attempt yet.
    mutating func add(_ attempt: Int, for number: Int) {
        attempts[attempt] = number
        standings[number]?.attempt = attempt
    }

    /// Adds an attempt of `preconnect`.
    mutating func addPreconnect(_ attempt: Int) {
        attempts[attempt] = 0
        preconnects += 1
    }

    /// Removes an attempt, and returns the ticket that the attempt was made for; `nil` if the attempt was already removed.
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

    /// Returns the oldest waiter that has no attempt yet; `nil` if there are enough attempts.
    mutating func firstWithoutAttempt() -> Int? {
        guard needsAttempt else { return nil }
        while let number = withoutAttempt.first?.element {
            if let standing = standings[number], standing.attempt == nil { return number }
            standings[number]?.isListed = false
            withoutAttempt.removeFirst()
        }
        return nil
    }

    /// The attempts in the order in which surplus attempts are cancelled. The attempts whose waiters are no longer queued come before the
    /// attempts whose waiters are queued. Among attempts of one kind, the latest attempt comes first.
    var dispensableAttempts: [Int] {
        let made = attempts.filter { $0.value != 0 }
        let (waiting, spare) = (made.filter { isWaiting($0.value) }.keys, made.filter { !isWaiting($0.value) }.keys)
        return spare.sorted(by: >) + waiting.sorted(by: >)
    }
}
#endif
