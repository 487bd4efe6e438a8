internal import ErrandFormats

/// The validators of a response ([RFC 9110, section 8.8](https://www.rfc-editor.org/rfc/rfc9110#section-8.8)).
package struct ResponseValidators: Sendable, Hashable {
    /// The least number of seconds from a strong date of modification to `Date` ([RFC 9110, section
    /// 8.8.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.2)).
    private static let strongAfterSeconds: Int64 = 60

    /// The entity tag; `nil` if the field is missing or invalid.
    package let tag: EntityTag?
    /// The text of `Last-Modified`, as it was sent; `nil` if the field is missing or not a date.
    package let modifiedText: String?
    /// The date of the last modification.
    package let modified: HTTPDate?
    /// Whether the date of modification is a strong validator.
    package let isModifiedStrong: Bool

    /// Reads the fields of a response that arrived at `time`.
    package init(_ fields: HTTPFields, receivedAt time: HTTPDate) {
        tag = fields.contains(.eTag) ? fields.single(.eTag).flatMap { EntityTag($0) } : nil
        let text = fields.contains(.lastModified) ? fields.single(.lastModified)?.trimmingOptionalWhitespace() : nil
        modified = text.flatMap { HTTPDate($0, now: time) }
        modifiedText = modified == nil ? nil : text
        let date = fields.single(.date).flatMap { HTTPDate($0, now: time) }
        isModifiedStrong =
            if let modified, let date {
                modified.secondsSinceEpoch <= date.secondsSinceEpoch - Self.strongAfterSeconds
            } else {
                false
            }
    }

    package var isEmpty: Bool { tag == nil && modified == nil }

    /// The text for `If-Range`; `nil` if the response has no strong validator. Only a strong validator shows that two ranges belong
    /// together ([RFC 9110, section 13.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-13.1.5)).
    package var strongText: String? {
        if let tag { return tag.isWeak ? nil : tag.description }
        return isModifiedStrong ? modifiedText : nil
    }

    /// Returns whether a strong validator shows that both responses have the same bytes.
    package func areStronglyEqual(_ other: ResponseValidators) -> Bool {
        if let tag, let otherTag = other.tag { return tag.matches(otherTag, by: .strong) }
        guard tag == nil, other.tag == nil, isModifiedStrong, other.isModifiedStrong else { return false }
        return modified == other.modified
    }
}
