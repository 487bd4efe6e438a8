#if SWIFT_NIO
@testable import ErrandNIO
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DueQueueTests {
    @Test(arguments: 0..<10) func theEarliestElementIsFirst(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = DueQueue<Int, Int>()
        var dues: [Int] = []
        for number in 0..<500 {
            let due = Int.random(in: 0..<100, using: &random)
            queue.insert(number, due: due) { _ in true }
            dues.append(due)
            if number % 3 == 0 {
                #expect(queue.first?.due == dues.min())
                queue.removeFirst()
                dues.sort()
                dues.removeFirst()
            }
        }
        var rest: [Int] = []
        while let first = queue.first {
            rest.append(first.due)
            queue.removeFirst()
        }
        #expect(rest == dues.sorted())
        queue.removeFirst()
        #expect(queue.count == 0)
    }

    @Test func elementsWithoutAUseAreRemoved() {
        var queue = DueQueue<Int, Int>()
        var most = 0
        for number in 0..<10_000 {
            queue.insert(number, due: -number) { $0 > number - 10 }
            most = max(most, queue.count)
        }
        #expect(most <= 64)
        #expect(queue.first?.element == 9_999)
        queue.removeAll()
        #expect(queue.first == nil)
    }

    @Test func theTimePerElementDoesNotGrow() {
        let growth = growth(of: 100, by: 24, making: { $0 }) { count in
            var queue = DueQueue<Int, Int>()
            for number in 0..<count { queue.insert(number, due: (number * 7919) % 10_007) { _ in true } }
            while queue.first != nil { queue.removeFirst() }
        }
        #expect(growth < 120, "quadratic work grows 576 times")
    }
}
#endif
