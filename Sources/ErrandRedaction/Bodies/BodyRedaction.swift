package import ErrandCore
package import ErrandFormats

/// Finds the secrets in a body by its syntax. Logs, `curl` commands and recordings use these rules.
///
/// These syntaxes are known: JSON, forms, multipart bodies, event streams and sequences of JSON texts. Strings in JSON and values of forms
/// are also examined, if they are JSON, a form or a URL. The names in ``/ErrandCore/Sensitivity`` decide what is secret.
///
/// All other bytes are hidden completely: a body of another syntax, the text around the parts of a multipart body, and JSON from the
/// first byte that is not JSON. A string or a value of a form that is plain text is hidden as a whole if it seems to name a secret.
///
/// The search takes linear time and limited stack: multipart bodies are examined to a depth of
/// ``/ErrandFormats/MultipartSection/maxDepth``, and JSON within JSON to ``/ErrandFormats/JSONRedaction/nestedTextLimit``. Anything nested
/// deeper is replaced completely.
package struct BodyRedaction: Sendable {
    /// The replacements, in order.
    package let edits: [ByteEdit]
    /// The replaced values of sensitive names, unescaped. A value may occur more than once.
    package let values: [String]
    /// Whether the body is hidden as a whole, because its syntax is unknown.
    package let isHidden: Bool

    /// Examines a body.
    ///
    /// - Parameters:
    ///   - bytes: a body, or its beginning.
    ///   - type: the media type of the body; `nil` if the type is unknown. If the type or its syntax is unknown, JSON and
    ///     multipart bodies are recognized by their beginning.
    ///   - sensitivity: the names of secrets.
    ///   - isCut: whether more bytes follow. If true, the last value is hidden, because it may be the beginning of a secret.
    ///   - keepsBinary: whether bytes that are not text, such as an image, stay unchanged. Used for bodies that are replayed.
    package init(_ bytes: [UInt8], type: MediaType?, sensitivity: Sensitivity, isCut: Bool = false, keepsBinary: Bool = false) {
        let found = BodySearch(sensitivity: sensitivity, keepsBinary: keepsBinary).findings(in: bytes, type: type, isCut: isCut)
        (edits, values, isHidden) = (found.edits, found.values, found.isHidden)
    }
}
