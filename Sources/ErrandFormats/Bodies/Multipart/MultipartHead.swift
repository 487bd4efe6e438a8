public import HTTPTypes

/// The fields of a part of a multipart body ([RFC 7578, section 4](https://www.rfc-editor.org/rfc/rfc7578#section-4)).
public struct MultipartHead: Sendable, Hashable {
    /// All fields, in order.
    public let headers: HTTPFields

    /// Creates a head.
    public init(headers: HTTPFields) { self.headers = headers }

    /// The `Content-Disposition`; `nil` if it is missing or invalid. If a part has several `Content-Disposition` fields, the
    /// first field is used.
    public var disposition: ContentDisposition? { headers.single(.contentDisposition).flatMap { ContentDisposition($0) } }
    /// The name of the form's field, as it was sent: browsers and this library send a quotation mark as `%22`. `nil` if the name is
    /// missing.
    public var name: String? { disposition?.name }
    /// The file's name, as it was sent; `nil` if it is missing. The parameter `filename*` takes precedence over `filename`. To
    /// save a file, use ``ContentDisposition/safeFileName(default:)``.
    public var fileName: String? { disposition?.fileName }
    /// The media type; `nil` if it is missing or invalid. If a part has several `Content-Type` fields, the first field is used.
    public var contentType: MediaType? { headers.single(.contentType).flatMap { MediaType($0) } }

    /// The largest number of fields in one head.
    static let maxFields = 64

    /// Reads the lines of a head, separated by CR LF. A line that begins with a space continues the line before it.
    ///
    /// - Parameter isDelimiter: a closure that returns whether a line is a delimiter. A head that contains a delimiter is
    ///   refused, because some readers would end the part at the delimiter.
    init(_ bytes: ArraySlice<UInt8>, isDelimiter: (ArraySlice<UInt8>) -> Bool) throws(MultipartError) {
        var lines: [[UInt8]] = []
        var start = bytes.startIndex
        while start < bytes.endIndex {
            // An LF alone or a CR alone does not end a line, and is invalid within a line.
            var end = start
            while end < bytes.endIndex, !(bytes[end] == 0x0D && end + 1 < bytes.endIndex && bytes[end + 1] == 0x0A) { end += 1 }
            let line = bytes[start..<end]
            start = min(end + 2, bytes.endIndex)
            if isDelimiter(line) { throw MultipartError(.invalidHead, "the boundary of the multipart body is within the head of a part") }
            if line.first?.isOptionalSpace == true, !lines.isEmpty {
                lines[lines.count - 1] += [0x20] + line.drop(while: \.isOptionalSpace)
            } else {
                lines.append(Array(line))
            }
        }
        guard lines.count <= Self.maxFields else {
            throw MultipartError(.headTooLong, "a part has \(lines.count.counted("field")); the limit is \(Self.maxFields)")
        }
        var headers = HTTPFields()
        for line in lines {
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            let value = String(decoding: line.dropFirst(name.count + 1), as: UTF8.self).trimmingOptionalWhitespace()
            guard name.count < line.count, let name = HTTPField.Name(String(decoding: name, as: UTF8.self)), HTTPField.isValidValue(value)
            else { throw MultipartError(.invalidHead, "a line in the head of a part is not a field") }
            headers.append(HTTPField(name: name, value: value))
        }
        self.headers = headers
    }
}
