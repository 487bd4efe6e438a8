import ErrandTesting
import Testing

@testable import ErrandFormats

/// The search for the ends of lines.
@Suite(.timeLimit(.minutes(5))) struct OffsetSearchTests {
    private func offset(_ octets: [UInt8], from start: Int, or second: UInt8 = 0x0D) -> Int? {
        octets.withUnsafeBufferPointer { $0.firstOffset(of: 0x0A, or: second, from: start) }
    }

    /// Bytes near the searched bytes, and bytes that differ from the searched bytes only in the top bit.
    private static let others: [UInt8] = [0x00, 0x09, 0x0B, 0x0C, 0x0E, 0x20, 0x61, 0x7F, 0x80, 0x8A, 0x8D, 0xFF]

    @Test func theFirstOfTwoBytesIsFoundAtEachPlace() {
        for other in Self.others {
            for count in 0..<80 {
                let text = [UInt8](repeating: other, count: count)
                #expect(offset(text, from: 0) == nil)
                for place in 0..<count {
                    var found = text
                    found[place] = place % 2 == 0 ? 0x0A : 0x0D
                    found[count - 1] = 0x0A
                    #expect(offset(found, from: 0) == place && offset(found, from: place) == place)
                    #expect(offset(found, from: place + 1) == (place + 1 < count ? count - 1 : nil))
                }
            }
        }
    }

    @Test func randomTextsMatchASearchOfSingleBytes() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2_000 {
            var text = (0..<Int.random(in: 0..<200, using: &random)).map { _ in Self.others.randomElement(using: &random) ?? 0 }
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                if let place = text.indices.randomElement(using: &random) { text[place] = Bool.random(using: &random) ? 0x0A : 0x0D }
            }
            let start = Int.random(in: 0...text.count, using: &random)
            #expect(offset(text, from: start) == text[start...].firstIndex { $0 == 0x0A || $0 == 0x0D }, "\(text)")
            #expect(offset(text, from: start, or: 0x0A) == text[start...].firstIndex(of: 0x0A), "\(text)")
        }
    }
}
