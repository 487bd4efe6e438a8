internal import ErrandTesting
public import Foundation

extension [UInt8] {
    /// Returns these bytes `count` times. Without optimization, that takes a fraction of the time of `joined()`.
    public func repeated(_ count: Int) -> [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(count * self.count)
        for _ in 0..<count { all += self }
        return all
    }
}

extension Data {
    /// Returns bytes without a pattern, which are the same for the same seed. A lost, repeated or displaced part is therefore visible.
    public static func seeded(_ count: Int, seed: UInt64 = 1) -> Data {
        var generator = SeededGenerator(seed: seed)
        // Without optimization, a loop over memory takes a fraction of the time of `map`.
        let words = [UInt64](unsafeUninitializedCapacity: (count + 7) / 8) { words, written in
            while written < words.count {
                words[written] = generator.next()
                written += 1
            }
        }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}
