#if SQLite
internal import ErrandCore

/// A piece of an entry on the disk, with a checksum. The piece is sealed if the store has a ``CacheSealing``.
struct StoredPiece {
    /// The error for a piece with a wrong checksum, length or place.
    struct Damaged: Error, SafelyDescribedError {
        let description = "a stored response is damaged"
    }

    /// The place of a piece. The checksum covers the place, and the sealed bytes contain the place.
    struct Place: Sendable {
        /// A random number for the entry's file, or for the entry's bytes in the database.
        let number: Int64
        /// The digest of the entry's key.
        let key: [UInt8]
        /// The index of a part of the body.
        let index: Int32

        static let nameIndex: Int32 = -2
        static let headIndex: Int32 = -1

        /// Returns the place of another part of the same body.
        func with(index: Int32) -> Place { Place(number: number, key: key, index: index) }

        var octets: [UInt8] {
            key + number.littleEndianOctets + index.littleEndianOctets
        }
    }

    let stored: Data
    let checksum: UInt32

    /// Seals bytes, and computes the checksum.
    ///
    /// - Throws: the errors of `seal`.
    init(_ content: Data, at place: Place, sealing: CacheSealing?) throws {
        let octets = place.octets
        stored = try sealing.map { try $0.seal(Data(octets) + content) } ?? content
        checksum = Self.checksum(of: stored, octets)
    }

    init(stored: Data, checksum: UInt32) { (self.stored, self.checksum) = (stored, checksum) }

    private static func checksum(of stored: Data, _ place: [UInt8]) -> UInt32 {
        var sum = CRC32()
        sum.update(place)
        sum.update(stored)
        return sum.value
    }

    /// Returns the bytes of the entry, after the stored bytes were checked and opened.
    ///
    /// - Throws: ``Damaged``; the errors of `open`.
    func content(at place: Place, sealing: CacheSealing?) throws -> Data {
        let octets = place.octets
        guard Self.checksum(of: stored, octets) == checksum else { throw Damaged() }
        guard let sealing else { return stored }
        let opened = try sealing.open(stored)
        guard opened.prefix(octets.count).elementsEqual(octets) else { throw Damaged() }
        return Data(opened.dropFirst(octets.count))
    }

    /// The checksum, and then the stored bytes.
    var combined: Data {
        Data(checksum.littleEndianOctets) + stored
    }

    /// Splits ``combined``; `nil` if the bytes are too few.
    init?(combined: Data) {
        guard combined.count >= 4 else { return nil }
        let checksum = UInt32(littleEndianOctets: combined.prefix(4))
        self.init(stored: Data(combined.dropFirst(4)), checksum: checksum)
    }
}
#endif
