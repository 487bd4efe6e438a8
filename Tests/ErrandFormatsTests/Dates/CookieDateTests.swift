import ErrandFormats
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CookieDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        // The parts in any order, with any delimiter, and with other characters after a part.
        ("1994/11\\nov 8:49:37x6th 06", 784_543_777), ("08:49:37pm,novembre;6@1994", 784_111_777), ("6th 1994AD 08:49:37 NOV", 784_111_777),
        // A time zone is not a part of the date.
        ("06 Nov 1994 08:49:37 +0200", 784_111_777), ("06 Nov 1994 08:49:37 PST", 784_111_777),
        // Years.
        ("1 Jan 70 0:0:0", 0), ("1 Jan 1970 00:00:00", 0), ("1 Jan 69 0:0:0", 3_124_224_000), ("1 Jan 1601 0:0:0", -11_644_473_600),
        ("31 Dec 9999 23:59:59", 253_402_300_799), ("29 Feb 2024 12:00:00", 1_709_208_000),
        // The first time, day, month and year count.
        ("06 Nov 1994 08:49:37 07 Dec 1995 09:50:38", 784_111_777), ("a:b:c 06 Nov 1994 08:49:37", 784_111_777),
        // Octets above ASCII are no delimiters.
        ("é 06 Nov 1994 08:49:37", 784_111_777), ("06é Novémber 1994é 08:49:37é", 784_111_777),
    ])
    func datesAreRead(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(cookieDate: text)?.secondsSinceEpoch == seconds)
    }

    @Test(arguments: [
        "", "   ", "06 Nov 1994", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37", "0 Nov 1994 08:49:37", "32 Nov 1994 08:49:37",
        "31 Nov 1994 08:49:37", "29 Feb 2023 08:49:37", "06 Nov 1600 08:49:37", "06 Nov 994 08:49:37", "06 Nov 19940 08:49:37",
        "006 Nov 1994 08:49:37",
        "06 No 1994 08:49:37", "06 Nov 1994 24:00:00", "06 Nov 1994 08:60:00", "06 Nov 1994 08:49:60", "06 Nov 1994 08:49",
        "06 Nov 1994 008:49:37",
        "06 Nov 1994 08:049:37", "06 Nov 1994 08:49:037", "06 Nov 1994 8x:49:37", "06 Nov 1994 08:49x:37", "06 Nov 1994 :49:37",
        "06 Nov 1994 08::37",
        "06Nov1994 08:49:37", "06 ＮＯＶ 1994 08:49:37", "06 Nov 1994é08:49:37",
    ])
    func anInvalidDateIsNil(_ text: String) { #expect(HTTPDate(cookieDate: text) == nil) }

    @Test(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
    func theDatesOfTheHTTPStateSuiteAreRead() throws {
        let vectors = try CookieDateVector.all()
        #expect(vectors.count == 70)
        for vector in vectors { #expect(HTTPDate(cookieDate: vector.text)?.description == vector.expected, "\(vector.text)") }
    }
}
