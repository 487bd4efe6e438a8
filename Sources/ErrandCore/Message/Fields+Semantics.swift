internal import ErrandFormats

extension HTTPFields {
    /// What `Retry-After` asks for, measured from the response's own `Date`; nil where it is missing or unreadable.
    package var retryAfter: Duration? {
        guard let value = self[.retryAfter] else { return nil }
        let now = HTTPDate(secondsSinceEpoch: Int64(Date.now.timeIntervalSince1970))
        return RetryAfter.wait(value, date: self[.date], now: now)
    }
}

extension HTTPField.Name {
    package static let idempotencyKey = known("Idempotency-Key")
}
