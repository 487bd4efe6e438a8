extension HTTPDate {
    /// Returns the date that is `duration` after this date. If `duration` is negative, the result is before this date. A fraction of a
    /// second is dropped. A date outside the range of `Int64` becomes the nearest date of the range.
    package func advanced(by duration: Duration) -> HTTPDate {
        let seconds = duration.components.seconds
        let (sum, isOverflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        return HTTPDate(secondsSinceEpoch: isOverflow ? (seconds < 0 ? .min : .max) : sum)
    }

    /// Returns the duration from this date to another date. The duration is negative if the other date is earlier.
    package func duration(to other: HTTPDate) -> Duration { .seconds(other.secondsSinceEpoch) - .seconds(secondsSinceEpoch) }

    /// Returns the earlier of two dates: this date, and the date that is `duration` after `date`.
    package func atMost(_ duration: Duration, after date: HTTPDate) -> HTTPDate { min(self, date.advanced(by: duration)) }
}
