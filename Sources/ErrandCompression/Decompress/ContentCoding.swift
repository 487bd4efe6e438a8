internal import ErrandCore
internal import ErrandFormats

/// A content coding that this library decodes.
enum ContentCoding: String {
    case gzip, deflate

    /// Returns the codings to decode, in the order in which the server applied them. Returns none if one of them is another one, and for a
    /// response without a body or with an empty one.
    ///
    /// Names are case-insensitive, and `x-gzip` is `gzip` ([RFC 9110, section 8.4.1](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1)).
    /// `identity` and empty members count as none.
    ///
    /// - Throws: `.tooManyCodings` for more than `limit` codings.
    static func toDecode(
        _ head: HTTPResponse, to method: HTTPRequest.Method, atMost limit: Int
    ) throws(ContentDecodingError.Reason) -> [ContentCoding] {
        let status = head.status.code
        guard method != .head, status >= 200, ![204, 206, 304].contains(status), head.headerFields[.contentLength] != "0" else { return [] }
        var codings: [ContentCoding] = []
        var count = 0
        for value in head.headerFields[values: .contentEncoding] {
            for member in value.split(separator: ",") {
                let name = String(member).trimmingOptionalWhitespace().lowercased()
                if name.isEmpty || name == "identity" { continue }
                count += 1
                guard count <= limit else { throw .tooManyCodings(limit: limit) }
                switch name {
                case "gzip", "x-gzip": codings.append(.gzip)
                case "deflate": codings.append(.deflate)
                default: break
                }
            }
        }
        return codings.count == count ? codings : []
    }
}
