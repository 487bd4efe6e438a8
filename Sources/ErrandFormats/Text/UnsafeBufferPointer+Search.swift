extension UnsafeBufferPointer<UInt8> {
    /// Returns the offset of the first byte that equals `first` or `second`, beginning at `start`; `nil` if there is no such
    /// byte. Examines eight bytes at a time.
    func firstOffset(of first: UInt8, or second: UInt8, from start: Int) -> Int? {
        let bytes = UnsafeRawBufferPointer(self)
        let ones: UInt64 = 0x0101_0101_0101_0101
        let (firsts, seconds) = (ones &* UInt64(first), ones &* UInt64(second))
        var index = start
        while index &+ 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            // A byte of `one` or `other` is zero if the byte in the text equals the searched byte. For each zero byte, the top
            // bit of the same byte in `found` is set. No bit is set in the bytes below the first zero byte.
            let (one, other) = (word ^ firsts, word ^ seconds)
            let found = ((one &- ones) & ~one | (other &- ones) & ~other) & (ones &* 0x80)
            if found != 0 { return index &+ found.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < bytes.count {
            if bytes[index] == first || bytes[index] == second { return index }
            index &+= 1
        }
        return nil
    }
}

extension Sequence<UInt8> {
    /// Calls `body` with the bytes. The bytes are copied only if they are not contiguous in memory.
    func withContiguousBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        if withContiguousStorageIfAvailable(body) == nil { Array(self).withUnsafeBufferPointer(body) }
    }
}
