import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResponseBodyBytesTests {
    /// More than two windows of 32 KiB, with bytes whose position is visible.
    private static let sample = Data((0..<70_001).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

    @Test(arguments: [1, 2, 1000, 32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 70_000, 70_001])
    func theBytesAreTheSameAtEverySplit(_ pieceBytes: Int) async throws {
        let body = ResponseBody(ScriptedBodySource(Self.sample, pieceBytes: pieceBytes))
        #expect(try await body.bytes.reduce(into: Data()) { $0.append($1) } == Self.sample)
    }

    @Test func bytesInMemoryAreReadOnce() async throws {
        let body = ResponseBody(Self.sample.dropFirst(3), trailers: [.eTag: "x"])
        #expect(try await body.bytes.reduce(into: Data()) { $0.append($1) } == Self.sample.dropFirst(3))
        #expect(body.trailers == [.eTag: "x"])
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.bytes.first { _ in true } }
        var empty = ResponseBody().bytes.makeAsyncIterator()
        #expect(try await empty.next() == nil)
        #expect(try await empty.next() == nil)
    }

    @Test func anErrorComesAfterTheBytesBeforeIt() async throws {
        struct Broken: Error {}
        let source = ScriptedBodySource(["ab", "c"], then: .failure(Broken()))
        var bytes = ResponseBody(source).bytes.makeAsyncIterator()
        for expected in "abc".utf8 { #expect(try await bytes.next() == expected) }
        await #expect(throws: Broken.self) { try await bytes.next() }
    }

    @Test func aChunkIsReadOnlyAfterThePreviousChunk() async throws {
        let source = ScriptedBodySource(["ab", "cd"])
        let body = ResponseBody(source)
        var bytes = body.bytes.makeAsyncIterator()
        #expect(source.unreadCount == 2)
        for expected in "ab".utf8 { #expect(try await bytes.next() == expected) }
        #expect(source.unreadCount == 1)
        #expect(try await bytes.next() == UInt8(ascii: "c"))
        #expect(source.unreadCount == 0)
    }

    @Test func breakingOutOfTheBytesAbandonsTheRest() async throws {
        let source = ScriptedBodySource(["ab", "cd"])
        let body = ResponseBody(source)
        for try await byte in body.bytes where byte == UInt8(ascii: "b") { break }
        #expect(source.abandonCount == 1 && source.unreadCount == 1)
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
    }

    @Test func aCancelledReaderOfBytesStops() async throws {
        let source = ScriptedBodySource(["a"], then: .stall)
        let body = ResponseBody(source)
        let task = Task { try await body.bytes.reduce(into: 0) { count, _ in count += 1 } }
        await source.reachedEnding.waitIgnoringCancellation()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(source.abandonCount == 1)
    }
}
