import Testing

@testable import ErrandFormats

@Suite struct CivilCalendarTests {
    @Test(arguments: [
        (0, 0, 0), (86_399, 0, 86_399), (86_400, 1, 0), (-1, -1, 86_399), (-86_400, -1, 0), (-86_401, -2, 86_399),
        (Int64.max, 106_751_991_167_300, 55_807), (Int64.min, -106_751_991_167_301, 30_592),
    ])
    func secondsAreSplitIntoADayAndATime(_ seconds: Int64, _ days: Int64, _ second: Int) {
        let parts = CivilCalendar.day(ofSecond: seconds)
        #expect(parts.days == days && parts.second == second)
    }

    @Test(arguments: [Int64.min, -62_167_219_201, 253_402_300_800, Int64.max]) func aYearOfMoreThanFourDigitsHasNoText(_ seconds: Int64) {
        #expect(RFC3339Date.text(secondsSinceEpoch: seconds) == nil)
    }

    @Test func theFirstAndTheLastYearHaveATextInEachForm() {
        #expect(RFC3339Date.text(secondsSinceEpoch: -62_167_219_200) == "0000-01-01T00:00:00Z")
        #expect(RFC3339Date.text(secondsSinceEpoch: 253_402_300_799) == "9999-12-31T23:59:59Z")
        #expect(HTTPDate(secondsSinceEpoch: -62_167_219_200).description == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(HTTPDate(secondsSinceEpoch: 253_402_300_799).basicISO8601 == "99991231T235959Z")
    }
}
