import ErrandFormats
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPDateTests {
    private let now = HTTPDate(secondsSinceEpoch: 1_750_000_000)  // in 2025

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Sun Nov 16 08:49:37 1994", 784_975_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("  Sun,  6 Nov 1994 08:49:37 GMT ", 784_111_777),
    ])
    func eachOfTheThreeFormsIsRead(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(text, now: now)?.secondsSinceEpoch == seconds)
    }

    @Test(arguments: [("75", 2075), ("76", 1976), ("99", 1999), ("00", 2000), ("25", 2025), ("70", 2070)])
    func aYearOfTwoDigitsIsAtMostFiftyYearsAhead(_ digits: String, _ year: Int) {
        let expected = HTTPDate("Sun, 06 Nov \(year) 08:49:37 GMT", now: now)
        #expect(expected != nil && HTTPDate("Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now) == expected)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov 08:49:37 GMT", "Sun Nov 6 08:49:37 1994 GMT X",
        "Sun, 06 Nov 1994 08:49:３7 GMT", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 -8:49:37 GMT",
        // A combining mark hides no separator.
        "Sun,\u{301} 06 Nov 1994 08:49:37 GMT", "Sun, \u{301}06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:\u{301}49:37 GMT",
        "Sunday, 06-\u{301}Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT\u{301}",
    ])
    func anInvalidDateIsNil(_ text: String) {
        #expect(HTTPDate(text, now: now) == nil && HTTPDate(strict: text, now: now) == nil)
    }

    /// The lenient reader accepts these dates, but the grammar of RFC 9110, section 5.6.7, does not.
    @Test(arguments: [
        "Sun 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06  Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37  GMT", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT", "SUN, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday 06-Nov-94 08:49:37 GMT", "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sun, Nov  6 08:49:37 1994", "Sunday Nov  6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "Sun Nov  06 08:49:37 1994",
    ])
    func strictReadingFollowsTheGrammar(_ text: String) {
        #expect(HTTPDate(text, now: now)?.secondsSinceEpoch == 784_111_777)
        #expect(HTTPDate(strict: text, now: now) == nil)
    }

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Sun Nov 16 08:49:37 1994", 784_975_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        // The name of a wrong day is accepted.
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Saturday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ])
    func strictReadingAcceptsTheThreeForms(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(strict: text, now: now)?.secondsSinceEpoch == seconds)
    }

    @Test(arguments: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]) func eachDayHasAName(_ day: String) {
        let long = ["Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Sat": "Saturday"][day] ?? day + "day"
        for text in ["\(day), 06 Nov 1994 08:49:37 GMT", "\(long), 06-Nov-94 08:49:37 GMT", "\(day) Nov  6 08:49:37 1994"] {
            #expect(HTTPDate(strict: text, now: now)?.secondsSinceEpoch == 784_111_777)
        }
    }

    @Test(arguments: [("75", 2075), ("76", 1976), ("99", 1999), ("00", 2000)])
    func aStrictYearOfTwoDigitsIsAtMostFiftyYearsAhead(_ digits: String, _ year: Int) {
        let expected = HTTPDate(strict: "Sun, 06 Nov \(year) 08:49:37 GMT", now: now)
        #expect(expected != nil && HTTPDate(strict: "Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now) == expected)
    }

    private struct CacheSuite: Decodable {
        struct Header: Decodable {
            let name: String
            /// `nil` for a number, which the suite turns into a date.
            let value: String?

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                name = try container.decode(String.self)
                value = try? container.decode(String.self)
            }
        }
        struct Request: Decodable {
            private enum CodingKeys: String, CodingKey { case headers = "response_headers" }

            let headers: [Header]?
        }
        struct Case: Decodable {
            let id: String
            let requests: [Request]?
        }
        let tests: [Case]
    }

    /// The invalid values of `Expires` in the tests of caches.
    @Test(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
    func noInvalidExpiresOfTheCacheSuiteIsADate() throws {
        let cases = try Suites.load("cache-tests/tests.json", as: [CacheSuite].self).flatMap(\.tests)
            .filter { $0.id.hasPrefix("freshness-expires-invalid") && $0.id != "freshness-expires-invalid-date" }
        let values = cases.flatMap { $0.requests ?? [] }.flatMap { $0.headers ?? [] }.filter { $0.name == "Expires" }.compactMap(\.value)
        #expect(values.count >= 10)
        for value in values { #expect(HTTPDate(strict: value, now: now) == nil, "\(value)") }
    }

    @Test func manyDaysAreWrittenAndRead() throws {
        let start = try #require(HTTPDate("Sat, 01 Jan 1600 00:00:00 GMT", now: now)).secondsSinceEpoch
        let weekdays = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"]
        for day in stride(from: Int64(0), to: 146_097, by: 1) {  // a whole cycle of the calendar
            let date = HTTPDate(secondsSinceEpoch: start + day * 86_400 + day % 86_400)
            let text = date.description
            guard HTTPDate(text, now: now) == date, HTTPDate(strict: text, now: now) == date, text.hasPrefix(weekdays[Int(day % 7)]) else {
                Issue.record("\(text) on day \(day)")
                return
            }
        }
    }

    @Test func aDateIsWrittenInThePreferredForm() {
        #expect(HTTPDate(secondsSinceEpoch: 784_111_777).description == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate(secondsSinceEpoch: -62_135_596_800).description == "Mon, 01 Jan 0001 00:00:00 GMT")
        #expect(HTTPDate(secondsSinceEpoch: 0) < HTTPDate(secondsSinceEpoch: 1))
    }

    @Test(arguments: [Int64.min, .max]) func instantsBeyondEveryCalendarDoNotCrash(_ seconds: Int64) {
        #expect(HTTPDate(secondsSinceEpoch: seconds).description.hasSuffix(" GMT"))
    }
}
