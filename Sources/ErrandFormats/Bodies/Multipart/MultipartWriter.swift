package import HTTPTypes

/// Writes the delimiters and the heads of a form's parts ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)). The writer does not
/// need the contents of the parts, so the length of the whole body is known before any content is read.
package struct MultipartWriter: Sendable {
    private let boundary: MultipartBoundary
    private let search: ByteSearch

    package init(boundary: MultipartBoundary) {
        self.boundary = boundary
        search = ByteSearch(Array("--\(boundary.text)".utf8))
    }

    /// Returns the bytes before a part's content: the delimiter, the fields and the empty line.
    ///
    /// - Parameters:
    ///   - isFirst: whether this is the first part.
    ///   - name: the name of the form's field. The writer escapes the name.
    ///   - fileName: the name of the file, which the writer escapes; `nil` for a part that is not a file.
    ///   - contentType: the value of `Content-Type`. `nil`: the part has no `Content-Type`.
    ///   - fields: further fields. `Content-Disposition` and `Content-Type` are left out.
    /// - Throws: ``MultipartError`` if `contentType` has a line break or another control character.
    package func start(
        isFirst: Bool, name: String, fileName: String?, contentType: String?, fields: HTTPFields = HTTPFields()
    ) throws(MultipartError) -> [UInt8] {
        var text = (isFirst ? "" : "\r\n") + "--\(boundary.text)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName))\"" }
        if let contentType {
            guard HTTPField.isValidValue(contentType), !contentType.isEmpty else {
                throw MultipartError(.invalidContentType, "the media type of a part must be a valid field value on one line")
            }
            text += "\r\nContent-Type: \(contentType)"
        }
        for field in fields where field.name != .contentDisposition && field.name != .contentType {
            text += "\r\n\(field.name.rawName): \(field.value)"
        }
        return Array((text + "\r\n\r\n").utf8)
    }

    /// Returns the bytes after the last part's content.
    ///
    /// - Parameter isEmpty: whether there are no parts.
    package func end(isEmpty: Bool) -> [UInt8] { Array(((isEmpty ? "" : "\r\n") + "--\(boundary.text)--\r\n").utf8) }

    /// Returns whether `bytes` contain two hyphens followed by the boundary. If true, a part can't contain `bytes`.
    package func isDelimiter(in bytes: UnsafeRawBufferPointer) -> Bool { search.firstIndex(in: bytes) != nil }

    /// Returns a name in the form that is written between quotation marks: only `"`, CR and LF are escaped ([HTML,
    /// multipart/form-data encoding
    /// algorithm](https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data)).
    ///
    /// Other control characters are not escaped. Strict readers, such as ``MultipartReader``, refuse a name with other control characters.
    /// Readers that read a backslash as an escape misread a name that ends with a backslash.
    static func escaped(_ name: String) -> String {
        name.escapingOctets(escapedInNames, by: PercentEncoding.escape(of:))
    }

    private static let escapedInNames = ByteSet { $0 == 0x22 || $0 == 0x0D || $0 == 0x0A }
}
