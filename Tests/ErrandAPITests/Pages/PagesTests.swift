import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Lists in pages, for every way to find the next page.
@Suite(.timeLimit(.minutes(5))) struct PagesTests {
    struct Items: Codable, Sendable, Equatable {
        var items: [Int]
        var next: String?
    }

    private let list = Endpoint<Items>.get("/items", query: ["size": 2], headers: [.acceptLanguage: "de"])

    private func targets(_ stub: StubTransport) -> [String] { stub.requests.map { $0.request.url?.target ?? "" } }

    private func client(_ stub: StubTransport) -> APIClient { APIClient(stub.server("https://a.example/v1")) }

    private func all<S: AsyncSequence>(_ sequence: S) async throws -> [S.Element] {
        var elements: [S.Element] = []
        for try await element in sequence { elements.append(element) }
        return elements
    }

    // MARK: Ways to the next page

    /// An empty page is not the end of the list if there is another page.
    @Test func aCursorRequestsTheNextPage() async throws {
        let stub = StubTransport(
            Stub().responds(
                .json(Items(items: [1, 2], next: "c/1")), .json(Items(items: [], next: "c&2")), .json(Items(items: [3], next: ""))))
        let pages = client(stub).pages(list, next: .cursor(named: "after", \.next))
        #expect(try await all(pages.elements(\.items)) == [1, 2, 3])
        #expect(targets(stub) == ["/v1/items?size=2", "/v1/items?size=2&after=c/1", "/v1/items?size=2&after=c%262"])
        #expect(stub.requests.allSatisfy { $0.headers[.acceptLanguage] == "de" } && stub.openBodyCount == 0)
    }

    @Test func numbersAndOffsetsAreCounted() async throws {
        let responses = [[1, 2], [], [3]].map { StubResponse.json(Items(items: $0)) }
        let stub = StubTransport(Stub().responds(responses[0], responses[1], responses[2]))
        #expect(try await all(client(stub).pages(list, next: .number { $0.items != [3] })).map(\.value.items) == [[1, 2], [], [3]])
        #expect(targets(stub) == ["/v1/items?size=2", "/v1/items?size=2&page=2", "/v1/items?size=2&page=3"])
        let other = StubTransport(Stub().responds(responses[0], responses[1], responses[2]))
        let pages = client(other).pages(list, next: .offset(named: "skip", step: 2, first: 10) { $0.items != [3] })
        #expect(try await all(pages.elements(\.items)) == [1, 2, 3])
        #expect(targets(other) == ["/v1/items?size=2", "/v1/items?size=2&skip=12", "/v1/items?size=2&skip=14"])
    }

    @Test func aLinkRequestsTheNextPage() async throws {
        func links(_ target: String) -> HTTPFields {
            [.custom("Link"): #"<https://a.example/first>; rel="first", <\#(target)>; rel="next""#]
        }
        let stub = StubTransport(
            Stub().responds(
                .json([1], headers: links("https://a.example/v1/items?cursor=x%2Fy")), .json([2], headers: links("?cursor=z")),
                .json([3], headers: links("../v2/items")), .json([4])))
        let pages = client(stub).pages(Endpoint<[Int]>.get("/items", query: ["size": 2]), next: .link())
        #expect(try await all(pages.elements { $0 }) == [1, 2, 3, 4])
        #expect(targets(stub) == ["/v1/items?size=2", "/v1/items?cursor=x%2Fy", "/v1/items?cursor=z", "/v2/items"])
    }

    @Test func aURLInThePageRequestsTheNextPage() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: "/v1/items/2")), .json(Items(items: [2], next: nil))))
        #expect(try await all(client(stub).pages(list, next: .url(\.next)).elements(\.items)) == [1, 2])
        #expect(targets(stub) == ["/v1/items?size=2", "/v1/items/2"])
    }

    @Test func cursorsAndURLsHaveTheirOwnTypes() async throws {
        struct Typed: Codable, Sendable {
            var cursor: Int?
            var next: URL?
        }
        let stub = StubTransport(
            Stub().responds(.json(Typed(cursor: 7, next: URL(string: "/v1/items/2"))), .json(Typed()), repeatingLast: true))
        let call = Endpoint<Typed>.get("/items")
        #expect(try await all(client(stub).pages(call, next: .cursor(\.cursor))).count == 2)
        let other = StubTransport(Stub().responds(.json(Typed(next: URL(string: "/v1/items/2"))), .json(Typed())))
        #expect(try await all(client(other).pages(call, next: .url(\.next))).count == 2)
        #expect(targets(stub) == ["/v1/items", "/v1/items?cursor=7"] && targets(other) == ["/v1/items", "/v1/items/2"])
    }

    /// A Link that can't be read is not the end of the list.
    @Test(arguments: ["</x?\(String(repeating: "x", count: 8_200))>; rel=next", "<?p=2; rel=next", "?"]) func aLinkMayBeUnreadable(
        value: String
    ) async throws {
        let stub = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): value])))
        let error = await #expect(throws: PaginationError.self) {
            try await all(client(stub).pages(Endpoint<[Int]>.get("/items"), next: .link()))
        }
        #expect(error?.code == .invalidURL)
    }

    @Test func aTooLongLinkFieldIsAnError() async throws {
        let value = "</\(String(repeating: "a", count: 9_000))>; rel=next"
        let stub = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): value])))
        let error = await #expect(throws: PaginationError.self) {
            try await all(client(stub).pages(Endpoint<[Int]>.get("/items"), next: .link()))
        }
        #expect(error?.message.hasPrefix("the Link field is longer than 8192 bytes") == true)
    }

    /// If the link to the next page can't be read, the list ends with an error.
    @Test(arguments: [
        (
            #"</items?page=1>; rel="first", /items?page=2; rel="next""#,
            #"a part of the Link field is malformed (expected: <URL>; rel="next")"#
        ),
        (#"</items?page=1>; rel="first", </items?page=2; rel="next""#, "a part of the Link field is malformed"),
        (#"</items?page=1>; rel="first", </items?page=2> x; rel="next""#, "a part of the Link field is malformed"),
        (String(repeating: "</a>;rel=b,", count: 128) + "</c>;rel=next", "the Link field has more than 128 links"),
    ]) func theNextLinkMayBeTheUnreadableOne(value: String, cause: String) async throws {
        let stub = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): value])))
        var pages = client(stub).pages(Endpoint<[Int]>.get("/items"), next: .link()).makeAsyncIterator()
        #expect(try await pages.next()?.value == [1])
        let error = await #expect(throws: PaginationError.self) { try await pages.next() }
        #expect(error?.code == .invalidURL && error?.message.hasSuffix("the list may be incomplete") == true)
        #expect(error?.message.hasPrefix(cause) == true, "\(error!)")
        // A link with another relation is not an error.
        let other = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): value + ", <?p=2>; rel=next"]), .json([2])))
        guard !value.hasSuffix("</c>;rel=next"), !value.contains("</items?page=2;") else { return }
        #expect(try await all(client(other).pages(Endpoint<[Int]>.get("/items"), next: .link()).elements { $0 }) == [1, 2])
    }

    @Test(arguments: ["rel='next'", "rel='next last'", "rel=next last", "rel=last next; title=x", "rel=\"'next'\""])
    func relationsMayHaveAnUnusualForm(relation: String) async throws {
        let stub = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): "</v1/items?page=2>; \(relation)"]), .json([2])))
        #expect(try await all(client(stub).pages(Endpoint<[Int]>.get("/items"), next: .link()).elements { $0 }) == [1, 2])
        #expect(targets(stub) == ["/v1/items", "/v1/items?page=2"])
    }

    /// The app can't correct a URL in a response.
    @Test(arguments: [
        ("/v1/a b?tag[]=ä|x", "/v1/a%20b?tag%5B%5D=%C3%A4%7Cx"), (" ?page=2 ", "/v1/items?page=2"), ("/v1/100%/x#top of", "/v1/100%25/x"),
        (#"/v1/\b"#, "/v1/%5Cb"),
    ]) func aURLOfAServerIsReadAsBrowsersDo(url: String, target: String) async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: url)), .json(Items(items: [2]))))
        #expect(try await all(client(stub).pages(list, next: .url(\.next)).elements(\.items)) == [1, 2])
        let linked = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): "<\(url)>; rel=next"]), .json([2])))
        #expect(try await all(client(linked).pages(Endpoint<[Int]>.get("/items"), next: .link()).elements { $0 }) == [1, 2])
        #expect(targets(stub).last == target && targets(linked).last == target)
    }

    @Test func aCursorMayBeTooLong() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: String(repeating: "x", count: 70_000)))))
        let error = await #expect(throws: PaginationError.self) { try await all(client(stub).pages(list, next: .cursor(\.next))) }
        #expect(error?.code == .invalidURL && error?.delivery == .notSent && stub.requests.count == 1)
    }

    @Test func anErrorOfACustomNextPageIsThrown() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1]))))
        var pages = client(stub).pages(list, next: NextPage { _ in throw TestError() }).makeAsyncIterator()
        #expect(try await pages.next()?.value.items == [1])
        await #expect(throws: TestError.self) { try await pages.next() }
        #expect(try await pages.next() == nil)
    }

    // MARK: Later

    @Test func aListContinuesAtASavedPosition() async throws {
        let stub = StubTransport(
            Stub().query("after", "1").responds(.json(Items(items: [2], next: "2")), repeatingLast: true),
            Stub().query("after", "2").responds(.json(Items(items: [3]))), Stub().responds(.json(Items(items: [1], next: "1"))))
        let (client, next) = (client(stub), NextPage<Items>.cursor(named: "after", \.next))
        var first = client.pages(list, next: next).makeAsyncIterator()
        let page = try #require(try await first.next())
        #expect(page.position == .first && page.next?.query == ["after": "1"] && page.next.map { "\($0)" } == "?after=…")
        let saved = try JSONEncoder().encode(page.next)
        let position = try JSONDecoder().decode(PagePosition.self, from: saved)
        #expect(try await all(client.pages(list, next: next, from: position).elements(\.items)) == [2, 3])
    }

    /// A URL to begin with is resolved against the call, and judged as any other.
    @Test func aListMayBeginAtAURL() async throws {
        let call = Endpoint<Items>.get("/items", headers: [.authorization: "Bearer s3cret"])
        for (start, target) in [("?cursor=2", "/v1/items?cursor=2"), ("/v1/items/2", "/v1/items/2"), ("https://a.example/x", "/x")] {
            let stub = StubTransport(Stub().responds(.json(Items(items: [2]))))
            #expect(try await all(client(stub).pages(call, next: .url(\.next), from: .url(start))).count == 1)
            #expect(targets(stub) == [target] && stub.requests[0].headers[.authorization] == "Bearer s3cret")
        }
        let stub = StubTransport(Stub().responds(.json(Items(items: [2], next: "https://a.example/y")), .json(Items(items: [3]))))
        let start = PagePosition.url("https://b.example/x")
        let error = await #expect(throws: PaginationError.self) { try await all(client(stub).pages(call, next: .url(\.next), from: start)) }
        #expect(error?.code == .foreignOrigin && error?.delivery == .notSent && stub.requests.isEmpty)
        let policy = PaginationPolicy(allowedOrigins: ["https://b.example"])
        #expect(try await all(client(stub).pages(call, next: .url(\.next), from: start, policy: policy).elements(\.items)) == [2, 3])
        #expect(stub.requests.map { $0.headers[.authorization] } == [nil, "Bearer s3cret"])
    }

    @Test func aCallMayNameItsFirstPage() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1]))))
        var pages = client(stub).pages(Endpoint<Items>.get("/items", query: ["page": 5]), next: .number { _ in true }).makeAsyncIterator()
        for _ in 0..<3 { _ = try await pages.next() }
        #expect(targets(stub) == ["/v1/items?page=5", "/v1/items?page=6", "/v1/items?page=7"])
    }

    /// A number that can't be increased is not the end of the list.
    @Test func aPageNumberBeyondTheRangeIsAnError() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1]))))
        let call = Endpoint<Items>.get("/items", query: ["page": Int.max])
        let error = await #expect(throws: PaginationError.self) { try await all(client(stub).pages(call, next: .number { _ in true })) }
        #expect(error?.code == .tooManyPages && stub.requests.count == 1)
    }

    /// The same holds after a redirect that drops the query.
    @Test func pageNumbersContinueAfterARedirect() async throws {
        let stub = StubTransport(
            Stub().query("page", "2").responds(.status(.found, headers: [.location: "/two"])),
            Stub().responds(.json(Items(items: [1]))))
        var pages = APIClient(stub.redirect().server("https://a.example/v1")).pages(list, next: .number { _ in true }).makeAsyncIterator()
        for _ in 0..<3 { _ = try await pages.next() }
        #expect(targets(stub).last == "/v1/items?size=2&page=3")
    }

    @Test func aLinkForAnotherResourceIsIgnored() async throws {
        let link = #"</v2>; rel="next"; anchor="/other""#
        let stub = StubTransport(Stub().responds(.json([1], headers: [.custom("Link"): link])))
        #expect(try await all(client(stub).pages(Endpoint<[Int]>.get("/items"), next: .link())).count == 1)
    }

    /// Preconditions and a range apply only to the first page.
    @Test func conditionalFieldsAreSentForTheFirstPageOnly() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: "/v1/items/2")), .json(Items(items: [2]))))
        let call = Endpoint<Items>.get("/items", headers: [.ifNoneMatch: #""1""#, .range: "bytes=0-9"])
        _ = try await all(client(stub).pages(call, next: .url(\.next)))
        #expect(stub.requests.map { $0.headers[.ifNoneMatch] } == [#""1""#, nil] && stub.requests[1].headers[.range] == nil)
        let other = StubTransport(Stub().responds(.json(Items(items: [1], next: "a")), .json(Items(items: [2]))))
        _ = try await all(client(other).pages(call, next: .cursor(\.next)))
        #expect(other.requests.map { $0.headers[.ifNoneMatch] } == [#""1""#, nil] && other.requests[1].headers[.range] == nil)
    }

    @Test func aPageDoesNotShowItsBody() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [4711], next: "x"))))
        var pages = client(stub).pages(list, next: .cursor(\.next)).makeAsyncIterator()
        let page = try #require(try await pages.next())
        var text = "\(page)"
        dump(page, to: &text)
        #expect(!text.contains("4711") && text.contains("200, PagesTests.Items, to GET https://a.example/v1/items?size=2"), "\(text)")
    }

    /// The next version of the app can read a position that an earlier version has saved.
    @Test(
        arguments: [
            (.first, #"{"query":{}}"#), (.query(["page": "2"]), #"{"query":{"page":"2"}}"#),
            (.url("/items?page=2"), #"{"url":"/items?page=2"}"#),
        ] as [(PagePosition, String)])
    func aPositionIsSaved(position: PagePosition, text: String) throws {
        let saved = try JSONValue(encoding: position)
        #expect("\(saved)" == text)
        #expect(try saved.decoded(as: PagePosition.self) == position)
        #expect(throws: DecodingError.self) { try (["page": 2] as JSONValue).decoded(as: PagePosition.self) }
    }

    @Test func aPositionShowsNoSecret() {
        for position in [PagePosition.url("https://a.example/items?zzq=s3cret&page=2"), .query(["zzq": "s3cret", "page": "2"])] {
            var text = "\(position)"
            dump(position, to: &text)
            #expect(!text.contains("s3cret") && text.contains("page=…"))
        }
        #expect("\(PagePosition.url("/items"))" == "/items")
    }

    /// What the endpoint declares secret is not shown, nor is a URL that can't be requested.
    @Test func namesThatACallDeclaresSecretAreNotShown() async throws {
        let stub = StubTransport(
            Stub().responds(
                .json(Items(items: [1], next: "/v1/items?zzq=s3cret2")), .json(Items(items: [2], next: "https://[/?zzq=s3cret3"))))
        var call = list
        call.query.set("zzq", "s3cret1")
        call.options.sensitivity = Sensitivity(fields: [], queryNames: ["zzq"])
        var text = ""
        let pages = client(stub).pages(call, next: .url(\.next))
        dump(pages, to: &text)
        let error = await #expect(throws: PaginationError.self) {
            for try await page in pages {
                text += "\(page)"
                dump(page, to: &text)
            }
        }
        text += "\(error!) \(error!.failureReason ?? "")"
        #expect(!text.contains("s3cret") && text.contains("REDACTED") && stub.requests.count == 2, "\(text)")
    }

    // MARK: Refused pages

    @Test func aLoopIsFound() async throws {
        let stub = StubTransport(
            Stub().responds(.json(Items(items: [1], next: "a")), .json(Items(items: [2], next: "b")), .json(Items(items: [3], next: "a"))))
        var seen: [Int] = []
        let error = await #expect(throws: PaginationError.self) {
            for try await item in client(stub).pages(list, next: .cursor(\.next)).elements(\.items) { seen.append(item) }
        }
        #expect(seen == [1, 2, 3] && error?.code == .loop && stub.requests.count == 3)
        #expect("\(error!)" == "GET https://a.example/v1/items?size=2&cursor=b: pages in a loop: ?cursor=a was read already")
        #expect(error?.localizedDescription == "The list could not be read to its end.")
    }

    /// A page that leads to itself is detected immediately, even if the call itself named the page.
    @Test func aPageThatLeadsToItselfIsALoop() async throws {
        for next in ["https://a.example/v1/items?size=2", "?size=2", "/v1/items?size=2"] {
            let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: next))))
            let error = await #expect(throws: PaginationError.self) { try await all(client(stub).pages(list, next: .url(\.next))) }
            #expect(error?.code == .loop && stub.requests.count == 1)
        }
    }

    @Test(arguments: [false, true]) func theNumberOfPagesIsLimited(prefetches: Bool) async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1]))))
        var count = 0
        let error = await #expect(throws: PaginationError.self) {
            let policy = PaginationPolicy(maxPages: 3, prefetches: prefetches)
            for try await _ in client(stub).pages(list, next: .number { _ in true }, policy: policy) { count += 1 }
        }
        #expect(count == 3 && error?.code == .tooManyPages && stub.requests.count == 3)
    }

    @Test func anotherOriginIsRefusedUnlessItIsListed() async throws {
        let stub = StubTransport(
            Stub().matching("first") { $0.request.url?.host.description == "a.example" }.responds(
                .json(Items(items: [1], next: "https://b.example/items?cursor=2"))),
            Stub().responds(.json(Items(items: [2]))))
        let error = await #expect(throws: PaginationError.self) { try await all(client(stub).pages(list, next: .url(\.next))) }
        #expect(error?.code == .foreignOrigin && stub.requests.count == 1)
        let policy = PaginationPolicy(allowedOrigins: ["https://b.example"])
        #expect(try await all(client(stub).pages(list, next: .url(\.next), policy: policy).elements(\.items)) == [1, 2])
        let refused: [(String, PaginationError.Code)] = [
            ("http://a.example/v1/items", .foreignOrigin), ("https://a.example:8443/", .foreignOrigin), ("//b.example/", .foreignOrigin),
            ("ftp://a.example/", .invalidURL), ("https://joe:pw@a.example/", .invalidURL), ("http://[/", .invalidURL),
        ]
        for (text, code) in refused {
            let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: text))))
            let error = await #expect(throws: PaginationError.self) { try await all(client(stub).pages(list, next: .url(\.next))) }
            #expect(stub.requests.count == 1 && error?.code == code, "\(text)")
        }
    }

    /// A page at a listed origin does not get the credentials of the call. A page after a redirect to another origin does not get them
    /// either.
    @Test func credentialsStayAtTheirOrigin() async throws {
        let call = Endpoint<Items>.get("/items", headers: [.authorization: "Bearer s3cret", .acceptLanguage: "de"])
        let isAtB = { @Sendable (request: RecordedRequest) in request.request.url?.host.description == "b.example" }
        for status in [HTTPResponse.Status.ok, .found] {
            let next = status == .ok ? "https://b.example/items?cursor=2" : "/items?cursor=2"
            let atB: [StubResponse] = [
                .json(Items(items: [1], next: next)), .json(Items(items: [2], next: "?cursor=3")), .json(Items(items: [3])),
            ]
            let stub = StubTransport(
                Stub().matching("b") { isAtB($0) }.responds(atB[status == .ok ? 1 : 0], atB[status == .ok ? 2 : 1], atB[2]),
                Stub().responds(status == .ok ? atB[0] : .status(.found, headers: [.location: "https://b.example/items"])))
            let client = APIClient(stub.redirect().server("https://a.example/v1", headers: [.custom("X-Key"): "k"]))
            let policy = PaginationPolicy(allowedOrigins: ["https://b.example"])
            let pages = client.pages(call, next: .url(\.next), policy: policy)
            #expect(try await all(pages.elements(\.items)) == [1, 2, 3])
            for request in stub.requests {
                #expect(
                    (request.headers[.authorization] == nil && request.headers[.custom("X-Key")] == nil) == isAtB(request), "\(request)")
                #expect(request.headers[.acceptLanguage] == "de")
            }
            #expect(stub.requests.filter(isAtB).count == (status == .ok ? 2 : 3))
        }
    }

    /// A page behind a redirect to an origin that nobody has allowed does not choose what is requested with the credentials.
    @Test func anOriginAfterARedirectCannotUseTheCredentials() async throws {
        let call = Endpoint<Items>.get("/items", headers: [.authorization: "Bearer s3cret"])
        for target in ["https://a.example/admin", "//a.example/admin"] {
            let stub = StubTransport(
                Stub(.get, "/evil").responds(.json(Items(items: [2], next: target)), repeatingLast: true),
                Stub(.get, "/v1/items/2").responds(.status(.found, headers: [.location: "https://evil.example/evil"])),
                Stub(.get, "/v1/items").responds(.json(Items(items: [1], next: "/v1/items/2"))))
            let client = APIClient(stub.redirect().server("https://a.example/v1"))
            let error = await #expect(throws: PaginationError.self) { try await all(client.pages(call, next: .url(\.next))) }
            #expect(error?.code == .foreignOrigin && stub.requests.count == 3, "\(stub.requests)")
            // Nor later, by its position.
            var pages = client.pages(call, next: .url(\.next)).makeAsyncIterator()
            _ = try await pages.next()
            #expect(try await pages.next()?.next == nil)
            let second = PagePosition.url("/v1/items/2")
            await #expect(throws: PaginationError.self) { try await client.page(call, next: .url(\.next), at: second) }
            #expect(!stub.requests.contains { $0.path == "/admin" })
        }
    }

    /// A server without a base adds its fields to each request, but not to one for an origin that a response has named.
    @Test(arguments: [false, true]) func aServerWithoutABaseAddsNothingToANamedOrigin(isOutside: Bool) async throws {
        let stub = StubTransport(
            Stub(.get, "/evil").responds(.json(Items(items: [2], next: "/more")), repeatingLast: true),
            Stub(.get, "/more").responds(.json(Items(items: [3]))),
            Stub(.get, "/v1/items").responds(.status(.found, headers: [.location: "https://evil.example/evil"])))
        let secret: HTTPFields = [.authorization: "Bearer s3cret", .custom("X-Key"): "k"]
        let stack = stub.redirect()
        let servers =
            isOutside
            ? stack.server("https://a.example/v1").server(headers: secret) : stack.server(headers: secret).server("https://a.example/v1")
        #expect(try await all(APIClient(servers).pages(list, next: .url(\.next)).elements(\.items)) == [2, 3])
        #expect(stub.requests.map { $0.headers[.authorization] } == ["Bearer s3cret", nil, nil])
        #expect(stub.requests.map { $0.headers[.custom("X-Key")] }.last == .some(nil))
    }

    @Test func aPageThatFailsEndsTheList() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1], next: "a")), .status(.internalServerError)))
        var pages = client(stub).pages(list, next: .cursor(\.next)).makeAsyncIterator()
        #expect(try await pages.next()?.next == .query(["cursor": "a"]))
        await #expect(throws: StatusError.self) { try await pages.next() }
        #expect(try await pages.next() == nil && stub.requests.count == 2)
    }

    /// Reads one page at a time, as a screen does.
    @Test func onePageIsRead() async throws {
        let stub = StubTransport(
            Stub().query("cursor", "a").responds(.json(Items(items: [2]))), Stub().responds(.json(Items(items: [1], next: "a"))))
        let first = try await client(stub).page(list, next: .cursor(\.next))
        let next = try #require(first.next)
        let second = try await client(stub).page(list, next: .cursor(\.next), at: next)
        #expect(first.value.items == [1] && second.value.items == [2] && second.next == nil && second.position == next)
        await #expect(throws: PaginationError.self) {
            try await client(stub).page(list, next: .cursor(\.next), at: .url("https://b.example/"))
        }
        // If the next page must not be requested, the current page is still returned. Only the request of the next page throws the error.
        let foreign = StubTransport(Stub().responds(.json(Items(items: [1], next: "https://b.example/2"))))
        let page = try await client(foreign).page(list, next: .url(\.next))
        #expect(page.value.items == [1] && page.next == .url("https://b.example/2"))
        let error = await #expect(throws: PaginationError.self) {
            try await client(foreign).page(list, next: .url(\.next), at: try #require(page.next))
        }
        #expect(error?.code == .foreignOrigin && foreign.requests.count == 1)
        var pages = client(foreign).pages(list, next: .url(\.next)).makeAsyncIterator()
        #expect(try await pages.next()?.next == .url("https://b.example/2"))
        await #expect(throws: TestError.self) { try await client(foreign).page(list, next: NextPage { _ in throw TestError() }) }
    }

    // MARK: Ahead

    /// A cancelled reader requests nothing, and the prefetch ends, although the iterator still exists.
    @Test func aCancelledReaderRequestsNoPage() async throws {
        let (begun, ended) = (Signal(), Signal())
        let wasCancelled = Watched(false)
        let stub = StubTransport(
            Stub().query("page", "2").responds(
                .custom { _ in
                    begun.signal()
                    defer {
                        wasCancelled.change { $0 = Task.isCancelled }
                        ended.signal()
                    }
                    try await untilCancelled()
                }), Stub().responds(.json(Items(items: [1]))))
        for prefetches in [false, true] {
            let pages = client(stub).pages(list, next: .number { _ in true }, policy: PaginationPolicy(prefetches: prefetches))
            let task = Task {
                var pages = pages.makeAsyncIterator()
                _ = try await pages.next()
                if prefetches { await begun.waitIgnoringCancellation() }
                withUnsafeCurrentTask { $0?.cancel() }
                let error = await #expect(throws: CancellationError.self) { try await pages.next() }
                if prefetches {
                    await ended.waitIgnoringCancellation()
                    #expect(wasCancelled.value)
                }
                return error != nil
            }
            #expect(try await task.value)
        }
        #expect(stub.requests.count == 3)
        // A page that is there already is not returned.
        let ready = StubTransport(Stub().responds(.json(Items(items: [1]))))
        let pages = client(ready).pages(list, next: .number { _ in true }, policy: PaginationPolicy(prefetches: true))
        let task = Task {
            var pages = pages.makeAsyncIterator()
            _ = try await pages.next()
            await eventually { ready.requests.count == 2 }
            for _ in 0..<100 { await Task.yield() }
            withUnsafeCurrentTask { $0?.cancel() }
            return try await pages.next()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// A task that is cancelled while a page is decoded requests no other page.
    @Test func aTaskCancelledDuringDecodingRequestsNoPage() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1]))))
        let pages = client(stub).pages(
            list,
            next: NextPage { _ in
                withUnsafeCurrentTask { $0?.cancel() }
                return .query(["page": "2"])
            }, policy: PaginationPolicy(prefetches: true))
        let task = Task {
            var pages = pages.makeAsyncIterator()
            let page = try await pages.next()
            for _ in 0..<50 { await Task.yield() }
            return page?.value.items
        }
        #expect(try await task.value == [1] && stub.requests.count == 1)
    }

    /// At most one page is requested in advance, and no page is requested before the first page is asked for.
    @Test func onePageIsPrefetched() async throws {
        let stub = StubTransport(Stub().responds(.json(Items(items: [1]))))
        var pages = client(stub).pages(list, next: .number { _ in true }, policy: PaginationPolicy(prefetches: true)).makeAsyncIterator()
        #expect(stub.requests.isEmpty)
        for number in 1...5 {
            _ = try await pages.next()
            await eventually { stub.requests.count == number + 1 }
            for _ in 0..<50 { await Task.yield() }
            #expect(stub.requests.count == number + 1)
        }
    }

    /// The request of the next page belongs to the iterator, and ends when the iterator is released.
    @Test func aReleasedIteratorCancelsItsPrefetch() async throws {
        let (begun, ended) = (Signal(), Signal())
        let wasCancelled = Watched(false)
        let stub = StubTransport(
            Stub().query("page", "2").responds(
                .custom { _ in
                    begun.signal()
                    defer {
                        wasCancelled.change { $0 = Task.isCancelled }
                        ended.signal()
                    }
                    try await untilCancelled()
                }), Stub().responds(.json(Items(items: [1]))))
        let client = client(stub)
        for try await _ in client.pages(list, next: .number { _ in true }, policy: PaginationPolicy(prefetches: true)) {
            await begun.waitIgnoringCancellation()
            break
        }
        await ended.waitIgnoringCancellation()
        #expect(wasCancelled.value)
        #expect(stub.openBodyCount == 0)
    }

    @Test(arguments: [false, true]) func cancellationEndsTheList(prefetches: Bool) async throws {
        let begun = Signal()
        let stub = StubTransport(
            Stub().query("page", "2").responds(
                .custom { _ in
                    begun.signal()
                    try await untilCancelled()
                }), Stub().responds(.json(Items(items: [1]))))
        let pages = client(stub).pages(list, next: .number { _ in true }, policy: PaginationPolicy(prefetches: prefetches))
        let task = Task { try await all(pages) }
        await begun.waitIgnoringCancellation()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.count == 2 && stub.openBodyCount == 0)
    }
}
