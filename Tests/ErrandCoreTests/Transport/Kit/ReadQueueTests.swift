import ErrandCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct ReadQueueTests {
    /// Bytes to append, or `nil` for a read. Each step returns whether the transport waits, or may receive more.
    @Test(
        arguments: [
            // Before the first read, 64 KiB are received.
            ([63, 1, nil], [false, true, true]),
            // After it, 512 KiB are.
            ([1, nil, 511, 1, nil, nil], [false, false, false, true, true, false]),
            // A second batch, which comes before the transport waits, does not end the wait, although there is room when it comes.
            ([1, nil, 260, 260, nil, 10, nil, nil], [false, false, false, true, false, true, true, false]),
            ([1, nil, 300, 300, nil, 100, nil, nil], [false, false, false, true, false, true, true, false]),
        ] as [([Int?], [Bool])])
    func theWaitOfTheTransportEndsWithARead(kibibytes: [Int?], expected: [Bool]) {
        var queue = ReadQueue()
        var results: [Bool] = []
        for step in kibibytes {
            if let step {
                results.append(queue.append([Data(count: step * 1024)]))
            } else {
                results.append(queue.popFirst()?.isFree ?? false)
            }
        }
        #expect(results == expected)
    }

    @Test func otherMarksHold() {
        var marks = ReadQueue.Marks()
        (marks.readAheadBytes, marks.windowBytes) = (2, 4)
        var queue = ReadQueue(marks: marks)
        let waits = (0..<2).map { _ in queue.append([Data(count: 1)]) }
        #expect(waits == [false, true] && queue.isHeldBack)
        let isFree = queue.popFirst()?.isFree
        #expect(isFree == true && !queue.isHeldBack && !queue.isEmpty)
        let isFull = queue.append([Data(count: 2), Data(count: 1)])
        #expect(isFull)
        queue.removeAll()
        #expect(queue.isEmpty)
    }
}
