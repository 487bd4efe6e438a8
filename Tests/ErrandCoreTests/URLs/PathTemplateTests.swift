import Errand
import Testing

@Suite(.timeLimit(.minutes(5))) struct PathTemplateTests {
    private enum Kind: String { case open, closed }

    private func target(_ path: PathTemplate, _ query: URLQuery = URLQuery()) -> String? { try? path.resolved(query: query).target }

    private func code(_ path: PathTemplate) -> InvalidURLError.Code? {
        do {
            _ = try path.resolved()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aTemplateNamesItsValuesWithoutTheirText() throws {
        let path: PathTemplate = "/orgs/\("acme", "org")/repos/\(7)?page=\(2, "page")"
        let resolved = try path.resolved()
        #expect(resolved.target == "/orgs/acme/repos/7?page=2")
        #expect(resolved.template == "/orgs/{org}/repos/{}")
        #expect(path.description == "/orgs/{org}/repos/{}")
        let files: PathTemplate = "/files/\(segments: ["a", "b"], "path")"
        #expect(files.template == "/files/{path}")
    }

    @Test(arguments: [
        ("users", "/users"), ("/users", "/users"), ("/users/", "/users/"), ("/", "/"), ("", ""), ("/a%2Fb", "/a%2Fb"),
        ("/a?b=c", "/a?b=c"), ("?b=c", "?b=c"), ("/a?b=/../", "/a?b=/../"), ("/a;b=c,d", "/a;b=c,d"), ("/...", "/..."),
        ("/.well-known", "/.well-known"),
    ])
    func literalPathsAreUnchanged(_ text: String, _ expected: String) {
        #expect(target(PathTemplate(stringLiteral: text)) == expected)
        #expect(target(PathTemplate(verbatim: text)) == expected)
    }

    @Test(arguments: [
        ("//evil.example/x", InvalidURLError.Code.absolute), ("https://evil.example/x", .absolute), ("HTTP://x", .absolute),
        ("/a//b", .emptySegment), ("/a//", .emptySegment), ("/.", .dotSegment), ("/a/../b", .dotSegment), ("..", .dotSegment),
        ("/%2e%2E/b", .dotSegment), ("/.%2e", .dotSegment), ("/%2E", .dotSegment), ("/a#b", .fragment), ("/a?b#c", .fragment),
        ("/a b", .invalidOctet(0x20, component: "path")), ("/a%2", .invalidOctet(0x25, component: "path")),
        ("/a%zz", .invalidOctet(0x25, component: "path")), ("/ä", .invalidOctet(0xC3, component: "path")),
        ("/a\\b", .invalidOctet(0x5C, component: "path")), ("/a?b=c d", .invalidOctet(0x20, component: "query")),
        ("/a?b=\n", .invalidOctet(0x0A, component: "query")), ("/" + String(repeating: "a", count: 70_000), .tooManyOctets),
    ])
    func literalPathsThatCannotBeSentAreRefused(_ text: String, _ expected: InvalidURLError.Code) {
        #expect(code(PathTemplate(verbatim: text)) == expected)
    }

    @Test(arguments: [
        ("a/../b?c#d", "/a%2F..%2Fb%3Fc%23d"), ("%2e%2e", "/%252e%252e"), ("..b", "/..b"), ("ä", "/%C3%A4"), ("\r\n\0", "/%0D%0A%00"),
        ("//evil.example", "/%2F%2Fevil.example"), ("https://evil.example", "/https:%2F%2Fevil.example"), ("a\u{301}?", "/a%CC%81%3F"),
    ])
    func aValueStaysInItsSegment(_ value: String, _ expected: String) {
        #expect(target("/\(value)") == expected)
    }

    @Test func theErrorOfAPathInAVariableShowsTheCorrectForm() throws {
        let path = "/users/7?token=hunter2"
        for template: PathTemplate in ["\(path)", "\(path)/posts", "\(Substring(path), "path")"] {
            let error = #expect(throws: InvalidURLError.self) { try Request(.get, template) }
            #expect(error?.code == .interpolatedPath && error?.description.contains("hunter2") == false)
            #expect(error?.description.contains("PathTemplate(verbatim: path)") == true)
        }
        #expect(try Request(.get, PathTemplate(verbatim: path)).head.path == path)
        #expect(target("\("users")/\("/x")") == "/users/%2Fx" && target("/\("/x")") == "/%2Fx")
    }

    @Test func severalValuesMayShareASegment() {
        #expect(target("/\("a/b")...\("c")") == "/a%2Fb...c")
        #expect(target("/v\(1).\(2)/\(Kind.closed)-\(UUID(uuid: nullUUID))") == "/v1.2/closed-00000000-0000-0000-0000-000000000000")
        #expect(target("/\("")\("x")") == "/x")
        #expect(target("/a\("")") == "/a")
        #expect(target("/\("")x/\("")y?\("")") == "/x/y?")
    }

    @Test func anEmptySegmentIsRefused() {
        let empty = ""
        let none: [String] = []
        for path: PathTemplate in [
            "/\(empty)", "/a/\(empty)", "/a/\(empty)/b", "\(empty)", "/\(empty)?q=1", "/\(empty)\(empty)", "/\(segments: none)",
            "/a/\(segments: none)/b",
        ] {
            #expect(code(path) == .emptySegment)
        }
    }

    @Test func dotSegmentsOfValuesAreRefused() {
        let dot = "."
        for path: PathTemplate in ["/\(dot)", "/\(dot)\(dot)", "/.\(dot)", "/a/\(dot).", "/%2e\(dot)/x", "/\("..")/x", "\(dot)"] {
            #expect(code(path) == .dotSegment)
        }
    }

    @Test(arguments: ["..;", "..;x", ".;", ".;a=b", "..;/", ".;;"])
    func aValueThatServersReadAsADotSegmentIsRefused(_ value: String) {
        #expect(code("/users/\(value)/secret") == .dotSegment)
        #expect(code("/users/\(segments: ["a", value])/secret") == .dotSegment)
        #expect(code("/users/.\(String(value.dropFirst()))") == .dotSegment)
        #expect(target("/users/a\(value)") != nil && target("/s?q=\(value)") != nil)
    }

    @Test func parametersOfNoSegmentAreRefused() {
        #expect(code("/users/\(";x")/secret") == .emptySegment && code("/users/\(";")") == .emptySegment)
        #expect(code("/users/\("")\(";")") == .emptySegment && code("/f/\(segments: [";a"])") == .emptySegment)
        #expect(code("/users/%2e%2e;x/y") == .dotSegment && code("/..;/y") == .dotSegment)
        #expect(target("/users/\("a;b=c")") == "/users/a;b=c" && target("/a;..;") == "/a;..;")
    }

    @Test func refusalsDoNotShowTheValues() {
        let value = "hunter2"
        for path: PathTemplate in [
            "/reset/\(value, "token")#x", "/reset/\(value) x", "//\(value)", "/reset/\(value)/\("..")", "/reset/\(value)?q= ",
            "/reset/\(value)/\(String(repeating: "a", count: 70_000))", "/reset/\(value)//",
        ] {
            let error = #expect(throws: InvalidURLError.self) { try path.resolved() }
            #expect(error?.description.contains("hunter2") == false)
            #expect(throws: InvalidURLError.self) { try Request(.get, path) }
        }
    }

    @Test func valuesAfterTheQuestionMarkAreQueryValues() {
        #expect(target("/s?q=\("a+b&c=d;e#f/..?%")&r=\("")") == "/s?q=a%2Bb%26c%3Dd%3Be%23f/..?%25&r=")
        #expect(target("/s?q=\(".")&r=\("..")") == "/s?q=.&r=..")
    }

    @Test func segmentsAreEscapedOneByOne() {
        #expect(target("/f/\(segments: ["a b", "c/d", "e"])/g") == "/f/a%20b/c%2Fd/e/g")
        #expect(code("/f/\(segments: ["a", "", "b"])") == .emptySegment)
        #expect(code("/f/\(segments: ["a", "..", "b"])") == .dotSegment)
        #expect(code("/f/\(segments: ["."])") == .dotSegment)
    }

    @Test func aQueryFollowsTheQueryOfThePath() {
        #expect(target("/s?a=1", ["b": 2]) == "/s?a=1&b=2")
        #expect(target("/s", ["b": 2]) == "/s?b=2")
        #expect(target("/s?", ["b": 2]) == "/s?b=2")
        #expect(target("/s", [:]) == "/s")
    }

    // MARK: Whole URLs

    @Test(arguments: [
        ("https://a.example/items?cursor=x%20y", "https://a.example/items?cursor=x%20y&page=2", "/items"),
        ("http://a.example:8080", "http://a.example:8080/?page=2", ""),
        ("https://a.example/a//b", "https://a.example/a//b?page=2", "/a//b"),
    ]) func aWholeURLIsARequest(_ text: String, _ expected: String, _ template: String) throws {
        let path = PathTemplate.url(text)
        let request = try Request(.get, path, query: ["page": 2])
        #expect(request.url?.description == expected && path.template == template)
        #expect(request.options.urlTemplate == nil)
        let url = try #require(URL(string: text + "#part"))
        #expect(try Request(.get, .url(url), query: ["page": 2]).url?.description == expected)
        let resolved = try path.resolved(query: ["page": 2]).target
        #expect(resolved == request.head.path)
    }

    @Test(arguments: ["/items", "ftp://a.example/", "https://", "https://a.example/a b", "https://user:s3cret@a.example/", "items", ""])
    func anyOtherURLIsRefused(_ text: String) {
        let error = #expect(throws: InvalidURLError.self) { try Request(.get, .url(text)) }
        #expect(error?.description.contains("s3cret") == false)
        #expect(throws: InvalidURLError.self) { try PathTemplate.url(text).resolved() }
        #expect(!PathTemplate.url(text).description.contains("s3cret"))
    }
}

private let nullUUID: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
