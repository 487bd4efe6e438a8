import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ServerMiddlewareTests {
    private func url(_ request: Request, through stack: (StubTransport) -> HTTPStack) async throws -> String {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stack(stub).send(request)
        let head = try #require(stub.requests.first).request.head
        return "\(head.scheme ?? "?")://\(head.authority ?? "?")\(head.path ?? "?")"
    }

    struct Join: Decodable, Sendable {
        let base: String
        let path: String
        let expect: String?
        let why: String
    }
    private struct File: Decodable { let join: [Join] }

    @Test(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
    func everyVectorIsJoinedOrRefused() async throws {
        for join in try Suites.load("urls.json", as: File.self).join {
            let result: String?
            do {
                result = try await url(try Request(.get, PathTemplate(verbatim: join.path))) { $0.server(join.base) }
            } catch is InvalidURLError {
                result = nil
            }
            #expect(result == join.expect, "\(join.base) and \(join.path): \(join.why)")
        }
    }

    @Test(arguments: [
        ("https://a.example", "/users", "https://a.example/users"), ("https://a.example/v1/", "users/", "https://a.example/v1/users/"),
        ("https://a.example/v1?key=k", "/users?page=2", "https://a.example/v1/users?key=k&page=2"),
        ("https://a.example/v1", "", "https://a.example/v1"),
    ]) func aPathIsJoinedBelowTheBase(base: String, path: String, expected: String) async throws {
        #expect(try await url(try Request(.get, PathTemplate(verbatim: path))) { $0.server(base) } == expected)
    }

    @Test func aBaseFoundationURLIsReadWithoutItsFragment() async throws {
        let base = try #require(URL(string: "https://a.example/v1?key=k#top"))
        #expect(try await url(try Request(.get, "/users")) { $0.server(base) } == "https://a.example/v1/users?key=k")
        let file = try #require(URL(string: "file:///tmp"))
        await #expect(throws: InvalidURLError.self) { try await url(try Request(.get, "/x")) { $0.server(file) } }
    }

    @Test(arguments: [
        ("api.example.com", "https://api.example.com/x"), ("API.example.com:8443", "https://api.example.com:8443/x"),
        ("localhost:8080", "https://localhost:8080/x"), ("[::1]:81", "https://[::1]:81/x"), ("127.0.0.1:443", "https://127.0.0.1/x"),
        ("bücher.example", "https://xn--bcher-kva.example/x"),
    ]) func aHostAloneMeansHTTPS(base: String, expected: String) async throws {
        #expect(try await url(try Request(.get, "/x")) { $0.server(base) } == expected)
    }

    @Test func aSchemeCompletesServersAndRequestsWithoutAScheme() async throws {
        let request = try Request(.get, "/x")
        #expect(try await url(request) { $0.server("a.example:80").server(scheme: "http") } == "http://a.example/x")
        #expect(
            try await url(request) { $0.server("a.example:443").server(path: "/v1").server(scheme: "HTTP") } == "http://a.example:443/v1/x")
        #expect(try await url(request) { $0.server("a.example").server(scheme: "https", query: ["k": 1]) } == "https://a.example/x?k=1")
        #expect(
            try await url(request) { $0.server("https://a.example").server(scheme: "http") } == "https://a.example/x", "a URL keeps its own"
        )
        let host = Request(head: HTTPRequest(method: .get, scheme: nil, authority: "a.example", path: "/x"))
        #expect(try await url(host) { $0.server(scheme: "http") } == "http://a.example/x")
        #expect(try await url(Request(.get, url: "https://b.example/x")) { $0.server(scheme: "http") } == "https://b.example/x")
        await #expect(throws: InvalidURLError.self) { try await url(request) { $0.server("a.example").server(scheme: "ftp") } }
        await #expect(throws: InvalidURLError.self) { try await url(request) { $0.server(scheme: "https") } }
    }

    @Test func fieldsOfAHostReachNoOtherOrigin() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.server("a.example", headers: [.authorization: "Bearer s3cret"])
        for url in ["https://a.example/", "http://a.example/", "https://b.example/"] { _ = try await stack.send(Request(.get, url: url)) }
        #expect(stub.requests.map { $0.request.head.headerFields[.authorization] } == ["Bearer s3cret", nil, nil])
    }

    @Test func theLabelNamesTheAdditions() {
        let labels = [
            ServerMiddleware(headers: [.accept: "a", .userAgent: "b"]), ServerMiddleware(headers: [.accept: "a"], query: ["x": 1, "y": 2]),
            ServerMiddleware(query: ["x": 1]), ServerMiddleware(), ServerMiddleware(scheme: "https"), ServerMiddleware("a.example"),
            ServerMiddleware("https://a.example/v1", headers: [.accept: "a"]), ServerMiddleware(path: "/v1"),
        ].map(\.label)
        #expect(
            labels == [
                "server(2 header fields)", "server(1 header field, 2 query items)", "server(1 query item)", "server",
                "server(scheme: https)", "server(https://a.example/)", "server(https://a.example/v1)", "server(path: /v1)",
            ])
    }

    @Test func fieldsOfAPathNeverReachAnotherOrigin() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.server("https://a.example").server(path: "/v1", headers: [.authorization: "Bearer secret"])
        _ = try await stack.send(Request(.get, url: "https://evil.example/x"))
        _ = try await stack.send(Request(.get, "/x"))
        #expect(stub.requests.map { $0.request.head.headerFields[.authorization] } == [nil, "Bearer secret"])
        #expect(stub.requests.map(\.path) == ["/x", "/v1/x"])
    }

    @Test func severalServersAreJoined() async throws {
        let result = try await url(try Request(.get, "/users", query: ["page": 2])) {
            $0.server("https://a.example", query: ["key": "k"]).server(path: "/v1", query: ["lang": "de"])
        }
        #expect(result == "https://a.example/v1/users?key=k&lang=de&page=2")
    }

    @Test func defaultFieldsCompleteTheRequest() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.server("https://a.example", headers: [.accept: "inner", .userAgent: "inner"]).server(headers: [.accept: "outer"])
        var request = try Request(.get, "/")
        request.head.headerFields[.contentLanguage] = "de"
        _ = try await stack.send(request)
        let fields = try #require(stub.requests.first).request.head.headerFields
        #expect(fields[.accept] == "outer")
        #expect(fields[.userAgent] == "inner")
        #expect(fields[.contentLanguage] == "de")
    }

    @Test func repeatedDefaultFieldsAreKept() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var headers = HTTPFields()
        headers.append(HTTPField(name: .accept, value: "a"))
        headers.append(HTTPField(name: .accept, value: "b"))
        _ = try await stub.server("https://a.example", headers: headers).send(try Request(.get, "/"))
        #expect(try #require(stub.requests.first).request.head.headerFields[values: .accept] == ["a", "b"])
    }

    @Test func fieldsOfAServerReachNoOtherOrigin() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.server("https://a.example", headers: [.authorization: "Bearer s3cret"])
        _ = try await stack.send(try Request(.get, url: "https://b.example/x"))
        _ = try await stack.send(try Request(.get, url: "http://a.example/x"))
        _ = try await stack.send(try Request(.get, url: "https://a.example:444/x"))
        _ = try await stack.send(try Request(.get, url: "https://a.example:443/x"))
        #expect(stub.requests.map { $0.request.head.headerFields[.authorization] } == [nil, nil, nil, "Bearer s3cret"])
    }

    /// A server without a base sets the fields of the server with a base, in either order.
    @Test(arguments: ["https://a.example", "a.example"], [true, false])
    func fieldsOfAServerWithoutABaseReachNoOtherOrigin(base: String, isOutside: Bool) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
        let name = try #require(HTTPField.Name("X-Tenant"))
        let fields: HTTPFields = [name: "t", .acceptLanguage: "de"]
        let stack = isOutside ? stub.server(base).server(headers: fields) : stub.server(headers: fields).server(base)
        for url in ["https://b.example/", "http://a.example/", "https://a.example:444/", "https://a.example/"] {
            _ = try await stack.send(Request(.get, url: url))
        }
        _ = try await stack.send(Request(.get, "/x"))
        #expect(stub.requests.map { $0.request.head.headerFields[name] } == [nil, nil, nil, "t", "t"])
        #expect(stub.requests.map { $0.request.head.headerFields[.acceptLanguage] } == [nil, nil, nil, "de", "de"])
    }

    @Test func aFieldOfTheRequestItselfReachesAnotherOrigin() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let name = try #require(HTTPField.Name("X-Tenant"))
        var request = try Request(.get, url: "https://b.example/")
        request.head.headerFields[name] = "own"
        _ = try await stub.server("https://a.example").server(headers: [name: "default"]).send(request)
        #expect(stub.requests.map { $0.request.head.headerFields[name] } == ["own"])
    }

    @Test func fieldsOfAServerWithoutABaseBelongToTheNextServer() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.server("https://b.example", headers: [.accept: "b"]).server("https://a.example", headers: [.accept: "a"])
            .server(headers: [.acceptLanguage: "de"])
        _ = try await stack.send(Request(.get, "/x"))
        let fields = try #require(stub.requests.first).request.head.headerFields
        #expect(fields[.acceptLanguage] == "de" && fields[.accept] == "a")
    }

    @Test(arguments: [
        "ftp://a.example", "https://user:pw@a.example", "https://", "no url", "https://a.example:99999", "", "https:", "a.example/v1",
        "joe:pw@a.example",
    ])
    func aBadBaseURLFailsEachRequestWithAClearError(base: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let error = await #expect(throws: InvalidURLError.self) { try await stub.server(base).send(try Request(.get, "/x")) }
        #expect(error?.description.contains("pw") == false)
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [
        ServerMiddleware(path: "/v1?token=hunter2"), ServerMiddleware("https://a.example/?token=hunter2"),
        ServerMiddleware(
            "https://a.example", headers: [.authorization: "Bearer hunter2", .userAgent: "hunter2"], query: ["sig": "hunter2"]),
        ServerMiddleware(headers: [.cookie: "a=hunter2"], query: ["sig": "hunter2"]), ServerMiddleware("https://joe:hunter2@a.example/"),
    ]) func aServerIsShownWithoutSecrets(middleware: ServerMiddleware) {
        var dumped = ""
        dump(middleware, to: &dumped)
        for text in [
            middleware.label, "\(middleware)", String(reflecting: middleware), dumped, "\(StubTransport().wrapped(by: middleware))",
        ] {
            #expect(text.contains("server"))
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }
}
