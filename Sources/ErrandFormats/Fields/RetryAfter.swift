/// Reads the duration for which a server asks the client to wait ([RFC 9110, section
/// 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)).
public enum RetryAfter {
    /// Returns the wait that a `Retry-After` field asks for; `nil` if the field is neither a number of seconds nor a date.
    ///
    /// - Parameters:
    ///   - value: the field's value: seconds, or a date in any of the three forms. A date in the past means no wait.
    ///   - date: the response's own `Date` field; `nil` if the field is missing. With this date, a difference between the
    ///     clocks of the server and the client has no effect.
    ///   - now: the time of the client's clock.
    public static func wait(_ value: String, date: String?, now: HTTPDate) -> Duration? {
        guard value.utf8.count <= FieldLimits.shortValueBytes else { return nil }
        let value = value.trimmingOptionalWhitespace()
        if !value.isEmpty, value.utf8.allSatisfy(\.isASCIIDigit) {
            return .seconds(Int64(value).map { min($0, 1 << 40) } ?? 1 << 40)  // with too many digits, the wait is endless in practice
        }
        guard let until = HTTPDate(value, now: now) else { return nil }
        let since = date.flatMap { HTTPDate($0, now: now) } ?? now
        return .seconds(max(0, until.secondsSinceEpoch - since.secondsSinceEpoch))
    }
}
