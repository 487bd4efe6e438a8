import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct ChunkQueueTests {
    @Test func chunksLeaveInTheirOrder() {
        var queue = ChunkQueue<[UInt8]>()
        #expect(queue.isEmpty && queue.popFirst() == nil)
        for byte in UInt8(1)...3 { queue.append([byte]) }
        #expect(queue.popFirst() == [1])
        queue.append([4])
        #expect((2...4).allSatisfy { queue.popFirst() == [$0] })
        #expect(queue.isEmpty && queue.popFirst() == nil)
        queue.append([5])
        #expect(queue.popFirst() == [5])
    }

    @Test func bytesAndChunksAreCounted() {
        var queue = ChunkQueue<[UInt8]>()
        queue.append([1, 2, 3])
        queue.append([])
        queue.append([4, 5])
        #expect((queue.count, queue.bytes) == (3, 5))
        _ = queue.popFirst()
        #expect((queue.count, queue.bytes) == (2, 2))
        _ = queue.popFirst()
        #expect((queue.count, queue.bytes) == (1, 2))
        _ = queue.popFirst()
        #expect((queue.count, queue.bytes) == (0, 0))
    }

    /// A value that is not a collection gives its number of bytes itself.
    @Test func aChunkCanDeclareItsSize() {
        var queue = ChunkQueue<String>()
        queue.append("head", bytes: 0)
        queue.append("body", bytes: 100)
        #expect((queue.count, queue.bytes) == (2, 100))
        #expect(queue.popFirst() == "head" && queue.bytes == 100)
        #expect(queue.popFirst() == "body" && queue.bytes == 0)
    }

    @Test func aQueueIsEmptyAfterRemovingAll() {
        var queue = ChunkQueue<[UInt8]>()
        for _ in 0..<10 { queue.append([1]) }
        _ = queue.popFirst()
        queue.removeAll()
        #expect(queue.isEmpty && queue.count == 0 && queue.bytes == 0 && queue.popFirst() == nil)
        queue.append([7])
        #expect(queue.popFirst() == [7])
    }

    /// Reads and writes alternate in many ways. In some cases, the queue is never empty, and its front moves.
    @Test(arguments: [1, 2, 31, 32, 33, 34, 64, 65, 66, 1_000]) func theFrontMovesThroughALongQueue(ahead: Int) {
        var queue = ChunkQueue<[Int]>()
        var taken = 0
        for number in 0..<5_000 {
            queue.append([number])
            if queue.count > ahead {
                #expect(queue.popFirst() == [taken])
                taken += 1
            }
            #expect(queue.count == min(number + 1, ahead) && queue.bytes == queue.count)
        }
        while let chunk = queue.popFirst() {
            #expect(chunk == [taken])
            taken += 1
        }
        #expect(taken == 5_000)
    }

    private final class Tracked: Sendable {}

    @Test func aTakenChunkIsReleasedWhileOthersWait() {
        var queue = ChunkQueue<Tracked>()
        var first: Tracked? = Tracked()
        weak let released = first
        queue.append(first!, bytes: 1)
        queue.append(Tracked(), bytes: 1)
        first = nil
        #expect(released != nil)
        _ = queue.popFirst()
        #expect(released == nil && queue.count == 1)
    }
}
