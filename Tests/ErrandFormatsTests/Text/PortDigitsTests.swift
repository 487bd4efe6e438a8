import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct PortDigitsTests {
    @Test(
        arguments: [
            ("1", 1), ("80", 80), ("0443", 443), ("00001", 1), ("65535", 65_535), ("", nil), ("0", nil), ("00000", nil), ("65536", nil),
            ("99999", nil), ("000443", nil), ("00000443", nil), ("+80", nil), ("-80", nil), (" 80", nil), ("80 ", nil), ("8a", nil),
            ("٨٠", nil), ("18446744073709551696", nil),
        ] as [(String, Int?)])
    func aPortHasOneToFiveDigits(_ text: String, _ port: Int?) { #expect(Int(portDigits: text.utf8) == port) }
}
