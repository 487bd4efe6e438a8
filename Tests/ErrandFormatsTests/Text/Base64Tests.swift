import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct Base64Tests {
    /// The first texts are the examples of [RFC 4648, section 10](https://www.rfc-editor.org/rfc/rfc4648#section-10).
    @Test(
        arguments: [
            ([], "", ""), (Array("f".utf8), "Zg==", "Zg"), (Array("fo".utf8), "Zm8=", "Zm8"), (Array("foo".utf8), "Zm9v", "Zm9v"),
            ([0xFB, 0xFF, 0xFE], "+//+", "-__-"), ([0xFF], "/w==", "_w"),
        ] as [([UInt8], String, String)])
    func bytesAreEncodedInBothAlphabets(_ bytes: [UInt8], _ standard: String, _ ofURLs: String) {
        #expect(Base64.encode(bytes) == standard && Base64.encodeForURLs(bytes) == ofURLs)
    }
}
