internal import ErrandCore

/// The dates and ages of a stored response. A policy computes the freshness of the response from these values.
struct CacheTimes: Sendable, Hashable {
    /// The lifetime that `Expires` states.
    enum Expiry: Sendable, Hashable {
        /// The field is missing.
        case missing
        /// The time from `Date` to `Expires`, in seconds; 0 if `Expires` is invalid, or is not later than `Date`.
        case seconds(Int64)
    }

    /// The lifetime that `Expires` states ([RFC 9111, section 4.2.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1)).
    let expiry: Expiry
    /// The time from `Last-Modified` to `Date`, in seconds; `nil` if `Last-Modified` is missing, invalid, or not earlier than `Date`.
    let sinceModified: Int64?
    /// The age at the instant of the response ([RFC 9111, section 4.2.3](https://www.rfc-editor.org/rfc/rfc9111#section-4.2.3)).
    let initialAge: Duration
    private let responseTime: CacheInstant

    init(_ fields: HTTPFields, requestTime: CacheInstant, responseTime: CacheInstant) {
        self.responseTime = responseTime
        let now = responseTime.date
        // RFC 9110, section 6.6.1: without a date, the time of receipt counts.
        let date = (fields.contains(.date) ? fields.single(.date).flatMap { HTTPDate($0, now: now) } : nil) ?? now
        switch ExpiresField(fields, now: now) {
        case .missing: expiry = .missing
        case .invalid: expiry = .seconds(0)
        case .date(let expires): expiry = .seconds(max(0, expires.secondsSinceEpoch.clampedDifference(from: date.secondsSinceEpoch)))
        }
        let modified = fields.contains(.lastModified) ? fields.single(.lastModified).flatMap { HTTPDate($0, now: now) } : nil
        sinceModified = modified.flatMap { $0 < date ? date.secondsSinceEpoch.clampedDifference(from: $0.secondsSinceEpoch) : nil }
        let apparent = max(0, now.secondsSinceEpoch.clampedDifference(from: date.secondsSinceEpoch))
        let delay = responseTime.elapsed(since: requestTime) ?? .zero
        initialAge = max(.seconds(apparent), .seconds(AgeField.seconds(fields) ?? 0) + delay)
    }

    /// Returns the age at an instant; `nil` if the age is not known, because the clock was set back.
    func age(at now: CacheInstant) -> Duration? { now.elapsed(since: responseTime).map { initialAge + $0 } }
}

extension Int64 {
    /// Returns this number minus `other`, between -2^40 and 2^40.
    fileprivate func clampedDifference(from other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        if overflow { return self < other ? -(1 << 40) : 1 << 40 }
        return Swift.min(1 << 40, Swift.max(-(1 << 40), difference))
    }
}
