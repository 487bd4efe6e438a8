internal import ErrandCore

/// Evaluates the conditions of a caller with a stored response
/// ([RFC 9111, section 4.3.2](https://www.rfc-editor.org/rfc/rfc9111#section-4.3.2)).
enum ConditionRule {
    /// The fields of a 304 ([RFC 9110, section 15.4.5](https://www.rfc-editor.org/rfc/rfc9110#section-15.4.5)).
    private static let notModifiedFields: Set<HTTPField.Name> = [
        .age, .cacheControl, .contentLocation, .date, .eTag, .expires, .lastModified, .vary,
    ]

    /// Returns whether the caller already has the stored response, so that the response is a 304.
    static func isNotModified(_ head: CacheEntry.Head, for request: CacheRequest) -> Bool {
        guard head.response.status == .ok else { return false }
        switch request.condition {
        case .none, .other: return false
        case .noneMatch(.any): return true
        case .noneMatch(let condition):
            guard let tag = head.validators.tag else { return false }
            return condition.matches(tag, by: .weak)
        case .modifiedSince(let text):
            let now = head.responseTime.date
            guard let date = HTTPDate(text, now: now) else { return false }
            // Without a date of modification, the date of the response counts.
            let modified = head.validators.modified ?? head.response.headerFields.single(.date).flatMap { HTTPDate($0, now: now) }
            return modified.map { $0 <= date } ?? false
        }
    }

    /// Returns the fields of the 304 for a stored response.
    static func notModifiedFields(of fields: HTTPFields) -> HTTPFields {
        var kept = HTTPFields()
        for field in fields where notModifiedFields.contains(field.name) { kept.append(field) }
        return kept
    }
}
