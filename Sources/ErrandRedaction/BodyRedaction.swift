package import ErrandCore
package import ErrandFormats

/// Finds the secrets in a body, by the names in it, and credentials in URLs. Logs, `curl` commands and recordings all use it.
///
/// It examines JSON, the items of a form, the parts of a multipart body and the text around them, the events of a stream, lists of JSON
/// texts, and in any other text lines such as `name: value` and elements of XML. Strings in JSON and values of forms are examined like
/// bodies without a type. All of these are examined in UTF-16 too. The names of ``/ErrandCore/Sensitivity`` decide.
///
/// It takes linear time and limited stack: multipart bodies are examined to a depth of ``/ErrandFormats/MultipartSection/maxDepth``, and JSON within JSON
/// to ``/ErrandFormats/JSONRedaction/nestedTextLimit``. Anything nested deeper is replaced completely.
package struct BodyRedaction: Sendable {
    /// The replacement of a secret. Only letters, so that it is valid in any syntax.
    package static let placeholder = Sensitivity.urlPlaceholder

    /// The replacements, in order.
    package let edits: [ByteEdit]
    /// The replaced values, unescaped; also further candidates, if it is uncertain which part is the secret. A value may occur more than
    /// once.
    package let values: [String]

    /// Examines a body.
    ///
    /// - Parameters:
    ///   - bytes: a body, or its beginning.
    ///   - type: its media type; `nil` if it is unknown. Then, and for a type without a syntax of its own here, JSON is recognized by its
    ///     beginning.
    ///   - sensitivity: the names of secrets.
    ///   - isCut: whether more bytes follow, so that the last word may be the beginning of a secret.
    ///   - keepsBinary: whether bytes that are not text, such as an image, stay as they are, even if they seem to contain a name. For
    ///     bodies that are replayed.
    package init(_ bytes: [UInt8], type: MediaType?, sensitivity: Sensitivity, isCut: Bool = false, keepsBinary: Bool = false) {
        let found = BodySearch(sensitivity: sensitivity, keepsBinary: keepsBinary).findings(in: bytes, type: type, isCut: isCut)
        (edits, values) = (found.edits, found.values)
    }
}
