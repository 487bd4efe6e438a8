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

    /// Returns one list of edits. The list has the same effect as these edits followed by the edits of `next`. Works in linear
    /// time.
    ///
    /// - Parameter edited: the bytes after these edits.
    package func followed(by next: [ByteEdit], in edited: [UInt8]) -> [ByteEdit] {
        if next.isEmpty { return self }
        if isEmpty { return next }
        var all: [ByteEdit] = []
        var (first, second) = (self[...], next[...])
        var shift = 0  // the offset in the result minus the offset in the original
        while true {
            let starts = [first.first.map { $0.range.lowerBound + shift }, second.first?.range.lowerBound]
            guard let start = starts.compactMap({ $0 }).min() else { return all }
            // Overlapping edits become one edit.
            let origin = start - shift
            var (end, done) = (start, start)
            var replacement: [UInt8] = []
            var isFresh = true
            func joins(_ position: Int) -> Bool { isFresh ? position == start : position < end }
            while true {
                if let edit = first.first, joins(edit.range.lowerBound + shift) {
                    end = Swift.max(end, edit.range.lowerBound + shift + edit.replacement.count)
                    shift += edit.replacement.count - edit.range.count
                    first = first.dropFirst()
                } else if let edit = second.first, joins(edit.range.lowerBound) {
                    end = Swift.max(end, edit.range.upperBound)
                    replacement += edited[done..<edit.range.lowerBound]
                    replacement += edit.replacement
                    done = edit.range.upperBound
                    second = second.dropFirst()
                } else {
                    break
                }
                isFresh = false
            }
            all.append(ByteEdit(origin..<(end - shift), replacement + edited[done..<end]))
        }
    }
}
