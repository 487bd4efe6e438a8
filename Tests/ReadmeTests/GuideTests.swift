import Errand
import ErrandRecording
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

#if SQLite
import Crypto
import ErrandSQLite
#endif

/// The samples of the guides to tests, exports, validators, metrics and repeated requests do what the guides say. The tests of the guides
/// to tests and to a sign-in run as they are.
@Suite(.timeLimit(.minutes(5))) struct GuideTests {
    /// Checks that an article shows a text in a block of its own.
    private static func show(_ text: String, in article: String, _ location: SourceLocation = #_sourceLocation) throws {
        let isShown = try ReadmeTests.text(of: ReadmeTests.guides + article).contains("```\n\(text)\n```")
        #expect(isShown, "\(text)", sourceLocation: location)
    }

    @Test func theGuideToTestsShowsTheErrorOfAMissingStub() async throws {
        let stub = StubTransport(Stub(.patch, "/tickets/{id}").responds(.json(Ticket(id: 7))))
        let api = APIClient(stub.server("https://desk.example"))
        let error = await #expect(throws: UnmatchedRequestError.self) { try await api.get("/tickets/7", as: Ticket.self) }
        try Self.show("\(try #require(error))", in: "Testing.md")
    }

    @Test func ticketsAreRecordedOnceAndReplayed() async throws {
        let folder = try TestFolder("guide")
        let stub = StubTransport(Stub(.get, "/tickets").responds(.json([Ticket(id: 7)])))
        for _ in 0..<2 {
            let found = try await tickets(over: HTTPStack(stub), recordedIn: folder.file("tickets.har"), token: "a-long-token")
            #expect(found == [Ticket(id: 7)] && stub.requests.count == 1)
        }
        #expect(try !String(contentsOfFile: folder.file("tickets.har"), encoding: .utf8).contains("a-long-token"))
    }

    @Test func aSessionIsExported() async throws {
        let folder = try TestFolder("guide")
        let stub = StubTransport(Stub().responds(.json(["secret": 7, "card": 8])))
        for count in 1...2 {
            try await exportSession(over: .sorted(around: stub), to: folder.file("session.har")) { api in
                _ = try await api.data(Endpoint<Void>.get("/tickets", query: ["api_key": "k"]))
            }
            #expect(stub.requests.count == count, "the mode all sends each request")
        }
        let recording = try Recording(atPath: folder.file("session.har"), mode: .newEpisodes)
        printSession(recording)
        let entry = try #require(recording.log.entries.first)
        let shown = try ReadmeTests.text(of: ReadmeTests.guides + "ExportingHAR.md")
            .contains("// \(entry.request.method) \(entry.request.url) \(entry.response.status)\n")
        #expect(shown && recording.log.entries.count == 1)
        #expect(entry.response.content.text?.contains(#""secret":0"#) == true)

        let diagnostics = Diagnostics(network: HTTPStack(stub))
        try await diagnostics.start(path: folder.file("diagnostics.har"))
        _ = try await diagnostics.api.data(Endpoint<Void>.get("/a"))
        try await diagnostics.stop()
        _ = try await diagnostics.api.data(Endpoint<Void>.get("/b"))
        #expect(try HARLog(fileContent: Data(contentsOf: URL(fileURLWithPath: folder.file("diagnostics.har")))).entries.count == 1)

        let some = try Recording(atPath: folder.file("some.har"), mode: .all)
        let api = makeRecorded(HTTPStack(stub), on: some)
        for path in ["/tickets/1", "/other"] { _ = try await api.data(Endpoint<Void>.get(PathTemplate(verbatim: path))) }
        #expect(some.log.entries.map(\.request.url) == ["https://desk.example/tickets/1"])

        let all = try Recording(atPath: folder.file("all.har"), mode: .all)
        let recorded = APIClient(stub.record(on: all).server("https://desk.example"))
        try await signInUnrecorded(recorded, "a-password")
        try await hideCards(recorded, "4111-1111")
        #expect(all.log.entries.map(\.request.postData?.text) == [#"{"card":"REDACTED"}"#])
        try await signInUnrecorded(APIClient(stub.server("https://desk.example")), "a-password")
    }

    @Test func responsesAreValidated() async throws {
        let stub = StubTransport(
            Stub(.get, "/seats/1").responds(.json(Seat(row: 1))), Stub(.get, "/seats/2").responds(.status(.noContent)),
            Stub(.get, "/seats/3").responds(.status(.ok, headers: [.contentType: "text/html"], text: "<html>Sign in</html>")),
            Stub(.get, "/seats/4").responds(.status(.notFound, headers: [.contentType: "text/html"], text: "<html>No seat</html>")))
        let hall = makeHall(.sorted(around: stub))
        #expect(try await findSeat(1, with: hall) == Seat(row: 1))
        #expect(try await findSeat(2, with: hall) == nil)
        await #expect(throws: WrongContentError.self) { try await findSeat(3, with: hall) }
        await #expect(throws: StatusError.self, "an error page in HTML keeps its status") { try await findSeat(4, with: hall) }
        #expect(hall.stack.orderProblems.isEmpty)

        let clock = ManualClock()
        let busy = StubTransport(
            Stub(.post, "/seats").json(["row": 1]).responds(.json(["code": 50_300]), .json(["code": 0])),
            Stub(.post, "/seats").json(["row": 2]).responds(.json(["reason": "Taken."], status: .conflict)),
            Stub(.post, "/seats").responds(.json(["code": 50_300])))
        let open = makeOpenHall(.sorted(around: busy), clock: clock)
        try await clock.advancingToSleepers { try await open.post("/seats", body: .json(Seat(row: 1))) }
        #expect(busy.requests.count == 2)
        let problem = await #expect(throws: HallProblem.self) { try await open.post("/seats", body: .json(Seat(row: 2))) }
        #expect(problem?.localizedDescription == "Taken.")
        let refused = await #expect(throws: ResponseValidationError.self) {
            try await clock.advancingToSleepers { try await open.post("/seats", body: .json(Seat(row: 3))) }
        }
        try Self.show("\(try #require(refused))", in: "ValidatingResponses.md")
    }

    @Test func theArticleOnRedirectsIsCorrect() async throws {
        let stub = StubTransport(
            Stub(.get, "/papers/1").responds(.redirect(to: "/papers/2")),
            Stub(.get, "/papers/2").header(.custom("X-Hop"), "1").responds(.json(Paper(title: "Tea"))),
            Stub(.get, "/papers/3").responds(.redirect(to: "/maintenance")),
            Stub(.get, "/papers/4").responds(.redirect(to: "https://b.example/")),
            Stub(.get, "/papers/5").responds(.redirect(to: "http://archive.example/papers/5")),
            Stub(.get, "/papers/7").responds(.redirect(to: "/papers/8")), Stub(.get, "/papers/8").responds(.redirect(to: "/sign-in")),
            Stub(.get, "/sign-in").responds(.status(.notFound)), Stub(.get, "/papers/9").responds(.status(.noContent)))
        let archive = makeArchive(.sorted(around: stub))
        #expect(try await paper(1, from: archive) == Paper(title: "Tea"))
        let stopped = await #expect(throws: StatusError.self) { try await paper(3, from: archive) }
        #expect(stopped?.status == .found)
        await #expect(throws: LeftTheArchive.self) { try await paper(4, from: archive) }
        let downgrade = await #expect(throws: RedirectError.self) { try await paper(5, from: archive) }
        #expect(isOverPlainHTTP(try #require(downgrade)))
        #expect(try await location(of: 4, in: archive) == "https://b.example/")
        let careful = APIClient(makeCareful(.sorted(around: stub)).server("https://archive.example"))
        let missing = try #require(await #expect(throws: StatusError.self) { try await paper(7, from: careful) })
        try Self.show("\(missing)", in: "Redirects.md")
        #expect(firstURL(of: missing) == "https://archive.example/papers/7")
        let folder = try TestFolder("hsts")
        let secure = makeSecure(.sorted(around: stub), hosts: try makeHosts(inFolder: folder.path))
        let secured = try await secure.send(Request(.get, url: "http://archive.example/papers/9"))
        #expect(secured.request.redactedURL == "https://archive.example/papers/9")
        #expect(secured.metadata.redirects.map(\.reason) == [.hsts] && secure.orderProblems.isEmpty)
        #expect(archive.stack.orderProblems.isEmpty && careful.stack.orderProblems.isEmpty)
    }

    @Test func requestsAreRepeated() async throws {
        let stub = StubTransport(
            Stub(.post, "/articles").header(.idempotencyKey).responds(.status(.serviceUnavailable), .status(.created)),
            Stub(.post, "/articles").responds(.status(.serviceUnavailable)),
            Stub(.put, "/locked").responds(.status(.init(code: 423)), .status(.noContent)),
            Stub(.put, "/press").responds(.json(["code": 50_300]), .json(["code": 0])),
            Stub(.get, "/printings/{id}").responds(
                .json(["isDone": false], headers: [.retryAfter: "1"]), .json(["isDone": true])))
        let network = HTTPStack.sorted(around: stub)
        let patient = makePatient(network)
        try await send("text", with: patient)
        #expect(stub.requests.count == 2)
        let error = await #expect(throws: StatusError.self) { try await patient.post("/articles", body: .text("text")) }
        try Self.show("\(try #require(error))", in: "RepeatingRequests.md")
        try await makeWaitingForLocks(network).put("/locked")
        try await makeWaitingForThePress(network).put("/press")
        try await waitForPrinting(7, with: patient)
        #expect(stub.unusedStubs.isEmpty)
        for client in [patient, makeWaitingForLocks(network), makeWaitingForThePress(network)] {
            #expect(client.stack.orderProblems.isEmpty)
        }
        let mirror = StubTransport(Stub().responds(.json(["isDone": true])))
        let down = StubTransport(Stub(.get).responds(.untrustedCertificate))
        let mirrored = makeMirrored(HTTPStack(down), HTTPStack(mirror))
        try await waitForPrinting(7, with: mirrored)
        #expect(down.requests.count == 1 && mirror.requests.map { $0.request.url?.description } == ["https://mirror.example/printings/7"])
        #expect(mirrored.stack.orderProblems.isEmpty)
    }

    @Test func theArticleOnCachingIsCorrect() async throws {
        let fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]
        let stub = StubTransport(
            Stub(.get, "/forecasts/paris").responds(
                .json(Forecast(city: "Paris", high: 21), headers: fields), .json(Forecast(city: "Paris", high: 22), headers: fields)),
            Stub(.get, "/forecasts/oslo").responds(.json(Forecast(city: "Oslo", high: 9), headers: [.cacheControl: "max-age=0"]), .offline),
            Stub(.get, "/forecasts/rome").responds(.json(Forecast(city: "Rome", high: 25))))
        let store = MemoryCacheStore()
        let weather = Weather(over: .sorted(around: stub), store: store)
        #expect(try await isStored("paris", in: weather) == false)
        let error = await #expect(throws: StatusError.self) { try await lastKnown("paris", from: weather) }
        #expect(error?.status == .gatewayTimeout && stub.requests.isEmpty)
        try await prefetch(["paris"], with: weather)
        #expect(try await isStored("paris", in: weather))
        #expect(try await weather.forecast(for: "paris").high == 21)
        let response = try await weather.api.send(Request(.get, "/forecasts/paris"))
        #expect(describe(response).hasPrefix("hit; ttl=") && stub.requests.count == 1)
        #expect(try await refreshed("paris", from: weather).high == 22)
        #expect(try await lastKnown("paris", from: weather).high == 22 && stub.requests.count == 2)
        #expect(try await storedForecasts(for: ["paris", "rome"], from: weather).map(\.city) == ["Paris"] && stub.requests.count == 2)
        #expect(try await forecastWithSource(for: "paris", from: weather).source.hasPrefix("hit; ttl="))

        let offline = makeOfflineWeather(over: .sorted(around: stub), store: store)
        for _ in 0..<2 { #expect(try await offline.forecast(for: "oslo").high == 9) }
        let patient = makePatientWeather(over: .sorted(around: stub), store: store)
        for _ in 0..<2 { #expect(try await patient.forecast(for: "rome").high == 25) }
        #expect(stub.requests.count == 5)
        for weather in [weather, offline, patient] { #expect(weather.stack.orderProblems.isEmpty) }
    }

    @Test func theSignOutOfTheArticleRemovesTheResponsesOfOneAccount() async throws {
        let store = MemoryCacheStore()
        let stub = StubTransport(
            Stub().responds(.json(Forecast(city: "Oslo", high: 9), headers: [.cacheControl: "max-age=600"]), repeatingLast: true))
        func weather(_ account: String) -> Weather { Weather(over: stored(stub.cache(in: store), for: account), store: .memory) }
        for account in ["ada", "bob"] { _ = try await weather(account).forecast(for: "oslo") }
        #expect(store.usage.entries == 2)
        try await signOut(of: "ada", from: Weather(over: HTTPStack(stub), store: store))
        #expect(store.usage.entries == 1)
        for account in ["ada", "bob"] { _ = try await weather(account).forecast(for: "oslo") }
        #expect(stub.requests.count == 3, "only ada's response was removed")
    }

    /// The column "Offline" of the table of modes.
    @Test func theModesOfflineAreCorrect() async throws {
        let fields: [String: HTTPFields] = [
            "fresh": [.cacheControl: "max-age=600"], "stale": [.cacheControl: "max-age=0"],
            "immutable": [.cacheControl: "max-age=600, immutable"],
        ]
        let store = MemoryCacheStore()
        for (path, fields) in fields {
            let stub = StubTransport(Stub().responds(.json(Forecast(city: path, high: 1), headers: fields)))
            _ = try await Weather(over: HTTPStack(stub), store: store).forecast(for: path)
        }
        let offline = StubTransport(Stub().responds(.offline, repeatingLast: true))
        let stack = offline.cache(in: store).server("https://weather.example")
        // The paths whose stored responses are used, and the status for a path without a stored response.
        let expected: [CachePolicy.Mode: (used: Set<String>, missing: Int?)] = [
            .standard: (["fresh", "immutable"], nil), .reload: ([], nil), .reloadEverywhere: ([], nil), .revalidate: (["immutable"], nil),
            .storedElseLoad: (["fresh", "stale", "immutable"], nil), .storedOnly: (["fresh", "stale", "immutable"], 504),
        ]
        #expect(Set(expected.keys) == Set(CachePolicy.Mode.allCases))
        for (mode, result) in expected {
            for path in ["fresh", "stale", "immutable", "missing"] {
                var request = try Request(.get, "/forecasts/\(path, "city")")
                request.options.cache = .use(mode)
                let status: Int?
                do { status = try await stack.send(request).status.code } catch let error as TransportError {
                    #expect(error.isOffline)
                    status = nil
                }
                #expect(status == (path == "missing" ? result.missing : result.used.contains(path) ? 200 : nil), "\(mode), \(path)")
            }
        }
    }

    #if SQLite
    @Test func theSealedStoreOfTheArticleHasNoClearText() async throws {
        let folder = try TestFolder("guide")
        let stub = StubTransport(Stub().responds(.json(Forecast(city: "Oslo", high: 9), headers: [.cacheControl: "max-age=600"])))
        let (key, caches) = (SymmetricKey(size: .bits256), URL(fileURLWithPath: folder.path))
        for _ in 0..<2 {
            let weather = makeSealedWeather(over: .sorted(around: stub), in: caches, key: key)
            #expect(try await weather.forecast(for: "oslo").high == 9)
            await weather.store.finish()
        }
        #expect(stub.requests.count == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("responses"))
        for name in names where name != "bodies" {
            let data = try Data(contentsOf: caches.appending(path: "responses/\(name)"))
            for text in ["oslo", "Oslo", "max-age"] { #expect(data.range(of: Data(text.utf8)) == nil, "\(name)") }
        }
        let other = makeSealedWeather(over: .sorted(around: stub), in: caches, key: SymmetricKey(size: .bits256))
        #expect(try await isStored("oslo", in: other) == false)
    }
    #endif

    #if Auth
    @Test func aSignInOverTheClientThatAuthenticatesNeedsAnOption() async throws {
        let issued = IssuedTokens(accessToken: "a1", refreshToken: "r1", expiresIn: 3600)
        let stub = StubTransport(Stub(.post, "/v1/session").responds(.json(issued)))
        let club = Club(over: .sorted(around: stub), store: MemoryTokenStore())
        let credentials = Credentials(email: "ada@club.example", password: "right")
        let error = await #expect(throws: AuthenticationError.self) { try await club.api.value(ClubAPI.signIn(credentials)) }
        try Self.show("\(try #require(error))", in: "SigningIn.md")
        #expect(try await signIn(over: club.api, credentials).value == "a1")
        #expect(club.api.stack.orderProblems.isEmpty && club.open.stack.orderProblems.isEmpty)
    }

    @Test func theArticleOnCookiesIsCorrect() async throws {
        let signedIn = Stub(.get, "/orders").header(.cookie, "sid=1").responds(.json(["tea"]), repeatingLast: true)
        let stub = StubTransport(
            Stub(.post, "/login").responds(
                .status(.seeOther, headers: [.location: "/orders", .setCookie: "sid=1; Max-Age=60"])),
            signedIn, Stub(.post, "/logout").responds(.status(.noContent)), Stub(.get, "/orders").responds(.redirect(to: "/login")),
            Stub(.get, "/prices").responds(.status(.ok), repeatingLast: true))
        let store = MemoryCookieStore()
        let bakery = Bakery(over: HTTPStack.sorted(around: stub).redirect(), store: store)
        try await bakery.signIn(user: "joe", password: "right")
        let next = Bakery(over: .sorted(around: stub), store: store)
        #expect(try await next.orders() == ["tea"])
        let guest = CookieJar()
        try guest.set(try #require(SetCookie("sid=2")), from: HTTPURL("https://bakery.example/"))
        try await sendWithOtherCookies(next.api.stack, guest: guest)
        #expect(stub.requests.suffix(2).map { $0.request.head.headerFields[.cookie] } == [nil, "sid=2"])
        let folder = try TestFolder("guide")
        let file = try folder.write(CookieFile.netscape(of: guest.cookies), to: "cookies.txt")
        try await exchangeWithCURL(next.jar, file: URL(fileURLWithPath: file))
        let read = try CookieFile.netscape(parsing: folder.read("cookies.txt"))
        #expect(read.cookies.map(\.value) == ["2"] && next.jar.cookies.map(\.value) == ["2"])
        try await next.signOut()
        #expect(next.jar.count == 0 && store.load().isEmpty && next.api.stack.orderProblems.isEmpty)
        #expect(SignedOut().localizedDescription == "The session has ended. Sign in again.")
        #expect(makeStrictStack(guest).orderProblems.isEmpty && makeBakery(in: URL(fileURLWithPath: folder.path)).jar.count == 0)
    }

    @Test func aServerEndsASession() async throws {
        let issued = IssuedTokens(accessToken: "a1", refreshToken: "r1", expiresIn: 3600)
        let stub = StubTransport(Stub(.post, "/v1/session").responds(.json(issued)), Stub().responds(.status(.unauthorized)))
        let account = await AccountModel(Club(over: .sorted(around: stub), store: MemoryTokenStore()))
        let following = Task { await account.followAccount() }
        await account.signIn(email: "ada@club.example", password: "right")
        #expect(await account.loadMember() == nil)
        #expect(await account.screen == .signIn)
        #expect(await account.message == "Sign in again.")
        following.cancel()
        await following.value
    }

    @Test func anOfflineMemberStaysSignedIn() async throws {
        let stub = StubTransport(Stub(.get, "/v1/me").responds(.offline))
        let store = MemoryTokenStore(AccessToken("a1"))
        let account = await AccountModel(Club(over: .sorted(around: stub), store: store))
        await account.start()
        #expect(await account.loadMember() == nil)
        #expect(await account.screen == .member)
    }
    #endif

    #if Telemetry && SWIFT_NIO
    @Test func eachEndpointHasItsMetrics() async throws {
        let metrics = TextMetrics()
        let stub = StubTransport(Stub().responds(.json(["id": 7])))
        let api = measuredByEndpoint(.sorted(around: stub), factory: metrics)
        for id in 1...2 { _ = try await api.data(Endpoint<Void>.get("/notes/\(id, "id")")) }
        let line = try #require(metrics.text.split(separator: "\n").first { $0.hasPrefix("http_client_request_duration_count") })
        try Self.show("\(line)", in: "MetricsPerEndpoint.md")
        try Self.show("\(measuredByEndpoint(.default, factory: metrics).stack)", in: "MetricsPerEndpoint.md")
        #expect(HTTPStack.default.metrics(factory: metrics).redirect().retry().orderProblems.isEmpty)
        #expect(HTTPStack.bare.metrics(factory: metrics).redirect().retry().orderProblems.isEmpty)
        #expect(!HTTPStack.bare.redirect().retry().metrics(factory: metrics).orderProblems.isEmpty)
        // Recording changes nothing about the place.
        let recording = try Recording(atPath: "/nowhere.har", mode: .all)
        #expect(HTTPStack.default.record(on: recording).metrics(factory: metrics).orderProblems.isEmpty)
    }
    #endif
}
