internal import ErrandFormats

extension HTTPResponse {
    /// The value of `Content-Range`; `nil` if the field is missing or invalid.
    package var contentRange: ContentRange? {
        headerFields.contains(.contentRange) ? headerFields.single(.contentRange).flatMap { ContentRange($0) } : nil
    }

    /// The length of the body from `Content-Length`; `nil` if the field is missing or is not a sequence of digits.
    package var announcedLength: Int64? { headerFields[.contentLength].flatMap { Int64(clampingDigits: $0.utf8) } }
}
