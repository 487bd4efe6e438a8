import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct DatePatternTests {
    @Test(arguments: [
        ("yyyy-MM-dd", "2026-11-21", 1_795_219_200, 0),
        ("yyyy-MM-dd HH:mm:ss", "2026-11-21 12:36:07", 1_795_264_567, 0),
        ("dd/MM/yyyy", "29/02/2024", 1_709_164_800, 0),
        ("yyyyMMdd'T'HHmmss.SSS", "19691231T235959.250", -1, 250_000_000),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2026-11-21T13:36:07+01:00", 1_795_264_567, 0),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2026-11-21T12:36:07Z", 1_795_264_567, 0),
        ("'day ''no' dd, MM yyyy", "day 'no 01, 01 1970", 0, 0),
        ("yyyy年MM月dd日", "1970年01月01日", 0, 0),
    ]) func aTextIsRead(_ pattern: String, _ text: String, _ seconds: Int64, _ nanoseconds: Int) throws {
        let pattern = try DatePattern(pattern)
        let date = try #require(pattern.read(text))
        #expect(date.seconds == seconds && date.nanoseconds == nanoseconds)
        let written = try #require(pattern.text(seconds: seconds, nanoseconds: nanoseconds))
        let again = try #require(pattern.read(written))
        #expect(again == date)
        if !pattern.hasOffset { #expect(written == text) }
    }

    @Test(arguments: [
        "2026-11-21", "2026-11-21 12:36:07 ", "2026-11-21T12:36:07", "2026-02-29 00:00:00", "2026-13-01 00:00:00", "2026-11-21 24:00:00",
        "2026-11-21 12:60:00", "2026-11-21 12:00:60", "", "+026-11-21 12:36:07", "２０２６-11-21 12:36:07",
        String(repeating: "2", count: 100_000),
    ]) func anyOtherTextIsRefused(_ text: String) throws {
        #expect(try DatePattern("yyyy-MM-dd HH:mm:ss").read(text) == nil)
    }

    @Test(arguments: [
        ("yyyy-MM-dd EEE", "'EEE' is not supported: use yyyy, MM, dd, HH, mm, ss, S and XXX"),
        ("YYYY-MM-dd", "'YYYY' is not supported: use yyyy, MM, dd, HH, mm, ss, S and XXX"),
        ("yyyy-MM-dd dd", "'dd' occurs twice"), ("yyyy-MM-dd'T", "a quotation mark is missing"), ("HH:mm", "it needs yyyy, MM and dd"),
        ("yyyy-MM-dd SSSSSSSSSS", "'SSSSSSSSSS' is not supported: use yyyy, MM, dd, HH, mm, ss, S and XXX"),
    ]) func aPatternThatIsNotSupportedIsRefused(_ pattern: String, _ problem: String) {
        let error = #expect(throws: DatePattern.PatternProblem.self) { try DatePattern(pattern) }
        #expect(error?.description == problem)
    }

    @Test func aYearWithoutFourDigitsHasNoText() throws {
        let pattern = try DatePattern("yyyy-MM-dd")
        for seconds in [Int64.min, -70_000_000_000, 300_000_000_000, .max] {
            #expect(pattern.text(seconds: seconds, nanoseconds: 0) == nil)
        }
        #expect(pattern.text(seconds: 253_402_300_799, nanoseconds: 0) == "9999-12-31")
    }
}
