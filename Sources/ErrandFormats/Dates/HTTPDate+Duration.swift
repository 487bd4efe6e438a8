extension HTTPDate {
    /// Returns the date after a duration, or before this date if the duration is negative. A fraction of a second is dropped. A date
    /// outside the range of `Int64` becomes the nearest date of the range.
    package func advanced(by duration: Duration) -> HTTPDate {
        let seconds = duration.components.seconds
        let (sum, isOverflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        return HTTPDate(secondsSinceEpoch: isOverflow ? (seconds < 0 ? .min : .max) : sum)
    }

    /// Returns the duration from this date to another date. The duration is negative if the other date is earlier.
    package func duration(to other: HTTPDate) -> Duration { .seconds(other.secondsSinceEpoch) - .seconds(secondsSinceEpoch) }

    /// Returns this date, or the date at the end of a duration after `date`, whichever is earlier.
    package func atMost(_ duration: Duration, after date: HTTPDate) -> HTTPDate { min(self, date.advanced(by: duration)) }
}
