/// Searches bytes, eight bytes at a time.
package enum ByteScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns the index of the first line feed in `range`, which must lie within `bytes`.
    package static func firstLineFeed(in bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound
        let raw = UnsafeRawBufferPointer(bytes)
        while index &+ 8 <= range.upperBound {
            let word = word(raw, at: index) ^ (ones &* 0x0A)
            let zeros = (word &- ones) & ~word & highBits
            if zeros != 0 { return index &+ zeros.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < range.upperBound {
            if bytes[index] == 0x0A { return index }
            index &+= 1
        }
        return nil
    }

    /// Returns the first control character other than the horizontal tab, if any, and whether all bytes are ASCII. If there is a control
    /// character, the second value has no meaning.
    package static func firstControl(in bytes: UnsafeBufferPointer<UInt8>) -> (control: UInt8?, isASCII: Bool) {
        let raw = UnsafeRawBufferPointer(bytes)
        var (index, seen) = (0, UInt64(0))
        while index &+ 8 <= bytes.count {
            let word = word(raw, at: index)
            let low = (word &- (ones &* 0x20)) & ~word & highBits
            let flipped = word ^ (ones &* 0x7F)
            let deletes = (flipped &- ones) & ~flipped & highBits
            if low | deletes != 0 {
                for byte in bytes[index..<(index &+ 8)] where isControl(byte) { return (byte, false) }
            }
            seen |= word
            index &+= 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if isControl(byte) { return (byte, false) }
            seen |= UInt64(byte)
            index &+= 1
        }
        return (nil, seen & highBits == 0)
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    private static func word(_ raw: UnsafeRawBufferPointer, at index: Int) -> UInt64 {
        UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}
