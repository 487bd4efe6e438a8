import Errand
import ErrandConformance
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// A text with samples, and the files that have them compiled.
    struct Samples: Sendable, CustomTestStringConvertible {
        let text: String
        let compiled: [String]
        let least: Int
        var testDescription: String { text }

        init(_ text: String, _ compiled: String..., least: Int) { (self.text, self.compiled, self.least) = (text, compiled, least) }
    }

    static let guides = "Sources/Errand/Errand.docc/"
    static let samples = [
        Samples("README.md", "Samples.swift", "NotesClient.swift", least: 12),
        Samples(guides + "Errand.md", "Samples.swift", least: 1),
        Samples(guides + "GettingStartedApp.md", "GettingStartedApp.swift", "NotesClient.swift", least: 6),
        Samples(guides + "GettingStartedServer.md", "GettingStartedServer.swift", least: 4),
        Samples(guides + "FromURLSession.md", "FromURLSession.swift", "NotesClient.swift", least: 15),
        Samples(guides + "TheURLSessionTransport.md", "TheURLSessionTransport.swift", least: 2),
        Samples(guides + "FromAlamofireAndMoya.md", "FromAlamofireAndMoya.swift", least: 5),
        Samples(guides + "ErrorsForPeople.md", "ErrorsForPeople.swift", "NotesClient.swift", least: 9),
        Samples(guides + "EventStreams.md", "EventStreams.swift", least: 5),
        Samples(guides + "Pagination.md", "Pagination.swift", least: 3), Samples(guides + "DynamicJSON.md", "DynamicJSON.swift", least: 4),
        Samples(guides + "Polling.md", "Polling.swift", least: 3), Samples(guides + "Envelopes.md", "Envelopes.swift", least: 3),
        Samples(guides + "OrganizingAnAPI.md", "OrganizingAnAPI.swift", least: 6),
        Samples(guides + "OtherFormats.md", "OtherFormats.swift", least: 3),
        Samples(guides + "ErrorFormats.md", "ErrorFormats.swift", least: 3),
        Samples(guides + "Authentication.md", "Authentication.swift", least: 8),
        Samples(guides + "Cookies.md", "Cookies.swift", least: 5),
        Samples(guides + "Caching.md", "Caching.swift", least: 10),
        Samples(guides + "Downloads.md", "Downloads.swift", least: 5),
        Samples(guides + "Uploads.md", "Uploads.swift", least: 6),
        Samples(guides + "WhatTheConsoleShows.md", "WhatTheConsoleShows.swift", "SystemLog.swift", least: 4),
        Samples(guides + "TheSwiftNIOTransport.md", "TheSwiftNIOTransport.swift", least: 6),
        Samples(guides + "HTTP2.md", "HTTP2.swift", least: 4),
        Samples(guides + "Compression.md", "Compression.swift", least: 3),
        Samples(guides + "Multipart.md", "Multipart.swift", least: 4),
        Samples(guides + "Proxies.md", "Proxies.swift", least: 6),
        Samples(guides + "ClosureClients.md", "NotesClient.swift", least: 8),
        Samples(guides + "WritingMiddleware.md", "OwnMiddleware.swift", least: 17),
        Samples(guides + "Testing.md", "Testing.swift", "TestingParts.swift", "TestingURLSession.swift", least: 14),
        Samples(guides + "ExportingHAR.md", "ExportingHAR.swift", least: 6),
        Samples(guides + "ValidatingResponses.md", "ValidatingResponses.swift", least: 4),
        Samples(guides + "Redirects.md", "Redirects.swift", least: 7),
        Samples(guides + "RepeatingRequests.md", "RepeatingRequests.swift", least: 6),
        Samples(guides + "SigningIn.md", "SigningIn.swift", least: 5),
        Samples(guides + "MetricsPerEndpoint.md", "MetricsPerEndpoint.swift", least: 2),
    ]

    /// The text of a file of the repository.
    static func text(of path: String) throws -> String {
        let root = folder.deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The Swift blocks of a text, but for those of a manifest, each as its lines without indentation and blank lines.
    private static func blocks(of path: String) throws -> [[String]] {
        try text(of: path).components(separatedBy: "```swift\n").dropFirst().compactMap { part in
            let block = part.components(separatedBy: "\n```")[0]
            return block.contains("Package.swift") ? nil : trimmedLines(of: block)
        }
    }

    private static func trimmedLines(of text: String) -> [String] {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("// swift-format-ignore") && $0 != "import Errand" }
    }

    @Test(arguments: samples) func everySampleIsCompiled(_ samples: Samples) throws {
        let compiled = try samples.compiled.flatMap { file in
            Self.trimmedLines(of: try String(contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8))
        }
        let blocks = try Self.blocks(of: samples.text)
        #expect(blocks.count >= samples.least)
        for block in blocks {
            let isThere = compiled.indices.contains { compiled[$0...].starts(with: block) }
            #expect(isThere, "not in \(samples.compiled.joined(separator: ", ")): \(block.joined(separator: "\n"))")
        }
    }

    @Test(arguments: samples.filter { $0.text.hasPrefix(guides) && !$0.text.hasSuffix("/Errand.md") })
    func aGuideNamesTheImportsOfItsSamples(_ samples: Samples) throws {
        let files = samples.compiled.filter { $0 != "NotesClient.swift" || samples.compiled.count == 1 }
        let text = try Self.text(of: samples.text)
        for file in files {
            let lines = try String(contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8).components(separatedBy: "\n")
            for line in lines where line.hasPrefix("import ") { #expect(text.contains("`\(line)`"), "\(line)") }
        }
    }

    /// On Apple's platforms, `NIOTransport` exists only with the trait.
    @Test(arguments: samples) func aGuideWhoseSamplesUseNIOTransportNamesTheTrait(_ samples: Samples) throws {
        let usesNIO = try Self.blocks(of: samples.text).joined().contains { $0.contains("NIOTransport") }
        if usesNIO { #expect(try Self.text(of: samples.text).contains("NIOEverywhere")) }
    }

    @Test func aManifestInAGuideAgreesWithREADME() throws {
        let readme = try Self.text(of: "README.md")
        var found = 0
        for guide in Set(Self.samples.map(\.text)) where guide.hasPrefix(Self.guides) {
            for line in try Self.text(of: guide).components(separatedBy: "\n")
            where line.hasPrefix(".package(") || line.hasPrefix(".product(") {
                let code = line.components(separatedBy: "  //")[0].trimmingCharacters(in: .whitespaces)
                #expect(readme.contains(code), "\(guide): \(code)")
                found += 1
            }
        }
        #expect(found >= 2)
    }

    @Test func theArticleOnClosuresIsCorrect() async throws {
        await modelShowsWhatItGets()
        try await requestsAreRight()
        let model = await firstScreen()
        await model.load()
        #expect(await model.notes.count == 2)
        await Composition.$dependencies.withValue(AppDependencies(notes: .unexpected)) {
            let model = await firstScreen()
            await model.load()
            #expect(await model.message != nil)
        }
        _ = AppDependencies.live()
    }

    /// The way of testing that README shows, with a model that has a date.
    @Test func aModelWithADateIsStubbedAsReadmeShows() async throws {
        struct Release: Codable, Sendable, Equatable {
            var name: String
            var publishedAt: Date
        }
        let release = Release(name: "1.0", publishedAt: Date(timeIntervalSince1970: 1_795_264_560))
        let stub = StubTransport(Stub(.get, "/releases/{id}").responds(.json(release)))
        let client = APIClient(stub.server("https://a.example"))
        let read: Release = try await client.get("/releases/7")
        #expect(read == release && stub.requests.map(\.path) == ["/releases/7"])
    }

    @Test func aNumberedListBeginsWithTheCallUnchanged() async throws {
        let stub = StubTransport(
            Stub(.get, "/users").responds(
                .json(["users": ["Ada"]] as JSONValue), .json(["users": []] as JSONValue), .json(["users": ["Ada"]] as JSONValue),
                .json(["users": []] as JSONValue)))
        let client = APIClient(stub.server("https://a.example"))
        try await printUsers(client)
        for try await _ in client.pages(Endpoint<UserPage>.get("/users"), next: .number { !$0.users.isEmpty }) {}
        #expect(stub.requests.map { $0.queryItems.first { $0.name == "page" }?.value } == ["1", "2", nil, "2"])
    }

    @Test func theArticlesOnListsAndJSONAreCorrect() async throws {
        let pages: [StubResponse] = [
            .json(["orders": [["id": 1], ["id": 2]], "nextCursor": "x"] as JSONValue), .json(["orders": [["id": 3]]] as JSONValue),
        ]
        let stub = StubTransport(
            Stub(.get, "/orders").query("after", "x").responds(pages[1], repeatingLast: true),
            Stub(.get, "/orders").responds(pages[0], repeatingLast: true),
            Stub(.get, "/users/{id}").responds(
                .json(["name": "Ada", "scores": [1.5], "tags": ["a"], "address": ["city": "Zürich"]] as JSONValue)))
        let client = APIClient(stub.server("https://a.example"))
        try await printOrders(client)
        var shown: [Int] = []
        #expect(try await readOrders(client, atLeast: 9) { shown += $0.map(\.id) } == nil && shown == [1, 2, 3])
        let position = try await readOrders(client, atLeast: 1) { _ in }
        #expect(position?.query == ["after": "x"])
        #expect(try await readOrders(client, atLeast: 9, from: position ?? .first) { shown += $0.map(\.id) } == nil && shown.last == 3)
        let screen = await OrderList(client: client)
        for _ in 0..<3 { try await screen.showMore() }
        #expect(await screen.orders.map(\.id) == [1, 2, 3])
        try await printUser(client, id: 7)
        let user = try renamed(["name": "x", "tags": [], "address": ["city": "Paris", "zip": "1"]], street: "Main")
        #expect(user == ["name": "Ada", "tags": ["engines"], "address": ["city": "London", "street": "Main"]])
        #expect(try address(of: user, in: client).city == "London")
    }

    @Test func theArticlesOnFormatsAreCorrect() async throws {
        let stub = StubTransport(
            Stub(.get, "/profile").responds(
                .data(Data("<plist><dict><key>name</key><string>x</string><key>features</key><array/></dict></plist>".utf8))),
            Stub(.put, "/profile").responds(.status(.noContent)), Stub(.get, "/table").responds(.data(Data("a\tb\nc\td\n".utf8))),
            Stub(.get, "/people/{id}").responds(.json(["first": "Ada", "last": "Lovelace"])),
            Stub(.post, "/orders").responds(
                .data(
                    Data(#"{"type":"https://shop.example/problems/out-of-credit","balance":3}"#.utf8), status: .forbidden,
                    headers: [.contentType: "application/problem+json"]),
                .data(Data(#"{"title":"Sold out"}"#.utf8), status: .conflict, headers: [.contentType: "application/problem+json"])))
        let client = APIClient(stub.server("https://a.example"))
        try await renameDevice(client, to: "Ada's")
        #expect(stub.requests.last?.text.contains("<string>Ada's</string>") == true)
        #expect(try await table(client) == [["a", "b"], ["c", "d"]])
        #expect(try await client.value(People.one(7)) == Person(name: "Ada Lovelace"))
        var shown: [String] = []
        for _ in 0..<2 { try await order("tea", from: client) { shown.append($0) } }
        #expect(shown == ["Your credit is 3.", "Sold out"])
    }

    @Test func theArticleOnErrorFormatsIsCorrect() async throws {
        let stub = StubTransport(
            Stub(.get, "/articles/{id}").responds(
                .json(["data": ["type": "articles", "id": "1", "attributes": ["title": "Tea"]]] as JSONValue),
                .json(["errors": [["status": "404", "code": "gone", "detail": "It is gone."]]] as JSONValue, status: .notFound)),
            Stub(.post, "/graphql").responds(
                .json(["data": ["user": ["name": "Ada"]]] as JSONValue),
                .json(["data": nil, "errors": [["message": "No such user.", "extensions": ["code": "NOT_FOUND"]]]] as JSONValue),
                .json(["errors": [["message": "Syntax error."]]] as JSONValue, status: .badRequest)))
        let articles = makeJSONAPI(HTTPStack(stub))
        #expect(try await articles.get("/articles/1", as: Article.self).attributes.title == "Tea")
        let gone = await #expect(throws: ServiceError.self) { try await articles.get("/articles/2", as: Article.self) }
        #expect(gone?.code == "gone" && gone?.status == .notFound && gone?.message == "It is gone.")
        let stack = stub.server("https://a.example")
        #expect(try await viewer(stack, id: 7) == "Ada")
        #expect(stub.requests.last?.text.contains(#""variables":{"id":"7"}"#) == true)
        for code in ["NOT_FOUND", "unknown"] {
            let error = await #expect(throws: ServiceError.self) { try await viewer(stack, id: 7) }
            #expect(error?.code == .init(code))
        }
    }

    @Test func theArticleOnOrganizingAnAPIIsCorrect() async throws {
        try await customerIsRenamed()
        let shop = Shop(tokens: TokenSource(AccessToken("t")) { _ in AccessToken("t") })
        #expect(shop.api.stack.orderProblems == [] && shop.images.stack.orderProblems == [])
        #expect(ShopAPI.Search.suggestions(for: "a b").description == "GET /suggestions?q=a%20b")
        _ = CustomerClient.live(shop)
    }

    @Test func theArticleOnEnvelopesIsCorrect() async throws {
        let stub = StubTransport(
            Stub(.post, "/purchases").responds(
                .json(["code": 40_012, "message": "5 € are missing."] as JSONValue),
                .json(["code": 1, "message": "Expired."] as JSONValue, status: .unauthorized),
                .failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)), .timedOut, .offline,
                .json(["code": 7, "message": "Sold out."] as JSONValue), .json(["code": 0, "data": ["id": 1]] as JSONValue)))
        let shop = makeShop(stub.server("https://a.example"))
        var shown: [String] = []
        for _ in 0..<7 { try await buy(Purchase(id: 1), in: shop) { shown.append($0) } }
        let doubt = "Check your purchases before you try again."
        #expect(
            shown == ["Top up your account. 5 € are missing.", "Sign in again.", doubt, doubt, "This device is offline.", "Sold out."])
    }

    #if Auth
    @Test func anEnvelopeCanRefreshAToken() async throws {
        let expired: JSONValue = ["code": 40_101, "message": "Expired."]
        let stub = StubTransport(
            Stub(.get, "/v1/moved").responds(.redirect(to: "/v1/purchases/2"), repeatingLast: true),
            Stub(.get, "/v1/purchases/{id}").matching("old") { $0.headers[.authorization] == "Bearer old" }
                .responds(.json(expired), repeatingLast: true),
            Stub(.get, "/v1/purchases/{id}").responds(.json(["code": 0, "data": ["id": 2]] as JSONValue), repeatingLast: true),
            Stub(.get, "/v1/file").responds(.data(Data("file".utf8), headers: [.contentType: "text/plain"])))
        let refreshes = Mutex(0)
        let tokens = TokenSource(AccessToken("old")) { _ in
            refreshes.withLock { $0 += 1 }
            return AccessToken("new")
        }
        let shop = makeShop(HTTPStack(stub), tokens: tokens)
        #expect(shop.stack.orderProblems == [])
        #expect(try await shop.get("/moved", as: Purchase.self).id == 2)
        #expect(refreshes.withLock { $0 } == 1 && tokens.current?.value == "new" && stub.openBodyCount == 0)
        #expect(try await shop.data(Endpoint<Void>.get("/file")) == Data("file".utf8))
        #expect(makeShop(.decompressing, tokens: tokens).stack.orderProblems == [])
        let sorted = makeShop(.default, tokens: tokens).stack
        #expect(sorted.orderProblems == [])
        let order = sorted.layers.map { String($0.label.prefix { $0 != "(" }) }
        #expect(Array(order.drop { $0 != "redirect" }.prefix(4)) == ["redirect", "authenticate", "transform", "decompress"])
        // Without the layer, nothing is refreshed.
        let plain = TokenSource(AccessToken("old")) { _ in throw CancellationError() }
        let error = await #expect(throws: ServiceError.self) {
            try await makeShop(stub.authenticate(.bearer(plain)).server("https://shop.example/v1")).get("/purchases/2", as: Purchase.self)
        }
        #expect(error?.needsSignIn == true && plain.current?.value == "old")
    }
    #endif

    @Test func theArticleOnPollingIsCorrect() async throws {
        let stub = StubTransport(
            Stub(.get, "/jobs/{id}").responds(
                .json(["state": "running", "progress": 0.5] as JSONValue, headers: [.retryAfter: "0"]),
                .json(["state": "done", "progress": 1] as JSONValue)),
            Stub(.post, "/reports").responds(.status(.accepted, headers: [.location: "/done", .retryAfter: "0"])),
            Stub(.get, "/done").responds(.json(["url": "/r.pdf"] as JSONValue)))
        let client = APIClient(stub.server("https://a.example"))
        let screen = JobScreen()
        try await screen.wait(forJob: 7, client: client)
        #expect(await screen.progress == 1)
        #expect(try await makeReport(client, year: 2026).url == "/r.pdf")
    }

    @Test func theArticleOnEventStreamsIsCorrect() async throws {
        let type: HTTPFields = [.contentType: "text/event-stream"]
        let answers = "data: {\"text\":\"Because \"}\n\ndata: {\"text\":\"it is.\"}\n\ndata: [DONE]\n\n"
        let stub = StubTransport(
            Stub(.post, "/v1/chat").json(["question": "Why?"]).responds(.status(.ok, headers: type, text: answers)),
            Stub(.get, "/prices").responds(.status(.ok, headers: type, text: "retry: 0\nid: 7\ndata: 1.5\n\n"), .status(.noContent)),
            Stub(.get, "/log").responds(.status(.ok, text: "{\"message\":\"a\"}\n{\"message\":\"b\"}\n")),
            Stub().responds(.status(.noContent)))
        let client = APIClient(stub.server("https://a.example"))
        #expect(try await answer("Why?", client) == "Because it is.")
        let shown = Mutex<[String]>([])
        try await watchPatiently(client, after: "6") { text in shown.withLock { $0.append(text) } }
        let expected = ["connecting", "open", "1.5", "waiting", "connecting", "closed"]
        #expect(shown.withLock { $0.map { $0.hasPrefix("waiting") ? "waiting" : $0 } } == expected)
        #expect(stub.requests.suffix(2).map { $0.headers[.custom("Last-Event-ID")] } == ["6", "7"])
        try await watchPrices(client)
        let ticker = Ticker()
        try await ticker.run(client)
        #expect(await ticker.status == "closed")
        try await watchUntilItFails(client)
        try await printLog(client)
        #expect(stub.openBodyCount == 0)
    }

    @Test func theArticleOnMiddlewareIsCorrect() async throws {
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.get, "/busy").responds(.status(.serviceUnavailable, headers: [.retryAfter: "1"]), .status(.ok)),
            Stub().responds(.custom { (HTTPResponse(status: .ok), Data(($0.headers[.tenant] ?? "none").utf8)) }))
        let patient = stub.wrapped(by: MaintenanceMiddleware(clock: clock))
        let response = try await clock.advancingToSleepers { try await patient.send(Request(.get, url: "https://a.example/busy")) }
        #expect(response.status == .ok && stub.requests.count == 2)
        let open = Mutex(0)
        let counted = composed(stub.wrapped(by: OpenCallsMiddleware { change in open.withLock { $0 += change } }), isVerbose: true)
        for (url, tenant) in [
            ("https://a.example.com/x", "blue"), ("https://a.example.com/public/x", "none"), ("https://b.example/x", "none"),
        ] {
            #expect(try await counted.send(Request(.get, url: url)).body.collect() == Data(tenant.utf8))
        }
        #expect(open.withLock { $0 } == 0)
        #expect(
            counted.description
                == "timeout(30 s) > retry(3 attempts, 100 ms to 20 s, budget 5 + 20 % of successes) > number > "
                + "tenant(blue) when host *.example.com and not (path /public/**) > OpenCallsMiddleware > StubTransport")
    }

    @Test(arguments: ["a\r\nb\rc\n\r\r\n", "", "\r", "\r\n", "a"]) func theSampleOfATransformIsCorrect(_ text: String) async throws {
        let counted = Mutex(0)
        let expected = text.utf8.reduce(into: (text: "", wasReturn: false)) { line, byte in
            if byte != 10 || !line.wasReturn { line.text += byte == 13 || byte == 10 ? "\n" : String(UnicodeScalar(byte)) }
            line.wasReturn = byte == 13
        }.text
        for split in 0...text.utf8.count {
            let pieces = [Data(text.utf8.prefix(split)), Data(text.utf8.dropFirst(split))].filter { !$0.isEmpty }
            let stub = StubTransport(Stub().responds(.stream(pieces)))
            let response = try await stub.wrapped(by: MeterMiddleware { count in counted.withLock { $0 += count } })
                .send(Request(.get, url: "https://a.example/"))
            #expect(try await response.body.transformed(by: UnixLines()).collect() == Data(expected.utf8), "split at \(split)")
        }
        #expect(counted.withLock { $0 } == (text.utf8.count + 1) * text.utf8.count)
    }

    @Test func aQueryHasTheNamesOfItsAPI() throws {
        let client = APIClient(StubTransport(), json: ShopAPI.coding)
        let request = try client.request(for: ShopAPI.Customers.list(.init(lastName: "Lovelace")))
        #expect(request.head.path == "/customers?last_name=Lovelace")
    }

    @Test func aMiddlewareRespondsWithoutSending() async throws {
        let isClosed = Mutex(true)
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.wrapped(by: ClosedMiddleware { isClosed.withLock { $0 } })
        let response = try await stack.send(Request(.get, url: "https://a.example/"))
        #expect(response.status == .serviceUnavailable && response.headers[.retryAfter] == "60")
        #expect(try await response.text() == "closed" && stub.requests.isEmpty)
        isClosed.withLock { $0 = false }
        #expect(try await stack.send(Request(.get, url: "https://a.example/")).status == .ok)
    }

    @Test func theBodyOfARequestIsReadAndSent() async throws {
        let pieces = AsyncStream<Data> { continuation in
            for piece in ["a", "b", "c"] { continuation.yield(Data(piece.utf8)) }
            continuation.finish()
        }
        let bodies: [(RequestBody, String)] = [(.empty, ""), (.text("abc"), "abc"), (.stream(pieces), "abc")]
        for (body, text) in bodies {
            let stub = StubTransport(Stub().responds(.status(.ok)))
            let stack = stub.wrapped(by: BodySignatureMiddleware { "\($0.count)" })
            _ = try await stack.send(Request(.post, url: "https://a.example/", headers: [.contentType: "text/plain"], body: body))
            let sent = try #require(stub.requests.first)
            #expect(sent.text == text && sent.headers[.bodySignature] == "\(text.utf8.count)")
            #expect(sent.headers[.contentType] == "text/plain")
        }
    }

    @Test func aBodyIsReadAndPassedOn() async throws {
        let written = Mutex<[String]>([])
        let stub = StubTransport(Stub().responds(.stream([Data("a".utf8), Data("b".utf8)])))
        let stack = stub.wrapped(by: BodyTextMiddleware { text in written.withLock { $0.append(text) } })
        #expect(try await stack.send(Request(.get, url: "https://a.example/")).text() == "ab")
        #expect(written.withLock { $0 } == ["ab"])
    }

    @Test func theSamplesAreCorrect() async throws {
        try await stubbed()
        #if MockServer
        try await served()
        #endif
        #expect(
            try search("\u{FEFF}https://notes.example/straße ", Filter(tags: ["a", "b"])).url?.description
                == "https://notes.example/stra%C3%9Fe?tags=a&tags=b&page=1")
        let bytes = Data(repeating: 7, count: 5)
        let stub = StubTransport(
            Stub(.get, "/lines").query("follow", "true").responds(.status(.ok, text: "a\n\nb\n"), repeatingLast: true),
            Stub(.get, "/archives/{id}").responds(.data(bytes)), Stub(.post, "/photos").responds(.json(Photo(id: 7))),
            Stub(.get, "/notes").responds(.json([Note(id: 1, text: "Buy tea")]), .status(.serviceUnavailable)))
        let stack = named(stub.server("https://a.example"))
        try await lines(of: stack)
        #expect(stub.requests.last?.headers[.custom("X-Tenant")] == "blue")
        let count = Mutex(0)
        let request = try Request(.get, "/lines", query: ["follow": true])
        let response = try await counted(request, by: stack) { more in count.withLock { $0 += more } }
        #expect(try await response.text() == "a\n\nb\n" && count.withLock { $0 } == 5)
        let api = APIClient(stack)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try await downloaded(7, from: api, to: file).bytes == 5)
        #expect(try await uploaded(file, to: api).id == 7)
        #expect(stub.requests.last?.body == bytes)
        let list = await NoteList(api: api)
        await list.load()
        #expect(await list.notes.count == 1)
        await list.load()
        #expect(await list.message != nil)
        let fine = StubTransport(Stub().responds(.status(.ok, text: "fine"), repeatingLast: true))
        #expect(resilient(fine).orderProblems.isEmpty && observed(fine, by: StubEventSink()).orderProblems.isEmpty)
        #expect(logged(HTTPStack(fine)).orderProblems.isEmpty)
        let seen = try await observed(resilient(fine), by: StubEventSink()).send(Request(.get, url: "https://a.example/"))
        #expect(try await seen.text() == "fine")
        #expect(seen.metadata.profile?.layers.first?.name == "events")
    }

    @Test func theGuideForAppsIsCorrect() async throws {
        await screenShowsItsNotes()
        let stub = StubTransport(
            Stub(.get, "/v1/notes/archive").responds(.data(Data(repeating: 7, count: 100_000))),
            Stub().responds(
                .offline, .failure(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)),
                .status(.unauthorized)))
        let screen = await NotesScreen(api: APIClient(stub.server("https://notes.example/v1")))
        await screen.load()
        #expect(await screen.message == "This device is offline.")
        await screen.load()
        #expect(await screen.message == "Could not connect to the server.")
        await screen.load()
        #expect(await screen.message == "The server needs valid credentials.")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await screen.saveArchive(to: file)
        #expect(try Data(contentsOf: file).count == 100_000)
        #expect(await screen.fraction == 1)
        #expect(makeClient(token: "t").stack.orderProblems.isEmpty)
    }

    @Test func theGuideForServersIsCorrect() async throws {
        try await inventoryIsAskedAgain()
        let transport = try makeTransport()
        let (logger, _) = recordingLogger()
        #expect(makeInventory(over: transport, logger: logger).stack.orderProblems == [])
        #expect(guarded(transport, logger: logger).orderProblems == [])
        let timeouts: [Duration] = [.seconds(5), .milliseconds(100), .seconds(60)]
        #expect([[:], ["timeoutMilliseconds": 0], ["timeoutMilliseconds": .max]].map { timeout(from: $0) } == timeouts)
        try await transport.shutdown()
    }

    @Test func theGuideFromURLSessionIsCorrect() async throws {
        try await noteIsLoaded()
        try await aCallWaitsForTheNetwork()
        #expect(
            try photo(7, over: .cellular).request().query["size"] == "small" && photo(7, over: .wifi).request().query["size"] == "large")
        // The session begins with the first request.
        let few = stackWithFewConnections()
        #expect(few.orderProblems == [] && few.description.hasSuffix("URLSessionTransport"), "\(few)")
        let url = try #require(URL(string: "https://a.example/notes/7?lang=en"))
        let old = StubTransport(Stub(.get, "/notes/7").responds(.status(.created, text: "tea")))
        let (bytes, converted) = try await data(for: URLRequest(url: url), over: HTTPStack(old))
        #expect(bytes == Data("tea".utf8) && converted?.statusCode == 201 && converted?.url == url)
        let request = try draft(url, from: "ann")
        #expect(request.head.path == "/notes/7?lang=en&draft=true" && request.headers[.custom("X-Tenant")] == "blue")
        let stub = StubTransport(
            Stub(.put, "/archive").responds(.status(.noContent)), Stub(.get, "/archive").responds(.data(Data("zip".utf8))),
            Stub(.get, "/changes").responds(
                .failure(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)),
                .status(.ok, text: "a\nb\n")))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, copy) = (folder.appendingPathComponent("a"), folder.appendingPathComponent("b"))
        try Data("archive".utf8).write(to: file)
        try await backUp(file, from: APIClient(stub.server("https://a.example")), to: copy)
        #expect(try Data(contentsOf: copy) == Data("zip".utf8) && stub.requests.first?.body == Data("archive".utf8))
        var lines: [String] = []
        try await follow(patient(HTTPStack(stub), at: NetworkGate(ScriptedPathMonitor())).server("https://a.example")) { lines.append($0) }
        #expect(lines == ["a", "b"])
    }

    @Test func theGuideFromAlamofireIsCorrect() async throws {
        try await accountsAreStubbed()
        let stub = StubTransport(
            Stub(.post, "/session").form(["user": "joe", "password": "s3cret"]).responds(.status(.noContent)),
            Stub().header(.authorization, "Bearer new").responds(.json(Account(id: 1, name: "Ada")), repeatingLast: true),
            Stub().header(.authorization, "Bearer old").responds(.status(.unauthorized), repeatingLast: true))
        let times = Mutex(0)
        let stack = signedIn(stub) { _ in AccessToken("new") }.wrapped(by: TimingMiddleware { _, _ in times.withLock { $0 += 1 } })
        let api = APIClient(stack.server("https://a.example"))
        #expect(try await api.value(Accounts.rename(1, to: "Ada")).name == "Ada")
        try await APIClient(stub.server("https://a.example")).value(Accounts.signIn("joe", "s3cret"))
        #expect(times.withLock { $0 } == 1)
    }

    @Test func theGuideToErrorsShowsTheThrownErrors() async throws {
        let article = try Self.text(of: Self.guides + "ErrorsForPeople.md")
        func isShown(_ text: String, _ location: SourceLocation = #_sourceLocation) {
            let isShown = article.contains(text)
            #expect(isShown, "\(text)", sourceLocation: location)
        }
        let request = try Request(.get, url: "https://notes.example/notes")
        let refused = TransportError(
            .cannotConnect, phase: .connect, message: "connection refused", request: request, delivery: .notSent)
        let slow = TransportError(.timedOut, phase: .response, request: request, delivery: .unknown)
        let stub = StubTransport(
            Stub(.get, "/notes").responds(
                .failure(refused), .offline, .failure(slow), .status(.unauthorized), .status(.notFound), .status(.serviceUnavailable),
                .data(Data(#"[{"id":1,"text":"a"},{"id":"x","text":"b"}]"#.utf8))))
        let api = APIClient(stub.server("https://notes.example"))
        let first = try #require(await Self.failure { try await api.get("/notes", as: [Note].self) })
        #expect(message(for: first) == "Could not connect to the server. Check the network connection, or try again later.")
        isShown("| \(first.localizedDescription) | \((first as? any LocalizedError)?.recoverySuggestion ?? "") |")
        isShown("\(first) |")
        for _ in 0..<5 {
            let error = try #require(await Self.failure { try await api.get("/notes", as: [Note].self) })
            let suggestion = (error as? any LocalizedError)?.recoverySuggestion ?? ""
            #expect(
                message(for: error) == (suggestion.isEmpty ? error.localizedDescription : "\(error.localizedDescription) \(suggestion)"))
            isShown("| \(error.localizedDescription) | \(suggestion) |")
        }
        #expect(
            germanMessage(for: first) == "Der Server ist nicht erreichbar."
                && germanMessage(for: CancellationError()) == "Das hat nicht geklappt.")
        #expect(messageWithServer(for: first) == "notes.example: Der Server ist nicht erreichbar.")
        isShown("// \(groupInCrashReports(first))\n")
        let last = try #require(await Self.failure { try await api.get("/notes", as: [Note].self) })
        isShown("\n\(last)\n")
        #expect(message(for: CancellationError()) == nil)
    }

    @Test func aCatalogOfTheAppHasTextsByNumber() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).bundle")
        defer { try? FileManager.default.removeItem(at: folder) }
        // A String Catalog becomes such a file when an app is built.
        let table = folder.appendingPathComponent("en.lproj/Failures.strings")
        try FileManager.default.createDirectory(at: table.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(#""1002" = "Nobody is there.";"#.utf8).write(to: table)
        let texts = texts(in: try #require(Bundle(path: folder.path)))
        func failure(_ code: TransportError.Code) -> TransportError { TransportError(code, phase: .connect) }
        #expect(texts.text(for: failure(.cannotConnect)) == "Nobody is there.")
        #expect(texts.text(for: failure(.cannotFindHost)) == "The server could not be found.")
    }

    @Test func theSamplesOfErrorsAreCorrect() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let refused = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let stub = StubTransport(
            Stub(.get, "/notes/1").responds(.status(.notFound)), Stub(.get, "/notes/2").responds(.status(.badGateway)),
            Stub(.get, "/cached/notes/2").responds(.json(Note(id: 2, text: "old"))),
            Stub(.post, "/orders/{id}/payment").responds(.status(.noContent), .failure(refused), .failure(lost)),
            Stub(.get, "/reason").responds(
                .data(Data(#"{"reason":"full"}"#.utf8), status: .conflict),
                .data(Data(#"{"title":"closed"}"#.utf8), status: .conflict, headers: [.contentType: "application/problem+json"]),
                .status(.conflict)))
        let api = APIClient(stub.server("https://a.example"))
        #expect(try await load(1, from: api) == nil)
        #expect(try await load(2, from: api)?.text == "old")
        #expect(try await pay(1, with: api) == "Paid.")
        #expect(try await pay(1, with: api) == "Not paid. Try again.")
        #expect(try await pay(1, with: api) == "Check your account before you try again.")
        var reasons: [String] = []
        for _ in 0..<3 {
            let error = await Self.failure { try await api.get("/reason", as: Note.self) }
            reasons.append(reason(of: try #require(error as? StatusError)))
        }
        #expect(reasons == ["full", "closed", "The server did not accept the request."])
        let refusing = StubTransport(
            Stub(.patch, "/notes/{id}").responds(.data(Data(#"{"reason":"taken"}"#.utf8), status: .conflict), .status(.ok)))
        let own = client(of: refusing.server("https://a.example"))
        #expect(try await rename(1, with: own) == "taken")
        #expect(APIProblem(reason: "taken").localizedDescription == "taken")
        #expect(try await rename(1, with: own) == "Renamed.")
    }

    @Test func theConsoleMatchesTheArticle() async throws {
        let article = try Self.text(of: Self.guides + "WhatTheConsoleShows.md")
        func isShown(_ text: String, _ location: SourceLocation = #_sourceLocation) {
            let isShown = article.contains("```\n\(text)\n```")
            #expect(isShown, "\(text)", sourceLocation: location)
        }
        let clock = ManualClock()
        let stub = StubTransport(
            Stub(.post, "/notes").responds(
                .status(.created, headers: [.location: "/notes/7"], text: #"{"id":7}"#), repeatingLast: true),
            Stub(.get, "/notes/7").responds(.status(.ok, text: #"{"id":7}"#), repeatingLast: true),
            Stub(.get, "/notes/8").responds(.status(.internalServerError, text: "sorry")),
            Stub(.get, "/notes/9").responds(.json(["error": "no such note", "token": "abc123"], status: .notFound)),
            Stub(.get, "/notes").responds(.status(.serviceUnavailable), repeatingLast: true))
        let slow = stub.transformResponse { response in
            clock.advance(by: .milliseconds([201: 73, 200: 21, 404: 5, 500: 5][response.status.code] ?? 0))
        }
        let (logger, records) = recordingLogger()
        let stack = logged(slow, to: logger, clock: clock)
        for id in [7, 8] { _ = try await stack.send(Request(.get, "/notes/\(id)")).data() }
        let secret = try Request(
            .post, "/notes", query: ["draft": true], headers: [.authorization: "Bearer abc", .contentType: "application/json"],
            body: .text(#"{"title":"Milk","token":"abc123"}"#))
        let detailed = slow.log(to: logger, detail: .body(), clock: clock).number().server("https://api.example")
        _ = try await detailed.send(secret).data()
        let plain = try Request(.post, "/notes", headers: [.contentType: "application/json"], body: .text(#"{"title":"Milk"}"#))
        let brief = slow.log(to: logger, detail: .body(), style: .oneLine, clock: clock).number().server("https://api.example")
        _ = try await brief.send(plain).data()
        #expect(records.all.count == 5)
        for record in records.all { isShown(record.text) }
        let (refusing, refusals) = recordingLogger()
        let typed = APIClient(slow.log(to: refusing, clock: clock).number().server("https://api.example"))
        await #expect(throws: StatusError.self) { try await typed.get("/notes/9", as: Note.self) }
        isShown(try #require(refusals.all.first).text)

        isShown(logged(stub, to: logger, clock: clock).description)
        let (one, other) = numbered(HTTPStack(StubTransport()), HTTPStack(StubTransport()))
        #expect(one.stack.orderProblems.isEmpty && other.stack.orderProblems.isEmpty)
        isShown(stub.profile().retry().description)
        let (warning, warnings) = recordingLogger()
        _ = try await stub.profile().retry().log(to: warning).send(Request(.get, url: "https://a.example/notes/7")).data()
        isShown(try #require(warnings.all.first { $0.text.hasPrefix("order: ") }).text)
        let failure = await Self.failure {
            let client = APIClient(stub.retry(clock: clock, random: { 0.999_999 }).server("https://api.example"))
            return try await clock.advancingToSleepers { try await client.get("/notes", as: [Note].self) }
        }
        isShown("\(try #require(failure))")

        let metrics = RecordingMetrics(buckets: MetricsMiddleware.durationBuckets)
        _ = try await stub.metrics(factory: metrics).server("https://api.example").send(Request(.get, "/notes/7")).data()
        isShown(try #require(metrics.names.first { $0.hasPrefix("http.client.request.duration") }))
        #expect(measured(stub).orderProblems.isEmpty)

        let response = try await profiled(stub).send(Request(.get, url: "https://a.example/notes/7"))
        _ = try await response.data()
        let lines = try #require(response.metadata.profile).description.split(separator: "\n")
        #expect(lines.count == 8 && lines[0].hasPrefix("timeout(30 s) ") && lines[0].hasSuffix("200"))
    }

    private static func failure(_ call: () async throws -> some Any) async -> (any Error)? {
        do {
            _ = try await call()
            return nil
        } catch {
            return error
        }
    }
}

/// The middleware of the guide that reports the order of its stack, written with public API alone.
@Suite(.timeLimit(.minutes(5))) struct OwnOrderReportTests {
    @Test func theLayerOfTheAppReportsEachProblemOnce() async throws {
        let lines = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
        let stack = stub.timeout(.seconds(3)).retry().wrapped(by: OrderLogMiddleware { lines.record($0) })
        for _ in 0..<3 { _ = try await stack.send(Request(.get, url: "https://a.example/")) }
        #expect(lines.all == stack.orderProblems.map { "order: \($0)" } && lines.all.count == 1)
    }

    @Test func theSettingSilencesTheLayerOfTheApp() async throws {
        let lines = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.timeout(.seconds(3)).retry().wrapped(by: OrderLogMiddleware { lines.record($0) }).ignoringOrderProblems()
        _ = try await stack.send(Request(.get, url: "https://a.example/"))
        #expect(lines.all.isEmpty && stack.orderProblems.count == 1)
    }
}

/// The middleware of the guide that sends requests again, written with public API alone.
@Suite(.timeLimit(.minutes(5))) struct OwnFollowUpTests {
    static let all: [MiddlewareUnderTest] = [
        MiddlewareUnderTest("tryAgain", switchOff: { $0.options.followUps = .off }) {
            $0.wrapped(by: TryAgainMiddleware(wait: .milliseconds(1)))
        },
        MiddlewareUnderTest("mirror", switchOff: { $0.options.followUps = .off }) { $0.wrapped(by: MirrorMiddleware()) },
        MiddlewareUnderTest("session", changes: .addedFields, switchOff: { $0.options.followUps = .off }) {
            $0.wrapped(by: SessionMiddleware(session: Session { "key" }))
        },
    ]

    @Test(arguments: all, MiddlewareBehavior.all)
    func conforms(_ middleware: MiddlewareUnderTest, to behavior: MiddlewareBehavior) async throws { try await behavior.check(middleware) }

    @Test func aTransientFailureIsRetried() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.badGateway), .status(.ok)))
        let stack = HTTPStack.sorted(around: stub).wrapped(by: TryAgainMiddleware(wait: .milliseconds(1))).validateStatus()
        let response = try await stack.send(Request(.get, url: "https://a.example/"))
        #expect(response.metadata.attempts.map(\.description) == ["attempt 1: 503, then waited 1 ms", "attempt 2: 502, then waited 1 ms"])
        #expect(stub.requests.map(\.request.options.resendCount) == [0, 1, 2])
        let once = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        _ = try await once.wrapped(by: TryAgainMiddleware()).send(Request(.post, url: "https://a.example/"))
        #expect(once.requests.count == 1, "a POST is not idempotent")
    }

    @Test func aRequestToAnotherOriginDropsItsCredentials() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").responds(.status(.serviceUnavailable, headers: [.mirror: "https://mirror.example/b?c"])),
            Stub(.get, "/b").responds(.status(.ok)))
        let request = try Request(.get, url: "https://a.example/a", headers: [.authorization: "Bearer secret", .accept: "text/plain"])
        let response = try await stub.wrapped(by: MirrorMiddleware()).send(request)
        #expect(response.request.url?.description == "https://mirror.example/b?c" && response.metadata.attempts.count == 1)
        #expect(response.request.headers[.authorization] == nil && response.request.headers[.accept] == "text/plain")
    }

    @Test func aRefusedKeyIsReplacedOnce() async throws {
        let stub = StubTransport(
            Stub().matching("with the new key") { $0.headers[.sessionKey] == "key 2" }.responds(.status(.ok), repeatingLast: true),
            Stub().responds(.status(.unauthorized), repeatingLast: true))
        let count = SignIns()
        let stack = stub.wrapped(by: SessionMiddleware(session: Session { "key \(count.next())" }))
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { try await stack.send(Request(.get, url: "https://a.example/")).status }
            }
            for try await status in group { #expect(status == .ok) }
        }
        #expect(count.next() == 3, "one sign-in, one refresh")
        #expect(!"\(stub.requests[0].request)".contains("key 1"))
    }
}

private final class SignIns: Sendable {
    private let count = Watched(0)
    func next() -> Int {
        count.change { $0 += 1 }
        return count.value
    }
}
