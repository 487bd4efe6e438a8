extension Backoff {
    /// The random part of a wait. Without jitter, clients whose requests failed at the same time would also retry at the same
    /// time.
    public struct Jitter: Sendable, Hashable, CustomStringConvertible {
        /// The random part of a wait, as a fraction from 0 to 1.
        private let share: Double
        /// The jitter in words: `full jitter`.
        public let description: String

        /// A wait from zero to the whole wait of the backoff. Full jitter is the default, because it spreads load best.
        public static let full = Jitter(share: 1, description: "full jitter")
        /// A wait from half of the backoff's wait to the whole wait.
        public static let equal = Jitter(share: 0.5, description: "equal jitter")
        /// Always the whole wait of the backoff.
        public static let none = Jitter(share: 0, description: "no jitter")

        /// Returns the wait with its jitter. With ``none``, the wait is exact.
        ///
        /// - Parameters:
        ///   - wait: the wait of the backoff.
        ///   - random: a number from 0 up to, but not including, 1.
        public func applied(to wait: Duration, random: Double) -> Duration { share == 0 ? wait : wait * (1 - share + share * random) }
    }
}
