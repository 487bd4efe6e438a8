import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9111, section 3.3: what is stored when a body has ended.
@Suite(.timeLimit(.minutes(5))) struct CacheWriteTests {
    private static let strong = ["ETag: \"a\""]

    @Test(
        arguments: [
            (nil, [], 36, true, .whole(length: 36)), (36, [], 36, true, .whole(length: 36)), (0, [], 0, true, .whole(length: 0)),
            (nil, [], 0, true, .whole(length: 0)),
            // All announced bytes are there, though the caller did not read to the end.
            (36, [], 36, false, .whole(length: 36)),
            // A cut body is kept only with a strong validator.
            (36, strong, 10, false, .part(0..<10, completeLength: 36)), (nil, strong, 10, false, .part(0..<10, completeLength: nil)),
            (36, [], 10, false, nil), (36, ["ETag: W/\"a\""], 10, false, nil), (36, strong, 0, false, nil), (nil, strong, 0, false, nil),
            (36, ["Last-Modified: \(date(-60))", "Date: \(date(0))"], 10, false, .part(0..<10, completeLength: 36)),
            // The framing says another length than the head.
            (36, [], 10, true, nil), (36, strong, 10, true, .part(0..<10, completeLength: 36)), (10, [], 36, true, nil),
            (10, strong, 36, true, nil),
        ] as [(Int64?, [String], Int64, Bool, CacheExtent?)])
    func aWholeBodyEnds(_ length: Int64?, _ lines: [String], _ received: Int64, _ isComplete: Bool, _ expected: CacheExtent?) {
        let write = CacheWrite(head: head(lines, extent: .whole(length: 0)), announced: .whole(length: length))
        #expect(write.finished(receivedBytes: received, isComplete: isComplete)?.head.extent == expected)
    }

    @Test func aCutErrorIsNotStored() {
        for (status, isDecoded) in [(404, false), (200, true)] {
            let head = head(Self.strong, status: status, extent: .whole(length: 0), isDecoded: isDecoded)
            let write = CacheWrite(head: head, announced: .whole(length: 36))
            #expect(write.finished(receivedBytes: 10, isComplete: false) == nil)
        }
    }

    @Test(
        arguments: [
            (4..<10, 10, [], 6, true, .part(4..<10, completeLength: 10)), (0..<10, 10, [], 10, true, .whole(length: 10)),
            (4..<8, 10, [], 4, true, .part(4..<8, completeLength: 10)), (4..<8, nil, [], 4, true, .part(4..<8, completeLength: nil)),
            (4..<10, 10, strong, 2, false, .part(4..<6, completeLength: 10)), (4..<10, 10, [], 2, false, nil),
            (4..<10, 10, strong, 0, false, nil),
            // The part ends where its body ends.
            (4..<10, 10, [], 5, true, .part(4..<9, completeLength: 9)), (4..<8, 10, [], 3, true, .part(4..<7, completeLength: 10)),
            (4..<10, 10, strong, 7, true, nil),
        ] as [(Range<Int64>, Int64?, [String], Int64, Bool, CacheExtent?)])
    func aPartEnds(
        _ range: Range<Int64>, _ complete: Int64?, _ lines: [String], _ received: Int64, _ isComplete: Bool, _ expected: CacheExtent?
    ) {
        let stored = head(lines + ["Content-Range: x", "Content-Length: 1"], status: 206, extent: .whole(length: 0))
        let write = CacheWrite(head: stored, announced: .part(range, completeLength: complete))
        let end = write.finished(receivedBytes: received, isComplete: isComplete)
        #expect(end?.head.extent == expected)
        guard let end else { return }
        let (response, isWhole) = (end.head.response, end.head.extent.isWhole)
        #expect(response.status == .ok && response.headerFields[.contentRange] == nil && !end.includesAfter)
        #expect(response.headerFields[.contentLength] == (isWhole ? "10" : nil))
    }

    /// The new part has the bytes 10 to 19, between stored bytes 0 to 9 and 20 to 29.
    @Test(
        arguments: [
            (true, true, 10, true, .whole(length: 30), true), (true, false, 10, true, .part(0..<20, completeLength: 30), false),
            (false, true, 10, true, .part(10..<30, completeLength: 30), true),
            (true, true, 4, false, .part(0..<14, completeLength: 30), false),
            (true, true, 0, false, .part(0..<10, completeLength: 30), false), (true, true, 4, true, nil, false),
            (false, true, 4, false, .part(10..<14, completeLength: 30), false),
        ] as [(Bool, Bool, Int64, Bool, CacheExtent?, Bool)])
    func partsAreJoined(
        _ hasBefore: Bool, _ hasAfter: Bool, _ received: Int64, _ isComplete: Bool, _ expected: CacheExtent?, _ includesAfter: Bool
    ) {
        let old = entry(1, head(Self.strong, extent: .part(0..<10, completeLength: 30)))
        let write = CacheWrite(
            head: head(Self.strong, status: 206), announced: .part(10..<20, completeLength: 30),
            before: hasBefore ? CachePiece(entry: old, offsets: 0..<10) : nil,
            after: hasAfter ? CachePiece(entry: old, offsets: 0..<10) : nil)
        let end = write.finished(receivedBytes: received, isComplete: isComplete)
        #expect(end?.head.extent == expected && (end?.includesAfter ?? false) == includesAfter)
        let bytes: Int64 = 10 + (hasBefore ? 10 : 0) + (hasAfter ? 10 : 0)
        #expect(write.expectedBytes == bytes)
    }
}
