import ErrandTesting
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct WaitQueueTests {
    @Test func elementsLeaveByLaneAndThenByArrival() {
        var queue = WaitQueue<String>()
        for (name, lane) in [("c1", 3), ("a1", 0), ("c2", 3), ("b1", 1), ("a2", 0)] { _ = queue.append(name, lane: lane) }
        var order: [String] = []
        while let next = queue.popFirst() { order.append(next) }
        #expect(order == ["a1", "a2", "b1", "c1", "c2"] && queue.isEmpty)
    }

    @Test func everyTenthElementIsTheOldest() {
        var queue = WaitQueue<String>()
        _ = queue.append("oldest", lane: 7)
        _ = queue.append("second", lane: 5)
        for number in 0..<30 { _ = queue.append("\(number)", lane: 1) }
        #expect(queue.oldest() == "oldest" && queue.count == 32)
        let order = (0..<32).compactMap { _ in queue.popNext() }
        #expect(order.firstIndex(of: "oldest") == 9 && order.firstIndex(of: "second") == 19)
        #expect(order.filter { Int($0) != nil } == (0..<30).map { "\($0)" } && queue.isEmpty)
    }

    @Test func aTicketHasAPlaceWhileItsElementIsQueued() {
        var queue = WaitQueue<String>()
        let tickets = (0..<4).map { _ in QueueTicket() }
        let ids = tickets.enumerated().map { queue.append("\($0)", lane: 1, ticket: $1) }
        #expect(tickets.compactMap(\.place) == ids)
        #expect(queue.cancel(tickets[2]) == "2" && tickets[2].isCancelled && queue.cancel(tickets[2]) == nil)
        #expect(queue.popFirst() == "0" && queue.popOldest() == "1" && queue.removeAll() == ["3"])
        #expect(tickets.allSatisfy { $0.place == nil } && tickets.filter(\.isCancelled).count == 1)
    }

    @Test func aRemovedElementIsReturnedOnce() {
        var queue = WaitQueue<String>()
        let (first, second) = (queue.append("first", lane: 0), queue.append("second", lane: 0))
        #expect(queue.remove(first) == "first" && queue.remove(first) == nil && queue.count == 1)
        #expect(queue.popFirst() == "second" && queue.remove(second) == nil && queue.popFirst() == nil)
        #expect(queue.remove(99) == nil)
    }

    /// The queue is compared with an array, which is slow and simple.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func aQueueAgreesWithAPlainList(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = WaitQueue<Int>()
        var plain: [(id: Int, lane: Int, name: Int)] = []
        for name in 0..<2_000 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1, 2:
                let lane = Int.random(in: 0..<8, using: &generator)
                plain.append((queue.append(name, lane: lane), lane, name))
            case 3 where name % 50 == 0:
                let isLeaving = { (name: Int) in name % 5 == 0 }
                #expect(queue.removeAll(where: isLeaving) == plain.filter { isLeaving($0.name) }.map(\.name))
                plain.removeAll { isLeaving($0.name) }
            case 3 where name % 7 == 0:
                let oldest = plain.indices.min { plain[$0].id < plain[$1].id }
                #expect(queue.popOldest() == oldest.map { plain.remove(at: $0).name })
            case 3:
                guard let gone = plain.indices.randomElement(using: &generator) else { continue }
                #expect(queue.remove(plain[gone].id) == plain.remove(at: gone).name)
            default:
                let end = Int.random(in: 0...8, using: &generator)
                let next = plain.indices.filter { plain[$0].lane < end }.min { (plain[$0].lane, $0) < (plain[$1].lane, $1) }
                #expect(queue.popFirst(before: end == 8 ? nil : end) == next.map { plain.remove(at: $0).name })
            }
            let lane = name % 8
            #expect(queue.count == plain.count && queue.count(upTo: lane) == plain.filter { $0.lane <= lane }.count)
        }
    }

    @Test(arguments: [1_000, 10_000, 100_000]) func anElementLeavesInTheSameTimeForEveryLength(_ count: Int) {
        var generator = SeededGenerator(seed: 7)
        var queue = WaitQueue<Int>()
        var tickets: [(id: Int, lane: Int)] = []
        for number in 0..<count {
            let lane = Int.random(in: 0..<8, using: &generator)
            tickets.append((queue.append(number, lane: lane), lane))
        }
        let leaving = Set((0..<count).shuffled(using: &generator).prefix(count / 2))
        for number in leaving.sorted() { #expect(queue.remove(tickets[number].id) == number) }
        #expect(queue.count == count - leaving.count)
        var order: [Int] = []
        while let next = queue.popFirst() { order.append(next) }
        let expected = (0..<count).filter { !leaving.contains($0) }.sorted { (tickets[$0].lane, $0) < (tickets[$1].lane, $1) }
        let isRight = order == expected
        #expect(isRight, "nobody is lost, and the order is kept")
        // Each waiter was added once. Each waiter either left once or had its turn once.
        let operations = count * 2
        #expect(queue.steps <= operations * 3, "\(queue.steps) steps for \(operations) operations")
    }
}
