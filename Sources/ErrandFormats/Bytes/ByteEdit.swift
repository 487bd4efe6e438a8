/// One replacement within bytes. The edits of a list are in order and don't overlap.
package struct ByteEdit: Sendable, Hashable {
    /// The position in the original bytes.
    package var range: Range<Int>
    package var replacement: [UInt8]

    package init(_ range: Range<Int>, _ replacement: [UInt8]) { (self.range, self.replacement) = (range, replacement) }
}

extension [ByteEdit] {
    /// Returns a copy of `bytes` in which all edits were made.
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
}
