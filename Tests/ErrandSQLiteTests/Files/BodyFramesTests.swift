#if SQLite
import Foundation
import Testing

@testable import ErrandSQLite

/// The list of the parts of a body.
@Suite(.timeLimit(.minutes(5))) struct BodyFramesTests {
    @Test func aListIsReadAsItWasWritten() throws {
        var frames = BodyFrames()
        #expect(try BodyFrames(encoded: frames.encoded).frames.isEmpty)
        frames.frames = [
            .init(contentBytes: BodyFrames.limitBytes, storedBytes: BodyFrames.limitBytes * 2, checksum: .max),
            .init(contentBytes: 1, storedBytes: 1, checksum: 0),
        ]
        let read = try BodyFrames(encoded: frames.encoded)
        #expect(read.frames.map(\.contentBytes) == [131_072, 1] && read.frames.map(\.storedBytes) == [262_144, 1])
        #expect(read.frames.map(\.checksum) == [.max, 0])
        #expect(read.contentBytes == 131_073 && read.storedBytes == 262_145)
    }

    /// The content and the stored length of a part.
    @Test(arguments: [(0, 1), (1, 0), (131_073, 131_073), (1, 262_145), (4_294_967_295, 1), (1, 4_294_967_295)])
    func impossibleLengthsAreDamaged(content: Int, stored: Int) {
        var frames = BodyFrames()
        frames.frames = [.init(contentBytes: content, storedBytes: stored, checksum: 0)]
        #expect(throws: StoredPiece.Damaged.self) { try BodyFrames(encoded: frames.encoded) }
    }

    @Test func aCutListIsDamaged() {
        for count in 1..<12 { #expect(throws: StoredPiece.Damaged.self) { try BodyFrames(encoded: Data(count: count)) } }
    }

    @Test(arguments: [
        (Int64(100), Int64(0), Int64(112), true), (100, 1, 112, false), (131_072, 0, 131_096, true), (131_072, 0, 131_095, false),
        (-1, 0, 112, false), (.max, 0, 1_000_000, false), (.max, 0, 1 << 40, false),
    ])
    func anAnnouncedLengthFitsWithItsList(content: Int64, overhead: Int64, limit: Int64, fits: Bool) {
        #expect(BodyFrames.fit(contentBytes: content, overheadBytes: overhead, within: limit) == fits)
    }
}
#endif
