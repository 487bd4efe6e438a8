extension Response {
    /// Returns the parts of a multipart body one after the other, while the body arrives
    /// ([RFC 2046, section 5.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1)).
    ///
    /// The media type of the body is `multipart/mixed`, `multipart/form-data`, `multipart/byteranges` or another multipart type.
    ///
    /// ```swift
    /// for try await part in try response.parts() {
    ///     guard part.head.contentType?.isJSON == true else { continue }      // the rest of a part is skipped
    ///     print(try await part.collect(upTo: 64 * 1024))
    /// }
    /// ```
    ///
    /// `Content-Type` gives the boundary. Read the content of a part before you ask for the next part: unread content is skipped.
    /// No content is kept in memory. The parts can be read only once.
    ///
    /// - Parameters:
    ///   - headLimitBytes: the maximum length of the head of a part, in bytes; at least 0. Default: 16 KiB.
    ///   - maxParts: the maximum number of parts; at least 0. Default: 1000.
    /// - Throws: ``/ErrandFormats/MultipartError`` with the reason `notMultipart` if the body is not multipart, or has no valid boundary.
    ///   If this error is thrown, the body is not read.
    public func parts(headLimitBytes: Int = MultipartReader.defaultHeadLimitBytes, maxParts: Int = MultipartReader.defaultMaxParts)
        throws(MultipartError) -> MultipartParts
    {
        let type = head.headerFields.single(.contentType).flatMap { MediaType($0) }
        guard let type, type.type.isExactly("multipart") else {
            throw MultipartError(.notMultipart, "the media type of the body is not multipart")
        }
        guard let boundary = type[parameter: "boundary"].flatMap({ MultipartBoundary($0) }) else {
            throw MultipartError(.notMultipart, "the media type of the body has no valid boundary")
        }
        return MultipartParts(body: body, boundary: boundary, headLimitBytes: headLimitBytes, maxParts: maxParts, request: request)
    }
}
