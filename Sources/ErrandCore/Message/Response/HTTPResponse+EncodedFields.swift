extension HTTPResponse {
    /// Removes the fields that describe an encoded body, because the body is decoded: `Content-Encoding` and `Content-Length`.
    ///
    /// - Returns: the removed fields, for ``ResponseMetadata/encodedFields``.
    package mutating func removeEncodedFields() -> HTTPFields {
        var removed = HTTPFields()
        for name in [HTTPField.Name.contentEncoding, .contentLength] {
            removed[fields: name] = headerFields[fields: name]
            headerFields[name] = nil
        }
        return removed
    }
}
