internal import Synchronization

/// Numbers that look random and are the same in every run with the same seed (SplitMix64). Not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A ``SeededGenerator`` that tasks share, for whatever takes its randomness as a parameter.
///
/// ```swift
/// let random = SeededRandom(seed: 7)
/// let stack = stub.retry(.standard, clock: clock, random: random.next)
/// ```
public final class SeededRandom: Sendable {
    private let generator: Mutex<SeededGenerator>

    public init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    /// A number from 0 up to, but not including, 1. Callers at a time get different numbers of the one sequence.
    public func next() -> Double { generator.withLock { .random(in: 0..<1, using: &$0) } }
}
