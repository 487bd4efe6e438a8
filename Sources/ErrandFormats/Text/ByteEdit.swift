/// One replacement within bytes. A list of them is in order, and none overlaps the next.
package struct ByteEdit: Sendable, Hashable {
    /// Offsets in what is edited.
    package var range: Range<Int>
    package var replacement: [UInt8]

    package init(_ range: Range<Int>, _ replacement: [UInt8]) { (self.range, self.replacement) = (range, replacement) }
}

extension [ByteEdit] {
    /// `bytes` with every replacement made.
    package func applied(to bytes: [UInt8]) -> [UInt8] {
        guard !isEmpty else { return bytes }
        var edited: [UInt8] = []
        edited.reserveCapacity(bytes.count)
        var done = 0
        for edit in self {
            edited += bytes[done..<edit.range.lowerBound]
            edited += edit.replacement
            done = edit.range.upperBound
        }
        return edited + bytes[done...]
    }

    /// Where `offset` of the original is in what was edited; one within a replaced part is at the end of the replacement.
    package func mapped(_ offset: Int) -> Int {
        var shift = 0
        for edit in self {
            if edit.range.upperBound <= offset {
                shift += edit.replacement.count - edit.range.count
            } else if edit.range.lowerBound < offset {
                return edit.range.lowerBound + shift + edit.replacement.count
            } else {
                break
            }
        }
        return offset + shift
    }
}
