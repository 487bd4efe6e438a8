#if Auth
import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandAuth
@testable import ErrandCore

/// The cookies of requests and responses in a stack.
@Suite(.timeLimit(.minutes(5))) struct CookiesMiddlewareTests {
    private static func fields(_ cookies: [String], _ others: HTTPFields = [:]) -> HTTPFields {
        var fields = others
        for cookie in cookies { fields.append(HTTPField(name: .setCookie, value: cookie)) }
        return fields
    }

    private static func sets(_ cookies: String..., status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) -> StubResponse {
        .status(status, headers: fields(cookies, headers))
    }

    private func request(_ url: String = "https://www.a.example/dir/x", _ method: HTTPRequest.Method = .get) throws -> Request {
        try Request(method, url: url)
    }

    private func sent(_ stub: StubTransport) -> [String?] { stub.requests.map { $0.headers[.cookie] } }

    // MARK: Requests and responses

    @Test func cookiesOfAResponseAreSentWithTheNextRequest() async throws {
        let (jar, stub) = (
            CookieJar(), StubTransport(Stub().responds(Self.sets("a=1; Path=/", "b=2, c=3; Path=/"), Self.sets(), repeatingLast: true))
        )
        let stack = stub.cookies(jar)
        for url in ["https://www.a.example/x", "https://www.a.example/x", "https://b.example/"] {
            _ = try await stack.send(try request(url))
        }
        #expect(sent(stub) == [nil, "a=1; b=2, c=3", nil])
        #expect(stub.requests[1].headers[fields: .cookie].count == 1, "one field")
        #expect(stack.orderProblems == [] && stack.description == "cookies > StubTransport")
    }

    @Test(arguments: [HTTPResponse.Status.found, .unauthorized, .notModified, .notFound, .internalServerError, .noContent])
    func cookiesOfEachStatusAreStored(_ status: HTTPResponse.Status) async throws {
        let jar = CookieJar()
        _ = try await StubTransport(Stub().responds(Self.sets("a=1", status: status))).cookies(jar).send(try request())
        #expect(jar.count == 1)
    }

    @Test func aResponseThatChangesTheProtocolSetsNoCookie() async throws {
        let jar = CookieJar()
        let sender = StubSender { request in
            Response(head: HTTPResponse(status: .switchingProtocols, headerFields: Self.fields(["a=1"])), request: request)
        }
        _ = try await sender.cookies(jar).send(try request())
        #expect(jar.count == 0)
    }

    @Test func aStoredResponseOfACacheSetsNoCookie() async throws {
        let jar = CookieJar()
        for (name, outcome) in [("a", CacheStatus.Outcome.hit), ("b", .forwarded(.stale)), ("c", .forwarded(.uriMiss))] {
            let sender = StubSender { request in
                var response = Response(head: HTTPResponse(status: .ok, headerFields: Self.fields(["\(name)=1"])), request: request)
                response.metadata.cacheStatus = CacheStatus(outcome)
                return response
            }
            _ = try await sender.cookies(jar).send(try request())
        }
        #expect(jar.cookies.map(\.name) == ["b", "c"])
    }

    @Test func aCookieFieldOfTheAppReplacesTheJar() async throws {
        let (jar, stub) = (CookieJar(), StubTransport(Stub().responds(Self.sets("a=1", "b=2"))))
        let stack = stub.cookies(jar)
        _ = try await stack.send(try request())
        var own = try request()
        own.headers[.cookie] = "x=y; z"
        _ = try await stack.send(own)
        _ = try await stack.send(try request())
        #expect(sent(stub) == [nil, "x=y; z", "a=1; b=2"] && jar.count == 2)
    }

    @Test func aRequestChoosesItsJar() async throws {
        let (jar, other, stub) = (CookieJar(), CookieJar(), StubTransport(Stub().responds(Self.sets("a=1"))))
        let stack = stub.cookies(jar)
        var (off, own) = (try request(), try request())
        off.options.cookies = .off
        own.options.cookies = .use(other)
        _ = try await stack.send(off)
        #expect(jar.count == 0)
        for _ in 0..<2 { _ = try await stack.send(own) }
        #expect(jar.count == 0 && other.count == 1)
        _ = try await stack.send(try request())
        #expect(sent(stub) == [nil, nil, "a=1", nil] && jar.count == 1)
        await #expect(throws: UnsupportedOptionError.self) { _ = try await stub.retry().send(own) }
    }

    @Test func aRequestWithoutAHostIsPassedOn() async throws {
        let (jar, stub) = (CookieJar(), StubTransport(Stub().responds(Self.sets("a=1"))))
        _ = try await stub.cookies(jar).send(Request(.options, url: "https://www.a.example/x"))
        var star = try request("https://www.a.example/", .options)
        star.head.path = "*"
        _ = try await stub.cookies(jar).send(star)
        #expect(jar.count >= 1)
        let prepared = try await stub.cookies(jar).prepared(try request())
        #expect(prepared.headers[.cookie] == "a=1")
    }

    // MARK: Other layers

    @Test func eachHopOfARedirectGetsItsOwnCookies() async throws {
        let stub = StubTransport(
            Stub().responds(
                .custom { request in
                    let url = request.request.url?.description ?? ""
                    let next =
                        switch url {
                        case "https://a.example/": "https://b.example/"
                        case "https://b.example/": "https://a.example/2"
                        case "https://a.example/2": "http://a.example/3"
                        default: ""
                        }
                    let host = request.request.url?.host ?? ""
                    let fields = Self.fields(
                        ["\(host.prefix(1))=1; Path=/", "s=\(host.prefix(1)); Path=/; Secure"], next.isEmpty ? [:] : [.location: next])
                    return (HTTPResponse(status: next.isEmpty ? .ok : .found, headerFields: fields), Data())
                }))
        let jar = CookieJar()
        let response = try await stub.cookies(jar).redirect(RedirectPolicy(allowsDowngrade: true)).send(try request("https://a.example/"))
        #expect(sent(stub) == [nil, nil, "a=1; s=a", "a=1"])
        #expect(response.metadata.redirects.count == 3)
        #expect(response.request.headers[.cookie] == "a=1")
    }

    @Test func theCookiesOfAChallengeAreSentWithTheProof() async throws {
        let stub = StubTransport(
            Stub().responds(
                Self.sets("nonce=1", status: .unauthorized, headers: [.wwwAuthenticate: #"Basic realm="a""#]), Self.sets(),
                repeatingLast: true))
        let stack = stub.cookies(CookieJar()).authenticate(.basic(user: "joe", password: "x", isPreemptive: false))
        _ = try await stack.send(try request())
        #expect(sent(stub) == [nil, "nonce=1"])
    }

    @Test func theNextAttemptHasTheCookiesOfTheLastResponse() async throws {
        let stub = StubTransport(Stub().responds(Self.sets("a=1", status: .serviceUnavailable), Self.sets(), repeatingLast: true))
        _ = try await stub.cookies(CookieJar()).retry(RetryPolicy(backoff: .immediate), clock: ManualClock()).send(try request())
        #expect(sent(stub) == [nil, "a=1"])
    }

    @Test func aSharedResponseSetsItsCookiesOnce() async throws {
        let (jar, other) = (CookieJar(), CookieJar())
        let isOpen = Watched(false)
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    try await isOpen.wait { $0 }
                    return (HTTPResponse(status: .ok, headerFields: Self.fields(["a=1"])), Data())
                }))
        let coalesce = CoalesceMiddleware()
        let stack = stub.wrapped(by: coalesce).cookies(jar)
        let (first, second) = (try request(), try request())
        async let firstResponse = stack.send(first)
        async let secondResponse = stack.send(second)
        await eventually { coalesce.state.callers == 2 }
        isOpen.change { $0 = true }
        let responses = [try await firstResponse, try await secondResponse]
        let shared = try #require(responses.compactMap(\.metadata.coalescedInto).first)
        #expect(stub.requests.count == 1 && jar.count == 1)

        // A caller that joins the exchange late does not bring a removed cookie back. Another jar still gets the cookie.
        #expect(jar.remove(try #require(jar.cookies.first).key))
        let (fields, target) = (responses[0].head.headerFields, CookieRequest(try HTTPURL("https://www.a.example/dir/x")))
        for (jar, count) in [(jar, 0), (other, 1)] {
            let use = jar.emptySelection.use
            let received = jar.receive(fields, of: target, since: use, sent: shared, isShared: true)
            #expect(received.count == count && received.refused.isEmpty && jar.count == count)
        }
    }

    @Test func requestsWithOtherJarsShareNoExchange() throws {
        let (jar, other) = (CookieJar(), CookieJar())
        func identity(_ value: OptionOverride<CookieJar>) throws -> RequestOptions.Identity? {
            var request = try request()
            request.options.cookies = value
            return request.options.identity
        }
        let (own, again, foreign) = (try identity(.use(jar)), try identity(.use(jar)), try identity(.use(other)))
        let (off, inherited) = (try identity(.off), try identity(.inherited))
        #expect(own == again && own != foreign && own != off && own != inherited && off != inherited)
    }

    // MARK: SameSite

    @Test func theSiteContextChoosesTheCookies() async throws {
        let stub = StubTransport(Stub().responds(Self.sets()))
        let jar = CookieJar()
        for field in ["n=1; SameSite=None; Secure", "l=1; SameSite=Lax", "s=1; SameSite=Strict", "d=1"] {
            let refusal = try jar.refusal(field)
            #expect(refusal == nil)
        }
        let rows: [(SiteContext?, HTTPRequest.Method, String?)] = [
            (nil, .post, "n=1; l=1; s=1; d=1"), (.sameSite, .post, "n=1; l=1; s=1; d=1"), (.crossSite, .get, "n=1"),
            (.crossSiteNavigation, .get, "n=1; l=1; d=1"), (.crossSiteNavigation, .head, "n=1; l=1; d=1"),
            (.crossSiteNavigation, .post, "n=1"),
        ]
        for (context, method, _) in rows {
            var request = try request("https://www.a.example/dir/y", method)
            request.options.siteContext = context
            _ = try await stub.cookies(jar).send(request)
        }
        #expect(sent(stub) == rows.map(\.2))
    }

    @Test func aRequestOfAnotherSiteStoresCookiesForAllSitesAlone() async throws {
        let rows: [(SiteContext, Int)] = [(.sameSite, 4), (.crossSiteNavigation, 4), (.crossSite, 1)]
        for (context, count) in rows {
            let jar = CookieJar()
            let stub = StubTransport(
                Stub().responds(Self.sets("n=1; SameSite=None; Secure", "l=1; SameSite=Lax", "s=1; SameSite=Strict", "d=1")))
            var request = try request()
            request.options.siteContext = context
            _ = try await stub.cookies(jar).send(request)
            #expect(jar.count == count, "\(context)")
        }
    }

    @Test(
        arguments: [
            ("https://b.a.example/", "s=1"), ("https://b.example/", nil), ("http://www.a.example/", nil),
            ("https://www.a.example:81/", "s=1"),
        ] as [(String, String?)])
    func aRedirectToAnotherSiteIsARequestOfAnotherSite(_ target: String, _ cookie: String?) async throws {
        let stub = StubTransport(
            Stub().responds(.redirect(to: target), Self.sets(), repeatingLast: true))
        let jar = CookieJar()
        for url in ["https://www.a.example/", "https://b.example/", "http://www.a.example/"] {
            let domain = url.contains("www") ? "; Domain=a.example" : ""
            let refusal = try jar.refusal("s=1; Path=/; SameSite=Strict\(domain)", from: url)
            #expect(refusal == nil)
        }
        var request = try request("https://www.a.example/")
        request.options.siteContext = .sameSite
        _ = try await stub.cookies(jar).redirect(RedirectPolicy(allowsDowngrade: true)).send(request)
        #expect(sent(stub) == ["s=1", cookie])
    }

    // MARK: Clear-Site-Data

    @Test(arguments: [
        ("https://www.a.example/", #""cookies""#, 1), ("https://www.a.example/", #""cache", "cookies""#, 1),
        ("https://b.a.example/", #""*""#, 1),
        ("https://www.a.example/", #""storage""#, 5), ("https://www.a.example/", "cookies", 5), ("http://www.a.example/", #""cookies""#, 5),
        ("http://localhost/", #""cookies""#, 5), ("https://c.example/", #""cookies""#, 3),
    ])
    func clearSiteDataRemovesTheCookiesOfItsSite(_ url: String, _ value: String, _ count: Int) async throws {
        let jar = CookieJar()
        for url in ["https://a.example/", "https://www.a.example/", "https://b.a.example/", "https://c.example/"] {
            let refusal = try jar.refusal("a=b", from: url)
            #expect(refusal == nil)
        }
        let name = try #require(HTTPField.Name("Clear-Site-Data"))
        let stub = StubTransport(Stub().responds(Self.sets("new=1", headers: [name: value])))
        _ = try await stub.cookies(jar).send(try request(url))
        #expect(jar.count == count)
    }

    @Test func aResponseOfAnEarlierRequestBringsNoCookieBack() async throws {
        let ways: [(@Sendable (CookieJar) async throws -> Void, Int)] = [
            ({ $0.removeAll() }, 0), ({ $0.removeAll(ofSite: try HTTPURL("https://b.a.example/")) }, 0),
            ({ try await $0.forget(CredentialIdentity(scheme: "own", "1")) }, 0),
            ({ $0.removeAll(ofSite: try HTTPURL("https://b.example/")) }, 1),
            ({ $0.removeSessionCookies() }, 1),
        ]
        for (remove, count) in ways {
            let jar = CookieJar()
            let stub = StubTransport(
                Stub().responds(
                    .custom { _ in
                        try await remove(jar)
                        return (HTTPResponse(status: .ok, headerFields: Self.fields(["a=1"])), Data())
                    }))
            let sink = RecordingEventSink()
            let stack = stub.cookies(jar).events(to: sink)
            _ = try await stack.send(try request())
            #expect(jar.count == count && sink.events.compactMap(\.decision).count == 1 - count)
        }
    }

    @Test(arguments: [0, 255, 256, 1_000])
    func manyLaterRemovalsBringNoCookieBack(_ count: Int) async throws {
        let jar = CookieJar()
        let stub = StubTransport(
            Stub().responds(
                .custom { _ in
                    jar.removeAll(ofSite: try HTTPURL("https://a.example/"))
                    for number in 0..<count { jar.removeAll(ofSite: try HTTPURL("https://s\(number).example/")) }
                    return (HTTPResponse(status: .ok, headerFields: Self.fields(["a=1"])), Data())
                }, Self.sets("b=1"), repeatingLast: true))
        _ = try await stub.cookies(jar).send(try request())
        #expect(jar.count == 0)
        _ = try await stub.cookies(jar).send(try request())
        #expect(jar.cookies.map(\.name) == ["b"], "a later request")
    }

    // MARK: Limits and events

    @Test func theFieldHasALimit() async throws {
        let jar = CookieJar(limits: CookieJar.Limits(fieldBytes: 30))
        for field in ["short=1; Path=/", "long=\(String(repeating: "v", count: 20)); Path=/dir", "middle=12345; Path=/"] {
            let refusal = try jar.refusal(field)
            #expect(refusal == nil)
        }
        let (stub, sink) = (StubTransport(Stub().responds(Self.sets())), RecordingEventSink())
        _ = try await stub.cookies(jar).events(to: sink).send(try request())
        #expect(sent(stub) == ["long=\(String(repeating: "v", count: 20))"])
        let decision = try #require(sink.events.first { $0.kind == .cookieDecision }?.decision)
        #expect(decision.continues && decision.description == "sent 1 of 3 cookies, because the field has no room for the others")
    }

    @Test func theFieldHas8KiBByDefault() async throws {
        let jar = CookieJar()
        for number in 0..<10 {
            let refusal = try jar.refusal("\(number)=\(String(repeating: "v", count: 1_000))")
            #expect(refusal == nil)
        }
        let stub = StubTransport(Stub().responds(Self.sets()))
        _ = try await stub.cookies(jar).send(try request())
        let field = try #require(sent(stub)[0])
        let url = try HTTPURL("https://www.a.example/dir/x")
        #expect(field.utf8.count == 8 * 1_004 - 2 && jar.cookies(for: url).count == 10)
    }

    @Test func refusedCookiesAreReported() async throws {
        let (jar, sink) = (CookieJar(), RecordingEventSink())
        let stub = StubTransport(Stub().responds(Self.sets("a=1", "b=2; Domain=b.example", "c=3; Secure")))
        _ = try await stub.cookies(jar).events(to: sink).send(try request("http://www.a.example/"))
        #expect(jar.cookies.map(\.name) == ["a"])
        #expect(
            sink.events.compactMap(\.decision?.description) == [
                "refused 2 of 3 cookies of the response; the cookie 'b' was refused: its domain does not include the host"
            ])
    }

    @Test func theOrderOfOtherLayersIsChecked() {
        let jar = CookieJar()
        #expect(
            StubTransport().cookies(jar).cookies(CookieJar()).orderProblems == [
                "cookies is outside another cookies: the inner layer would not add cookies to a request that already has cookies"
            ])
        #expect(
            StubTransport().redirect().cookies(jar).orderProblems == [
                "cookies is outside redirect: cookies that a redirect sets would be lost"
            ])
        #expect(StubTransport().cookies(jar).redirect().orderProblems == [])
    }
}
#endif
