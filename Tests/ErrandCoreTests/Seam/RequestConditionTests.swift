import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestConditionTests {
    /// Adds its name to each request.
    private struct MarkingMiddleware: HTTPMiddleware {
        let name: String
        let place: MiddlewarePlace
        var label: String { "mark(\(name))" }
        var neighbors: [MiddlewareNeighbor] { place.libraryNeighbors }

        init(_ name: String, place: MiddlewarePlace = .unplaced) { (self.name, self.place) = (name, place) }

        func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
            var request = request
            request.options.marks.append(name)
            return try await next.send(request)
        }
    }

    private let stub = StubTransport(Stub().responds(.status(.ok)))

    private func marks(_ stack: HTTPStack, _ request: Request = .sample()) async throws -> [String] {
        try await stack.send(request).request.options.marks
    }

    private func holds(_ condition: RequestCondition, for request: Request) async throws -> Bool {
        try await marks(stub.wrapped(by: MarkingMiddleware("m"), when: condition), request) == ["m"]
    }

    private func holds(_ condition: RequestCondition, for url: String, _ method: HTTPRequest.Method = .get) async throws -> Bool {
        try await holds(condition, for: Request(method, url: url))
    }

    // MARK: Conditions

    @Test(arguments: [
        ("a.example", "https://a.example/", true), ("a.example", "http://a.example:8080/x?y", true),
        ("a.example", "https://b.example/", false),
        ("a.example", "https://x.a.example/", false), ("a.example", "https://a.example.evil.test/", false),
        ("A.Example", "https://a.EXAMPLE/", true),
        ("*.example.com", "https://a.example.com/", true), ("*.example.com", "https://b.a.example.com:444/", true),
        ("*.Example.com", "https://A.example.COM/", true), ("*.example.com", "https://example.com/", false),
        ("*.example.com", "https://badexample.com/", false), ("*.example.com", "https://example.com.evil.test/", false),
        ("a.example:8080", "http://a.example:8080/", true), ("a.example:8080", "http://a.example/", false),
        ("a.example:80", "http://a.example/", true),
        ("a.example:443", "https://a.example/", true), ("a.example:443", "http://a.example/", false),
        ("*.example.com:8443", "https://a.example.com:8443/", true), ("*.example.com:8443", "https://a.example.com/", false),
        ("127.0.0.1", "http://127.0.0.1:1234/", true), ("127.0.0.1", "http://127.0.0.2/", false),
        ("[::1]", "http://[::1]:8080/", true), ("::1", "http://[::1]:8080/", true), ("[::1]:8080", "http://[::1]:8080/", true),
        ("[::1]:8080", "http://[::1]/", false), ("[2001:DB8::1]", "https://[2001:db8::1]/", true), ("[::1]", "http://[::2]/", false),
        ("bücher.example", "https://xn--bcher-kva.example/", true), ("xn--bcher-kva.example", "https://bücher.example/", true),
    ])
    func aHostPatternMatchesItsHosts(_ host: String, url: String, expected: Bool) async throws {
        #expect(try await holds(.host(host), for: url) == expected)
        #expect(try await holds(!.host(host), for: url) == !expected)
    }

    @Test func severalHostPatternsMatchEachOfTheirHosts() async throws {
        let condition = RequestCondition.host("a.example", "*.b.example")
        #expect(try await holds(condition, for: "https://a.example/"))
        #expect(try await holds(condition, for: "https://x.b.example/"))
        #expect(try await holds(condition, for: "https://b.example/") == false)
    }

    /// `OPTIONS *` names no path.
    @Test func aHostConditionWorksForEveryTarget() async throws {
        var request = Request.sample("*")
        request.head.method = .options
        #expect(try await holds(.host("a.example"), for: request))
        #expect(try await holds(.host("b.example"), for: request) == false)
    }

    @Test func aHostPatternOutsideTheServerLayerMatchesNothing() async throws {
        let request = try Request(.get, "/x")
        let outside = stub.server("https://a.example").wrapped(by: MarkingMiddleware("m"), when: .host("a.example"))
        #expect(try await marks(outside, request) == [])
        let inside = stub.wrapped(by: MarkingMiddleware("m"), when: .host("a.example")).server("https://a.example")
        #expect(try await marks(inside, request) == ["m"])
        let negated = stub.server("https://a.example").wrapped(by: MarkingMiddleware("m"), when: !.host("a.example"))
        #expect(try await marks(negated, request) == ["m"])
    }

    @Test(arguments: [
        ("/users", "/users", true), ("/users", "/users?page=2", true), ("/users", "/users/", false), ("/users", "/users/7", false),
        ("/users", "/Users", false), ("/users/{id}", "/users/7", true), ("/users/{id}", "/users/", false),
        ("/users/{id}", "/users/7/posts", false),
        ("/users/{id}/posts", "/users/a%2Fb/posts?x", true), ("/v1/**", "/v1/a/b/c", true), ("/v1/**", "/v1", true),
        ("/v1/**", "/v1/", true),
        ("/v1/**", "/v10/a", false), ("/**", "/", true), ("/", "/", true), ("/", "/a", false), ("/a?b", "/a", false),
    ])
    func aPathPatternMatchesItsPaths(_ pattern: String, target: String, expected: Bool) async throws {
        #expect(try await holds(.path(pattern), for: "https://a.example" + target) == expected)
    }

    @Test func aPathIsComparedAtThePlaceOfTheMiddleware() async throws {
        let request = try Request(.get, "/x")
        let stack = stub.wrapped(by: MarkingMiddleware("inside"), when: .path("/v1/x")).server("https://a.example/v1")
            .wrapped(by: MarkingMiddleware("outside"), when: .path("/x"))
        #expect(try await marks(stack, request) == ["outside", "inside"])
    }

    @Test func aMethodConditionMatchesItsMethods() async throws {
        #expect(try await holds(.method(.get, .head), for: "https://a.example/"))
        #expect(try await holds(.method(.get, .head), for: "https://a.example/", .head))
        #expect(try await holds(.method(.get, .head), for: "https://a.example/", .post) == false)
    }

    @Test func conditionsAreJoined() async throws {
        let (a, get, path) = (RequestCondition.host("a.example"), RequestCondition.method(.get), RequestCondition.path("/x"))
        let table: [(RequestCondition, String, HTTPRequest.Method, Bool)] = [
            (a && get, "https://a.example/", .get, true), (a && get, "https://a.example/", .put, false),
            (a && get, "https://b.example/", .get, false),
            (a || get, "https://b.example/", .get, true), (a || get, "https://b.example/", .put, false),
            (!a && !get, "https://b.example/", .put, true),
            (a && get || path, "https://b.example/x", .put, true), (a && (get || path), "https://b.example/x", .put, false),
            (!(a || get), "https://b.example/", .put, true), (!(a || get), "https://a.example/", .put, false),
        ]
        for (condition, url, method, expected) in table {
            #expect(try await holds(condition, for: url, method) == expected, "\(condition), \(method) \(url)")
        }
    }

    @Test func aCustomConditionSeesTheRequest() async throws {
        let condition = RequestCondition.custom("a body") { !$0.body.isEmpty }
        #expect(try await holds(condition, for: .sample()) == false)
        #expect(try await holds(condition, for: Request(.put, url: "https://a.example/", body: .text("x"))))
    }

    @Test func aStackNamesMiddlewareWithItsCondition() {
        #expect(
            stub.wrapped(by: MarkingMiddleware("m"), when: .host("*.example.com") && !.method(.get, .head)).description
                == "mark(m) when host *.example.com and not (method GET or HEAD) > StubTransport")
        #expect(
            ((RequestCondition.host("a.example", "b.example") || .path("/v1/**")) && .custom("a body") { _ in true }).description
                == "(host a.example or b.example or path /v1/**) and a body")
    }

    @Test func aMiddlewareKeepsItsPlaceUnderACondition() {
        let stack = stub.wrapped(by: MarkingMiddleware("status", place: .validateStatus), when: .host("a.example"))
            .wrapped(by: MarkingMiddleware("retry", place: .retry), when: .method(.get))
        #expect(stack.contains(.retry) && stack.contains(.validateStatus))
        #expect(stack.orderProblems == ["retry is outside validateStatus: retry would get an error instead of the status"])
    }

    // MARK: The builder

    @Test func eachLineOfAListWrapsTheLinesAboveIt() async throws {
        let stack = stub.wrapped {
            MarkingMiddleware("a")
            MarkingMiddleware("b")
            MarkingMiddleware("c")
        }
        #expect(try await marks(stack) == ["c", "b", "a"])
        #expect(stack.description == "mark(c) > mark(b) > mark(a) > StubTransport")
        let chain = stub.wrapped(by: MarkingMiddleware("a")).wrapped(by: MarkingMiddleware("b")).wrapped(by: MarkingMiddleware("c"))
        #expect(stack.description == chain.description)
    }

    @Test func aListGoesAroundAStack() async throws {
        let stack = stub.wrapped(by: MarkingMiddleware("inner")).wrapped { MarkingMiddleware("outer") }
        #expect(try await marks(stack) == ["outer", "inner"])
        #expect(stub.wrapped {}.description == "StubTransport")
    }

    private enum Kind: CaseIterable { case plain, careful, brave }

    @Test(arguments: [
        (false, Kind.plain, 0, ["end", "plain", "else"]), (true, .careful, 2, ["end", "1", "0", "careful", "only if", "if"]),
        (true, .brave, 1, ["end", "0", "brave 2", "brave 1", "only if", "if"]),
    ])
    private func controlFlowChoosesTheLayersOfAList(_ flag: Bool, kind: Kind, count: Int, expected: [String]) async throws {
        let list: [any HTTPMiddleware] = [MarkingMiddleware("brave 1"), MarkingMiddleware("brave 2")]
        let stack = stub.wrapped {
            if flag { MarkingMiddleware("if") } else { MarkingMiddleware("else") }
            if flag { MarkingMiddleware("only if") }
            switch kind {
            case .plain: MarkingMiddleware("plain")
            case .careful: MarkingMiddleware("careful")
            case .brave: list
            }
            for index in 0..<count { MarkingMiddleware("\(index)") }
            if #available(macOS 15, *) { MarkingMiddleware("end") }
        }
        #expect(try await marks(stack) == expected)
    }

    @Test func aListReportsItsOrderProblems() {
        let stack = stub.wrapped {
            MarkingMiddleware("status", place: .validateStatus)
            MarkingMiddleware("retry", place: .retry)
        }
        #expect(stack.orderProblems.count == 1)
    }
}

private enum MarksKey: OptionKey { static var defaultValue: [String] { [] } }

extension RequestOptions {
    fileprivate var marks: [String] {
        get { self[MarksKey.self] }
        set { self[MarksKey.self] = newValue }
    }
}
