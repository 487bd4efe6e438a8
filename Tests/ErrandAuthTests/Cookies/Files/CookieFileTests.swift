#if Auth
import ErrandCore
import ErrandFormats
import Foundation
import Testing

@testable import ErrandAuth

/// A time at which no cookie of the tests has expired.
let cookieTestTime = HTTPDate(secondsSinceEpoch: 1_792_658_201)

extension HTTPDate {
    var date: Date { Date(timeIntervalSince1970: TimeInterval(secondsSinceEpoch)) }
}

extension Cookie {
    /// A cookie of the tests, which expires a day later than the tests run.
    static func sample(
        _ name: String, _ value: String = "v", domain: String = "a.example", path: String = "/",
        expires: Int64? = cookieTestTime.secondsSinceEpoch + 86_400, created: Int64 = cookieTestTime.secondsSinceEpoch
    ) -> Cookie {
        Cookie(
            name: name, value: value, domain: domain, path: path, expires: expires.map { HTTPDate(secondsSinceEpoch: $0) },
            created: HTTPDate(secondsSinceEpoch: created))
    }
}

@Suite struct CookieFileTests {
    /// Cookies with each attribute.
    static let cookies = [
        Cookie.sample("sid", "31d4"), .sample("session", expires: nil), .sample("", "nameless"), .sample("empty", ""),
        .sample("tab", "a\tb"), .sample("é", "\u{65}\u{301}", path: "/é"), .sample("quote", "\"\\/\u{7F}"),
        .sample("marks", "a" + String(repeating: "\u{301}\u{316}", count: 500)), .sample("old", expires: 1),
        Cookie(
            name: "all", value: "b", domain: "example", isHostOnly: false, path: "/p", expires: HTTPDate(secondsSinceEpoch: 4_000_000_000),
            isSecure: false, isHTTPOnly: true, sameSite: .lax, created: cookieTestTime),
        Cookie(name: "none", value: "b", domain: "example", sameSite: Cookie.SameSite.none, created: cookieTestTime),
        Cookie(name: "strict", value: "b", domain: "[::1]", sameSite: .strict, created: cookieTestTime),
    ]

    // MARK: JSON

    @Test func theJSONOfCookiesIsReadAsTheSameCookies() throws {
        let data = CookieFile.json(of: Self.cookies)
        let read = try CookieFile.json(parsing: data)
        #expect(read == Self.cookies)
        #expect(read.map { Array($0.value.utf8) } == Self.cookies.map { Array($0.value.utf8) })
        #expect(CookieFile.json(of: read) == data && CookieFile.json(of: Self.cookies) == data)
        #expect(try CookieFile.json(parsing: CookieFile.json(of: [])) == [])
    }

    @Test func theFormIsThatOfTheDocumentation() {
        let cookie = Cookie(
            name: "sid", value: "31d4d96e407aad42", domain: "a.example", expires: HTTPDate(secondsSinceEpoch: 1_795_250_201),
            isHTTPOnly: true,
            sameSite: .lax, created: cookieTestTime)
        let expected = """
            {"cookies":[{"created":1792658201,"domain":"a.example","expires":1795250201,"hostOnly":true,"httpOnly":true,"name":"sid",\
            "path":"\\/","sameSite":"Lax","secure":true,"value":"31d4d96e407aad42"}],"format":"errand-cookies","version":1}
            """
        #expect(String(decoding: CookieFile.json(of: [cookie]), as: UTF8.self) == expected)
        let text = String(decoding: CookieFile.json(of: [.sample("é")]), as: UTF8.self)
        #expect(text.contains(#""name":{"base64":"w6k="}"#), "\(text)")
    }

    private static func json(_ cookie: String, _ head: String = #""format":"errand-cookies","version":1"#) -> String {
        "{\(head),\"cookies\":[\(cookie)]}"
    }

    private static let record =
        #"{"created":1,"domain":"a","expires":2,"hostOnly":true,"httpOnly":true,"name":"n","path":"/","secure":true,"value":"v"}"#

