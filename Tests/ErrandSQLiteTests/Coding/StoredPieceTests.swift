#if SQLite
import ErrandCache
import ErrandCore
import Foundation
import Testing

@testable import ErrandSQLite

/// The pieces of an entry on the disk.
@Suite(.timeLimit(.minutes(5))) struct StoredPieceTests {
    private let place = StoredPiece.Place(number: 7, key: [1, 2, 3], index: StoredPiece.Place.headIndex)
    private let content = Data("content".utf8)

    @Test(arguments: [false, true]) func aPieceIsReadAtItsPlace(isSealed: Bool) throws {
        let sealing = isSealed ? xor : nil
        let piece = try StoredPiece(content, at: place, sealing: sealing)
        #expect((piece.stored == content) == !isSealed)
        let read = try #require(StoredPiece(combined: piece.combined))
        #expect(try read.content(at: place, sealing: sealing) == content)
        #expect(try StoredPiece(stored: piece.stored, checksum: piece.checksum).content(at: place, sealing: sealing) == content)
    }

    @Test(arguments: [false, true]) func aPieceOfAnotherPlaceIsDamaged(isSealed: Bool) throws {
        let sealing = isSealed ? xor : nil
        let piece = try StoredPiece(content, at: place, sealing: sealing)
        for other in [
            StoredPiece.Place(number: 8, key: [1, 2, 3], index: -1), StoredPiece.Place(number: 7, key: [1, 2, 4], index: -1),
            place.with(index: 0),
        ] {
            #expect(throws: StoredPiece.Damaged.self) { try piece.content(at: other, sealing: sealing) }
        }
    }

    /// A right checksum for another place does not help: the sealed bytes contain their place.
    @Test func aSealedPieceWithTheChecksumOfAnotherPlaceIsDamaged() throws {
        let other = place.with(index: 3)
        let (piece, second) = (try StoredPiece(content, at: place, sealing: xor), try StoredPiece(Data(), at: other, sealing: nil))
        var sum = CRC32()
        sum.update(other.octets)
        #expect(second.checksum == sum.value)
        sum.update(piece.stored)
        let moved = StoredPiece(stored: piece.stored, checksum: sum.value)
        #expect(throws: StoredPiece.Damaged.self) { try moved.content(at: other, sealing: xor) }
    }

    @Test func aChangedOctetIsDamaged() throws {
        let combined = try StoredPiece(content, at: place, sealing: nil).combined
        for index in combined.indices {
            var changed = combined
            changed[index] ^= 1
            let piece = try #require(StoredPiece(combined: changed))
            #expect(throws: StoredPiece.Damaged.self) { try piece.content(at: place, sealing: nil) }
        }
    }

    @Test func bytesWithoutAChecksumAreNoPiece() throws {
        for count in 0..<4 { #expect(StoredPiece(combined: Data(count: count)) == nil) }
        // A slice does not begin at index 0.
        let combined = try StoredPiece(content, at: place, sealing: nil).combined
        let slice = (Data([9, 9]) + combined).dropFirst(2)
        #expect(try StoredPiece(combined: slice)?.content(at: place, sealing: nil) == content)
    }

    @Test(arguments: ["", "alice"]) func aNameIsReadAsItWasWritten(account: String) throws {
        let key = Samples.key("/ä?x=1", account: account.isEmpty ? nil : account)
        let name = StoredName(key)
        let read = try StoredName(name.encoded)
        #expect(read.url == key.url && read.belongsToAccount == !account.isEmpty && !read.hasContent)
        for count in 0..<name.encoded.count {
            #expect(throws: StoredPiece.Damaged.self) { try StoredName(name.encoded.prefix(count)) }
        }
    }
}
#endif
