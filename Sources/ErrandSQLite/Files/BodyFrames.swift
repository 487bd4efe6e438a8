#if SQLite
internal import ErrandCore

/// A list of the parts in which a body is stored. Each part has a checksum. If the store has a ``CacheSealing``, each part is sealed
/// separately.
struct BodyFrames: Sendable {
    /// A part of a body.
    struct Frame: Sendable {
        /// The number of bytes of the body in this part.
        let contentBytes: Int
        /// The number of bytes of this part on the disk.
        let storedBytes: Int
        let checksum: UInt32
    }

    /// The largest part: 128 KiB.
    static let limitBytes = 128 * 1024

    private static let encodedFrameBytes = 12

    /// Returns whether a body and the list of its parts have room in an entry, if the parts are not sealed.
    ///
    /// - Parameters:
    ///   - contentBytes: the length of the body. A server can announce any number.
    ///   - overheadBytes: the bytes of the other parts of the entry.
    ///   - limitBytes: the limit for the entry, at most `CacheStoreLimits.largestBytes`.
    static func fit(contentBytes: Int64, overheadBytes: Int64, within limitBytes: Int64) -> Bool {
        // The comparison comes before the sum, so that the sum can't overflow.
        guard contentBytes >= 0, contentBytes <= limitBytes else { return false }
        let frames = contentBytes / Int64(Self.limitBytes) + 1
        return overheadBytes + contentBytes + frames * Int64(encodedFrameBytes) <= limitBytes
    }

    var frames: [Frame] = []

    /// The number of bytes of the body.
    var contentBytes: Int64 { frames.reduce(0) { $0 + Int64($1.contentBytes) } }
    /// The number of bytes on the disk.
    var storedBytes: Int64 { frames.reduce(0) { $0 + Int64($1.storedBytes) } }

    var encoded: Data {
        var data = Data(capacity: frames.count * Self.encodedFrameBytes)
        for frame in frames {
            for number in [UInt32(frame.contentBytes), UInt32(frame.storedBytes), frame.checksum] {
                number.appendLittleEndian(to: &data)
            }
        }
        return data
    }

    init() {}

    /// - Throws: ``StoredPiece/Damaged``.
    init(encoded data: Data) throws {
        let octets = [UInt8](data)
        guard octets.count % Self.encodedFrameBytes == 0 else { throw StoredPiece.Damaged() }
        func number(_ index: Int) -> UInt32 { UInt32(littleEndianOctets: octets[index..<index + 4]) }
        for index in stride(from: 0, to: octets.count, by: Self.encodedFrameBytes) {
            let (content, stored) = (Int(number(index)), Int(number(index + 4)))
            guard (1...Self.limitBytes).contains(content), stored > 0, stored <= Self.limitBytes * 2 else { throw StoredPiece.Damaged() }
            frames.append(Frame(contentBytes: content, storedBytes: stored, checksum: number(index + 8)))
        }
    }
}
#endif
