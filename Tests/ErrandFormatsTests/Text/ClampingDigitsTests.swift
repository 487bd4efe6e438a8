import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct ClampingDigitsTests {
    @Test(
        arguments: [
            ("0", 0), ("007", 7), ("9223372036854775806", .max - 1), ("9223372036854775807", .max), ("9223372036854775808", .max),
            ("99999999999999999999999999", .max), ("99999999999999999999999999x", nil), ("", nil), ("+1", nil), ("-1", nil), (" 1", nil),
            ("1 ", nil), ("1.5", nil), ("١", nil),
        ] as [(String, Int64?)])
    func aNumberOutOfRangeBecomesTheLargest(_ text: String, _ number: Int64?) {
        #expect(Int64(clampingDigits: text.utf8) == number)
    }
}
