import ErrandTesting
import Foundation
import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct RFC3339DateTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0, 0), ("2024-03-05T06:07:08Z", 1_709_618_828, 0), ("2024-03-05t06:07:08z", 1_709_618_828, 0),
            ("2024-03-05 06:07:08Z", 1_709_618_828, 0), ("2024-03-05T06:07:08+01:00", 1_709_615_228, 0),
            ("2024-03-05T06:07:08-05:30", 1_709_638_628, 0), ("2024-03-05T06:07:08-00:00", 1_709_618_828, 0),
            ("2024-03-05T06:07:08+0100", 1_709_615_228, 0), ("2024-03-05T06:07:08+01", 1_709_615_228, 0),
            ("2024-03-05T06:07:08-01", 1_709_622_428, 0), ("2024-03-05T06:07:08+23:59", 1_709_532_488, 0),
            ("1937-01-01T12:00:27.87+00:20", -1_041_337_173, 870_000_000), ("1985-04-12T23:20:50.52Z", 482_196_050, 520_000_000),
            ("1969-12-31T23:59:59.999999999Z", -1, 999_999_999), ("2024-03-05T06:07:08.0000000001Z", 1_709_618_828, 0),
            ("2024-03-05T06:07:08." + String(repeating: "7", count: 107) + "Z", 1_709_618_828, 777_777_777),
            ("0000-01-01T00:00:00Z", -62_167_219_200, 0), ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
            ("2024-02-29T00:00:00Z", 1_709_164_800, 0), ("2000-02-29T00:00:00Z", 951_782_400, 0),
            ("1582-10-10T00:00:00Z", -12_219_724_800, 0), ("2023-04-30T23:59:59Z", 1_682_899_199, 0),
        ]) func validDatesOfTheRFCAreRead(_ text: String, _ seconds: Int64, _ nanoseconds: Int) throws
    {
        let date = try RFC3339Date(text)
        #expect(date.secondsSinceEpoch == seconds && date.nanoseconds == nanoseconds, "\(date)")
    }

    /// Appendix D of the RFC, and offsets in which the second has another hour.
    @Test(
        arguments: [
            ("1990-12-31T23:59:60Z", 662_688_000, 0), ("1990-12-31T15:59:60-08:00", 662_688_000, 0),
            ("2016-12-31T23:59:60.5Z", 1_483_228_800, 500_000_000), ("2017-01-01T00:59:60+01:00", 1_483_228_800, 0),
            ("1968-12-31T23:59:60Z", -31_536_000, 0), ("1969-12-31T23:59:60Z", 0, 0), ("2024-02-29T23:59:60Z", 1_709_251_200, 0),
        ]) func aLeapSecondIsTheFirstSecondOfTheNextMonth(_ text: String, _ seconds: Int64, _ nanoseconds: Int) throws
    {
        let date = try RFC3339Date(text)
        #expect(date.secondsSinceEpoch == seconds && date.nanoseconds == nanoseconds, "\(date)")
    }

    @Test(
        arguments: [
            ("2024-02-30T00:00:00Z", .noSuchDay), ("2023-02-29T00:00:00Z", .noSuchDay), ("1900-02-29T00:00:00Z", .noSuchDay),
            ("2024-04-31T00:00:00Z", .noSuchDay), ("2024-06-31T00:00:00Z", .noSuchDay), ("2024-09-31T00:00:00Z", .noSuchDay),
            ("2024-11-31T00:00:00Z", .noSuchDay), ("2024-01-32T00:00:00Z", .noSuchDay), ("2024-01-00T00:00:00Z", .noSuchDay),
            ("2024-13-01T00:00:00Z", .noSuchMonth), ("2024-00-01T00:00:00Z", .noSuchMonth),
            ("2024-03-05T24:00:00Z", .noSuchTime), ("2024-03-05T06:60:00Z", .noSuchTime), ("2024-03-05T06:07:61Z", .noSuchTime),
            ("2024-03-05T06:07:60Z", .noSuchLeapSecond), ("2024-06-29T23:59:60Z", .noSuchLeapSecond),
            ("1990-12-31T23:59:60-08:00", .noSuchLeapSecond), ("1960-01-01T00:00:60Z", .noSuchLeapSecond),
            ("2024-03-05", .missingTime), ("2024-03-05T06:07:08", .missingTimeZone), ("2024-03-05T06:07:08.123", .missingTimeZone),
            ("2024-03-05T06:07:08Zjunk", .invalidTimeZone), ("2024-03-05T06:07:08Z ", .invalidTimeZone),
            ("2024-03-05T06:07:08+24:00", .invalidTimeZone), ("2024-03-05T06:07:08+01:60", .invalidTimeZone),
            ("2024-03-05T06:07:08+1:00", .invalidTimeZone), ("2024-03-05T06:07:08GMT", .invalidTimeZone),
            ("2024-03-05T06:07:08+01:00:00", .invalidTimeZone), ("2024-03-05T06:07:08+01:", .invalidTimeZone),
            ("2024-03-05T06:07:08 +01:00", .invalidTimeZone), ("2024-03-05T06:07:08Z\u{301}", .invalidTimeZone),
            ("", .form), ("yesterday", .form), ("2024-3-5T6:7:8Z", .form), ("20240305T060708Z", .form), ("2024-03-05T06:07Z", .form),
            ("2024-03-05T06:07:08.Z", .form), ("2024-03-05T06:07:08,5Z", .invalidTimeZone), ("12024-03-05T06:07:08Z", .form),
            ("-2024-03-05T06:07:08Z", .form), (" 2024-03-05T06:07:08Z", .form), ("2024-03-05_06:07:08Z", .form),
            ("2024-03-05T\u{301}06:07:08Z", .form), ("٢٠٢٤-03-05T06:07:08Z", .form), ("2024-03-05  06:07:08Z", .form),
            ("2024-03-05T06:07:08." + String(repeating: "7", count: 108) + "Z", .tooLong),
        ] as [(String, RFC3339Date.Problem)]) func theErrorOfARefusedDateNamesItsReason(_ text: String, _ problem: RFC3339Date.Problem)
    {
        #expect(throws: problem) { try RFC3339Date(text) }
    }

    /// From 1583, as Foundation has the Julian calendar before. Foundation writes an offset of 18 hours as `Z`.
    @Test func datesMatchFoundation() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let expected = Date(timeIntervalSince1970: Double(Int64.random(in: -12_212_553_600..<253_402_300_800, using: &random)))
            let zone = try #require(TimeZone(secondsFromGMT: Int.random(in: -1_079...1_079, using: &random) * 60))
            for style in [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(timeZone: zone).timeZoneSeparator(.colon)] {
                let text = style.format(expected)
                // An offset may lead to a year before 1583, or after 9999.
                guard text.utf8.count <= 25, !text.hasPrefix("158"), !text.hasPrefix("-") else { continue }
                let date = try RFC3339Date(text)
                #expect(Double(date.secondsSinceEpoch) == expected.timeIntervalSince1970 && date.nanoseconds == 0, "\(text)")
            }
        }
    }
}