    private static let invalid: [(text: String, code: CookieFileError.Code)] = [
        ("", .foreign), ("{}", .foreign), ("[]", .foreign), ("# Netscape HTTP Cookie File\n", .foreign), (#"{"version":1}"#, .foreign),
        (json("", #""format":"errand-cookies""#), .foreign), (json("", #""format":"errand-cookie","version":1"#), .foreign),
        (json("", #""format":"errand-cookies","version":2"#), .newerVersion),
        (json("", #""format":"errand-cookies","version":0"#), .corrupt),
        (#"{"format":"errand-cookies","version":1}"#, .corrupt), (String(json(record).dropLast()), .foreign),
        (json(record.replacing("\"created\":1,", with: "")), .corrupt), (json(record.replacing(":1,", with: ":\"1\",")), .corrupt),
        (json(record.replacing(":2,", with: ":1e300,")), .corrupt), (json(record.replacing(":2,", with: ":253402300800,")), .corrupt),
        (json(record.replacing(":1,", with: ":-62135596801,")), .corrupt), (json(record.replacing(":2,", with: ":1.5,")), .corrupt),
        (json(record.replacing("\"secure\":true", with: "\"secure\":1")), .corrupt),
        (json(record.replacing("{", with: "{\"sameSite\":\"lax\",")), .corrupt),
        (json(record.replacing("\"v\"", with: "{\"base64\":\"/w==\"}")), .corrupt),
        (json(record.replacing("\"v\"", with: "{\"base64\":\"?\"}")), .corrupt), (json(record.replacing("\"v\"", with: "null")), .corrupt),
        (json(record.replacing("\"v\"", with: "\"\(String(repeating: "\u{301}\u{316}", count: 200))\"")), .foreign),
    ]

    @Test(arguments: invalid.indices) func anInvalidFileIsAnErrorByName(_ index: Int) {
        let (text, code) = Self.invalid[index]
        #expect(throws: CookieFileError(code)) { try CookieFile.json(parsing: Data(text.utf8)) }
    }

    @Test func unknownMembersAndMissingOptionalMembersAreAccepted() throws {
        let text = Self.json(Self.record.replacing("\"expires\":2,", with: "\"partition\":\"x\",\"sameSite\":null,"))
        let cookie = try #require(try CookieFile.json(parsing: Data(text.utf8)).first)
        #expect(cookie.expires == nil && cookie.sameSite == nil && cookie.created == HTTPDate(secondsSinceEpoch: 1))
    }

    @Test func datesOutsideOfFourDigitYearsAreCut() throws {
        let read = try CookieFile.json(parsing: CookieFile.json(of: [.sample("a", expires: .max, created: .min)]))
        #expect(read.first?.expires == HTTPDate(secondsSinceEpoch: 253_402_300_799))
        #expect(read.first?.created == HTTPDate(secondsSinceEpoch: -62_135_596_800))
    }

    @Test func aTooLargeFileIsNotRead() {
        let data = Data(count: CookieFile.limitBytes + 1)
        #expect(throws: CookieFileError(.tooLarge)) { try CookieFile.json(parsing: data) }
        #expect(throws: CookieFileError(.tooLarge)) { try CookieFile.netscape(parsing: data, at: cookieTestTime.date) }
    }

    // MARK: Netscape

    @Test func aNetscapeFileKeepsEverythingThatTheFormatHas() throws {
        let text = CookieFile.netscape(of: Self.cookies)
        let file = try CookieFile.netscape(parsing: Data(text.utf8), at: cookieTestTime.date)
        #expect(file.problems.isEmpty && file.problemCount == 0)
        let expected = Self.cookies.filter { !["", "tab", "quote"].contains($0.name) }.map { cookie in
            Cookie(
                name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: cookie.isHostOnly, path: cookie.path,
                expires: cookie.expires, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly, created: cookieTestTime)
        }
        #expect(file.cookies == expected)
        #expect(Self.cookies.filter { !CookieFile.hasNetscapeForm($0) }.map(\.name) == ["", "tab", "quote"])
    }

    @Test func aJarTakesTheCookiesOfAFileAndRefusesPublicSuffixes() throws {
        let text = ".shop.example\tTRUE\t/\tTRUE\t0\ta\t1\n.co.uk\tTRUE\t/\tTRUE\t0\tb\t1\n.github.io\tTRUE\t/\tTRUE\t0\tc\t1\n"
        let file = try CookieFile.netscape(parsing: Data(text.utf8), at: cookieTestTime.date)
        let jar = CookieJar(now: { cookieTestTime.date })
        var refused: [CookieRefusedError] = []
        for cookie in file.cookies {
            do throws(CookieRefusedError) { try jar.set(cookie) } catch { refused.append(error) }
        }
        #expect(refused.map(\.name) == ["b", "c"] && refused.allSatisfy { $0.code == .publicSuffix })
        #expect(CookieFile.netscape(of: jar.cookies).hasSuffix(".shop.example\tTRUE\t/\tTRUE\t0\ta\t1\n"))
    }

    @Test func anInvalidLineIsReportedWithoutItsContent() throws {
        let text =
            "# Netscape HTTP Cookie File\na.example\tFALSE\t/\tFALSE\t0\tsid\tsecret\nb.example\tFALSE\tsecret\tFALSE\t0\tsecret\tsecret\n"
        let file = try CookieFile.netscape(parsing: Data(text.utf8), at: cookieTestTime.date)
        #expect(file.cookies.map(\.name) == ["sid"] && file.problemCount == 1)
        #expect(file.problems.map(\.description) == ["line 3: the path does not begin with a slash"])
    }
}
#endif
