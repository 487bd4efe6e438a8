#if Auth
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandAuth

/// The order in which cookies were used.
@Suite(.timeLimit(.minutes(5))) struct UseOrderTests {
    /// The members of a list, in the order of use.
    private func members(_ order: UseOrder, _ list: UseOrder.List) -> [Int] {
        var (order, list, members) = (order, list, [Int]())
        while let first = list.leastRecentlyUsed {
            members.append(first)
            order.remove(first, .site, from: &list)
        }
        return members
    }

    @Test func cookiesThatWereNeverUsedComeFirst() {
        var (order, list) = (UseOrder(), UseOrder.List())
        for index in 0..<6 {
            order.begin(index)
            if index == 0 || index == 3 { order.use(index) }
            order.insert(index, .site, in: &list)
        }
        #expect(members(order, list) == [1, 2, 4, 5, 0, 3])
        #expect(order.lastUse == 2 && order.isMostRecentlyUsed(3, in: list) && !order.isMostRecentlyUsed(0, in: list))
    }

    @Test func aCookieFromAnotherListTakesItsPlace() {
        var (order, list, other) = (UseOrder(), UseOrder.List(), UseOrder.List())
        for index in 0..<5 {
            order.begin(index)
            if index > 0 { order.use(index) }
            if index == 2 { order.insert(index, .site, in: &other) } else { order.insert(index, .site, in: &list) }
        }
        order.remove(2, .site, from: &other)
        order.insert(2, .site, in: &list)
        #expect(members(order, list) == [0, 1, 2, 3, 4] && members(order, other) == [])
    }

    /// Random changes, compared with arrays.
    @Test(arguments: 1...10) func twoListsAreAsTwoSortedArrays(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var (order, lists) = (UseOrder(), [UseOrder.List(), UseOrder.List()])
        // The number of the last use, or a number less than zero in the order of insertion; and the list.
        var expected: [Int: (use: Int, list: Int)] = [:]
        for step in 0..<1_000 {
            let index = Int.random(in: 0..<30, using: &random)
            guard let (use, list) = expected[index] else {
                order.begin(index)
                let list = step % 2
                order.insert(index, .site, in: &lists[list])
                expected[index] = (step - 1_000, list)
                continue
            }
            order.remove(index, .site, from: &lists[list])
            switch Int.random(in: 0..<4, using: &random) {
            case 0: expected[index] = nil
            case 1 where use > 0:
                // The cookie moves to the other list.
                order.insert(index, .site, in: &lists[1 - list])
                expected[index] = (use, 1 - list)
            default:
                order.use(index)
                order.insert(index, .site, in: &lists[list])
                expected[index] = (step + 1, list)
            }
        }
        for list in 0...1 {
            let sorted = expected.filter { $0.value.list == list }.sorted { $0.value.use < $1.value.use }.map(\.key)
            #expect(members(order, lists[list]) == sorted)
        }
    }
}
#endif
