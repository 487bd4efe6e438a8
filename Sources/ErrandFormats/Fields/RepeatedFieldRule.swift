public import HTTPTypes

/// The rule for a response field that must occur once, but occurs several times with different values.
///
/// A server must send each of these fields only once ([RFC 9110, section 5.3](https://www.rfc-editor.org/rfc/rfc9110#section-5.3)). Proxies
/// and frameworks sometimes add the field a second time. Equal values are treated as one field. `HTTPFields` would join different values by
/// commas. The result would be a value that no server sent.
package enum RepeatedFieldRule: Sendable {
    /// The first value is used.
    case first
    /// No value is used, because the wrong choice could send a request, or write bytes, to the wrong place.
    case refuse

    /// Returns the rule for a field; `nil` if the values of the field form a list.
    ///
    /// | Field | Different values |
    /// |---|---|
    /// | `Location`, `Content-Range`, `ETag`, `Last-Modified` | are refused |
    /// | `Content-Type`, `Content-Disposition`, `Content-Location`, `Date`, `Retry-After`, `X-RateLimit-Retry-After` | the first is used |
    /// | `Age` ([RFC 9111, section 5.1](https://www.rfc-editor.org/rfc/rfc9111#section-5.1)), `Expires`, `Server` | the first is used |
    /// | `Strict-Transport-Security` ([RFC 6797, section 8.1](https://www.rfc-editor.org/rfc/rfc6797#section-8.1)) | the first is used |
    /// | the older fields of ``RateLimitFields`` that end in `-Remaining`, `-Reset` and `-Reset-After` | the first is used |
    ///
    /// `Content-Length` belongs to the framing of a message. In every version of HTTP, a message with different values of
    /// `Content-Length` is refused.
    package static func of(_ name: HTTPField.Name) -> RepeatedFieldRule? { table[name] }

    private static let table: [HTTPField.Name: RepeatedFieldRule] = {
        let refused = ["Location", "Content-Range", "ETag", "Last-Modified"]
        let first = [
            "Content-Type", "Content-Disposition", "Content-Location", "Date", "Retry-After", "Age", "Expires", "Server",
            "X-RateLimit-Retry-After", "Strict-Transport-Security",
        ]
        let limits = ["RateLimit", "X-RateLimit", "X-Rate-Limit"].flatMap { ["\($0)-Remaining", "\($0)-Reset", "\($0)-Reset-After"] }
        var table: [HTTPField.Name: RepeatedFieldRule] = [:]
        for name in refused { table[.known(name)] = .refuse }
        for name in first + limits { table[.known(name)] = .first }
        return table
    }()
}

/// The error for a response field that must occur once, but occurs several times with different values.
///
/// The description has no value, because the values may be secret.
public struct RepeatedFieldError: Error, Hashable, CustomStringConvertible {
    /// The name of the field.
    public let name: HTTPField.Name

    /// Creates an error.
    ///
    /// - Parameter name: the name of the field.
    public init(name: HTTPField.Name) { self.name = name }

    /// The field and its problem.
    public var description: String { "the response has several fields \(name.rawName) with different values" }
}

extension HTTPFields {
    /// Returns the value of a field that must occur once, by the rule of ``RepeatedFieldRule/of(_:)``; `nil` if the field is missing.
    /// The values of any other field are joined.
    ///
    /// - Throws: ``RepeatedFieldError`` for different values of a field whose rule is ``RepeatedFieldRule/refuse``.
    public func checkedSingle(_ name: HTTPField.Name) throws(RepeatedFieldError) -> String? {
        guard let rule = RepeatedFieldRule.of(name) else { return self[name] }
        var first: String?
        for field in self where field.name == name {
            let value = name == .location || name == .contentLocation ? field.valuePreservingURLs : field.value
            guard let known = first else {
                first = value
                if rule == .first { return first }
                continue
            }
            guard value.isExactly(known) else { throw RepeatedFieldError(name: name) }
        }
        return first
    }

    /// Returns the value of a field that must occur once, by the rule of ``RepeatedFieldRule/of(_:)``; `nil` if the field is missing. If
    /// the rule is ``RepeatedFieldRule/refuse``, the result is also `nil` for different values.
    package func single(_ name: HTTPField.Name) -> String? { try? checkedSingle(name) }
}
