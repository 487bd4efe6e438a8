#if SWIFT_NIO
import ErrandCore
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct ReadQueueTests {
    /// Bytes to append, or `nil` for a read. Each step returns whether the connection waits, or may read on.
    @Test(
        arguments: [
            // Before the first read, 64 KiB are received.
            ([63, 1, nil], [false, true, true]),
            // After it, 512 KiB are.
            ([1, nil, 511, 1, nil, nil], [false, false, false, true, true, false]),
            // A second batch, which comes before the connection waits, does not end the wait, although there is room when it comes.
            ([1, nil, 260, 260, nil, 10, nil, nil], [false, false, false, true, false, true, true, false]),
            ([1, nil, 300, 300, nil, 100, nil, nil], [false, false, false, true, false, true, true, false]),
        ] as [([Int?], [Bool])])
    func theWaitOfTheConnectionEndsWithARead(kibibytes: [Int?], expected: [Bool]) {
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
}
#endif
