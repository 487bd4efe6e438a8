import TestSupport
import Testing

@testable import ErrandFormats

@Suite struct NetscapeCookieFileTests {
    private typealias Entry = NetscapeCookieFile.Entry

    private static func file(_ text: String) -> NetscapeCookieFile { file(Array(text.utf8)) }
    private static func file(_ octets: [UInt8]) -> NetscapeCookieFile {
        octets.withUnsafeBufferPointer { NetscapeCookieFile(parsing: $0) }
    }

    private static func entry(
        _ name: String = "a", _ value: String = "b", domain: String = "a.example", subdomains: Bool = false, path: String = "/",
        secure: Bool = false, expires: Int64? = nil, httpOnly: Bool = false
    ) -> Entry {
        Entry(
            domain: domain, includesSubdomains: subdomains, path: path, isSecure: secure, expires: expires, name: name, value: value,
            isHTTPOnly: httpOnly)
    }

    // MARK: Lines

    private static let good: [(line: String, entry: Entry)] = [
        ("a.example\tFALSE\t/\tFALSE\t0\ta\tb", entry()),
        (".a.example\tTRUE\t/\tTRUE\t1795847379\ta\tb", entry(subdomains: true, secure: true, expires: 1_795_847_379)),
        // The flag decides, and not the dot.
        (".a.example\tFALSE\t/\tFALSE\t0\ta\tb", entry()), ("a.example\tTRUE\t/\tFALSE\t0\ta\tb", entry(subdomains: true)),
        ("A.Example\tfalse\t/\tTrue\t0\ta\tb", entry(secure: true)),
        ("#HttpOnly_a.example\tFALSE\t/\tFALSE\t0\ta\tb", entry(httpOnly: true)),
        ("a.example\tFALSE\t/a b/é\tFALSE\t0\té\t\"a b\"; x=y # ", entry("é", "\"a b\"; x=y # ", path: "/a b/é")),
        ("a.example\tFALSE\t/\tFALSE\t0\ta\t", entry("a", "")), ("a.example\tFALSE\t/\tFALSE\t0\ta", entry("a", "")),
        ("a.example\tFALSE\t/\tFALSE\t0\t\tb", entry("", "b")),
        ("a.example.\tFALSE\t/\tFALSE\t0\ta\tb", entry(domain: "a.example.")), ("a_b\tFALSE\t/\tFALSE\t0\ta\tb", entry(domain: "a_b")),
        ("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb", entry(domain: "127.0.0.1")), ("::1\tFALSE\t/\tFALSE\t0\ta\tb", entry(domain: "[::1]")),
        ("a.example\tFALSE\t/\tFALSE\t0001\ta\tb", entry(expires: 1)),
        ("a.example\tFALSE\t/\tFALSE\t253402300800\ta\tb", entry(expires: Entry.latestExpiry)),
        ("a.example\tFALSE\t/\tFALSE\t99999999999999999999999999999999\ta\tb", entry(expires: Entry.latestExpiry)),
    ]

    @Test(arguments: good.indices) func aLineOfSevenFieldsIsACookie(_ index: Int) {
        let (line, entry) = Self.good[index]
        for end in ["", "\n", "\r\n"] {
            let file = Self.file(line + end)
            #expect(file.entries == [entry] && file.badLineCount == 0, "\(line): \(file)")
        }
    }

    private static let bad: [(line: String, problem: NetscapeCookieFile.Problem)] = [
        ("a", .fields), ("a.example\tFALSE\t/\tFALSE\t0", .fields), ("a.example\tFALSE\t/\tFALSE\t0\ta\tb\tc", .fields),
        ("a.example FALSE / FALSE 0 a b", .fields), ("Set-Cookie: a=b", .fields), (" #HttpOnly_a.example", .fields),
        ("\tFALSE\t/\tFALSE\t0\ta\tb", .domain), (".\tTRUE\t/\tFALSE\t0\ta\tb", .domain), ("..a\tTRUE\t/\tFALSE\t0\ta\tb", .domain),
        ("a..b\tTRUE\t/\tFALSE\t0\ta\tb", .domain), ("a/b\tTRUE\t/\tFALSE\t0\ta\tb", .domain), ("[::1]\tFALSE\t/\tFALSE\t0\ta\tb", .domain),
        ("a:80\tFALSE\t/\tFALSE\t0\ta\tb", .domain), ("é.example\tFALSE\t/\tFALSE\t0\ta\tb", .domain),
        ("\(String(repeating: "a", count: 64)).example\tFALSE\t/\tFALSE\t0\ta\tb", .domain),
        ("\(String(repeating: "a.", count: 126))ab\tFALSE\t/\tFALSE\t0\ta\tb", .domain),
        ("a.example\tYES\t/\tFALSE\t0\ta\tb", .flag), ("a.example\tFALSE\t/\t\t0\ta\tb", .flag),
        ("a.example\tFALSE\t/\tTRUEst\t0\ta\tb", .flag), ("a.example\tFALSE\tTRUE\t0\ta\tb", .flag),
        ("a.example\tFALSE\t\tFALSE\t0\ta\tb", .path), ("a.example\tFALSE\ta/\tFALSE\t0\ta\tb", .path),
        ("a.example\tFALSE\t/\tFALSE\t\ta\tb", .expiry), ("a.example\tFALSE\t/\tFALSE\t-1\ta\tb", .expiry),
        ("a.example\tFALSE\t/\tFALSE\t1.5\ta\tb", .expiry),
        ("a.example\tFALSE\t/\tFALSE\t\(String(repeating: "0", count: 33))\ta\tb", .expiry),
        ("a.example\tFALSE\t/\tFALSE\t0\t\t", .empty), ("a.example\tFALSE\t/\tFALSE\t0\ta\tb\u{0}", .octet),
        ("a.example\tFALSE\t/\tFALSE\t0\ta\u{7F}\tb", .octet), ("a.example\tFALSE\t/\tFALSE\t0\ta\tb\r\r", .octet),
        ("a.example\tFALSE\t/\tFALSE\t0\ta\t\(String(repeating: "b", count: 8_192))", .length),
    ]

