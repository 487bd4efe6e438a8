import ErrandFormats
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONNumberTests {
    @Test(
        arguments: [
            ("0", "0"), ("-0", "0"), ("1.0", "1"), ("10e-1", "1"), ("1e2", "100"), ("1E+2", "100"), ("1.50", "1.5"), ("-2.50", "-2.5"),
            ("0.00001", "0.00001"), ("0.0000001", "1e-7"), ("0.00000012", "1.2e-7"), ("12345678901234567.89", "12345678901234567.89"),
            ("9007199254740993", "9007199254740993"), ("9223372036854775807", "9223372036854775807"),
            ("18446744073709551615", "18446744073709551615"), ("-9223372036854775809", "-9223372036854775809"),
            ("123456789012345678901234567890", "123456789012345678901234567890"), ("1e300", "1e300"), ("15e299", "1.5e300"),
        ])
    func allDigitsAreKept(_ text: String, _ shown: String) throws {
        let number = try #require(JSONNumber(text))
        #expect(number.description == shown)
        #expect(JSONNumber(shown) == number, "what is written is read as the same number")
        #expect(JSONNumber(shown)?.hashValue == number.hashValue)
    }

    @Test(arguments: ["", "-", "01", "1.", ".5", "1e", "+1", "1 ", " 1", "NaN", "1e400", "0x1", "١", String(repeating: "1", count: 1025)])
    func otherTextIsAnInvalidNumber(_ text: String) {
        #expect(JSONNumber(text) == nil)
    }

    @Test func numbersAreEqualByValue() {
        #expect(JSONNumber("1") == JSONNumber("1.0") && JSONNumber("1.0") == 1 && JSONNumber("0.10") == 0.1 && JSONNumber("-0.0") == 0)
        #expect(JSONNumber("9007199254740993") != JSONNumber("9007199254740992"))
        #expect(Set([JSONNumber("5e1"), 50, 50.0]).count == 1)
    }

    @Test func integersAreReadInTheirRange() {
        #expect(JSONNumber("7.0")?.intValue == 7 && JSONNumber("7.5")?.intValue == nil && JSONNumber("1e19")?.intValue == nil)
        #expect(UInt64(exactly: JSONNumber("18446744073709551615") ?? 0) == .max)
        #expect(Int8(exactly: 128 as JSONNumber) == nil && UInt(exactly: -1 as JSONNumber) == nil)
        #expect(UInt64(exactly: JSONNumber("1.5") ?? 0) == nil)
        #expect([7, 7.5, 1e300, 1e-300].map { ($0 as JSONNumber).isWhole } == [true, false, true, false])
    }

    /// The text of a number can be read again, and gives the same number.
    @Test(arguments: [
        ("0.1e-1000000", "1e-1000001"), ("1e-1000001", "1e-1000001"), ("0e99999999999999999999", "0"), ("-0.00e-1000001", "0"),
    ])
    func theDescriptionOfANumberIsReadAgain(_ text: String, _ shown: String) {
        #expect(JSONNumber(text)?.description == shown && JSONNumber(shown)?.description == shown)
    }

    @Test(arguments: ["0.11e-9223372036854775807", "1e-1000002", "1e99999999999999999999", "1e-99999999999999999999"])
    func aHugeExponentIsRefused(_ text: String) {
        #expect(throws: (any Error).self) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test(arguments: [
        ("12345", "12345"), ("1.23456789", "1234568e-6"), ("-1.2345675", "-1234568e-6"), ("99999995", "1e8"), ("0.00099999995", "1e-3"),
        ("12345674", "1234567e1"), ("1.2345678e300", "1234568e294"), ("1.2345678e-300", "1234568e-306"), ("1.2000000", "1.2"),
        ("12300000400", "123e8"),
    ])
    func aNumberIsRoundedToTheDigitsThatFit(_ text: String, _ expected: String) throws {
        #expect(try #require(JSONNumber(text)).text(roundedTo: 7) == expected)
    }

    @Test func valuesOfSwiftBecomeNumbers() {
        #expect(JSONNumber(UInt64.max).description == "18446744073709551615" && JSONNumber(Int8(-3)) == -3)
        #expect(
            JSONNumber(exactly: 0.1)?.description == "0.1" && JSONNumber(exactly: -0.0) == 0
                && JSONNumber(exactly: 1e21)?.description == "1000000000000000000000")
        #expect(JSONNumber(exactly: Double.nan) == nil && JSONNumber(exactly: -Double.infinity) == nil)
        for value in [
            0.1, 1.5, -2.25, 1e300, Double.leastNonzeroMagnitude, Double.greatestFiniteMagnitude, .leastNormalMagnitude, 0x1p63, 0x1p64,
        ] {
            #expect(JSONNumber(exactly: value)?.doubleValue == value)
        }
    }
}
