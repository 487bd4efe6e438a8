internal import ErrandCore
internal import ErrandFormats

/// The secrets that were found in some bytes.
struct Findings {
    /// The replacements, in order.
    var edits: [ByteEdit] = []
    /// The replaced values, unescaped.
    var values: [String] = []
    /// Whether all bytes are replaced, because their syntax is unknown.
    private(set) var isHidden = false

    init(edits: [ByteEdit] = [], values: [String] = []) { (self.edits, self.values) = (edits, values) }

    /// Creates the findings that replace all of `bytes`. White space is not replaced.
    init(hiding bytes: [UInt8]) {
        hide(0..<bytes.count, of: bytes)
        isHidden = !edits.isEmpty
    }

    /// Adds the findings in a part that begins at `offset`.
    mutating func add(_ part: Findings, at offset: Int = 0) {
        for edit in part.edits {
            edits.append(ByteEdit((edit.range.lowerBound + offset)..<(edit.range.upperBound + offset), edit.replacement))
        }
        values += part.values
    }

    mutating func replace(_ range: Range<Int>, value: String? = nil) {
        edits.append(ByteEdit(range, Array(Sensitivity.urlPlaceholder.utf8)))
        if let value { values.append(value) }
    }

    /// Replaces the text in `range` without the white space around it. Does nothing if `range` has only white space.
    mutating func hide(_ range: Range<Int>, of bytes: [UInt8]) {
        guard let first = bytes[range].firstIndex(where: { !$0.isSpace }), let last = bytes[range].lastIndex(where: { !$0.isSpace }) else {
            return
        }
        replace(first..<(last + 1))
    }
}
