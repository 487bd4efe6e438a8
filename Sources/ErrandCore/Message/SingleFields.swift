internal import ErrandFormats

/// What is done with the different values of a response field that stands once.
///
/// A server must send such a field once ([RFC 9110, section 5.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.3)). Proxies and frameworks
/// add it a second time. Equal repetitions count as one field. `HTTPFields` would join them by commas, which is a value that nobody has sent.
package enum RepeatedFieldRule: Sendable {
    /// The first value counts.
    case first
    /// No value counts: to choose one would send a request, or bytes, to the wrong place.
    case refuse

    /// Returns the rule for a field; `nil` if its values form a list.
    ///
    /// | Field | Different values |
    /// |---|---|
    /// | `Location`, `Content-Range`, `ETag`, `Last-Modified` | are refused |
    /// | `Content-Type`, `Content-Disposition`, `Content-Location`, `Date`, `Retry-After` | the first counts |
    /// | `Age` ([RFC 9111, section 5.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.1)), `Expires`, `Server` | the first counts |
    ///
    /// `Content-Length` belongs to the framing of a message, where each version of HTTP refuses different values.
    package static func of(_ name: HTTPField.Name) -> RepeatedFieldRule? {
        switch name.canonicalName {
        case "location", "content-range", "etag", "last-modified": .refuse
        case "content-type", "content-disposition", "content-location", "date", "retry-after", "age", "expires", "server": .first
        default: nil
        }
    }
}

/// A field that stands once was sent several times, with different values. The values are not shown: they may be secret.
package struct RepeatedFieldError: SafelyDescribedError, Hashable {
    /// The name of the field.
    package let name: HTTPField.Name

    /// The field, and what is wrong.
    package var description: String { "the response has several fields \(name.rawName) with different values" }
}

extension HTTPFields {
    /// Returns the value of a field that stands once, by the rule of ``RepeatedFieldRule/of(_:)``; `nil` if the field is missing. The values of
    /// any other field are joined.
    ///
    /// - Throws: ``RepeatedFieldError`` for different values of a field whose rule is ``RepeatedFieldRule/refuse``.
    package func checkedSingle(_ name: HTTPField.Name) throws(RepeatedFieldError) -> String? {
        guard let rule = RepeatedFieldRule.of(name) else { return self[name] }
        var first: String?
        for field in self where field.name == name {
            let value = name == .location || name == .contentLocation ? field.referenceValue : field.value
            guard let known = first else {
                first = value
                if rule == .first { return first }
                continue
            }
            guard value.isExactly(known) else { throw RepeatedFieldError(name: name) }
        }
        return first
    }

    /// Returns the value of a field that stands once, by the rule of ``RepeatedFieldRule/of(_:)``; `nil` if the field is missing, and for
    /// different values of a field whose rule is ``RepeatedFieldRule/refuse``.
    package func single(_ name: HTTPField.Name) -> String? { try? checkedSingle(name) }
}
