import Errand
import ErrandTesting
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct RequestQueryTests {
    @Test func theQueryIsChangedAndThePathStays() throws {
        var request = try Request(.get, "/a%2Fb/\("c d")?x=%7e&page=1")
        #expect(request.path == "/a%2Fb/c%20d" && request.query["page"] == "1")
        request.query.set("page", 2)
        request.query.append("greeting", "Hello World")
        #expect(request.head.path == "/a%2Fb/c%20d?x=%7e&page=2&greeting=Hello%20World")
        request.query = [:]
        #expect(request.head.path == "/a%2Fb/c%20d" && request.query.isEmpty)
        request.query["q"] = "a+b"
        #expect(request.head.path == "/a%2Fb/c%20d?q=a%2Bb")
    }

    @Test(arguments: ["/x?a=%41&&b=+&c", "/x?", "/x", "?a", "", "*"])
    func aChangeOfNothingChangesNoOctet(_ target: String) {
        var request = Request(head: HTTPRequest(method: .options, scheme: nil, authority: nil, path: target))
        let query = request.query
        request.query = query
        request.query.items += []
        #expect(request.head.path == target)
    }

    @Test func aRequestWithoutAPathHasNoPathAndNoQuery() {
        var request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: nil))
        #expect(request.path == "" && request.query.isEmpty)
        request.query.set("a", 1)
        #expect(request.head.path == "?a=1" && request.url?.description == "https://a.example/?a=1")
    }

    @Test func aCheckedTargetStaysChecked() throws {
        var absolute = try Request(.get, url: "https://a.example/x?y=1")
        absolute.query.set("y", "ä")
        #expect(absolute.target?.urlText == "https://a.example/x?y=%C3%A4")
        #expect(absolute.target?.origin == absolute.origin)
        var relative = try Request(.get, "/x")
        relative.query.set("y", 2)
        #expect(relative.target?.path == "/x?y=2")
    }

    @Test func anInvalidQueryIsRefusedBeforeItIsSent() async throws {
        for text in ["a=b#c", "a=b c", "a=ä", "a=%"] {
            let stub = StubTransport(Stub().responds(.status(.ok)))
            var request = try Request(.get, url: "https://a.example/x")
            request.query = URLQuery(percentEncoded: text)
            let changed = request
            await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(changed) }
            #expect(stub.requests.isEmpty)
        }
    }

    @Test func anInvalidQueryOfANewRequestIsRefusedToo() async throws {
        for text in ["a=b#c", "a=b c", "a=ä", "a=%", "a=b\r\nX: y"] {
            let stub = StubTransport(Stub().responds(.status(.ok)))
            let query = URLQuery(percentEncoded: text)
            let absolute = try Request(.get, url: "https://a.example/x", query: query)
            await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(absolute) }
            let error = #expect(throws: InvalidURLError.self) { try Request(.get, "/x", query: query) }
            #expect(error?.description.contains("its query holds") == true)
            #expect(stub.requests.isEmpty)
        }
    }

    @Test func theComponentThatHoldsAnInvalidOctetIsNamed() async throws {
        for (path, component) in [("/a b?c", "path"), ("/a?b c", "query")] {
            let request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path))
            let error = await #expect(throws: InvalidURLError.self) { try await HTTPStack(StubTransport()).send(request) }
            #expect(error?.code == .invalidOctet(0x20, component: component))
        }
    }

    @Test func aDescriptionOfAQueryHasNoControlCharacters() {
        let query = URLQuery(percentEncoded: "a=b\r\nc\u{1B}[2J&d=e")
        #expect(query.description == "a=b\\u{d}\\u{a}c\\u{1b}[2J&d=e")
        #expect(query.items.first?.description == "a=b\\u{d}\\u{a}c\\u{1b}[2J")
    }

    @Test func aMiddlewareChangesTheQueryAfterTheBaseURL() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.transformRequest { $0.query.set("page", 2) }.server("https://a.example/v1?key=k")
            .transformRequest { $0.query.append("own", true) }
        _ = try await stack.send(Request(.get, "/users", query: ["page": 1]))
        #expect(stub.requests.first?.request.url?.description == "https://a.example/v1/users?key=k&page=2&own=true")
    }
}
