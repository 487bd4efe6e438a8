extension Duration {
    /// The longest duration that this library waits: 100 years. Clocks count nanoseconds in 64 bits, and trap above 292 years.
    package static let longest = Duration.seconds(Int64(100 * 366 * 86_400))

    /// This duration, limited to 100 years in either direction. Before you pass a duration from outside to a clock, limit the
    /// duration by this property.
    package var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }

    /// The whole nanoseconds of this duration, limited to 100 years in either direction.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
