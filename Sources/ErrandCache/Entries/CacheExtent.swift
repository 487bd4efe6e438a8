internal import ErrandCore

/// The bytes of a representation that an entry has.
public enum CacheExtent: Sendable, Hashable {
    /// All bytes: `length` bytes.
    case whole(length: Int64)
    /// The bytes of one range. `completeLength` is the number of bytes of the whole representation; `nil` if the number is not known.
    case part(Range<Int64>, completeLength: Int64?)

    /// Whether the entry has all bytes.
    public var isWhole: Bool {
        if case .whole = self { true } else { false }
    }

    /// The number of bytes that the entry has.
    public var storedBytes: Int64 { range.byteCount }

    /// The number of bytes of the whole representation; `nil` if the number is not known.
    public var completeLength: Int64? {
        switch self {
        case .whole(let length): length
        case .part(_, let completeLength): completeLength
        }
    }

    /// The positions of the bytes that the entry has.
    var range: Range<Int64> {
        switch self {
        case .whole(let length): 0..<max(0, length)
        case .part(let range, _): range
        }
    }

    /// Returns the positions of the bytes that a request for `wanted` gets; `nil` if the entry does not have all of these bytes.
    func positions(of wanted: ByteRange) -> Range<Int64>? {
        let positions: Range<Int64>?
        if let completeLength {
            positions = wanted.resolved(length: completeLength)
        } else if case .bytes(let bytes) = wanted {
            positions = bytes
        } else {
            positions = nil
        }
        guard let positions, !positions.isEmpty, positions.lowerBound >= range.lowerBound, positions.upperBound <= range.upperBound else {
            return nil
        }
        return positions
    }

    /// Returns the offsets of `positions` in the stored bytes.
    func offsets(of positions: Range<Int64>) -> Range<Int64> {
        positions.lowerBound - range.lowerBound..<positions.upperBound - range.lowerBound
    }
}

extension Int64 {
    /// Returns the sum of two lengths; `Int64.max` if the sum is larger. Lengths come from servers, and must not end the process.
    func clampedSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension Range<Int64> {
    /// The number of bytes at these positions, or at these offsets.
    var byteCount: Int64 { upperBound - lowerBound }
}
