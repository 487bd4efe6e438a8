import Errand
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct HTTPURLTests {
    @Test func aCombiningMarkHidesNoSeparator() {
        #expect(URLReference.removingDotSegments("/a/\u{301}b/../../c") == "/c")
        #expect(URLReference.removingDotSegments("/a/..\u{301}/b") == "/a/..\u{301}/b")
        #expect(PathPattern("/a/{id}").values(in: "/a/\u{301}b") == ["id": "\u{301}b"])
        #expect(PathPattern("/a/{id}").values(in: "/a/b/\u{301}c") == nil)
        for text in ["1::\u{301}2", "1:\u{301}:2", "1:2:3:4:5:6:7:\u{301}8", "::1\u{301}", "::192.0.2.\u{301}1"] {
            #expect(!Host.isIPv6(text[...]))
        }
        #expect(Host.isIPv6("1:2:3:4:5:6:7:8") && Host.isIPv6("::") && Host.isIPv6("::192.0.2.1") && !Host.isIPv6("1:::2"))
        #expect(Host.ipv4("192.0.2.\u{301}1") == nil && Host.ipv4("192.0.2.1") == 0xC000_0201 && Host.ipv4("192.0.2.01") == nil)
    }

    @Test(arguments: [
        ("https://a.example", "https://a.example/"), ("HTTPS://A.Example/Path", "https://a.example/Path"),
        ("https://a.example:443/", "https://a.example/"), ("http://a.example:80/", "http://a.example/"),
        ("http://a.example:443/", "http://a.example:443/"), ("https://a.example:/x", "https://a.example/x"),
        ("https://a.example:00080/", "https://a.example:80/"), ("https://a.example:65535/", "https://a.example:65535/"),
        ("https://a.example:1?", "https://a.example:1/?"), ("https://[2001:DB8::1]:8443/x?y", "https://[2001:db8::1]:8443/x?y"),
        ("http://[::ffff:1.2.3.4]/", "http://[::ffff:1.2.3.4]/"), ("http://127.0.0.1/a%2fb", "http://127.0.0.1/a%2fb"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"), ("https://a.example./", "https://a.example./"),
        ("https://a.example//x", "https://a.example//x"),
    ])
    func aURLIsSentInOneForm(_ text: String, _ expected: String) throws {
        #expect(try HTTPURL(text).description == expected)
    }

    /// What is read in one pass is read as by its components.
    @Test(arguments: [
        "http://a.example", "http://a.example/", "https://a.example:443/x", "http://a.example:443/x", "http://a.example:80?x", "http://a",
        "https://a-b.example.:8443/a/b?c=d&e", "http://127.0.0.1:65535/?", "http://127.0.0.1:65536/", "http://127.0.0.1:/", "http://a:0/",
        "http://a:080/", "http://a:123456/", "http://a.example?", "http://a.example??/?", "http://a..b/", "http://.a/", "http://a./",
        "http://./",
        "http:///a", "http://a:8o/", "http://a/b c", "http://a/%41", "http://a/%4", "http://a?%", "http://a/é", "http://é/", "http://a?é",
        "http://A/", "HTTP://a/", "http://a@b/", "http://a:b@c/", "http://[::1]/", "http://a_b/", "http://a\\b", "httpx://a", "http:/a",
        "http//a",
        "http://", "https:/", "https://", "http", "", "http://a/;x=1,2:3@4!$&'()*+~", "http://a/|", "http://a?|", "http://a/?/?:@",
        "http://" + String(repeating: "a", count: 63) + "/", "http://" + String(repeating: "a", count: 64) + "/",
        "http://" + String(repeating: "a.", count: 126) + "a/", "http://" + String(repeating: "a.", count: 127) + "a/",
        "http://a/" + String(repeating: "b", count: 65_526), "http://a/" + String(repeating: "b", count: 65_527),
    ])
    func aPlainURLIsReadLikeItsComponents(_ text: String) throws {
        func read(_ body: () throws -> HTTPURL) -> Result<HTTPURL, InvalidURLError> {
            Result(catching: body).mapError { $0 as? InvalidURLError ?? InvalidURLError("", .missingHost) }
        }
        let (plain, general) = (read { try HTTPURL(text) }, read { try HTTPURL(try URLReference(text)) })
        switch (plain, general) {
        case (.success(let plain), .success(let general)):
            #expect(plain == general)
            #expect(plain.authority == general.authority)
        case (.failure(let plain), .failure(let general)): #expect(plain.code == general.code)
        default: Issue.record("\(plain), but \(general)")
        }
    }

    @Test(arguments: [
        ("a.example/x", InvalidURLError.Code.missingScheme), ("//a.example/x", .missingScheme), ("", .empty),
        ("ftp://a.example", .unsupportedScheme("ftp")), ("file:///etc/passwd", .unsupportedScheme("file")),
        ("https://", .missingHost), ("https:///x", .missingHost), ("http:g", .missingHost), ("https://:80/", .missingHost),
        ("https://user:pw@a.example", .credentials), ("https://@a.example", .credentials), ("https://a.example/#f", .fragment),
        ("https://a.example#", .fragment), ("https://a.example:0", .invalidPort("0")), ("https://a.example:65536", .invalidPort("65536")),
        ("https://a.example:99999", .invalidPort("99999")), ("https://a.example:000080", .invalidPort("000080")),
        ("https://a.example:8a", .invalidPort("…")), ("https://a.example:+80", .invalidPort("…")), ("https://::1/", .invalidPort("…")),
        ("https://a.example/a b", .invalidOctet(0x20, component: "path")),
        ("https://a.example/?a|b", .invalidOctet(0x7C, component: "query")),
        ("https://a.example/\u{7F}", .invalidOctet(0x7F, component: "path")),
        ("https://a\nb.example/", .invalidOctet(0x0A, component: "authority")),
        ("https://a..example/", .invalidHost("a label is empty")), ("https://[::1/", .invalidPort("…")),
        ("https://[]/", .invalidHost("a bracket is not closed")), ("https://[::1]x/", .invalidHost("a bracket is not closed")),
        ("https://[::1::2]/", .invalidHost("'::1::2' is not an IPv6 address")),
        ("https://a%41.example/", .invalidHost("it holds the octet 0x25")),
        ("https://a.example/" + String(repeating: "a", count: 65_536), .tooManyOctets),
    ])
    func anInvalidURLIsRefused(_ text: String, _ expected: InvalidURLError.Code) {
        let error = #expect(throws: InvalidURLError.self) { try HTTPURL(text) }
        #expect(error?.code == expected)
    }

    @Test(arguments: [
        ("https://a.example/x?y=z", "https://a.example/x?y=z"), ("https://a.example/x#top", "https://a.example/x"),
        ("https://a.example#", "https://a.example/"), ("https://a.example/a%2Fb?q=%2B", "https://a.example/a%2Fb?q=%2B"),
        ("https://a.example/straße?q=ä b", "https://a.example/stra%C3%9Fe?q=%C3%A4%20b"),
    ])
    func aFoundationURLIsReadWithoutItsFragment(_ text: String, _ expected: String) throws {
        let url = try #require(URL(string: text))
        #expect(try HTTPURL(url).description == expected)
        #expect(try Request(.get, url: url).url?.description == expected)
    }

    @Test(arguments: [
        ("/x", InvalidURLError.Code.missingScheme), ("file:///etc/passwd", .unsupportedScheme("file")),
        ("mailto:joe", .unsupportedScheme("mailto")),
        ("https://joe:pw@a.example/", .credentials), ("https:///x", .missingHost),
    ])
    func anInvalidFoundationURLIsRefused(_ text: String, _ expected: InvalidURLError.Code) throws {
        let url = try #require(URL(string: text))
        let error = #expect(throws: InvalidURLError.self) { try HTTPURL(url) }
        #expect(error?.code == expected && error?.description.contains("pw") == false)
    }

    @Test func aURLRelativeToABaseIsResolved() throws {
        let url = try #require(URL(string: "../x?y", relativeTo: URL(string: "https://a.example/b/c/d")))
        #expect(try HTTPURL(url).description == "https://a.example/b/x?y")
    }

    @Test(arguments: [
        ("\u{FEFF}https://a.example/ä", "https://a.example/%C3%A4"), (" \u{FEFF} https://a.example/x\u{FEFF}\n", "https://a.example/x"),
        ("https://a.example/x?y=z", "https://a.example/x?y=z"), (" \n\thttps://a.example/x\u{A0}\u{3000}\r\n", "https://a.example/x"),
        ("https://a.example/straße/a b?q=ä b&r=日本#top ä", "https://a.example/stra%C3%9Fe/a%20b?q=%C3%A4%20b&r=%E6%97%A5%E6%9C%AC"),
        ("https://a.example/a%20b%2Fc?q=%C3%A4", "https://a.example/a%20b%2Fc?q=%C3%A4"),
        ("https://a.example/100%?r=50%&s=%4&t=%zz", "https://a.example/100%25?r=50%25&s=%254&t=%25zz"),
        (
            "https://a.example/[a]{b}|\"<c>`^?q=[a]{b}|\"<c>`^\\",
            "https://a.example/%5Ba%5D%7Bb%7D%7C%22%3Cc%3E%60%5E?q=%5Ba%5D%7Bb%7D%7C%22%3Cc%3E%60%5E%5C"
        ),
        ("https://a.example?q=a b", "https://a.example/?q=a%20b"), ("HTTPS://A.Example:443", "https://a.example/"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("https://a.example/a\u{301}?\u{301}", "https://a.example/a%CC%81?%CC%81"),
        ("https://a.example/x?u=https://b.example/?v=1", "https://a.example/x?u=https://b.example/?v=1"),
    ])
    func aPastedURLIsEncoded(_ text: String, _ expected: String) throws {
        #expect(try HTTPURL(pasted: text).description == expected)
        #expect(try Request(.get, pastedURL: text).url?.description == expected)
    }

    @Test(arguments: [
        ("a.example/x", InvalidURLError.Code.missingScheme), ("hello world", .missingScheme), ("", .empty), (" ", .empty),
        ("ftp://a.example/ä", .unsupportedScheme("ftp")), ("javascript:alert(1)", .unsupportedScheme("javascript")),
        ("https://", .missingHost), ("https:// a.example", .invalidOctet(0x20, component: "authority")),
        ("https://joe:pw@a.example/", .credentials), ("https://a.example\\@b.example/", .credentials),
        ("https://a.example/a\\b", .invalidOctet(0x5C, component: "path")),
        ("https://a.example/a\nb", .invalidOctet(0x0A, component: "text")),
        ("https://a.example/\u{7F}x", .invalidOctet(0x7F, component: "text")), ("https://a.example:99999/ä", .invalidPort("99999")),
    ])
    func aPastedTextThatIsNotAURLIsRefused(_ text: String, _ expected: InvalidURLError.Code) {
        let error = #expect(throws: InvalidURLError.self) { try HTTPURL(pasted: text) }
        #expect(error?.code == expected && error?.description.contains("pw") == false)
    }

    @Test(arguments: [
        ("::", true), ("::1", true), ("1::", true), ("1:2:3:4:5:6:7:8", true), ("1:2:3:4:5:6:1.2.3.4", true), ("::1.2.3.4", true),
        ("1:2:3:4:5:6:7::", true), ("1:2:3:4:5:6:7", false), ("1:2:3:4:5:6:7:8:9", false), ("1::2:3:4:5:6:7:8", false), (":::", false),
        ("1:::2", false), ("12345::", false), ("1.2.3.4::", false), ("::1.2.3.256", false), ("::1.2.3.04", false), ("::1.2.3", false),
        ("fe80::1%eth0", false), (":1::", false), ("1.2.3.4", false), ("", false),
    ])
    func addressesOfIPv6AreChecked(_ text: String, _ isValid: Bool) {
        #expect(Host.isIPv6(text[...]) == isValid)
    }

    @Test func authorityAndOriginLeaveOutThePortThatTheSchemeImplies() throws {
        let plain = try HTTPURL("https://a.example/x")
        let named = try HTTPURL("HTTPS://A.EXAMPLE:443/y?z")
        let other = try HTTPURL("https://a.example:8443/x")
        #expect(plain.authority == "a.example" && plain.port == nil && plain.effectivePort == 443)
        #expect(other.authority == "a.example:8443" && other.effectivePort == 8443)
        #expect(plain.origin == named.origin && plain.origin.hashValue == named.origin.hashValue)
        #expect(plain.origin != other.origin)
        #expect(try plain.origin != HTTPURL("http://a.example/x").origin)
        #expect(try plain.origin != HTTPURL("https://b.example/x").origin)
        #expect(plain.origin.description == "https://a.example" && other.origin.description == "https://a.example:8443")
        #expect(try HTTPURL("http://[::1]:81/").origin.description == "http://[::1]:81")
        #expect(plain == (try HTTPURL("https://A.example:443/x")))
    }

    @Test(arguments: [
        ("https://a.example", "users", "https://a.example/users"), ("https://a.example/v1", "/users/", "https://a.example/v1/users/"),
        ("https://a.example/v1/", "", "https://a.example/v1/"), ("https://a.example", "", "https://a.example/"),
        ("https://a.example/v1?k=v", "x?y=z", "https://a.example/v1/x?k=v&y=z"),
        ("https://a.example/v1?k=v", "?y", "https://a.example/v1?k=v&y"),
    ])
    func pathsJoinBelowTheBase(_ base: String, _ path: String, _ expected: String) throws {
        #expect(try HTTPURL(base).joined(with: path).description == expected)
    }

    @Test(arguments: ["//evil.example", "https://evil.example", "x#f", "a b", "x?a b", "%4"])
    func anInvalidPathIsNotJoined(_ path: String) {
        #expect(throws: InvalidURLError.self) { try HTTPURL("https://a.example/v1").joined(with: path) }
    }

    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("../g?y#s", "http://a/b/g?y#s"), ("../../../g", "http://a/g"), ("//h/x", "http://h/x"),
        ("", "http://a/b/c/d;p?q"),
        ("?y", "http://a/b/c/d;p?y"), ("/./g/..", "http://a/"), ("g:h", "g:h"), ("./g:h", "http://a/b/c/g:h"), ("..//x", "http://a/b//x"),
    ])
    func referencesResolveStrictly(_ reference: String, _ expected: String) throws {
        #expect(try URLReference(reference).resolved(against: URLReference("http://a/b/c/d;p?q")).description == expected)
    }

    @Test(arguments: ["a b", "/\u{0}", "//a b/", "//a\r\nb", "/ä", "?<", "#%", "/%e"])
    func anInvalidReferenceIsRefused(_ text: String) {
        #expect(throws: InvalidURLError.self) { try URLReference(text) }
    }

    /// As browsers read it (WHATWG URL), but that what they send as it is, and backslashes, are escaped.
    @Test(arguments: [
        ("/a b", "/a%20b"), ("/caf\u{E9}", "/caf%C3%A9"), ("/e\u{301}", "/e%CC%81"), ("/x?f[0]=1", "/x?f%5B0%5D=1"), ("/x?a|b", "/x?a%7Cb"),
        ("/x?t={y}", "/x?t=%7By%7D"), ("/100%/x", "/100%25/x"), ("/%zz?%4", "/%25zz?%254"), (#"/x?q="1""#, "/x?q=%221%22"),
        ("/ok%20x?%2f", "/ok%20x?%2f"),
        ("/<>^`", "/%3C%3E%5E%60"), ("/x#a b|%", "/x#a%20b%7C%25"), ("/x#a#b", "/x#a%23b"), ("/x?a?b", "/x?a?b"), ("  ?q ", "/b/c/d;p?q"),
        ("?a b", "/b/c/d;p?a%20b"),
        (#"/\evil.example/x"#, "/%5Cevil.example/x"), (#"\\evil.example/x"#, "/b/c/%5C%5Cevil.example/x"), (#"/a\..\b"#, "/a%5C..%5Cb"),
        (#"/x?a\b"#, "/x?a%5Cb"), ("a b:c", "/b/c/a%20b:c"), ("ä://b", "/b/c/%C3%A4://b"), ("/a/ ../b", "/a/%20../b"),
        ("../ä", "/b/%C3%A4"), ("//a.example/ä b", "/%C3%A4%20b"),
        ("https://A.example/ä?ö#ü", "/%C3%A4?%C3%B6#%C3%BC"), ("/a/../ b", "/%20b"), ("/\u{85}\u{2028}", "/%C2%85%E2%80%A8"),
        ("/'()*!$&+,;=:@-._~", "/'()*!$&+,;=:@-._~"),
        ("/x?u=https://b.example/?v=ä", "/x?u=https://b.example/?v=%C3%A4"), ("//a.example?a b", "?a%20b"),
    ])
    func aReferenceOfAServerIsEncoded(_ text: String, _ expected: String) throws {
        let resolved = try URLReference(received: text).resolved(against: URLReference("https://a.example/b/c/d;p?q"))
        #expect(resolved.authority?.lowercased() == "a.example" && resolved.description.dropFirst(17) == expected)
        let url = try HTTPURL(resolved)
        let again = try HTTPURL(url.description)
        #expect(url.origin.description == "https://a.example" && again.description == url.description)
    }

    @Test(arguments: [
        ("/a\nb", InvalidURLError.Code.invalidOctet(0x0A, component: "text")), ("/a\tb", .invalidOctet(0x09, component: "text")),
        ("/x#\u{0}", .invalidOctet(0, component: "text")), ("/\u{7F}", .invalidOctet(0x7F, component: "text")),
        ("https:// a.example/", .invalidOctet(0x20, component: "authority")), ("//a b/", .invalidOctet(0x20, component: "authority")),
        ("https://joe:pw@a.example/", .credentials), (#"https://a.example\@b.example/"#, .credentials), ("//joe@a.example/", .credentials),
        ("ftp://a.example/ä", .unsupportedScheme("ftp")), ("javascript:alert(1) ", .unsupportedScheme("javascript")),
        ("data:,a b", .unsupportedScheme("data")),
        ("https:///b.example/", .missingHost), (#"https:\\b.example/"#, .missingHost), ("///b.example/", .missingHost),
        ("https:b", .missingHost),
        ("https://a.example:99999/ ", .invalidPort("99999")),
    ])
    func aReferenceOfAServerIsRefused(_ text: String, _ expected: InvalidURLError.Code) {
        let error = #expect(throws: InvalidURLError.self) {
            try HTTPURL(URLReference(received: text).resolved(against: URLReference("https://a.example/b")))
        }
        #expect(error?.code == expected && error?.description.contains("pw") == false)
    }

    @Test(arguments: [#"https://a.example\b/"#, "https://a%2eb/", "https://[a]/", "https://\u{FFFD}.example/"])
    func aHostOfAServerIsNotRepaired(_ text: String) {
        #expect(throws: InvalidURLError.self) { try HTTPURL(URLReference(received: text)) }
    }

    /// Where a field has them, octets that are not UTF-8 are kept.
    @Test func octetsOfAFieldThatAreNotUTF8AreEscaped() {
        func value(_ octets: [UInt8]) -> String { HTTPField(name: .location, value: octets).valuePreservingURLs }
        #expect(value(Array("/caf".utf8) + [0xE9]) == "/caf%E9")
        #expect(value(Array("/é".utf8) + [0xFF]) == "/%C3%A9%FF")
        #expect(value(Array("/é?%".utf8)) == "/é?%")
        // In a Link, only the URLs are escaped.
        let link = HTTPField(name: .custom("Link"), value: Array("</caf".utf8) + [0xE9] + Array(">; title=caf".utf8) + [0xE9])
        #expect(link.valuePreservingURLs == "</caf%E9>; title=café")
    }

    @Test func refusalsHoldNoSecretAndNoControlCharacter() {
        for text in [
            "https://user:s3cret@a.example/", "https://a.example/a b?token=s3cret", "https://user:s3cret/x@a.example/",
            "https://u:s3c#s3cret@h/", "ftp://u:s3cret@h/",
            // What can't be an address is hidden.
            "https://[s3cret/", "https://[s3cret]/", "https://[::1%s3cret]/", "https://[s3cret]:8080/x?y", "https://[::1]s3cret/",
            "//[s3cret", "[s3cret", "https://[s3cret x/", "https://[s3cret]/a b", "ftp://[s3cret]/",
        ] {
            let error = #expect(throws: InvalidURLError.self) { try HTTPURL(text) }
            #expect(error.map { "\($0)" + dumped($0) }?.contains("s3cret") == false)
        }
        #expect(InvalidURLError("https://[s3cret]:80/x", .empty).text == "https://[…/x")
        let address = #expect(throws: InvalidURLError.self) { try HTTPURL("https://[::1::2]/") }
        #expect(address?.description == "invalid URL 'https://[::1::2]/': its host is invalid: '::1::2' is not an IPv6 address")
        let forged = #expect(throws: InvalidURLError.self) { try HTTPURL("https://[\u{2028}]/") }
        #expect(forged?.description.contains("\u{2028}") == false)
        #expect(InvalidURLError(String(repeating: "é", count: 1000), .missingHost).text.count == 201)
        #expect(
            InvalidURLError("x", .missingHost).description
                == "invalid URL 'x': it has no host; give a whole URL, or add .server(\"https://…\") to the stack")
    }

    @Test(arguments: [
        "https://joe:s3cret\"x@h.example/", "https://joe:s3cret x@h/", "https://joe:x<s3cret>@h/", "joe:s3cret@h.example",
        "https:/joe:s3cret@h",
        "https:\\\\joe:s3cret@h", "https:\\joe:s3cret@h", "https://joe:1234567/s3cret@h", "https://joe:s3cret@\u{301}h/",
        "https://s3cret@\u{301}h/",
        "s3cret@h", "s3cret:x@h", "s3cret://x@h", "//joe:s3cret@h", "https://joe:12\"s3cret@h", "https://joe:s3cret\u{FF20}h/",
        "https://s3cret\u{FE6B}h/",
        "https://joe%3As3cret%40h/", "https://a/ b?next=https%3A%2F%2Fjoe%3As3cret%40x", "https://a/ ?n=%2F%3Ftoken%3Ds3cret",
        "https://joe:s3cret?a@h", "https://joe:s3cret#a@h#b", "ftp:joe:s3cret@h", "https://joe:a//s3cret@h", "/x//joe:s3cret@h y",
    ])
    func noRefusalShowsCredentials(_ text: String) {
        var errors: [InvalidURLError] = []
        if !text.contains("token") { errors += [.init(text, .invalidPort("s3cret")), .init(text, .invalidHost("'s3cret' is invalid"))] }
        let read: [() throws -> Void] = [
            { _ = try HTTPURL(text) }, { _ = try URLReference(text) }, { _ = try HTTPURL("https://a.example").joined(with: text) },
        ]
        for read in read {
            do { try read() } catch { errors += [error as? InvalidURLError].compactMap { $0 } }
        }
        #expect(!errors.isEmpty, "it is not a URL")
        for error in errors { #expect(!"\(error)\(dumped(error))".contains("s3cret"), "\(error)") }
    }

    @Test(arguments: ["https://joe:s3cret/x", "https://a.example:s3cret", "https://a.example/#s3cret", "https://a.example/?x#s3cret"])
    func aSecretInTheWrongPlaceIsNotShown(_ text: String) throws {
        let error = try #require(throws: InvalidURLError.self) { try HTTPURL(text) }
        #expect(!"\(error)\(dumped(error))".contains("s3cret") && error.text.contains("…"), "\(error)")
    }

    @Test func aRefusalWithoutCredentialsNamesTheFault() {
        #expect(
            InvalidURLError("https://h:99999/", .invalidPort("99999")).description
                == "invalid URL 'https://h:99999/': '99999' is not a port (1 to 65535)")
        #expect(InvalidURLError("https://u@h:1/", .invalidPort("99999")).description.hasSuffix("'…' is not a port (1 to 65535)"))
        #expect(InvalidURLError("/users/@me x", .emptySegment).text == "/users/@me x")
        #expect(InvalidURLError("https://u:p@h/a b", .credentials).text == "https://REDACTED:REDACTED@h/a b")
        #expect(InvalidURLError("gopher://h/", .unsupportedScheme("gopher")).description.contains("'gopher'"))
    }

    @Test func aHostThatIsTooLongIsRefusedBeforeItIsLookedAt() {
        let error = #expect(throws: InvalidURLError.self) { try HTTPURL("https://\(String(repeating: "🇩", count: 8000))/") }
        #expect(error?.code == .invalidHost("it is longer than 253 octets"))
    }

    @Test(arguments: [("%41%C3%A4", "Aä"), ("a", "a"), ("%2541", "%41"), ("%4", nil), ("%", nil), ("%zz", nil), ("%C3", nil), ("%FF", nil)])
    func escapesAreResolvedOnce(_ text: String, _ plain: String?) {
        #expect(PercentEncoding.decode(text) == plain)
    }
}
