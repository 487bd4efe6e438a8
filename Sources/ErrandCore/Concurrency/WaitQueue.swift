/// Who waits for a turn: first by priority, then by arrival. Every operation takes the same few steps on average, however many wait.
///
/// Who leaves is forgotten at once, and the place is passed over later; places of those who left are cleared out before they are
/// more than those who wait.
///
/// Priority alone would let the least urgent wait for ever. So every tenth of the turns that ``popNext()`` gives goes to whoever has waited longest.
package struct WaitQueue<Waiter>: Sendable where Waiter: Sendable {
    /// Every n-th slot goes to the oldest waiter: 10.
    package static var fairTurn: Int { 10 }

    /// How many places were looked at or moved, for tests that count steps and not time.
    package private(set) var steps = 0

    private struct Lane: Sendable {
        var places: [Int] = []
        var first = 0
        var left = 0  // places of those who are gone

        var isEmpty: Bool { first == places.count }
    }

    private var lanes: [Lane]
    private var waiters: [Int: (lane: Int, waiter: Waiter)] = [:]
    private var nextID = 0
    private var turns = 0

    package init(lanes count: Int = 8) { lanes = Array(repeating: Lane(), count: count) }

    package var count: Int { waiters.count }
    package var isEmpty: Bool { waiters.isEmpty }

    /// The number by which the waiter can leave.
    package mutating func append(_ waiter: Waiter, lane: Int) -> Int {
        steps += 1
        nextID += 1
        lanes[lane].places.append(nextID)
        waiters[nextID] = (lane, waiter)
        return nextID
    }

    /// Nil if it has had its turn, or left, before.
    package mutating func remove(_ id: Int) -> Waiter? {
        steps += 1
        guard let (lane, waiter) = waiters.removeValue(forKey: id) else { return nil }
        lanes[lane].left += 1
        if lanes[lane].left > 32, lanes[lane].left * 2 > lanes[lane].places.count - lanes[lane].first { clear(lane) }
        return waiter
    }

    /// How many wait in the lanes up to `lane`: who comes to its end has all of them in front.
    package func count(upTo lane: Int) -> Int { lanes[...lane].reduce(0) { $0 + $1.places.count - $1.first - $1.left } }

    /// The most urgent; nil if nobody waits in the lanes before `end`, which is after the last by default.
    package mutating func popFirst(before end: Int? = nil) -> Waiter? {
        for lane in 0..<(end ?? lanes.count) {
            if let id = head(of: lane) { return take(id, from: lane) }
        }
        return nil
    }

    /// Whose turn it is: the most urgent, and every tenth time whoever has waited longest.
    package mutating func popNext() -> Waiter? {
        turns += 1
        guard turns >= Self.fairTurn else { return popFirst() }
        turns = 0
        return popOldest()
    }

    /// Who has waited longest, whatever its lane.
    package mutating func popOldest() -> Waiter? { oldestPlace().flatMap { take($0.id, from: $0.lane) } }

    /// Who has waited longest; it stays.
    package mutating func oldest() -> Waiter? { oldestPlace().flatMap { waiters[$0.id]?.waiter } }

    private mutating func oldestPlace() -> (id: Int, lane: Int)? {
        var oldest: (id: Int, lane: Int)?
        for lane in lanes.indices {
            if let id = head(of: lane), id < oldest?.id ?? .max { oldest = (id, lane) }
        }
        return oldest
    }

    /// The first in the lane who is still there; the places of those who left are passed over for good.
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
        return waiters.removeValue(forKey: id)?.waiter
    }

    private mutating func pass(_ lane: Int) {
        lanes[lane].first += 1
        if lanes[lane].first > 32, lanes[lane].first * 2 > lanes[lane].places.count { dropHead(lane) }
    }

    /// Everybody, in order.
    package mutating func removeAll() -> [Waiter] {
        var all: [Waiter] = []
        while let waiter = popFirst() { all.append(waiter) }
        return all
    }

    /// Those for whom the condition holds, by arrival; they have left. It looks at everybody.
    package mutating func removeAll(where isLeaving: (Waiter) -> Bool) -> [Waiter] {
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
