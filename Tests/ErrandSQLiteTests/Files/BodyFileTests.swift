#if SQLite
import ErrandCore
import Foundation
import TestSupport
import Testing

@testable import ErrandSQLite

/// The file of a large body.
@Suite(.timeLimit(.minutes(5))) struct BodyFileTests {
    @Test func theNumberOfABodyFollowsFromItsName() {
        for number in [0, 1, -1, .max, .min] as [Int64] { #expect(BodyFile.number(of: BodyFile.name(of: number)) == number) }
        for name in ["", "1", "ffffffffffffffFF", "+fffffffffffffff", "fffffffffffffffff", "fffffffffffffffg", "ffffffffffffffé"] {
            #expect(BodyFile.number(of: name) == nil, "\(name)")
        }
    }

    /// Chunks of any length become parts of at most 128 KiB.
    @Test(arguments: [false, true], [1_000, 131_072, 200_000, 400_000])
    func aFileHasAPartForEach128KiB(isSealed: Bool, chunkBytes: Int) throws {
        let temporary = try TestFolder("body-file")
        let folder = StoreFolder(path: temporary.path)
        let sealing = isSealed ? xor : nil
        let content = Samples.body("part", bytes: 400_000)
        let file = try BodyFile(number: 3, key: [5], in: folder, sealing: sealing, calls: .system)
        defer { file.close() }
        var rest = content[...]
        while !rest.isEmpty {
            try file.append(Data(rest.prefix(chunkBytes)))
            rest = rest.dropFirst(chunkBytes)
        }
        let frames = try file.finish()
        #expect(frames.frames.map(\.contentBytes) == [131_072, 131_072, 131_072, 6_784])
        #expect(frames.contentBytes == 400_000 && (frames.storedBytes > 400_000) == isSealed)
        var (stored, read) = (try Data(contentsOf: URL(fileURLWithPath: folder.file(BodyFile.name(of: 3)))), Data())
        #expect(stored.count == Int(frames.storedBytes))
        for (index, frame) in frames.frames.enumerated() {
            let piece = StoredPiece(stored: Data(stored.prefix(frame.storedBytes)), checksum: frame.checksum)
            read += try piece.content(at: StoredPiece.Place(number: 3, key: [5], index: Int32(index)), sealing: sealing)
            stored = Data(stored.dropFirst(frame.storedBytes))
        }
        #expect(read == content)
    }
}
#endif
