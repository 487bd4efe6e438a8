import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct MediaTypeTests {
    @Test(arguments: [
        ("text/plain", "text/plain"), ("Text/HTML;Charset=UTF-8", "text/html; charset=UTF-8"),
        (" text/plain ; a=b\t; c=d ", "text/plain; a=b; c=d"),
        ("text/plain;a=\"b c\"", "text/plain; a=\"b c\""), ("text/plain;a=\"b\"", "text/plain; a=b"),
        ("text/plain;a=\"\"", "text/plain; a=\"\""),
        ("text/plain;a=\"b;c=d\";e=f", "text/plain; a=\"b;c=d\"; e=f"),
        (#"text/plain;a="b\"c\\d;e";f=g"#, #"text/plain; a="b\"c\\d;e"; f=g"#),
        ("text/plain;;;a=b;", "text/plain; a=b"), ("text/plain;a;=b;c d=e;f=g", "text/plain; f=g"),
        ("text/plain;a=b;A=c", "text/plain; a=b"),
        ("text/plain;a=\"b", "text/plain"), ("text/plain;a=\"b\"c;d=e", "text/plain; d=e"), (#"text/plain;a="b\"#, "text/plain"),
        ("text/plain;a=\"", "text/plain"),
        ("multipart/mixed;boundary=a=b/c", "multipart/mixed; boundary=\"a=b/c\""), ("a!#$%&'*+-.^_`|~/b", "a!#$%&'*+-.^_`|~/b"),
        ("*/*", "*/*"),
        // A combining character does not hide the sign before it.
        ("text/plain;a=\"\\\"\u{301}\"", "text/plain; a=\"\\\"\u{301}\""),
        ("text/plain;a=\"\\\\\u{301}\"", "text/plain; a=\"\\\\\u{301}\""),
        ("text/plain;\u{301}a=b;c=d", "text/plain; c=d"), ("text/plain;a=b; \u{301}", "text/plain; a=b"),
        ("text/plain;a=\u{301}b", "text/plain; a=\"\u{301}b\""),
    ])
    func aFieldsValueIsReadAndWritten(_ text: String, _ expected: String) throws {
        let media = try #require(MediaType(text))
        #expect(media.description == expected)
        #expect(MediaType(media.description) == media, "what is written is read as the same")
    }

    @Test(arguments: [
        "", " ", ";", "text", "text/", "/plain", "text/plain/x", "text plain", "te xt/plain", "text/pl\u{e9}in", "text/pl,ain",
        "\"text/plain\"", "text/;a=b", "text/\u{301}plain", "text/plain\u{301};a=b",
    ])
    func anInvalidMediaTypeIsNil(_ text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test func noMoreThanThirtyTwoParametersAndEightKiBAreRead() throws {
        let many = try #require(MediaType("a/b" + (0..<100).map { ";p\($0)=\($0)" }.joined()))
        #expect(many.parameters.map(\.name) == (0..<32).map { "p\($0)" })
        let long = try #require(MediaType("a/b;x=1;y=" + String(repeating: "z", count: 8200) + ";w=1"))
        #expect(long.parameters.map(\.name) == ["x"], "one that is cut is not read in part")
        #expect(MediaType(String(repeating: "a", count: 8200) + "/b") == nil)
        let whole = "a/b;y=" + String(repeating: "z", count: 8192 - 6)
        #expect(MediaType(whole)?.parameters.first?.value.utf8.count == 8186)
    }

    @Test func partsAndParametersAreReadByName() throws {
        let media = try #require(MediaType("Application/Problem+JSON; Charset=\"utf-8\"; q=\"a\\\"b\""))
        #expect(media.type == "application" && media.subtype == "problem+json" && media.essence == "application/problem+json")
        #expect(media[parameter: "CHARSET"] == "utf-8" && media[parameter: "q"] == "a\"b" && media[parameter: "none"] == nil)
        #expect(media.parameters.map(\.name) == ["charset", "q"])
    }

    @Test(arguments: [
        ("application/json", true), ("TEXT/JSON; charset=utf-8", true), ("application/problem+json", true),
        ("application/vnd.x+JSON", true), ("image/json", false), ("application/x+jsonp", false),
        ("application/jsonp", false), ("application/json-seq", false), ("text/plain", false), ("application/x-ndjson", false),
    ])
    func jsonIsRecognized(_ text: String, _ isJSON: Bool) {
        #expect(MediaType(text)?.isJSON == isJSON)
    }
}
