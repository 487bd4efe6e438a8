internal import ErrandCore
internal import TestSupport
internal import Testing

@Suite struct UnreadBodyTests {
    private typealias Read = UnreadBody<Int>.Read

    private let first = Data([1])
    private let second = Data([2])

    private func chunk(_ result: Read?) -> Data? { if case .success(let chunk)? = result { chunk } else { nil } }
    private func failure(_ result: Read?) -> (any Error)? { if case .failure(let error)? = result { error } else { nil } }
    private func isEnd(_ result: Read?) -> Bool { if case .success(nil)? = result { true } else { false } }

    @Test func queuedChunksAreReadInTheirOrderBeforeTheEnd() {
        var body = UnreadBody<Int>()
        let delivery = body.append([first, second]).delivery
        let end = body.end()
        #expect(delivery == nil && end == nil && body.isComplete)
        let chunks = [chunk(body.read().result), chunk(body.read().result)]
        #expect(chunks == [first, second])
        for _ in 0..<2 {
            let result = body.read(orWait: 1).result
            #expect(isEnd(result) && !body.hasWaiter)
        }
    }

    @Test func aWaiterGetsTheFirstChunkOfABatch() {
        var body = UnreadBody<Int>()
        let result = body.read(orWait: 1).result
        #expect(result == nil && body.hasWaiter)
        let delivery = body.append([first, second]).delivery
        #expect(delivery?.waiter == 1 && delivery?.chunk == first && !body.hasWaiter)
        let rest = chunk(body.read().result)
        #expect(rest == second)
    }

    @Test func anEmptyBatchLeavesTheWaiter() {
        var body = UnreadBody<Int>()
        _ = body.read(orWait: 1)
        let delivery = body.append([]).delivery
        #expect(delivery == nil && body.hasWaiter)
    }

    @Test func theRestOfABatchCanHoldBackTheTransport() {
        var marks = ReadQueue.Marks()
        (marks.readAheadBytes, marks.windowBytes) = (2, 2)
        var body = UnreadBody<Int>(marks: marks)
        _ = body.read(orWait: 1)
        let isHeldBack = [body.append([Data(count: 9)]).isHeldBack, body.append([Data(count: 2)]).isHeldBack]
        #expect(isHeldBack == [false, true] && body.isHeldBack)
        let isFree = body.read().isFree
        #expect(isFree && !body.isHeldBack)
    }

    @Test func aSecondReaderIsRefused() {
        var body = UnreadBody<Int>()
        _ = body.read(orWait: 1)
        let results = [body.read(orWait: 2).result, body.read().result]
        #expect(results.allSatisfy { failure($0) is BodyAlreadyUsedError })
        let waiter = body.append([first]).delivery?.waiter
        #expect(waiter == 1, "the second reader replaced the first reader")
    }

    @Test func aReadWithoutAWaiterLeavesNoWaiter() {
        var body = UnreadBody<Int>()
        let results = [body.read().result, body.read(orWait: 1).result]
        #expect(results.allSatisfy { $0 == nil } && body.hasWaiter)
    }

    @Test(arguments: [false, true])
    func theEndResumesTheWaiterOnce(isComplete: Bool) {
        var body = UnreadBody<Int>()
        _ = body.read(orWait: 1)
        let end = body.end(because: isComplete ? nil : TestError())
        #expect(end?.waiter == 1 && isEnd(end?.result) == isComplete && (failure(end?.result) is TestError) == !isComplete)
        let later = body.end()
        #expect(later == nil && !body.hasWaiter && body.hasEnded && body.isComplete == isComplete)
    }

    @Test func onlyTheFirstEndCounts() {
        var (complete, failed) = (UnreadBody<Int>(), UnreadBody<Int>())
        _ = complete.end()
        _ = complete.end(because: TestError())
        _ = failed.end(because: TestError())
        _ = failed.end()
        let results = (complete.read().result, failed.read().result)
        #expect(isEnd(results.0) && failure(results.1) is TestError)
    }

    @Test func aChunkAfterTheEndIsIgnored() {
        var body = UnreadBody<Int>()
        _ = body.end()
        let appended = body.append([first])
        #expect(appended.delivery == nil && !appended.isHeldBack)
        let result = body.read().result
        #expect(isEnd(result))
    }

    // MARK: - Dropped chunks

    /// Otherwise, the dropped chunks would look like the end of a complete body.
    @Test(arguments: [false, true])
    func anEndWithDroppedChunksIsNotComplete(endsFirst: Bool) {
        var body = UnreadBody<Int>()
        _ = body.append([first])
        if endsFirst { _ = body.end() }
        body.drop(because: TestError())
        if !endsFirst { _ = body.end() }
        let result = body.read(orWait: 1).result
        #expect(failure(result) is TestError && !body.isComplete && !body.hasWaiter)
    }

    @Test func aBodyThatWasReadStaysComplete() {
        var body = UnreadBody<Int>()
        _ = body.append([first])
        _ = body.read()
        _ = body.end()
        body.drop(because: TestError())
        let result = body.read().result
        #expect(isEnd(result) && body.isComplete)
    }

    @Test func aFailureOutweighsALaterDrop() {
        var body = UnreadBody<Int>()
        _ = body.append([first])
        _ = body.end(because: TestError("1"))
        body.drop(because: TestError("2"))
        let result = body.read().result
        #expect(failure(result) as? TestError == TestError("1"))
    }

    @Test func aDropWithoutChunksLeavesTheWaiter() {
        var body = UnreadBody<Int>()
        _ = body.read(orWait: 1)
        body.drop(because: TestError())
        #expect(body.hasWaiter && !body.hasEnded)
    }
}
