/// A queue of waiters, by priority, then first in, first out. Every operation takes constant time on average.
///
/// Removal is immediate. Vacated places are skipped, and are removed before they outnumber the waiters.
///
/// With priority alone, the least urgent waiter could wait forever. Therefore every tenth call of ``popNext()`` removes the waiter
/// that has waited longest.
public struct WaitQueue<Waiter>: Sendable where Waiter: Sendable {
    /// The interval, in calls, at which ``popNext()`` removes the waiter that has waited longest.
    package static var oldestInterval: Int { 10 }

    /// The number of places that were examined or moved, for tests that count steps instead of measuring time.
    private(set) var steps = 0

    private struct Lane: Sendable {
        var places: [Int] = []
        var first = 0
        var left = 0  // places of waiters that have left

        var isEmpty: Bool { first == places.count }
    }

    private struct Entry: Sendable {
        let lane: Int
        let waiter: Waiter
        let ticket: QueueTicket?
    }

    private var lanes: [Lane]
    private var waiters: [Int: Entry] = [:]
    private var nextID = 0
    private var popsSinceOldest = 0

    /// Creates an empty queue.
    ///
    /// - Parameter count: the number of lanes, at least 1. Default: 8, one for each priority.
    public init(lanes count: Int = 8) { lanes = Array(repeating: Lane(), count: count) }

    /// The number of waiters.
    public var count: Int { waiters.count }
    /// Whether the queue has no waiters.
    public var isEmpty: Bool { waiters.isEmpty }

    /// Adds a waiter, and returns the number with which the waiter can be removed.
    ///
    /// - Parameters:
    ///   - waiter: the value to keep until the waiter is removed, such as a continuation.
    ///   - lane: the number of the lane; 0 is the most urgent lane.
    ///   - ticket: the ticket of ``waitInQueue(_:leave:)``, with which ``cancel(_:)`` finds the waiter. The queue keeps
    ///     ``QueueTicket/place`` up to date. With `nil`, the default, the waiter has no ticket.
    @discardableResult
    public mutating func append(_ waiter: Waiter, lane: Int, ticket: QueueTicket? = nil) -> Int {
        steps += 1
        nextID += 1
        lanes[lane].places.append(nextID)
        waiters[nextID] = Entry(lane: lane, waiter: waiter, ticket: ticket)
        ticket?.place = nextID
        return nextID
    }

    /// Removes a waiter, and returns it; `nil` if the waiter was removed before.
    public mutating func remove(_ id: Int) -> Waiter? {
        steps += 1
        guard let entry = forget(id) else { return nil }
        let lane = entry.lane
        lanes[lane].left += 1
        if lanes[lane].left > 32, lanes[lane].left * 2 > lanes[lane].places.count - lanes[lane].first { clear(lane) }
        return entry.waiter
    }

    /// Removes an entry. The `place` of the waiter's ticket becomes `nil`, because another queue may use this number for another waiter.
    private mutating func forget(_ id: Int) -> Entry? {
        let entry = waiters.removeValue(forKey: id)
        entry?.ticket?.place = nil
        return entry
    }

    /// Records that the caller of a ticket has left. Removes and returns the ticket's waiter; `nil` if the caller was not queued. Call
    /// this function in the `leave` closure of ``waitInQueue(_:leave:)``.
    public mutating func cancel(_ ticket: QueueTicket) -> Waiter? {
        ticket.isCancelled = true
        return ticket.place.flatMap { remove($0) }
    }

    /// Returns a waiter without removing it; `nil` if the waiter was removed.
    package func peek(_ id: Int) -> Waiter? { waiters[id]?.waiter }

    /// Returns the number of waiters in the lanes up to `lane`. All these waiters come before a new waiter in that lane.
    public func count(upTo lane: Int) -> Int { lanes[...lane].reduce(0) { $0 + $1.places.count - $1.first - $1.left } }

    /// Removes and returns the most urgent waiter; `nil` if there is no waiter in the lanes before `end`. By default, all lanes are
    /// searched.
    public mutating func popFirst(before end: Int? = nil) -> Waiter? {
        for lane in 0..<(end ?? lanes.count) {
            if let id = head(of: lane) { return take(id, from: lane) }
        }
        return nil
    }

    /// Removes and returns the most urgent waiter, or, at every tenth call, the waiter that has waited longest.
    public mutating func popNext() -> Waiter? {
        popsSinceOldest += 1
        guard popsSinceOldest >= Self.oldestInterval else { return popFirst() }
        popsSinceOldest = 0
        return popOldest()
    }

    /// Removes and returns the waiter that has waited longest, in any lane.
    public mutating func popOldest() -> Waiter? { oldestPlace().flatMap { take($0.id, from: $0.lane) } }

    /// Returns the waiter that has waited longest, without removing it.
    package mutating func oldest() -> Waiter? { oldestPlace().flatMap { waiters[$0.id]?.waiter } }

    private mutating func oldestPlace() -> (id: Int, lane: Int)? {
        var oldest: (id: Int, lane: Int)?
        for lane in lanes.indices {
            if let id = head(of: lane), id < oldest?.id ?? .max { oldest = (id, lane) }
        }
        return oldest
    }

    /// Returns the first waiter in the lane, and drops the vacated places before this waiter.
    private mutating func head(of lane: Int) -> Int? {
        while !lanes[lane].isEmpty {
            let id = lanes[lane].places[lanes[lane].first]
            if waiters[id] != nil { return id }
            steps += 1
            lanes[lane].left -= 1
            pass(lane)
        }
        return nil
    }

    private mutating func take(_ id: Int, from lane: Int) -> Waiter? {
        steps += 1
        pass(lane)
        return forget(id)?.waiter
    }

    private mutating func pass(_ lane: Int) {
        lanes[lane].first += 1
        if lanes[lane].first > 32, lanes[lane].first * 2 > lanes[lane].places.count { dropHead(lane) }
    }

    /// Removes all waiters, and returns them in order.
    public mutating func removeAll() -> [Waiter] {
        var all: [Waiter] = []
        while let waiter = popFirst() { all.append(waiter) }
        return all
    }

    /// Removes the waiters that satisfy the condition, and returns them in order of arrival. Examines all waiters.
    public mutating func removeAll(where isLeaving: (Waiter) -> Bool) -> [Waiter] {
        steps += waiters.count
        return waiters.filter { isLeaving($0.value.waiter) }.keys.sorted().compactMap { remove($0) }
    }

    private mutating func clear(_ lane: Int) {
        steps += lanes[lane].places.count - lanes[lane].first
        lanes[lane].places = lanes[lane].places[lanes[lane].first...].filter { waiters[$0] != nil }
        (lanes[lane].first, lanes[lane].left) = (0, 0)
    }

    private mutating func dropHead(_ lane: Int) {
        steps += lanes[lane].places.count - lanes[lane].first
        lanes[lane].places.removeFirst(lanes[lane].first)
        lanes[lane].first = 0
    }
}
