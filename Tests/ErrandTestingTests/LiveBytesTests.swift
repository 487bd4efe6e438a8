import TestSupport
import Testing

@Suite struct LiveBytesTests {
    @Test func keptBytesAreCounted() async {
        await expectKept(atMost: 400_000, of: 4_000_000) { count in
            var sum = 0
            for index in 0..<count / 1000 { sum += [UInt8](repeating: UInt8(index & 1), count: 1000).count }
            return sum
        }
        await withKnownIssue {
            await expectKept(atMost: 400_000, of: 4_000_000) { [UInt8](repeating: 1, count: $0) }
        }
    }
}
