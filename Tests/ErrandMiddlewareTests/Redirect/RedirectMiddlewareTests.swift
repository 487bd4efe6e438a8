import Errand
import ErrandTesting
import TestSupport
import Testing

/// The public vectors.
private struct Vectors: Decodable {
    struct Row: Decodable {
        let status: Int
        let method: String
        let hasBody: Bool
        let methodAfter: String
        let bodyKept: Bool
        let fieldsDropped: [String]
    }
    struct NotFollowed: Decodable {
        let status: Int
        let location: String?
        let why: String
    }
    struct Fragment: Decodable {
        let from: String
        let location: String
        let expect: String
    }
    struct Pair: Decodable {
        let from: String
        let to: String
        let same: Bool
        let why: String
    }
    let rows: [Row]
    let crossOriginDropped: [String]
    let notFollowed: [NotFollowed]
    let fragments: [Fragment]
    let origins: [Pair]
    let maxHops: Int
}

@Suite(.enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing))) struct RedirectVectorTests {
    private let vectors = Result { try Suites.load("redirects.json", as: Vectors.self) }

    private func head(_ status: Int, _ location: String?) -> HTTPResponse {
        var head = HTTPResponse(status: .init(code: status))
        head.headerFields[.location] = location
        return head
    }

    private func followed(_ head: HTTPResponse, _ request: Request, by policy: RedirectPolicy = .standard) throws -> Request? {
        guard case .follow(let next) = try policy.decision(for: head, to: request, hops: 0) else { return nil }
        return next
    }

    @Test func methodsBodiesAndFieldsAfterARedirect() throws {
        let content = ["Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Type", "Transfer-Encoding"]
        for row in try vectors.get().rows {
            let method = try #require(HTTPRequest.Method(row.method))
            var request = try Request(method, url: "https://a.example/x", body: row.hasBody ? .text("body") : .empty)
            for name in content { request.head.headerFields[try #require(HTTPField.Name(name))] = "x" }
            let next = try #require(try followed(head(row.status, "/y"), request), "\(row)")
            #expect(next.method.rawValue == row.methodAfter, "\(row)")
            #expect(next.body.isEmpty == !(row.bodyKept && row.hasBody), "\(row)")
            for name in row.fieldsDropped { #expect(next.head.headerFields[try #require(HTTPField.Name(name))] == nil, "\(row) \(name)") }
            #expect(next.url?.description == "https://a.example/y")
        }
    }

    @Test func otherResponsesAreNotFollowed() throws {
        for row in try vectors.get().notFollowed {
            let next: Request?
            do {
                next = try followed(head(row.status, row.location), try request())
            } catch is RedirectError {
                next = nil
            }
            #expect(next == nil, "\(row.status) \(row.location ?? "-"): \(row.why)")
        }
    }

    @Test func fragmentsAreInherited() throws {
        for row in try vectors.get().fragments {
            #expect(try RedirectPolicy.target(of: row.location, from: try URLReference(row.from)).description == row.expect)
        }
    }

    @Test func sensitiveFieldsStayWithinTheirOrigin() throws {
        let names = try vectors.get().crossOriginDropped.compactMap { HTTPField.Name($0) }
        #expect(names.count >= 7)
        let declared = try #require(HTTPField.Name("X-Tenant"))
        for row in try vectors.get().origins {
            var request = try Request(.get, url: row.from)
            request.options.sensitivity = Sensitivity(fields: [declared])
            for name in names + [declared] { request.head.headerFields[name] = "s3cret" }
            request.head.headerFields[.accept] = "kept"
            let policy = RedirectPolicy(allowsDowngrade: true)
            let fields = try #require(try followed(head(302, row.to), request, by: policy)).head.headerFields
            for name in names + [declared] where name.canonicalName != "host" {
                #expect(fields.contains(name) == row.same, "\(name) from \(row.from) to \(row.to): \(row.why)")
            }
            #expect(fields[.accept] == "kept")
        }
    }

    @Test func theRedirectLimitMatchesTheVectors() throws { #expect(RedirectPolicy.standard.maxHops == (try vectors.get().maxHops)) }
}

@Suite(.timeLimit(.minutes(5))) struct RedirectMiddlewareTests {
    private func moved(_ status: HTTPResponse.Status = .found, to location: String) -> StubResponse {
        .status(status, headers: [.location: location], text: "moved")
    }

    @Test func redirectsAreFollowedAndRecorded() async throws {
        let stub = StubTransport(
            Stub(.get, "/a").responds(moved(to: "../b?token=s3cret")),
            Stub(.get, "/b").responds(moved(.permanentRedirect, to: "//b.example/c")),
            Stub(.get, "/c").responds(.status(.ok, text: "here")))
        let response = try await stub.redirect().send(try Request(.get, url: "https://a.example/a"))
        #expect(try await response.body.collect() == Data("here".utf8))
        #expect(response.request.url?.description == "https://b.example/c")
        #expect(response.metadata.redirects.map(\.status.code) == [302, 308])
        #expect(response.metadata.redirects.map(\.from) == ["https://a.example/a", "https://a.example/b?token=REDACTED"])
        #expect(response.metadata.redirects.first?.to == "https://a.example/b?token=REDACTED")
        #expect(response.metadata.redirects.last?.to == response.request.redactedURL)
    }

    /// The server has processed the POST. An app that sends the POST again after the failure would do the work twice.
    @Test func aFailureAfterARedirectedPOSTReportsThatThePOSTWasSent() async throws {
        let refused = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        for (status, sent) in [(HTTPResponse.Status.seeOther, Delivery.sent), (.temporaryRedirect, .notSent)] {
            let stub = StubTransport(
                Stub(.post, "/orders").responds(.status(status, headers: [.location: "/orders/1"])), Stub().responds(.failure(refused)))
            let error = await #expect(throws: TransportError.self) {
                try await stub.redirect().send(Request(.post, url: "https://a.example/orders"))
            }
            #expect(error?.delivery == sent)
        }
    }

    @Test func aStrippedFieldStaysStripped() async throws {
        let stub = StubTransport(
            Stub(nil, "/a").responds(moved(to: "https://b.example/b")), Stub(nil, "/b").responds(moved(to: "https://a.example/c")),
            Stub(nil, "/c").responds(.status(.ok)))
        _ = try await stub.redirect().send(try Request(.get, url: "https://a.example/a", headers: [.authorization: "Bearer s3cret"]))
        #expect(stub.requests.map { $0.request.head.headerFields[.authorization] } == ["Bearer s3cret", nil, nil])
    }

    @Test func aChainEndsAtTheLimit() async throws {
        let stub = StubTransport(
            Stub().responds(.custom { (HTTPResponse(status: .found, headerFields: [.location: $0.path + "x"]), Data()) }))
        let error = await #expect(throws: RedirectError.self) { try await stub.redirect().send(try request()) }
        let reason = "xxx: the redirect (status 302) can't be followed: more than 20 redirects"
        #expect(error?.description.hasSuffix(reason + "; redirected from GET https://a.example/x (20 hops)") == true)
        #expect(error?.redirects.count == 20)
        #expect(stub.requests.count == 21)
    }

    @Test func aDowngradeIsRefusedUnlessThePolicyAllowsIt() async throws {
        let stub = StubTransport(
            Stub(nil, "/x").responds(moved(to: "http://a.example/y")), Stub(nil, "/y").responds(.status(.ok)))
        let request = try Request(.get, url: "https://a.example/x", headers: [.authorization: "Bearer s3cret"])
        let error = await #expect(throws: RedirectError.self) { try await stub.redirect().send(request) }
        #expect(error?.failureNumber == .redirectDowngrade && stub.requests.count == 1 && stub.openBodyCount == 0)
        #expect(error?.code == .downgrade && error?.code != .loop && error?.redirects == [])
        #expect(
            error?.description == "GET https://a.example/x: the redirect (status 302) can't be followed: "
                + "it leads from https to http (RedirectPolicy(allowsDowngrade: true) follows it)")
        let response = try await stub.redirect(RedirectPolicy(allowsDowngrade: true)).send(request)
        #expect(response.request.url?.description == "http://a.example/y" && response.request.headers[.authorization] == nil)
    }

    @Test func aDescriptionOfAPolicyNamesWhatDiffersFromTheDefault() {
        #expect("\(RedirectPolicy())" == "at most 20")
        #expect(
            "\(RedirectPolicy(maxHops: 3, allowsDowngrade: true).deciding { _ in .stop })"
                == "at most 3, also from https to http, with the app's own decision")
    }

    @Test func aRedirectOfAOneShotBodyIsReturned() async throws {
        let stub = StubTransport(Stub().responds(moved(.temporaryRedirect, to: "/y")))
        let chunks = AsyncThrowingStream<Data, any Error> {
            $0.yield(Data("x".utf8)); $0.finish()
        }
        let response = try await stub.redirect().send(try request(.post, body: .stream(chunks)))
        #expect(response.status == .temporaryRedirect)
        #expect(stub.requests.count == 1)
    }

    @Test func aKeptBodyIsSentAgain() async throws {
        let stub = StubTransport(Stub(.put, "/x").responds(moved(.temporaryRedirect, to: "/y")), Stub(.put, "/y").responds(.status(.ok)))
        _ = try await stub.redirect().send(try request(.put, body: .text("body")))
        #expect(stub.requests.map(\.body) == [Data("body".utf8), Data("body".utf8)])
    }

    @Test func theBodiesOfRedirectsAreReleased() async throws {
        let stub = StubTransport(
            Stub(nil, "/x").responds(.stream(streamed, status: .found, headers: [.location: "/y"])), Stub(nil, "/y").responds(.status(.ok)))
        _ = try await stub.redirect().send(try request())
        #expect(stub.openBodyCount == 0)
        let broken = StubTransport(Stub().responds(.stream(streamed, status: .found, headers: [.location: "ftp://a.example/"])))
        await #expect(throws: RedirectError.self) { try await broken.redirect().send(try request()) }
        #expect(broken.openBodyCount == 0)
    }

    /// The app can't correct a URL in a response.
    @Test(arguments: [
        ("/a b", "/a%20b"), ("/café", "/caf%C3%A9"), ("/x?tag[]=a", "/x?tag%5B%5D=a"), ("/100%/x", "/100%25/x"),
        (#"/x?q="1"|{y}"#, "/x?q=%221%22%7C%7By%7D"),
        ("/y#top of page", "/y"), (#"/\evil.example/"#, "/%5Cevil.example/"), ("/ok%20x", "/ok%20x"), (" /y ", "/y"),
    ]) func aLocationIsReadAsBrowsersDo(location: String, target: String) async throws {
        let stub = StubTransport(Stub(nil, "/x").responds(moved(to: location), .status(.ok)), Stub().responds(.status(.ok)))
        let response = try await stub.redirect().send(try request())
        #expect(response.status == .ok && stub.requests.last?.request.url?.description == "https://a.example" + target)
    }

    @Test func octetsThatAreNotUTF8AreKept() async throws {
        var headers = HTTPFields()
        headers.append(HTTPField(name: .location, value: Array("/caf".utf8) + [0xE9]))
        let stub = StubTransport(Stub(nil, "/x").responds(.status(.found, headers: headers)), Stub().responds(.status(.ok)))
        #expect(try await stub.redirect().send(try request()).status == .ok)
        #expect(stub.requests.last?.request.url?.target == "/caf%E9")
    }

    @Test func equalLocationsAreFollowedAndDifferentLocationsRefused() async throws {
        func stub(_ locations: String...) -> StubTransport {
            var headers = HTTPFields()
            for location in locations { headers.append(HTTPField(name: .location, value: location)) }
            return StubTransport(Stub(nil, "/x").responds(.status(.found, headers: headers)), Stub().responds(.status(.ok)))
        }
        #expect(try await stub("/y", "/y").redirect().send(try request()).request.url?.target == "/y")
        let error = await #expect(throws: RedirectError.self) { try await stub("/y", "/z").redirect().send(try request()) }
        #expect(error?.code.description == "the response has several fields Location with different values")
        #expect(try await stub("", "").redirect().send(try request()).status == .found)
    }

    @Test func anInvalidLocationIsShownWithoutItsSecrets() async throws {
        func shown(_ location: String) async throws -> String? {
            var request = try request()
            request.options.sensitivity = Sensitivity(fields: [], queryNames: ["card"])
            let stub = StubTransport(Stub().responds(moved(to: location)))
            return await #expect(throws: RedirectError.self) { try await stub.redirect().send(request) }?.description
        }
        let start = "GET https://a.example/x: the redirect (status 302) can't be followed: its Location"
        #expect(
            try await shown("ftp://b.example/y") == "\(start) 'ftp://b.example/y' is invalid: the scheme 'ftp' is neither http nor https")
        #expect(
            try await shown("myapp://cb?card=s3cret&x=1#access_token=s3cret")
                == "\(start) 'myapp://cb?card=REDACTED&x=1#access_token=REDACTED' is invalid: the scheme 'myapp' is neither http nor https")
        #expect(try await shown("https://joe:s3cret@b.example/?card=s3cret")?.contains("s3cret") == false)
        #expect(try await shown("/a\u{1}?card=s3cret")?.contains("s3cret") == false)
    }

    @Test func namesThatAnInnerLayerDeclaresAreHiddenInTheRecord() async throws {
        let stub = StubTransport(Stub(nil, "/x").responds(moved(to: "/y?card=s3cret")), Stub().responds(.status(.ok)))
        let stack = stub.transformRequest {
            $0.options.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["card"]))
        }.redirect()
        let response = try await stack.send(try request())
        #expect(response.metadata.redirects.map(\.to) == ["https://a.example/y?card=REDACTED"])
        #expect(stub.requests.last?.request.url?.target == "/y?card=s3cret")
    }

    @Test func hostileLocationsAreTypedErrorsOnOneLine() async throws {
        for location in ["http://", "data:,x", "https://user:s3cret@a.example/", "http://a b/", "https://a.example:99999/"] {
            let stub = StubTransport(Stub().responds(moved(to: location)))
            let error = await #expect(throws: RedirectError.self) { try await stub.redirect().send(try request()) }
            #expect(error?.description.contains("s3cret") == false)
            #expect(error?.description.contains("\n") == false)
        }
    }

    // MARK: - Other origins

    @Test func defaultFieldsOfAServerStayWithItsOrigin() async throws {
        let (first, second) = (try #require(HTTPField.Name("X-Plain")), try #require(HTTPField.Name("X-Other")))
        let stub = StubTransport(
            Stub(nil, "/v1/a").responds(moved(to: "/v1/b")), Stub(nil, "/v1/b").responds(moved(to: "https://b.example/c")),
            Stub(nil, "/c").responds(moved(to: "https://a.example/d")), Stub(nil, "/d").responds(.status(.ok)))
        let stack = stub.redirect().server("https://a.example", headers: [first: "default", .userAgent: "default"])
            .server(path: "/v1", headers: [second: "default"]).server(headers: [.acceptLanguage: "de"])
        _ = try await stack.send(try Request(.get, "/a", headers: [.userAgent: "its own"]))
        let fields = stub.requests.map(\.request.head.headerFields)
        #expect(fields.map { $0[first] } == ["default", "default", nil, nil])
        #expect(fields.map { $0[second] } == ["default", "default", nil, nil])
        #expect(fields.map { $0[.userAgent] } == Array(repeating: "its own", count: 4))
        #expect(fields.map { $0[.acceptLanguage] } == ["de", "de", nil, nil])
    }

    @Test(arguments: [
        "X-Auth-Key", "X-Functions-Key", "Ocp-Apim-Subscription-Key", "DD-Application-Key", "X-Honeycomb-Team", "Referer",
    ]) func aCredentialFieldIsDroppedAcrossOrigins(name: String) async throws {
        let name = try #require(HTTPField.Name(name))
        let stub = StubTransport(
            Stub(nil, "/x").responds(moved(to: "/y")), Stub(nil, "/y").responds(moved(to: "https://b.example/z")),
            Stub(nil, "/z").responds(.status(.ok)))
        var request = try request()
        request.head.headerFields[name] = "https://a.example/?q=hunter2"
        request.options.fallbackHeaders = [name: "https://a.example/?q=hunter2"]
        _ = try await stub.redirect().send(request)
        #expect(stub.requests.map { $0.request.head.headerFields.contains(name) } == [true, true, false])
    }

    /// Not each name that ends in `-key` is a secret.
    @Test func anIdempotencyKeyGoesWithItsRequest() async throws {
        let stub = StubTransport(
            Stub(nil, "/x").responds(moved(.temporaryRedirect, to: "https://b.example/y")), Stub(nil, "/y").responds(.status(.ok)))
        var request = try request(.post, body: .text("body"))
        request.options.idempotencyKey = try .value("order-1")
        _ = try await stub.redirect().retry(clock: ManualClock()).send(request)
        let name = try #require(HTTPField.Name("Idempotency-Key"))
        #expect(stub.requests.map { $0.request.head.headerFields[name] } == ["order-1", "order-1"])
    }

    private enum TenantKey: OptionKey { static var defaultValue: String? { nil } }

    private enum TravelerKey: OptionKey {
        static var defaultValue: String? { nil }
        static var crossesOrigins: Bool { true }
    }

    /// An option of another library stays with its origin, unless its key permits other origins. Those of the library go along.
    @Test func optionsThatStayWithTheirOriginAreDropped() async throws {
        let stub = StubTransport(
            Stub(nil, "/x").responds(moved(.temporaryRedirect, to: "/y")),
            Stub(nil, "/y").responds(moved(.temporaryRedirect, to: "https://b.example/z")),
            Stub(nil, "/z").responds(moved(.temporaryRedirect, to: "https://a.example/end")), Stub(nil, "/end").responds(.status(.ok)))
        var request = try request()
        request.options[TenantKey.self] = "blue"
        request.options[TravelerKey.self] = "ada"
        request.options.tags = ["feature": "reports"]
        request.options.sensitivity = Sensitivity(fields: [.userAgent])
        request.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(60)))
        request.options.priority = .high
        request.options.hedge = .off
        _ = try await stub.redirect().send(request)
        let options = stub.requests.map(\.request.options)
        #expect(options.map { $0[TenantKey.self] } == ["blue", "blue", nil, nil])
        for options in options {
            #expect(options[TravelerKey.self] == "ada" && options.tags == ["feature": "reports"] && options.priority == .high)
            #expect(options.sensitivity == Sensitivity(fields: [.userAgent]) && options.hedge.isOff)
            if case .use(let limits) = options.phaseTimeouts {
                #expect(limits.firstByte == .seconds(60))
            } else {
                Issue.record("no limits")
            }
        }
    }

    // MARK: - The body of a redirect

    /// Returns a sender whose redirect declares 10 bytes and sends no byte.
    private func stalledRedirect(counting sent: Watched<Int>) -> StubSender {
        let body = ScriptedBodySource(then: .stall)
        return StubSender { request in
            sent.change { $0 += 1 }
            guard request.head.path == "/x" else { return Response(head: HTTPResponse(status: .ok), data: Data(), request: request) }
            return Response(
                head: HTTPResponse(status: .found, headerFields: [.location: "/y"]),
                body: ResponseBody(body, expectedLength: 10, request: request), request: request,
                exchange: ExchangeLifetime(outcome: .complete))
        }
    }

    @Test func aMissingBodyHoldsTheCallFor100Milliseconds() async throws {
        let clock = ManualClock()
        let sent = Watched(0)
        let stack = stalledRedirect(counting: sent).redirect(clock: clock)
        async let response = stack.send(try request())
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .milliseconds(100))
        clock.advance(by: .milliseconds(99))
        #expect(sent.value == 1)
        clock.advance(by: .milliseconds(1))
        #expect(try await response.status == .ok)
        #expect(sent.value == 2)
        #expect(clock.sleeperCount == 0)
    }

    @Test func aCallCancelledDuringARedirectSendsNoFurtherRequest() async throws {
        let clock = ManualClock()
        let sent = Watched(0)
        let stack = stalledRedirect(counting: sent).redirect(clock: clock)
        let request = try request()
        let task = Task { try await stack.send(request) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(sent.value == 1)
        #expect(clock.sleeperCount == 0)
    }

    @Test func anAvailableBodyOfARedirectNeedsNoTimer() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub(nil, "/x").responds(moved(to: "/y")), Stub(nil, "/y").responds(.status(.ok)))
        #expect(try await stub.redirect(clock: clock).send(try request()).status == .ok)
        #expect(stub.openBodyCount == 0 && clock.sleeperCount == 0)
    }
}
