/// Finds a sequence of bytes in other bytes. The search examines only a part of the bytes (Horspool's algorithm).
package struct ByteSearch: Sendable {
    /// The bytes to find; at least one byte.
    package let pattern: [UInt8]
    /// For each value of the byte at the end of the window, the number of bytes by which the search advances.
    private let shifts: [Int]

    /// - Precondition: `pattern` has at least one byte.
    package init(_ pattern: [UInt8]) {
        precondition(!pattern.isEmpty, "pattern must have at least one byte (has 0)")
        self.pattern = pattern
        var shifts = Array(repeating: pattern.count, count: 256)
        for (index, byte) in pattern.dropLast().enumerated() { shifts[Int(byte)] = pattern.count - 1 - index }
        self.shifts = shifts
    }

    /// Returns the first position of the whole pattern, beginning the search at `start`; `nil` if the pattern is not found.
    package func firstIndex(in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        pattern.withUnsafeBytes { pattern in
            shifts.withUnsafeBufferPointer { shifts in
                let last = pattern.count - 1
                var index = start
                while index + last < bytes.count {
                    var offset = last
                    while bytes[index + offset] == pattern[offset] {
                        if offset == 0 { return index }
                        offset -= 1
                    }
                    index += shifts[Int(bytes[index + last])]
                }
                return nil
            }
        }
    }

    /// Returns the start of a match that is incomplete because `bytes` end; `bytes.count` if no match is incomplete.
    package func firstPartialIndex(in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int {
        pattern.withUnsafeBytes { pattern in
            var index = max(start, bytes.count - pattern.count + 1)
            while index < bytes.count {
                var offset = 0
                while index + offset < bytes.count, bytes[index + offset] == pattern[offset] { offset += 1 }
                if index + offset == bytes.count { return index }
                index += 1
            }
            return bytes.count
        }
    }
}
