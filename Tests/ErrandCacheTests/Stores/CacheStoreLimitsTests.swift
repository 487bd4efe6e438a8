import ErrandCache
import Testing

@Suite struct CacheStoreLimitsTests {
    @Test(
        arguments: [
            (bytes: 0, entryBytes: nil, expected: 0), (bytes: 800, entryBytes: nil, expected: 100),
            (bytes: 800, entryBytes: 900, expected: 800),
            (bytes: .max, entryBytes: nil, expected: 1 << 57), (bytes: .max, entryBytes: .max, expected: 1 << 60),
            (bytes: .max, entryBytes: 7, expected: 7),
        ] as [(bytes: Int64, entryBytes: Int64?, expected: Int64)])
    func capsLimitsSoThatSumsDoNotOverflow(bytes: Int64, entryBytes: Int64?, expected: Int64) {
        let limits = CacheStoreLimits(bytes: bytes, entries: .max, entryBytes: entryBytes)
        #expect(limits.bytes == min(bytes, 1 << 60) && limits.entryBytes == expected)
        #expect(limits.entries == Int(Int32.max))
        for sum in [limits.bytes, limits.entryBytes, limits.unpublishedBytes] { #expect(sum <= 1 << 60) }
    }
}
