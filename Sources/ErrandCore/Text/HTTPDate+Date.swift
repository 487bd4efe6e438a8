package import ErrandFormats

extension HTTPDate {
    /// The whole seconds of a date, rounded down. A date that is more than 10¹⁵ seconds from 1970 becomes the nearest date within this
    /// range.
    package init(_ date: Date) {
        self.init(secondsSinceEpoch: Int64(max(-1e15, min(1e15, date.timeIntervalSince1970.rounded(.down)))))
    }
}
