package import ErrandCore
package import ErrandFormats

/// What in a body is secret by a name that stands in it, or is credentials in a URL: the one place that decides this for logs, for `curl` commands
/// and for recordings.
///
/// It looks into JSON, the items of a form, the parts of a multipart body and what stands around them, the events of a stream, lists of JSON texts,
/// and in any other text into lines such as `name: value` and into elements of XML; into strings of JSON and values of forms as into bodies without
/// a type; and into all of these in UTF-16. Names decide, as ``Sensitivity`` has them.
///
/// The work is linear in the bytes, and the stack it needs has a bound: multipart bodies are looked into to a depth of
/// ``MultipartSection/deepest``, and JSON within JSON to ``JSONRedaction/nestedTextLimit``. What nests deeper is replaced whole.
package struct BodyRedaction: Sendable {
    /// What is written in place of a secret. Letters alone, so that it can stand in any syntax.
    package static let placeholder = Sensitivity.urlPlaceholder

    /// What to replace, in order.
    package let edits: [ByteEdit]
    /// What stood there, unescaped; more than is replaced where it is not certain what the secret is. The same value may be there twice.
    package let values: [String]

    /// - Parameters:
    ///   - bytes: a body, or its front.
    ///   - type: nil where nothing is known. Then, and in any type that has no syntax of its own here, JSON is recognised by its front.
    ///   - isCut: whether more follows, so that the last word may be the front of a secret.
    ///   - keepsBinary: whether bytes that are not text, such as an image, stay as they are, although a name may stand in them. For what is
    ///     replayed.
    package init(_ bytes: [UInt8], type: MediaType?, sensitivity: Sensitivity, isCut: Bool = false, keepsBinary: Bool = false) {
        let found = BodySearch(sensitivity: sensitivity, keepsBinary: keepsBinary).findings(in: bytes, type: type, isCut: isCut)
        (edits, values) = (found.edits, found.values)
    }
}
