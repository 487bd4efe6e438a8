internal import Synchronization

/// A pseudorandom number generator (SplitMix64). With the same seed, the numbers are the same in every run. Don't use the numbers
/// for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator with a seed.
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A ``SeededGenerator`` that tasks can share, for functions with a `random` parameter.
///
/// ```swift
/// let random = SeededRandom(seed: 7)
/// let stack = stub.retry(.standard, clock: clock, random: random.next)
/// ```
public final class SeededRandom: Sendable {
    private let generator: Mutex<SeededGenerator>

    /// Creates a generator with a seed.
    public init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    /// Returns a number from 0 up to, but not including, 1. Concurrent callers get different numbers of one sequence.
    public func next() -> Double { generator.withLock { .random(in: 0..<1, using: &$0) } }
}
