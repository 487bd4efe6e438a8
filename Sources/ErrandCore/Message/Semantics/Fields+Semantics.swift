internal import ErrandFormats

extension HTTPFields {
    /// The wait that `Retry-After` asks for ([RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)); `nil` if
    /// the field is missing or invalid. If `Retry-After` is a date, the wait begins at the response's own `Date`, or now if the response
    /// has no `Date`.
    public var retryAfter: Duration? {
        guard let value = single(.retryAfter) else { return nil }
        let now = HTTPDate(Date())
        return RetryAfter.wait(value, date: single(.date), now: now)
    }
}

extension HTTPField.Name {
    /// `Idempotency-Key`, by which a server recognizes a repeated request.
    public static let idempotencyKey = known("Idempotency-Key")
}
