extension Backoff {
    /// The part of a wait that is left to chance, so that clients whose requests failed together don't retry together.
    public struct Jitter: Sendable, Hashable, CustomStringConvertible {
        /// The part of a wait that is left to chance: 0 to 1.
        private let share: Double
        /// The jitter in words: `full jitter`.
        public let description: String

        /// From zero to the whole wait. The default: it spreads load best.
        public static let full = Jitter(share: 1, description: "full jitter")
        /// From half the wait to the whole.
        public static let equal = Jitter(share: 0.5, description: "equal jitter")
        /// The whole wait, always.
        public static let none = Jitter(share: 0, description: "no jitter")

        /// The wait with its jitter.
        ///
        /// - Parameters:
        ///   - wait: the wait of the backoff.
        ///   - random: a number from 0 up to, but not including, 1.
        public func applied(to wait: Duration, random: Double) -> Duration { wait * (1 - share + share * random) }
    }
}
