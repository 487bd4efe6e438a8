#if Crypto
import ErrandHashing
import Testing

@Suite(.timeLimit(.minutes(5))) struct HashingTests {
    private static func octets(_ digits: String) -> [UInt8] {
        let digits = Array(digits.utf8).map { UInt8($0 > 0x39 ? $0 - 0x57 : $0 - 0x30) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The examples of NIST (FIPS 180).
    static let hashes: [(OctetHash.Algorithm, String, String)] = [
        (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ]

    @Test(arguments: hashes) func hashesMatchTheStandard(_ algorithm: OctetHash.Algorithm, _ text: String, _ digits: String) {
        #expect(OctetHash.of(text.utf8, by: algorithm) == Self.octets(digits))
        // Also without contiguous storage.
        #expect(OctetHash.of(AnySequence(text.utf8), by: algorithm) == Self.octets(digits))
    }

    @Test(arguments: OctetHash.Algorithm.allCases) func piecesAreHashedAsTheWhole(_ algorithm: OctetHash.Algorithm) {
        let octets = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
        for size in [1, 63, 64, 65, 128, 999] {
            var function = OctetHash(algorithm)
            for start in stride(from: 0, to: octets.count, by: size) { function.update(octets[start..<min(start + size, octets.count)]) }
            #expect(function.finalized() == OctetHash.of(octets, by: algorithm), "pieces of \(size)")
            #expect(function.finalized() == OctetHash.of(octets, by: algorithm), "a second time")
        }
    }

    /// RFC 4231, sections 4.3 and 4.7.
    static let codes: [(KeyedHash, [UInt8], String, String)] = [
        (
            .hmacSHA256, Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            .hmacSHA256, Array(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ]

    @Test(arguments: codes) func authenticationCodesMatchTheStandard(
        _ function: KeyedHash, _ key: [UInt8], _ message: String, _ digits: String
    ) {
        #expect(function.code(of: message.utf8, key: key) == Self.octets(digits))
    }
}
#endif
