extension Duration {
    /// The longest duration that this library waits: 100 years. Clocks count nanoseconds in 64 bits, and trap above 292 years.
    package static let longest = Duration.seconds(Int64(100 * 366 * 86_400))

    /// This duration, limited to the range from -100 to 100 years. If a duration comes from an app or a server, pass this property to the
    /// clock in place of the duration.
    package var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }

    /// The whole nanoseconds of this duration, limited to the range from -100 to 100 years.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
