import Errand
import ErrandTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestMatcherTests {
    private func recorded(
        _ method: HTTPRequest.Method = .get, _ target: String = "/", headers: HTTPFields = HTTPFields(), body: String = ""
    ) throws -> RecordedRequest {
        RecordedRequest(request: try Request(method, url: "https://a.example" + target, headers: headers), body: Data(body.utf8))
    }

    @Test func anUndecodableBodyNamesItsRequestAndTheCoding() throws {
        struct User: Decodable { var firstName: String }
        let sent = try recorded(.post, "/users?token=s3cr3t", body: #"{"first_name":"Ada"}"#)
        let error = #expect(throws: DecodingError.self) { try sent.json(as: User.self) }
        guard case .keyNotFound(let key, let context)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        let problem = "POST https://a.example/users?token=REDACTED: the body can't be read with the parameter coding "
        #expect(
            key.stringValue == "firstName" && context.debugDescription.hasPrefix("\(problem)(\(JSONCoding.standard)): "),
            "\(context.debugDescription)")
        #expect(try sent.json(as: User.self, coding: JSONCoding(keys: .snakeCase)).firstName == "Ada")
        for (body, type) in [("[]", Int.self), ("null", String.self), ("{", User.self)] as [(String, any Decodable.Type)] {
            let error = #expect(throws: DecodingError.self) { try recorded(body: body).json(as: type) }
            #expect(error.map { "\($0)".contains("GET https://a.example/: the body can't be read") } == true)
        }
    }

    @Test(
        arguments: [
            (.url("https://a.example/x?q=1"), true), (.url("https://A.EXAMPLE:443/x?q=1"), true), (.url("https://a.example/x"), false),
            (.url("https://a.example/x", ignoringQuery: true), true), (.url("https://a.example/x?other", ignoringQuery: true), true),
            (.url("https://b.example/x", ignoringQuery: true), false), (.url("http://a.example/x?q=1"), false), (.url("no URL"), false),
            (.url(matching: "/x"), true), (.url(matching: #"^https://a\.example/[xy]\?q=\d+$"#), true), (.url(matching: "^/x"), false),
        ] as [(RequestMatcher, Bool)])
    func urlsMatchAsAWholeOrByAnExpression(_ matcher: RequestMatcher, _ matches: Bool) throws {
        #expect(matcher.matches(try recorded(.get, "/x?q=1")) == matches, "\(matcher)")
    }

    @Test func conditionsOfAStackMatchToo() throws {
        let matcher: RequestMatcher = .condition(.host("*.example") && !.method(.get))
        let (post, get) = (try recorded(.post), try recorded(.get))
        #expect(matcher.matches(post) && !matcher.matches(get))
        #expect(matcher.description == "host *.example and not (method GET)")
    }

    @Test func fieldsMatchByAnExpression() throws {
        var headers: HTTPFields = [.accept: "text/html"]
        headers.append(HTTPField(name: .accept, value: "application/json;q=0.5"))
        let request = try recorded(headers: headers)
        #expect(RequestMatcher.header(.accept, matching: #"^application/.*q=0\.\d$"#).matches(request), "the second of two counts, too")
        #expect(!RequestMatcher.header(.accept, matching: "^json").matches(request))
        #expect(!RequestMatcher.header(.cookie, matching: "").matches(request))
    }

    /// A text in another normal form is equal to `==`, and another request.
    @Test func textsMatchByTheirOctets() throws {
        let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
        let request = try recorded(.post, "/?q=caf%C3%A9", headers: form, body: "q=caf%C3%A9")
        #expect(RequestMatcher.query("q", "caf\u{E9}").matches(request) && !RequestMatcher.query("q", "cafe\u{301}").matches(request))
        #expect(RequestMatcher.form(["q": "caf\u{E9}"]).matches(request) && !RequestMatcher.form(["q": "cafe\u{301}"]).matches(request))
    }

    @Test func bodiesMatchByTheirBytes() throws {
        let request = try recorded(.post, body: "tea")
        #expect(RequestMatcher.body("tea").matches(request) && RequestMatcher.body(Data([0x74, 0x65, 0x61])).matches(request))
        #expect(!RequestMatcher.body("te").matches(request) && !RequestMatcher.body(Data()).matches(request))
    }

    @Test(
        arguments: [
            (["a": "1"], true), (["a b": "x&y=z", "a": "1"], true), (["a": "2"], false), (["c": "1"], false), ([:], true),
            (["e": "é"], true),
        ] as [([String: String], Bool)])
    func formsMatchByTheirItems(_ items: [String: String], _ matches: Bool) throws {
        let body = FormURLEncoded.encode([(name: "a", value: "1"), (name: "a b", value: "x&y=z"), (name: "e", value: "é")])
        let request = try recorded(.post, headers: [.contentType: "application/x-www-form-urlencoded; charset=utf-8"], body: body)
        #expect(RequestMatcher.form(items).matches(request) == matches)
    }

    @Test func aBodyWithoutAFormMatchesNoItem() throws {
        #expect(!RequestMatcher.form(["a": "1"]).matches(try recorded(.post, headers: [.contentType: "text/plain"], body: "a=1")))
    }

    private static let multipart = [
        "--xyz", "Content-Disposition: form-data; name=\"title\"", "", "Tea & milk", "--xyz",
        "content-disposition: form-data; name=file; filename=\"a;b.txt\"", "Content-Type: text/plain", "", "line 1\r\nline 2\r\n--xy",
        "--xyz",
        "Content-Disposition: form-data; name=\"empty\"", "", "", "--xyz--", "epilogue",
    ].joined(separator: "\r\n")

    @Test func partsMatchByNameFileAndText() throws {
        let request = try recorded(.post, headers: [.contentType: "multipart/form-data; boundary=\"xyz\""], body: Self.multipart)
        #expect(request.parts.map(\.name) == ["title", "file", "empty"])
        #expect(request.parts.map(\.fileName) == [nil, "a;b.txt", nil])
        #expect(request.parts.map { String(decoding: $0.body, as: UTF8.self) } == ["Tea & milk", "line 1\r\nline 2\r\n--xy", ""])
        #expect(request.parts[1].headers[.contentType] == "text/plain")
        for (matcher, matches) in [
            (.part(named: "title"), true), (.part(named: "title", text: "Tea & milk"), true), (.part(named: "title", text: "Tea"), false),
            (.part(named: "file", fileName: "a;b.txt"), true), (.part(named: "title", fileName: "a;b.txt"), false),
            (.part(named: "none"), false), (.part(named: "empty", text: ""), true),
        ] as [(RequestMatcher, Bool)] {
            #expect(matcher.matches(request) == matches, "\(matcher)")
        }
    }

    @Test(
        arguments: [
            ("multipart/form-data", "--x\r\n\r\na\r\n--x--"), ("multipart/form-data; boundary=x", ""),
            ("multipart/form-data; boundary=x", "--x\r\n\r\na"),
            ("multipart/form-data; boundary=x", "--x\n\na\n--x--"), ("multipart/form-data; boundary=\"x \"", "--x \r\n\r\na\r\n--x --"),
            ("multipart/form-data; boundary=x", "--x\r\nno field\r\n\r\na\r\n--x--"),
            ("text/plain; boundary=x", "--x\r\n\r\na\r\n--x--"),
        ])
    func anInvalidMultipartBodyHasNoParts(_ type: String, _ body: String) throws {
        #expect(try recorded(.post, headers: [.contentType: type], body: body).parts.isEmpty)
    }

    @Test func aDelimiterStartsALine() throws {
        let body = "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1 --x\r\n--xy\r\n--x-1\r\n--x--\r\n"
        let request = try recorded(.post, headers: [.contentType: "multipart/mixed; boundary=x"], body: body)
        #expect(request.parts.map { String(decoding: $0.body, as: UTF8.self) } == ["1 --x\r\n--xy\r\n--x-1"])
    }

    @Test(
        arguments: [
            ("filename=plain.txt", "plain.txt"), (#"filename="old.txt"; filename*=UTF-8''%e2%82%ac.txt"#, "€.txt"),
            (#"filename="C:\a.txt""#, #"C:\a.txt"#), ("x=y", nil),
        ] as [(String, String?)])
    func aFileNameIsReadAsInAResponse(_ parameter: String, _ name: String?) throws {
        let body = "--x\r\nContent-Disposition: form-data; name=file; \(parameter)\r\n\r\na\r\n--x--\r\n"
        let request = try recorded(.post, headers: [.contentType: "multipart/form-data; boundary=x"], body: body)
        #expect(request.parts.map(\.name) == ["file"] && request.parts.map(\.fileName) == [name])
    }

    @Test func aPartWithoutFieldsIsAPart() throws {
        let request = try recorded(.post, headers: [.contentType: "multipart/mixed; boundary=x"], body: "--x\r\n\r\na\r\n--x--\r\n")
        #expect(request.parts.map { String(decoding: $0.body, as: UTF8.self) } == ["a"])
        #expect(request.parts.first?.name == nil)
    }

    @Test func criteriaAreJoinedByAndOrNot() throws {
        let matcher: RequestMatcher = .method(.post) && (.path("/a") || .url(matching: "/b$")) && !.header(.accept)
        for (method, target, matches) in [
            (HTTPRequest.Method.post, "/a", true), (.post, "/b", true), (.get, "/a", false), (.post, "/c", false),
        ] {
            #expect(matcher.matches(try recorded(method, target)) == matches)
        }
        #expect(!matcher.matches(try recorded(.post, "/a", headers: [.accept: "x"])))
        #expect(matcher.description == "method POST, (path /a or URL matching //b$/), not (header Accept)")
        #expect(RequestMatcher.any.matches(try recorded()) && RequestMatcher.any.description == "any request")
    }

    @Test func aStubIsNarrowedAndWidened() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").or(.path("/b") && .method(.post)).responds(.status(.ok)), Stub().and(.query("x")).responds(.status(.accepted)))
        for (method, target, code) in [
            (HTTPRequest.Method.get, "/a", 200), (.post, "/b", 200), (.post, "/a?x=1", 202), (.get, "/b?x", 202),
        ] {
            #expect(try await stub.send(Request(method, url: "https://a.example" + target)).status.code == code)
        }
        await #expect(throws: UnmatchedRequestError.self) { try await stub.send(Request(.delete, url: "https://a.example/")) }
    }

    @Test func descriptionsHoldNoSecret() {
        let matchers: [RequestMatcher] = [
            .url("https://u:s3cret@a.example/?token=s3cret"), .query("token", "s3cret"), .header(.authorization, "s3cret"),
            .header(.authorization, matching: "s3cret"), .form(["password": "s3cret", "user": "ada"]), .body("s3cret"),
            .part(named: "file", text: "s3cret"),
        ]
        for matcher in matchers {
            var text = "\(matcher)"
            dump(matcher, to: &text)
            #expect(!text.contains("s3cret"), "\(matcher)")
        }
    }
}
