extension UnsafeBufferPointer<UInt8> {
    /// Returns the offset of the first byte that equals `first` or `second`, beginning at `start`; `nil` if there is no such
    /// byte. Both bytes are ASCII. Examines 32 bytes at a time, and the last bytes 8 at a time.
    func firstOffset(of first: UInt8, or second: UInt8, from start: Int) -> Int? {
        let bytes = UnsafeRawBufferPointer(self)
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (firsts, seconds) = (ones &* UInt64(first), ones &* UInt64(second))
        let above = SIMD4(repeating: ones &* UInt64(Swift.max(first, second) &+ 1))
        var index = start
        while index &+ 32 <= bytes.count {
            let words = bytes.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt64>.self)
            // A word has a top bit here if one of its bytes is not above the searched bytes. Few texts have other such bytes.
            let low = (words &- above) & ~words
            guard (low[0] | low[1] | low[2] | low[3]) & (ones &* 0x80) != 0 else {
                index &+= 32
                continue
            }
            for _ in 0..<4 {
                if let offset = bytes.offset(of: firsts, or: seconds, inWordAt: index) { return offset }
                index &+= 8
            }
        }
        while index &+ 8 <= bytes.count {
            if let offset = bytes.offset(of: firsts, or: seconds, inWordAt: index) { return offset }
            index &+= 8
        }
        while index < bytes.count {
            if bytes[index] == first || bytes[index] == second { return index }
            index &+= 1
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the offset of the first of eight bytes that equals one of two searched bytes. Each parameter has eight copies of a searched
    /// byte.
    @inline(__always) fileprivate func offset(of firsts: UInt64, or seconds: UInt64, inWordAt index: Int) -> Int? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
        // A byte of `one` or `other` is zero if the byte in the text equals the searched byte. For each zero byte, the top
        // bit of the same byte in `found` is set. No bit is set in the bytes below the first zero byte.
        let (one, other) = (word ^ firsts, word ^ seconds)
        let found = ((one &- ones) & ~one | (other &- ones) & ~other) & (ones &* 0x80)
        return found == 0 ? nil : index &+ found.trailingZeroBitCount / 8
    }
}

extension Sequence<UInt8> {
    /// Calls `body` with the bytes. The bytes are copied only if they are not contiguous in memory.
    func withContiguousBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if withContiguousStorageIfAvailable(body) == nil { Array(self).withUnsafeBufferPointer(body) }
    }
}
