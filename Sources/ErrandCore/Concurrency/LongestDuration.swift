extension Duration {
    /// The longest duration that this library waits: 100 years. Clocks count nanoseconds in 64 bits, and trap beyond 292 years.
    package static let longest = Duration.seconds(Int64(100 * 366 * 86_400))

    /// This duration, limited to 100 years in either direction. Pass every duration from outside through it before giving it to a clock.
    public var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }
}
