extension HTTPResponse {
    /// Removes `Content-Encoding` and `Content-Length`, which describe the encoded body. The body is now decoded.
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
