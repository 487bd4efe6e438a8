#if SWIFT_NIO
import ErrandCore
import NIOCore
import Testing

@testable import ErrandNIO

@Suite(.timeLimit(.minutes(5))) struct UploadQueueTests {
    @Test func theConnectionIsNotifiedOnceForABatch() throws {
        let queue = UploadQueue()
        var told = [try queue.add(Data("a".utf8)), try queue.add(Data("b".utf8))]
        told.append(queue.finish(.complete(trailers: nil)))
        #expect(told == [true, false, false])
        let batch = queue.takeBatch()
        #expect(batch.pieces == [Data("a".utf8), Data("b".utf8)])
        #expect(batch.bytes == 2)
        #expect(batch.end != nil)
        #expect(queue.takeBatch().pieces.isEmpty)
    }

    @Test func theConnectionIsNotifiedAgainAfterABatch() throws {
        let queue = UploadQueue()
        _ = try queue.add(Data("a".utf8))
        _ = queue.takeBatch()
        let second = try queue.add(Data("b".utf8))
        _ = queue.takeBatch()
        let end = queue.finish(.complete(trailers: nil))
        #expect(second)
        #expect(end)
    }

    @Test func aFullQueueHoldsUntilEnoughHasLeft() async throws {
        let queue = UploadQueue()
        let size = WriteWindow.limitBytes
        _ = try queue.add(Data(count: size))
        try await queue.window.wait()  // full, but not over
        _ = try queue.add(Data(count: 10))
        let wait = Task { try await queue.window.wait() }
        _ = queue.takeBatch()  // what was written still counts
        queue.window.remove(9)
        queue.window.remove(1)
        try await wait.value
    }

    @Test func cancellingEndsTheWait() async throws {
        let queue = UploadQueue()
        _ = try queue.add(Data(count: WriteWindow.limitBytes + 1))
        let wait = Task { try await queue.window.wait() }
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
    }

    @Test func aClosedQueueDropsItsPiecesAndAcceptsNoMore() async throws {
        let queue = UploadQueue()
        _ = try queue.add(Data(count: 10))
        let wait = Task {
            _ = try queue.add(Data(count: WriteWindow.limitBytes))
            try await queue.window.wait()
        }
        queue.close()
        await #expect(throws: CancellationError.self) { try await wait.value }
        #expect(throws: CancellationError.self) { _ = try queue.add(Data(count: 1)) }
        let isTold = queue.finish(.complete(trailers: nil))
        #expect(!isTold)
        #expect(queue.takeBatch().pieces.isEmpty)
    }

    /// Pieces that the task adds between two steps of `close()` do not reach the connection.
    @Test func piecesAddedToAClosedQueueAreDropped() {
        var state = UploadQueue.State()
        expect(state.add(Data("a".utf8)) == true)
        state.close()
        expect(state.add(Data("b".utf8)) == nil)
        expect(!state.finish(.complete(trailers: nil)))
        expect(!state.finish(.failed(CancellationError())))
        let batch = state.takeBatch()
        #expect(batch.pieces.isEmpty && batch.bytes == 0 && batch.end == nil)
    }

    /// One thread adds pieces, while another thread closes the queue.
    @Test func aQueueIsEmptyAfterItWasClosed() async {
        for _ in 0..<300 {
            let queue = UploadQueue()
            async let added: Void = {
                do { while true { _ = try queue.add(Data([1])) } } catch {}
                _ = queue.finish(.complete(trailers: nil))
            }()
            async let closed: Void = queue.close()
            _ = await (added, closed)
            let batch = queue.takeBatch()
            #expect(batch.pieces.isEmpty && batch.end == nil)
        }
    }

    @Test func onlyTheQueueOfTheUploadIsRead() async {
        let (own, other) = (UploadQueue(), UploadQueue())
        let task = Task<Void, Never> {}
        await task.value
        #expect(UploadSource.pump(task, own).reads(own))
        #expect(!UploadSource.pump(task, own).reads(other))
        #expect(!UploadSource.none.reads(own))
        #expect(!UploadSource.memory(Data(), offset: 0).reads(own))
    }

    @Test(arguments: [false, true])
    func piecesShareABuffer(isChunked: Bool) {
        var buffers = WriteBuffers()
        let pieces = [Data("one ".utf8), Data("two".utf8)]
        let buffer = buffers.filled(with: pieces, 7, isChunked: isChunked)
        #expect(String(buffer: buffer) == (isChunked ? "7\r\none two\r\n" : "one two"))
    }

    @Test func aBufferThatIsBeingWrittenIsNotUsedAgain() {
        var buffers = WriteBuffers()
        let written = (0..<(WriteBuffers.count * 2)).map { buffers.filled(with: [Data("\($0)".utf8)], 1, isChunked: false) }
        #expect(written.map { String(buffer: $0) } == (0..<(WriteBuffers.count * 2)).map { "\($0)" })
    }
}
#endif
