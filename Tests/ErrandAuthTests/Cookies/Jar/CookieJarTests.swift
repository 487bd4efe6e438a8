#if Auth
import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandAuth

/// Which cookies a jar accepts, and which cookies it sends (RFC 6265bis, sections 5.7 and 5.8).
@Suite(.timeLimit(.minutes(5))) struct CookieJarTests {
    private let date = ManualDate()

    private func jar(limits: CookieJar.Limits = CookieJar.Limits()) -> CookieJar { CookieJar(limits: limits, now: { [date] in date.date }) }

    // MARK: Domains

    @Test(
        arguments: [
            ("https://www.a.example/", nil, ["https://www.a.example/", "http://www.a.example:81/"]),
            (
                "https://www.a.example/", "www.a.example",
                ["https://www.a.example/", "http://www.a.example:81/", "https://x.www.a.example/"]
            ),
            (
                "https://www.a.example/", ".A.Example",
                [
                    "https://a.example/", "https://www.a.example/", "http://www.a.example:81/", "https://x.www.a.example/",
                    "https://b.a.example/", "https://xwww.a.example/",
                ]
            ),
            ("https://127.0.0.1/", nil, ["https://127.0.0.1/"]), ("https://127.0.0.1/", "127.0.0.1", ["https://127.0.0.1/"]),
            ("https://[::1]/", nil, ["https://[::1]/"]), ("https://localhost/", "localhost", ["https://localhost/"]),
            ("https://www.a.example./", nil, ["https://www.a.example./"]),
        ] as [(String, String?, [String])])
    func aCookieIsSentToItsDomain(_ url: String, _ domain: String?, _ expected: [String]) throws {
        let jar = jar()
        let refusal = try jar.refusal("a=b" + (domain.map { "; Domain=\($0)" } ?? ""), from: url)
        #expect(refusal == nil)
        let all = [
            "https://a.example/", "https://www.a.example/", "http://www.a.example:81/", "https://x.www.a.example/", "https://b.a.example/",
            "https://127.0.0.1/", "https://[::1]/", "https://localhost/", "https://www.a.example./", "https://xwww.a.example/",
            "https://xa.example/", "https://example/", "https://1.127.0.0.1/", "https://b.localhost/",
        ]
        let sent = try all.filter { try jar.field(for: $0) == "a=b" }
        #expect(sent == expected)
    }

    @Test(arguments: [
        ("https://www.a.example/", "b.example"), ("https://www.a.example/", "x.www.a.example"), ("https://www.a.example/", "w.a.example"),
        ("https://www.a.example/", "ww.a.example"), ("https://www.a.example/", "a.example."), ("https://www.a.example/", ".."),
        ("https://www.a.example/", "www.a.example:443"), ("https://www.a.example/", "\"www.a.example\""), ("https://127.0.0.1/", "0.0.1"),
        ("https://127.0.0.1/", "1"), ("https://10.0.0.0x1/", "0.0.0x1"), ("https://10.0.0.0x1f./", "0.0.0x1f."),
        ("https://[::1]/", "::1"), ("https://www.a.example/", "www.a.exämple"), ("https://x.1/", "1"),
        ("https://www.a.example./", "a.example"),
    ])
    func aForeignDomainIsRefused(_ url: String, _ domain: String) throws {
        let refusal = try jar().refusal("a=b; Domain=\(domain)", from: url)
        #expect(refusal == .otherDomain)
    }

    @Test(arguments: [
        ("https://www.a.com/", "com"), ("https://www.a.co.uk/", "co.uk"), ("https://www.a.co.uk/", ".CO.UK"),
        ("https://joe.github.io/", "github.io"), ("https://www.a.com./", "com."),
    ])
    func aPublicSuffixIsRefused(_ url: String, _ domain: String) throws {
        let jar = jar()
        let refusal = try jar.refusal("a=b; Domain=\(domain)", from: url)
        #expect(refusal == .publicSuffix)
        let cookie = Cookie(name: "a", value: "b", domain: "github.io", isHostOnly: false, created: date.now)
        #expect(throws: CookieRefusedError(.publicSuffix, "a")) { try jar.set(cookie) }
        #expect(jar.count == 0)
    }

    @Test func aPublicSuffixKeepsCookiesForItself() throws {
        let jar = jar()
        let refusal = try jar.refusal("a=b; Domain=github.io", from: "https://github.io/")
        #expect(refusal == nil)
        #expect(try #require(jar.cookies.first).isHostOnly)
        let fields = (try jar.field(for: "https://github.io/"), try jar.field(for: "https://joe.github.io/"))
        #expect(fields == ("a=b", ""))
    }

    // MARK: Paths

    @Test(arguments: [
        ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("", "/"), ("/a%2Fb", "/"), ("/?/x/y", "/"),
        ("/a/b?c/d", "/a"),
    ])
    func theDefaultPathIsThePathUpToTheLastSlash(_ target: String, _ path: String) throws {
        for attribute in ["", "; Path", "; Path=", "; Path=a/"] {
            let jar = jar()
            let refusal = try jar.refusal("a=b\(attribute)", from: "https://a.example\(target)")
            #expect(refusal == nil && jar.cookies.map(\.path) == [path], "\(attribute)")
        }
    }

    @Test(arguments: [
        ("/", "", true), ("/", "/x", true), ("/a", "/a", true), ("/a", "/a/", true), ("/a", "/a/b", true), ("/a", "/a?b", true),
        ("/a/", "/a/b", true), ("/a/", "/a", false), ("/a", "/ab", false), ("/a", "/A", false), ("/a", "/", false), ("/a/b", "/a", false),
        ("/ä", "/%C3%A4", false),
    ])
    func aCookieIsSentBelowItsPath(_ path: String, _ target: String, _ isSent: Bool) throws {
        let jar = jar()
        let refusal = try jar.refusal("a=b; Path=\(path)", from: "https://a.example/x")
        let field = try jar.field(for: "https://a.example\(target)")
        #expect(refusal == nil && field == (isSent ? "a=b" : ""))
    }

    @Test func longerPathsAreSentFirstAndThenOlderCookies() throws {
        let jar = jar()
        for (name, attributes) in [
            ("1", "Path=/"), ("2", "Path=/dir"), ("3", "Path=/; Domain=a.example"), ("4", "Path=/dir/file; Domain=a.example"),
            ("5", "Path=/dir"), ("6", "Path=/; Domain=www.a.example"),
        ] {
            let refusal = try jar.refusal("\(name)=x; \(attributes)")
            #expect(refusal == nil)
            date.move(bySeconds: 1)
        }
        // A new value keeps the place.
        let refusal = try jar.refusal("2=y; Path=/dir")
        let field = try jar.field()
        #expect(refusal == nil && field == "4=x; 2=y; 5=x; 1=x; 3=x; 6=x")
    }

    // MARK: Keys

    @Test func aCookieReplacesTheCookieOfItsKey() throws {
        let jar = jar()
        for field in [
            "a=1; Path=/", "a=2; Path=/", "a=3; Path=/dir", "a=4; Path=/; Domain=www.a.example", "A=5; Path=/", "6; Path=/", "=7; Path=/",
        ] {
            let refusal = try jar.refusal(field)
            #expect(refusal == nil)
        }
        let field = try jar.field()
        #expect(jar.count == 5 && field == "a=3; a=2; a=4; A=5; 7")
        #expect(jar.remove(Cookie.Key(name: "a", domain: "www.a.example", isHostOnly: false, path: "/")))
        #expect(!jar.remove(Cookie.Key(name: "a", domain: "www.a.example", isHostOnly: false, path: "/")))
        let rest = try jar.field()
        #expect(rest == "a=3; a=2; A=5; 7")
    }

    /// Swift compares texts in a normal form.
    @Test func namesAreComparedByOctets() throws {
        let jar = jar()
        for name in ["é", "e\u{301}"] {
            let refusal = try jar.refusal("\(name)=x")
            #expect(refusal == nil)
        }
        #expect(jar.count == 2 && Set(jar.cookies.map(\.key)).count == 2)
    }

    // MARK: Security

    @Test(
        arguments: [
            ("https://a.example/", nil), ("http://localhost:8080/", nil), ("http://127.0.0.1/", nil), ("http://[::1]/", nil),
            ("http://127.0.0.2/", nil), ("http://localhost./", nil), ("http://a.example/", .insecureOrigin),
            ("http://localhost.example/", .insecureOrigin),
            // Some resolvers look up a name under `localhost` in the network.
            ("http://x.localhost/", .insecureOrigin), ("https://x.localhost/", nil),
        ] as [(String, CookieRefusedError.Code?)])
    func aSecureCookieNeedsASecureOrigin(_ url: String, _ expected: CookieRefusedError.Code?) throws {
        let jar = jar()
        let refusal = try jar.refusal("a=b; Secure", from: url)
        #expect(refusal == expected)
        let field = try jar.field(for: url)
        #expect(field == (expected == nil ? "a=b" : ""))
        let plain = try jar.field(for: "http://a.example/")
        #expect(plain.isEmpty)
    }

    @Test(arguments: [
        // The new cookie, and whether an origin that is not secure may store it beside `a`, Secure, of www.a.example and /dir.
        ("a=x; Path=/dir", "http://www.a.example/", false), ("a=x; Path=/dir/sub", "http://www.a.example/", false),
        ("a=x; Path=/", "http://www.a.example/", true), ("a=x; Path=/directory", "http://www.a.example/", true),
        ("b=x; Path=/dir", "http://www.a.example/", true), ("a=x; Path=/dir; Domain=a.example", "http://www.a.example/", false),
        ("a=x; Path=/dir; Domain=a.example", "http://b.a.example/", false), ("a=x; Path=/dir", "http://b.a.example/", true),
        ("a=x; Path=/dir", "http://x.www.a.example/", false), ("a=x; Path=/dir", "https://www.a.example/", true),
        ("a=x; Path=/dir", "http://www.b.example/", true),
    ])
    func anInsecureOriginDoesNotHideASecureCookie(_ field: String, _ url: String, _ isStored: Bool) throws {
        let jar = jar()
        for (field, url) in [
            ("a=1; Secure; Path=/dir", "https://www.a.example/"), ("b=1; Path=/dir", "https://www.a.example/"),
            ("c=1; Secure; Path=/dir", "https://www.a.example/"),
        ] {
            let refusal = try jar.refusal(field, from: url)
            #expect(refusal == nil)
        }
        let refusal = try jar.refusal(field, from: url)
        #expect(refusal == (isStored ? nil : .overlaysSecureCookie))
    }

    @Test(
        arguments: [
            ("__Secure-a=b; Secure", nil), ("__secure-a=b", .prefix), ("__Secure-a=b; Secure; Domain=a.example", nil),
            ("__Host-a=b; Secure; Path=/", nil), ("__HOST-a=b; Secure; Path=/", nil), ("__Host-a=b; Path=/", .prefix),
            ("__Host-a=b; Secure; Path=/dir", .prefix), ("__Host-a=b; Secure", .prefix), ("__host-a=b; Secure; Path=", .prefix),
            ("__Host-a=b; Secure; Path=/; Domain=www.a.example", .prefix), ("__Host-a=b; Secure; Path=/; Domain=", nil),
            ("__Secure-a", .prefix), ("=__Host-a=b; Secure; Path=/", .prefix), ("__hOST-", .prefix), ("=__SECURE-=x; Secure", .prefix),
            ("_Secure-a=b", nil), ("a=__Host-b", nil), ("__Host", nil),
            // Some servers remove white space before a name. Other characters before the prefix stay.
            ("\u{A0}__Host-a=b", .prefix), ("\u{2003}\u{3000}__secure-a=b", .prefix), ("\u{85}__Host-a=b; Secure", .prefix),
            ("=\u{2028}__Host-a=b; Secure; Path=/", .prefix), ("\u{A0}__Host-a=b; Secure; Path=/", nil), ("\u{A0}a=b", nil),
            ("__Host-\u{301}a=b", .prefix), ("\u{200B}__Host-a=b", nil), ("é__Host-a=b", nil),
        ] as [(String, CookieRefusedError.Code?)])
    func prefixesRequireAttributes(_ field: String, _ expected: CookieRefusedError.Code?) throws {
        let refusal = try jar().refusal(field, from: "https://www.a.example/file")
        #expect(refusal == expected)
    }

    @Test(
        arguments: [
            ("a=b; SameSite=None; Secure", nil), ("a=b; SameSite=None", .sameSiteNeedsSecure), ("a=b; SameSite=Lax", nil),
            ("a=b; SameSite=x", nil),
        ] as [(String, CookieRefusedError.Code?)])
    func sameSiteNoneNeedsSecure(_ field: String, _ expected: CookieRefusedError.Code?) throws {
        let refusal = try jar().refusal(field)
        #expect(refusal == expected)
    }

    // MARK: Expiry

    @Test func anExpiredCookieIsNotSent() throws {
        let jar = jar()
        for field in ["a=1; Max-Age=60", "b=2; Expires=Fri, 01 Jan 2010 00:02:00 GMT", "c=3"] {
            let refusal = try jar.refusal(field)
            #expect(refusal == nil)
        }
        var fields: [String] = []
        for seconds: Int64 in [59, 1, 59, 1] {
            date.move(bySeconds: seconds)
            fields.append(try jar.field())
        }
        #expect(fields == ["a=1; b=2; c=3", "b=2; c=3", "b=2; c=3", "c=3"])
        #expect(jar.cookies.map(\.name) == ["c"])
        jar.removeSessionCookies()
        #expect(jar.cookies.isEmpty)
    }

    @Test func anExpiredCookieRemovesTheCookieOfItsKey() throws {
        let jar = jar()
        for field in ["a=1", "b=1", "a=; Max-Age=0", "b=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "c=1; Max-Age=-1"] {
            let refusal = try jar.refusal(field)
            #expect(refusal == nil)
        }
        #expect(jar.count == 0)
    }

    @Test func aCookieLivesForAtMost400Days() throws {
        let jar = jar()
        let refusal = try jar.refusal("a=1; Max-Age=99999999999")
        let far = HTTPDate(secondsSinceEpoch: 99_999_999_999)
        try jar.set(Cookie(name: "b", value: "1", domain: "www.a.example", expires: far, created: date.now))
        date.move(bySeconds: 400 * 86_400 - 1)
        let last = try jar.field()
        date.move(bySeconds: 1)
        let after = try jar.field()
        #expect(refusal == nil && last == "a=1; b=1" && after.isEmpty)
    }

    @Test func aClockThatIsMovedBackDoesNotExtendALife() throws {
        let jar = jar()
        let refusal = try jar.refusal("a=1; Max-Age=60")
        let expiry = jar.cookies.first?.expires
        date.move(bySeconds: -3_600)
        let field = try jar.field()
        #expect(refusal == nil && field == "a=1" && expiry != nil && jar.cookies.first?.expires == expiry)
    }

    // MARK: Cookies of the app

    @Test(arguments: [
        Cookie(name: "a=b", value: "", domain: "a.example", created: now),
        Cookie(name: "a;b", value: "", domain: "a.example", created: now),
        Cookie(name: "a", value: "b; c=d", domain: "a.example", created: now),
        Cookie(name: "a", value: "b\r\n", domain: "a.example", created: now),
        Cookie(name: "", value: "", domain: "a.example", created: now), Cookie(name: " a", value: "", domain: "a.example", created: now),
        Cookie(name: "a", value: "b ", domain: "a.example", created: now), Cookie(name: "a", value: "b", domain: "A.example", created: now),
        Cookie(name: "a", value: "b", domain: ".a.example", created: now), Cookie(name: "a", value: "b", domain: "", created: now),
        Cookie(name: "a", value: "b", domain: "ä.example", created: now),
        Cookie(name: "a", value: "b", domain: "a.example", path: "", created: now),
        Cookie(name: "a", value: "b", domain: "a.example", path: "x", created: now),
        Cookie(name: "a", value: "b", domain: "a.example", path: "/x;y", created: now),
    ])
    func anInvalidCookieOfTheAppIsRefused(_ cookie: Cookie) {
        #expect(throws: CookieRefusedError(.invalid, cookie.name)) { try jar().set(cookie) }
    }

    private static let now = HTTPDate(secondsSinceEpoch: 0)

    @Test func aCookieOfTheAppHasTheLimitsOfACookie() {
        let long = String(repeating: "a", count: 4_096)
        for cookie in [
            Cookie(name: "n", value: long, domain: "a.example", created: Self.now),
            Cookie(name: "n", value: "", domain: "a.example", path: "/" + long.prefix(1_024), created: Self.now),
            Cookie(name: "n", value: "", domain: String(long.prefix(1_025)), created: Self.now),
        ] {
            #expect(throws: CookieRefusedError(.tooManyOctets, "n")) { try jar().set(cookie) }
        }
    }

    @Test func aCookieOfTheAppIsSentAndRead() throws {
        let jar = jar()
        let cookie = Cookie(
            name: "a", value: "b", domain: "a.example", isHostOnly: false, isHTTPOnly: true, sameSite: .strict, created: Self.now)
        try jar.set(cookie)
        let (secure, plain) = (try jar.field(), try jar.field(for: "http://www.a.example/"))
        #expect(jar.cookies == [cookie] && secure == "a=b" && plain.isEmpty)
        try jar.set(Cookie(name: "a", value: "c", domain: "a.example", isHostOnly: false, created: date.now))
        #expect(jar.cookies.map(\.value) == ["c"] && jar.cookies.map(\.created) == [Self.now], "the date of creation stays")
    }

    // MARK: Removal

    @Test func cookiesAreRemovedBySite() throws {
        let jar = jar()
        for (field, url) in [
            ("1=x", "https://a.example/"), ("2=x", "http://www.a.example/"), ("3=x; Domain=a.example", "https://b.a.example/"),
            ("4=x", "https://b.example/"), ("5=x", "https://127.0.0.1/"),
        ] {
            let refusal = try jar.refusal(field, from: url)
            #expect(refusal == nil)
        }
        jar.removeAll(ofSite: try HTTPURL("http://c.a.example/"))
        #expect(jar.cookies.map(\.name) == ["4", "5"])
        jar.removeAll()
        #expect(jar.count == 0)
    }

    // MARK: Texts

    @Test func noTextShowsAValue() throws {
        let jar = jar()
        let refusal = try jar.refusal("sid=hunter2; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=60")
        let cookie = try #require(jar.cookies.first)
        #expect(refusal == nil)
        #expect(
            cookie.description
                == "sid; Host=www.a.example; Path=/; Secure; HttpOnly; SameSite=Lax; Expires=Fri, 01 Jan 2010 00:01:00 GMT")
        #expect(
            jar.description == "cookie jar, 1 cookie"
                && CookieRefusedError(.prefix, "x").description.hasPrefix("the cookie 'x' was refused: "))
        for value in [cookie, jar, CookiesMiddleware(jar), jar.cookies, StubTransport().cookies(jar)] as [any Sendable] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("hunter2"), "\(text)") }
        }
    }
}
#endif
