import Errand
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RequestTests {
    /// A secret in every place that a request has for one.
    private func secretive() throws -> Request {
        let headers: HTTPFields = [
            .authorization: "Bearer S1", .cookie: "sid=S2", HTTPField.Name("X-Api-Key")!: "S3", .accept: "text/plain",
            .referer: "https://u:S4@a.example/?sig=S4",
        ]
        var request = try Request(
            .post, url: "https://a.example/x?access_token=S5&page=2", query: ["client_secret": "S6", "mine": "S7"], headers: headers,
            body: .text("S8"))
        request.options.sensitivity = Sensitivity(fields: [], queryNames: ["mine"])
        return request
    }

    @Test func aRelativeRequestHasNoAuthorityButATemplate() throws {
        let request = try Request(.get, "/users/\(7, "id")", query: ["page": 2], headers: [.accept: "*/*"])
        #expect(
            request.head == HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/users/7?page=2", headerFields: [.accept: "*/*"]))
        #expect(request.url == nil)
        #expect(request.options.urlTemplate == "/users/{id}")
        #expect(request.description == "GET /users/7?page=2")
        #expect(request.body.isEmpty && request.deadline == nil)
    }

    @Test(arguments: [
        ("https://a.example", "/?p=1", "https://a.example/?p=1"), ("http://A.example:8080/x", "/x?p=1", "http://a.example:8080/x?p=1"),
        ("https://a.example/x?y=z", "/x?y=z&p=1", "https://a.example/x?y=z&p=1"),
    ])
    func anAbsoluteRequestIsWhole(_ url: String, _ path: String, _ whole: String) throws {
        let request = try Request(.put, url: url, query: ["p": 1])
        #expect(request.head.path == path)
        #expect(request.url?.description == whole)
        #expect(request.description == "PUT " + whole)
        #expect(request.options.urlTemplate == nil)
    }

    @Test(arguments: ["/x", "ftp://a.example", "https://a.example/#f", "https://u@a.example", ""])
    func anAbsoluteRequestNeedsAnHTTPURL(_ url: String) {
        #expect(throws: InvalidURLError.self) { try Request(.get, url: url) }
    }

    @Test func anUnsendablePathFailsWhenTheRequestIsBuilt() {
        let name = ".."
        #expect(throws: InvalidURLError.self) { try Request(.get, "/users/\(name)") }
    }

    @Test func descriptionsAndMirrorsHoldNoSecret() throws {
        let request = try secretive()
        let response = Response(
            head: HTTPResponse(status: .ok, headerFields: [.setCookie: "S9", .location: "/y?code=S10"]), data: Data("S11".utf8),
            request: request)
        let failure = TransportError(.timedOut, phase: .body, underlying: TestError("S12"), request: request, delivery: .unknown)
        let record = AttemptRecord(number: 1, outcome: .failure(TestError("S13")), delay: .zero)
        for value: Any in [request, response, failure, record, ["nested": [request]], Optional(response) as Any] {
            for text in ["\(value)", String(reflecting: value), dumped(value)] {
                #expect(!text.contains(/S\d/), "\(text)")
            }
        }
        #expect(request.description == "POST https://a.example/x?access_token=REDACTED&page=2&client_secret=REDACTED&mine=REDACTED")
        #expect(dumped(request).contains("Accept: text/plain") && dumped(request).contains("2 bytes"))
        #expect(response.description.hasPrefix("200 (3 bytes) to POST https://"))
    }

    @Test func aCustomHeadShowsNoCredentials() {
        let request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "u:S1@a.example", path: "/?token=S2"))
        #expect(request.description == "GET https://REDACTED:REDACTED@a.example/?token=REDACTED")
        #expect(request.url == nil)
    }

    @Test func idsAreUniqueAndSixteenDigitsLong() async {
        let ids = await withTaskGroup(of: [RequestID].self) { group in
            for _ in 0..<10 { group.addTask { (0..<1000).map { _ in Request.sample().id } } }
            return await group.reduce(into: Set<RequestID>()) { $0.formUnion($1) }
        }
        #expect(ids.count == 10_000)
        #expect(ids.allSatisfy { $0.description.utf8.count == 16 })
    }

    @Test func aCopyKeepsItsId() {
        let request = Request.sample()
        var copy = request
        copy.head.path = "/other"
        #expect(copy.id == request.id)
    }

    @Test func headersReadAndWriteTheFieldsOfTheHead() throws {
        var request = try Request(.get, "/x", headers: [.accept: "a"])
        #expect(request.headers[.accept] == "a")
        request.headers[.accept] = "b"
        request.headers.append(HTTPField(name: .accept, value: "c"))
        #expect(request.head.headerFields[values: .accept] == ["b", "c"] && request.headers == request.head.headerFields)
        request.headers = [.userAgent: "u"]
        #expect(request.head.headerFields == [.userAgent: "u"] && request.url == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct ResponseTests {
    @Test func withResponseReleasesAnUnreadBody() async throws {
        let source = ScriptedBodySource(["a", "b"])
        let first = try await HTTPStack(ClosureTransport(body: source)).withResponse(to: .sample()) { response in
            #expect(response.status == .ok && response.headers.isEmpty)
            var iterator = response.body.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(first == Data("a".utf8))
        #expect(source.abandonCount == 1 && source.unreadCount == 1)
    }

    @Test func withResponseReleasesTheBodyWhenTheClosureThrows() async throws {
        let source = ScriptedBodySource(["a"])
        await #expect(throws: TestError.self) {
            try await HTTPStack(ClosureTransport(body: source)).withResponse(to: .sample()) { _ in throw TestError() }
        }
        #expect(source.abandonCount == 1)
    }
}
