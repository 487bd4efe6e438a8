internal import ErrandFormats

/// What is secret in some bytes.
struct Findings {
    /// What to replace, in order.
    var edits: [ByteEdit] = []
    /// What stood there, unescaped.
    var values: [String] = []

    /// Adds what was found in a part that begins at `offset`.
    mutating func add(_ part: Findings, at offset: Int = 0) {
        for edit in part.edits {
            edits.append(ByteEdit((edit.range.lowerBound + offset)..<(edit.range.upperBound + offset), edit.replacement))
        }
        values += part.values
    }

    mutating func replace(_ range: Range<Int>, value: String? = nil) {
        edits.append(ByteEdit(range, Array(BodyRedaction.placeholder.utf8)))
        if let value { values.append(value) }
    }
}
