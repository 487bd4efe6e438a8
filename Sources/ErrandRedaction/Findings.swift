internal import ErrandFormats

/// The secrets that were found in some bytes.
struct Findings {
    /// The replacements, in order.
    var edits: [ByteEdit] = []
    /// The replaced values, unescaped.
    var values: [String] = []

    /// Adds the findings in a part that begins at `offset`.
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