    @Test(arguments: bad.indices) func aBadLineIsReportedByItsNumber(_ index: Int) {
        let (line, problem) = Self.bad[index]
        let file = Self.file("# comment\n\n\(line)\na.example\tFALSE\t/\tFALSE\t0\ta\tb\n")
        #expect(file.badLines == [.init(number: 3, problem: problem)] && file.badLineCount == 1, "\(line): \(file)")
        #expect(file.entries == [Self.entry()])
    }

    @Test func aTextOtherThanUTF8IsReported() {
        // At the end of the path, the name and the value.
        for place in [17, 27, 29] {
            var octets = Array("a.example\tFALSE\t/\tFALSE\t0\ta\tb\n".utf8)
            octets.insert(0xFF, at: place)
            #expect(Self.file(octets).badLines == [.init(number: 1, problem: .encoding)], "\(place)")
        }
    }

    @Test func commentsAndEmptyLinesAreNoCookies() {
        let file = Self.file("\u{FEFF}# Netscape HTTP Cookie File\n#a.example\tFALSE\t/\tFALSE\t0\ta\tb\n\n  \t\n#HttpOnl\n#")
        #expect(file.entries.isEmpty && file.badLineCount == 0)
        #expect(Self.file("").entries.isEmpty && Self.file("\n").badLineCount == 0)
        #expect(Self.file("\u{FEFF}a.example\tFALSE\t/\tFALSE\t0\ta\tb").entries == [Self.entry()])
    }

    // MARK: Limits

    @Test func theNumberOfCookiesIsLimited() {
        let line = "a.example\tFALSE\t/\tFALSE\t0\ta\tb\n"
        let limit = NetscapeCookieFile.entryLimit
        let full = Self.file(String(repeating: line, count: limit) + "# comment\n")
        #expect(full.entries.count == limit && full.badLineCount == 0)
        let more = Self.file(String(repeating: line, count: limit + 2))
        #expect(more.entries.count == limit && more.badLines == [.init(number: limit + 1, problem: .count)])
    }

    @Test func theNumberOfReportedLinesIsLimited() {
        let file = Self.file(String(repeating: "x\n", count: 1_000))
        #expect(file.badLineCount == 1_000 && file.badLines.map(\.number) == Array(1...100))
    }

    @Test func theLongestLineIsRead() {
        let front = "a.example\tFALSE\t/\tFALSE\t0\ta\t"
        let value = String(repeating: "b", count: NetscapeCookieFile.lineLimitBytes - front.utf8.count)
        #expect(Self.file(front + value + "\r\n").entries.first?.value == value)
        #expect(Self.file(front + value + "b").badLines.first?.problem == .length)
    }

    // MARK: Writing

    @Test func aWrittenFileIsReadAsTheSameCookies() {
        let entries = [
            Self.entry(), Self.entry(subdomains: true, path: "/a b", secure: true, expires: 1, httpOnly: true),
            Self.entry("é", "\"a b\"; c=d", expires: Entry.latestExpiry), Self.entry("a", ""), Self.entry(domain: "[::1]"),
        ]
        let text = NetscapeCookieFile.text(of: entries)
        #expect(text.hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(text.hasSuffix("\n::1\tFALSE\t/\tFALSE\t0\ta\tb\n"))
        #expect(text.contains("\n#HttpOnly_.a.example\tTRUE\t/a b\tTRUE\t1\ta\tb\n"))
        let file = Self.file(text)
        #expect(file.entries == entries && file.badLineCount == 0)
    }

    @Test func anExpiredCookieDoesNotBecomeACookieOfTheSession() {
        for expires: Int64 in [0, -1, .min] { #expect(Self.entry(expires: expires).line == "a.example\tFALSE\t/\tFALSE\t1\ta\tb") }
        #expect(Self.entry(expires: .max).line == "a.example\tFALSE\t/\tFALSE\t253402300799\ta\tb")
    }

    @Test func aCookieThatTheFormatLacksHasNoLine() {
        let entries = [
            Self.entry(""), Self.entry("a\tb"), Self.entry("a", "b\tc"), Self.entry("a", "b\n#c"), Self.entry("a", "b\r"),
            Self.entry("a", "b\u{0}"), Self.entry(path: "/\t"), Self.entry(path: "a"), Self.entry(domain: ""), Self.entry(domain: "a b"),
            Self.entry(domain: ".a"), Self.entry(domain: "#a"), Self.entry("a", String(repeating: "b", count: 8_192)),
        ]
        for entry in entries { #expect(entry.line == nil, "\(entry)") }
        #expect(Self.file(NetscapeCookieFile.text(of: entries + [Self.entry()])).entries == [Self.entry()])
    }
}
