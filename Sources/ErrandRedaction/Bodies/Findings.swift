package import ErrandCore
package import ErrandFormats

/// The secrets of a body, found by the syntax of the body. Logs, `curl` commands and recordings replace these secrets.
///
/// These syntaxes are known: JSON, forms, multipart bodies, event streams and sequences of JSON texts. Strings in JSON and values of forms
/// are also examined, if they are JSON, a form or a URL. The names in ``/ErrandCore/Sensitivity`` decide what is secret.
///
/// All other bytes are hidden completely:
/// - a body of another syntax
/// - the text around the parts of a multipart body
/// - JSON, from the first invalid byte
///
/// A string or a value of a form may be plain text. If the text seems to name a secret, the whole text is hidden.
///
/// The search takes linear time and limited stack. Multipart bodies are examined to a depth of
/// ``/ErrandFormats/MultipartSection/maxDepth``, and JSON within JSON is examined to a depth of
/// ``JSONRedaction/nestedTextLimit``. Parts beyond these depths are replaced completely.
package struct Findings: Sendable {
    /// The replacements, in order.
    package internal(set) var edits: [ByteEdit] = []
    /// The replaced values of sensitive names, unescaped. A value may occur more than once.
    package internal(set) var values: [String] = []
    /// Whether the body is hidden as a whole, because its syntax is unknown.
    package private(set) var isHidden = false

    /// Examines a body.
    ///
    /// - Parameters:
    ///   - bytes: a body, or its beginning.
    ///   - type: the media type of the body; `nil` if the type is unknown. If the type or its syntax is unknown, JSON and
    ///     multipart bodies are recognized by their beginning.
    ///   - sensitivity: the names of secrets.
    ///   - isCut: whether more bytes follow. If true, the last value is hidden, because this value may be the beginning of a secret.
    ///   - keepsBinary: whether bytes that are not text, such as an image, stay unchanged. This setting is used for bodies that
    ///     are replayed.
    package init(
        in bytes: [UInt8], type: MediaType?, sensitivity: Sensitivity, isCut: Bool = false, keepsBinary: Bool = false
    ) {
        self = BodySearch(sensitivity: sensitivity, keepsBinary: keepsBinary).findings(in: bytes, type: type, isCut: isCut)
    }

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
