import HTTPTypes
import Testing

@testable import ErrandFormats

/// The grammar of `Set-Cookie` (RFC 6265bis, section 5.6), and the value of `Cookie` (section 5.8.3).
@Suite(.timeLimit(.minutes(5))) struct SetCookieTests {
    private static let now = HTTPDate(secondsSinceEpoch: 1_262_304_000)  // 2010-01-01

    @Test(arguments: [
        ("a=b", "a", "b"), (" a\t = \tb ", "a", "b"), ("a=", "a", ""), ("a", "", "a"), ("=a", "", "a"), ("==a", "", "=a"),
        ("a=b=c", "a", "b=c"),
        ("a=\"b c\"", "a", "\"b c\""), ("a=b, c=d", "a", "b, c=d"), ("a=b;c=d", "a", "b"), ("a=b;", "a", "b"), ("a=b\tc", "a", "b\tc"),
        ("a=ä", "a", "ä"), ("é=\u{301}", "é", "\u{301}"), ("__Host-a=b", "__Host-a", "b"), ("a=\u{FEFF}b", "a", "\u{FEFF}b"),
    ])
    func pairsAreRead(_ text: String, _ name: String, _ value: String) throws {
        let cookie = try #require(SetCookie(text))
        #expect(Array(cookie.name.utf8) == Array(name.utf8) && Array(cookie.value.utf8) == Array(value.utf8))
    }

    @Test(arguments: ["", " ", "\t", "=", " = ", ";", ";a=b", "; Secure", "a=b\nc", "a=b; Path=/\r", "a\0=b", "a=\u{7F}", "a=b; x=\u{1}"])
    func anInvalidFieldIsNil(_ text: String) { #expect(SetCookie(text) == nil) }

    @Test func eachOctetIsEitherKeptOrRefused() {
        for octet in UInt8.min...UInt8.max {
            let isControl = octet != 0x09 && octet < 0x20 || octet == 0x7F
            for field in [[UInt8(ascii: "x"), octet, UInt8(ascii: "y"), UInt8(ascii: "="), 0x7A], [0x6E, 0x3D, 0x78, octet, 0x79]] {
                let result = Result { () throws(SetCookie.Problem) in
                    try field.withUnsafeBufferPointer { octets throws(SetCookie.Problem) in try SetCookie(octets: octets) }
                }
                switch result {
                case .success(let cookie):
                    #expect(!isControl && octet < 0x80, "\(octet)")
                    guard octet != UInt8(ascii: ";"), octet != UInt8(ascii: "=") else { continue }
                    #expect(Array((cookie.name + "=" + cookie.value).utf8) == field, "\(octet)")
                case .failure(let problem): #expect(problem == (isControl ? .controlCharacter : .notUTF8), "\(octet)")
                }
            }
        }
    }

    @Test func theNameAndTheValueHaveALimit() {
        let name = String(repeating: "n", count: 1_000)
        #expect(SetCookie(name + "=" + String(repeating: "v", count: 3_096)) != nil)
        #expect(SetCookie("  " + name + " = " + String(repeating: "v", count: 3_096) + "  ") != nil)
        #expect(SetCookie(name + "=" + String(repeating: "v", count: 3_097)) == nil)
        #expect(SetCookie(String(repeating: "v", count: 4_096)) != nil && SetCookie(String(repeating: "v", count: 4_097)) == nil)
    }

    @Test func attributesHaveALimit() {
        let path = "/" + String(repeating: "p", count: 1_023)
        #expect(SetCookie("a=b; Path=\(path)")?.path == path)
        #expect(SetCookie("a=b; Path=/; Path=\(path)p")?.path == "/", "the longer value is ignored")
        #expect(SetCookie("a=b; Secure=\(path)p")?.isSecure == false)
    }

    @Test func attributesAreRead() throws {
        let cookie = try #require(
            SetCookie("a=b; Domain=.A.Example; Path=/x; Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Secure; HttpOnly; SameSite=lax"))
        #expect(cookie.domain == "a.example" && cookie.path == "/x" && cookie.maxAge == .seconds(60))
        #expect(cookie.expires == HTTPDate(secondsSinceEpoch: 784_111_777))
        #expect(cookie.isSecure && cookie.isHTTPOnly && cookie.sameSite == .lax)
        let other = try #require(SetCookie("a=b;SECURE;\tpath = /y ;samesite=STRICT;httponly=no"))
        #expect(other.isSecure && other.path == "/y" && other.sameSite == .strict && other.isHTTPOnly && other.domain == nil)
        let plain = try #require(SetCookie("a=b; Securely; Priority=High; Partitioned; Max-Age; Expires=soon"))
        #expect(!plain.isSecure && plain.maxAge == nil && plain.expires == nil && plain.sameSite == nil)
        #expect(SetCookie("a=b; Domain=..a")?.domain == ".a", "one dot is dropped")
    }

    @Test(arguments: [
        ("Domain=a; Domain=b", "b"), ("Domain=a; Domain=", nil), ("Domain=; Domain=b", "b"), ("Domain=a; Domain=.", nil), ("Domain", nil),
    ])
    func theLastDomainCounts(_ attributes: String, _ domain: String?) { #expect(SetCookie("a=b; \(attributes)")?.domain == domain) }

    @Test func theLastAttributeOfANameCounts() throws {
        #expect(SetCookie("a=b; Path=/a; Path=/b")?.path == "/b")
        #expect(try #require(SetCookie("a=b; Path=/a; Path=b")).path == nil, "the default path")
        #expect(SetCookie("a=b; Max-Age=1; Max-Age=x")?.maxAge == .seconds(1), "an invalid number is ignored")
        #expect(try #require(SetCookie("a=b; SameSite=Strict; SameSite=x")).sameSite == nil)
        #expect(SetCookie("a=b; Expires=1 Jan 1970 00:00:00; Expires=x")?.expires == HTTPDate(secondsSinceEpoch: 0))
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("-1", -1), ("007", 7), ("9223372036854775807", .max), ("9223372036854775808", .max),
            ("99999999999999999999999999", .max), ("-9223372036854775808", .min), ("-99999999999999999999", .min), ("", nil), ("-", nil),
            ("+1", nil), ("1.5", nil), ("1s", nil), ("--1", nil), ("١", nil), ("50,399", nil),
        ] as [(String, Int64?)])
    func theMaxAgeIsRead(_ text: String, _ seconds: Int64?) {
        #expect(SetCookie("a=b; Max-Age=\(text)")?.maxAge == seconds.map { .seconds($0) })
    }

    @Test(
        arguments: [
            ("Max-Age=60", 60), ("Max-Age=99999999999999", 34_560_000), ("Max-Age=34560001", 34_560_000),
            ("Max-Age=60; Expires=Fri, 01 Jan 2010 02:00:00 GMT", 60), ("Expires=Fri, 01 Jan 2010 00:00:01 GMT", 1),
            ("Expires=Fri, 01 Jan 2038 00:00:00 GMT", 34_560_000), ("Expires=Thu, 31 Dec 2009 23:59:59 GMT", -1), ("Expires=never", nil),
            ("", nil),
        ] as [(String, Int64?)])
    func theExpiryIsWithin400Days(_ attributes: String, _ seconds: Int64?) throws {
        let expiry = try #require(SetCookie("a=b; \(attributes)")).expiry(receivedAt: Self.now)
        #expect(expiry == seconds.map { HTTPDate(secondsSinceEpoch: Self.now.secondsSinceEpoch + $0) })
    }

    @Test(arguments: ["0", "-1", "-99999999999999999999"], [1_262_304_000, 0, -5] as [Int64])
    func aMaxAgeOfZeroIsInThePast(_ maxAge: String, _ now: Int64) throws {
        let now = HTTPDate(secondsSinceEpoch: now)
        let cookie = try #require(SetCookie("a=b; Max-Age=\(maxAge)"))
        let expiry = try #require(cookie.expiry(receivedAt: now))
        #expect(expiry < now)
    }

    @Test func noTextShowsTheValue() throws {
        let cookie = try #require(SetCookie("sid=hunter2; Domain=a.example; Path=/; Secure; HttpOnly; SameSite=None; Max-Age=60"))
        #expect(cookie.description == "sid; Domain=a.example; Path=/; Secure; HttpOnly; SameSite=None; Max-Age=60")
        var dumped = ""
        dump(cookie, to: &dumped)
        for text in ["\(cookie)", String(reflecting: cookie), dumped] { #expect(!text.contains("hunter2") && text.contains("sid")) }
        let marked = try #require(SetCookie("a\u{202E}b=c"))
        #expect(!marked.description.contains("\u{202E}"))
    }

    @Test func equalCookiesHaveEqualOctets() {
        #expect(SetCookie("a=b; Path=/; Secure") == SetCookie("a=b;secure;path=/"))
        #expect(SetCookie("é=b") != SetCookie("e\u{301}=b"), "another normal form is another name")
        #expect(Set([SetCookie("a=b"), SetCookie("a=b;"), SetCookie("a=c")]).count == 2)
    }

    // MARK: The value of Cookie

    @Test func pairsAreWrittenInOrder() {
        var writer = CookieFieldWriter(limitBytes: 100)
        #expect(writer.octets.isEmpty)
        for (name, value) in [("a", "1"), ("b", ""), ("", "c=d"), ("e", "\"f g\"")] {
            let hasRoom = writer.append(name, value)
            #expect(hasRoom)
        }
        #expect(String(decoding: writer.octets, as: UTF8.self) == "a=1; b=; c=d; e=\"f g\"" && writer.count == 4)
    }

    @Test func aPairWithoutRoomIsLeftOut() {
        var writer = CookieFieldWriter(limitBytes: 8)
        let results = [writer.append("a", "1"), writer.append("bb", "2"), writer.append("b", "2"), writer.append("", "")]
        #expect(results == [true, false, true, false])
        #expect(String(decoding: writer.octets, as: UTF8.self) == "a=1; b=2" && writer.count == 2)
    }

    @Test(arguments: [
        (["\"cookies\""], true), (["\"cache\", \"cookies\""], true), (["\"cache\"", "\"*\""], true), ([#""cache","cookies""#], true),
        (["cookies"], false), (["\"Cookies\""], false), (["\"cache\""], false), ([], false), ([""], false),
        ([String(repeating: ",", count: 8_192) + "\"cookies\""], false),
    ])
    func clearSiteDataIsRead(_ values: [String], _ includesCookies: Bool) {
        #expect(ClearSiteData.includesCookies(values) == includesCookies)
    }
}
