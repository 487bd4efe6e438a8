internal import ErrandTesting
public import Foundation

extension Data {
    /// Returns bytes without a pattern, which are the same for the same seed. A lost, repeated or displaced part is therefore visible.
    public static func seeded(_ count: Int, seed: UInt64 = 1) -> Data {
        var generator = SeededGenerator(seed: seed)
        let words = (0..<(count + 7) / 8).map { _ in generator.next() }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}
