extension Duration {
    /// The longest time that anything here waits: 100 years. Clocks count nanoseconds in 64 bits, and end the process beyond 292 years.
    package static let longest = Duration.seconds(Int64(100 * 366 * 86_400))

    /// This duration, or 100 years forward or back where it is longer. Every duration that comes from outside passes here before a clock gets it.
    package var bounded: Duration { Swift.min(Swift.max(self, .zero - .longest), .longest) }
}
