import Errand
import ErrandTesting
import TestSupport
import Testing

/// A decision of the app's own about each redirect.
@Suite(.timeLimit(.minutes(5))) struct RedirectDecidingTests {
    private enum TenantKey: OptionKey { static var defaultValue: String? { nil } }

    private static let secret = "s3cret"
    private static let declared = HTTPField.Name("X-Own")!
    private static let kinds: Set = [
        "Authorization", "Cookie", "Proxy-Authorization", "X-API-Key", "X-Own", "query", "option", "identity",
    ]

    private func moved(_ status: HTTPResponse.Status = .found, to location: String) -> StubResponse {
        .status(status, headers: [.location: location])
    }

    /// Adds a secret of each kind to a request.
    private static func addSecrets(to request: inout Request) {
        request.headers[.authorization] = "Bearer \(secret)"
        request.headers[.cookie] = "id=\(secret)"
        request.headers[.proxyAuthorization] = secret
        request.headers[HTTPField.Name("X-API-Key")!] = secret
        request.headers[declared] = secret
        request.options.fallbackHeaders = [.authorization: secret, declared: secret]
        request.query.append("card", secret)
        request.options[TenantKey.self] = secret
        request.options.credentialIdentity = CredentialIdentity(scheme: "x", secret)
    }

    /// The secrets that reach a server.
    private static func secrets(in request: Request) -> Set<String> {
        let fields = Array(request.headers) + Array(request.options.fallbackHeaders)
        var found = Set(fields.filter { $0.value.contains(secret) }.map(\.name.rawName))
        if request.head.path?.contains(secret) == true { found.insert("query") }
        if request.options[TenantKey.self] != nil { found.insert("option") }
        if request.options.credentialIdentity != nil { found.insert("identity") }
        return found
    }

    private static func request(_ url: String = "https://a.example/a") throws -> Request {
        var request = try Request(.get, url: url)
        request.options.sensitivity = Sensitivity(fields: [declared], queryNames: ["card"])
        return request
    }

    // MARK: The choices

    @Test func aDecisionSeesTheRedirectAndTheEarlierRedirects() async throws {
        let seen = Watched([RedirectPolicy.Hop]())
        let stub = StubTransport(
            Stub(nil, "/a").responds(.status(.movedPermanently, headers: [.location: "/b", .eTag: "1"])),
            Stub(nil, "/b").responds(moved(.temporaryRedirect, to: "https://b.example/c")), Stub(nil, "/c").responds(.status(.ok)))
        var request = try Self.request()
        Self.addSecrets(to: &request)
        let response = try await stub.redirect(
            .standard.deciding { hop in
                seen.change { $0.append(hop) }
                return .standard
            }
        ).send(request)
        #expect(response.status == .ok && response.metadata.redirects.count == 2)
        let (first, second) = (try #require(seen.value.first), try #require(seen.value.last))
        #expect(seen.value.count == 2 && first.history.isEmpty && second.history == [response.metadata.redirects[0]])
        #expect(first.status == .movedPermanently && first.response.headerFields[.eTag] == "1" && !first.crossesOrigin)
        #expect(first.from.path == "/a" && first.to.description == "https://a.example/b" && first.next.url == first.to)
        #expect(second.status == .temporaryRedirect && second.crossesOrigin && second.from.description == "https://a.example/b")
        #expect(Self.secrets(in: second.next) == [] && !Self.secrets(in: first.next).isEmpty)
    }

    @Test func aDecisionCanFollowAChangedRequest() async throws {
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")), Stub(.post, "/other").responds(.status(.ok)))
        let sink = RecordingEventSink()
        let stack = stub.redirect(
            .standard.deciding { hop in
                var next = hop.next
                next.head.method = .post
                next.head.path = "/other"
                next.body = .text("body")
                return .follow(next)
            }
        ).events(to: sink)
        let response = try await stack.send(Self.request())
        #expect(response.status == .ok && stub.requests.last?.text == "body")
        #expect(response.metadata.redirects.map(\.to) == ["https://a.example/other"])
        #expect(sink.events.compactMap(\.decision).map(\.description) == ["302 to https://a.example/other, changed by the app"])
    }

    @Test func aDecisionCanReturnTheRedirect() async throws {
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")), Stub(nil, "/b").responds(moved(to: "/c")))
        let response = try await stub.redirect(.standard.deciding { $0.history.count == 1 ? .stop : .standard }).send(Self.request())
        #expect(response.status == .found && response.headers[.location] == "/c" && stub.requests.count == 2)
        #expect(response.metadata.redirects.map(\.to) == ["https://a.example/b"])
        response.body.abandon()
        #expect(stub.openBodyCount == 0)
    }

    @Test func aDecisionCanFail() async throws {
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")))
        let sink = RecordingEventSink()
        let stack = stub.redirect(.standard.deciding { _ in .fail(TestError("own")) }).events(to: sink)
        await #expect(throws: TestError.self) { try await stack.send(Self.request()) }
        #expect(stub.requests.count == 1 && stub.openBodyCount == 0)
        #expect(sink.events.compactMap(\.decision).map(\.description) == ["302, refused"])
    }

    /// A retry must not repeat work that is done.
    @Test func aFailureByDecisionAfterAPOSTSaysThatThePOSTWasSent() async throws {
        let refused = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let stub = StubTransport(Stub(.post, "/a").responds(moved(.seeOther, to: "/b")), Stub(.get, "/b").responds(moved(to: "/c")))
        let stack = stub.redirect(.standard.deciding { $0.history.isEmpty ? .standard : .fail(refused) })
        let error = await #expect(throws: TransportError.self) { try await stack.send(Request(.post, url: "https://a.example/a")) }
        #expect(error?.delivery == .sent)
        let again = StubTransport(
            Stub(.post, "/a").responds(moved(.seeOther, to: "/b")), Stub(.post, "/b").responds(.failure(refused)))
        let repeated = await #expect(throws: TransportError.self) {
            try await again.redirect(
                .standard.deciding { hop in
                    var next = hop.next
                    next.head.method = .post
                    return .follow(next)
                }
            ).send(Request(.post, url: "https://a.example/a"))
        }
        #expect(repeated?.delivery == .sent && again.requests.count == 2)
    }

    @Test func aRefusedOrReturnedRedirectNeedsNoDecision() async throws {
        let decide: @Sendable (RedirectPolicy.Hop) -> RedirectPolicy.Choice = { _ in
            Issue.record("asked")
            return .standard
        }
        let policy = RedirectPolicy(maxHops: 0).deciding(decide)
        let unlimited = RedirectPolicy.standard.deciding(decide)
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")), Stub().responds(.status(.ok)))
        await #expect(throws: RedirectError.self) { try await stub.redirect(policy).send(Self.request()) }
        #expect(try await stub.redirect(policy).send(Request(.get, url: "https://a.example/end")).status == .ok)
        let plain = StubTransport(Stub().responds(moved(.temporaryRedirect, to: "http://a.example/b")))
        await #expect(throws: RedirectError.self) { try await plain.redirect(unlimited).send(Self.request()) }
        let once = StubTransport(Stub().responds(moved(.temporaryRedirect, to: "/b")))
        let body = RequestBody.stream(AsyncStream<Data> { $0.finish() })
        let response = try await once.redirect(unlimited).send(Request(.post, url: "https://a.example/a", body: body))
        #expect(response.status == .temporaryRedirect)
    }

    // MARK: Other origins

    /// From A to B, within B, and back to A. Only the request before the first other origin gets what the decision adds.
    @Test func secretsOfADecisionReachNoOtherOrigin() async throws {
        let stub = StubTransport(
            Stub(nil, "/a").responds(moved(to: "/a2")), Stub(nil, "/a2").responds(moved(.temporaryRedirect, to: "https://b.example/b")),
            Stub(nil, "/b").responds(moved(to: "/b2")), Stub(nil, "/b2").responds(moved(to: "https://a.example/a3")),
            Stub(nil, "/a3").responds(moved(to: "/a4")), Stub(nil, "/a4").responds(.status(.ok)))
        let response = try await stub.redirect(
            .standard.deciding { hop in
                var next = hop.next
                Self.addSecrets(to: &next)
                return .follow(next)
            }
        ).send(Self.request())
        #expect(response.status == .ok && stub.requests.map(\.path) == ["/a", "/a2", "/b", "/b2", "/a3", "/a4"])
        let found = stub.requests.map { Self.secrets(in: $0.request) }
        #expect(found[0] == [] && found[1] == Self.kinds)
        #expect(found[2...].allSatisfy { $0.isEmpty }, "\(found)")
        #expect(response.metadata.redirects.allSatisfy { $0.keptCredentials == nil })
        #expect(!"\(response.metadata.redirects)".contains(Self.secret))
    }

    @Test func aDecisionThatChoosesAnotherOriginLosesTheCredentials() async throws {
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")), Stub().responds(.status(.ok)))
        var request = try Self.request()
        Self.addSecrets(to: &request)
        let response = try await stub.redirect(
            .standard.deciding { hop in
                // The names that the call has declared stay secret in a new request, too.
                var next = Request(.get, url: try! HTTPURL("https://b.example/x"))
                Self.addSecrets(to: &next)
                return .follow(next)
            }
        ).send(request)
        #expect(response.request.url?.description == "https://b.example/x" && Self.secrets(in: response.request) == [])
        #expect(response.request.options.hasLeftOrigin)
    }

    @Test func aSecretItemOfTheLocationIsKept() async throws {
        let stub = StubTransport(
            Stub(nil, "/a").responds(moved(to: "https://b.example/b?token=abc&x=%7e")), Stub().responds(.status(.ok)))
        let response = try await stub.redirect(
            .standard.deciding { hop in
                var next = hop.next
                next.query.append("page", "2")
                next.query.append("token", Self.secret)
                return .follow(next)
            }
        ).send(Self.request())
        #expect(response.request.head.path == "/b?token=abc&x=%7e&page=2")
    }

    @Test func credentialsAreKeptOnlyOnPurposeAndTheRecordNamesTheOrigin() async throws {
        let stub = StubTransport(
            Stub(nil, "/a").responds(moved(to: "https://b.example/b")), Stub(nil, "/b").responds(moved(to: "/b2")),
            Stub(nil, "/b2").responds(moved(to: "https://c.example/c")), Stub(nil, "/c").responds(.status(.ok)))
        let sink = RecordingEventSink()
        let stack = stub.redirect(
            .standard.deciding { hop in
                guard hop.to.host == "b.example", hop.crossesOrigin else { return .standard }
                var next = hop.next
                Self.addSecrets(to: &next)
                return .followKeepingCredentials(next, because: "the files are ours")
            }
        ).events(to: sink)
        let response = try await stack.send(Self.request())
        let found = stub.requests.map { Self.secrets(in: $0.request) }
        #expect(found[0] == [] && found[1] == Self.kinds, "\(found)")
        // Within the origin, the fields stay, and the query is the query of the Location.
        #expect(found[2] == Self.kinds.subtracting(["query"]) && found[3] == [], "\(found)")
        let kept = response.metadata.redirects.map(\.keptCredentials)
        #expect(kept == [RedirectRecord.KeptCredentials(origin: "https://b.example", reason: "the files are ours"), nil, nil])
        let events = sink.events.compactMap(\.decision).map(\.description)
        #expect(
            events.first == "302 to https://b.example/b?card=REDACTED, keeping credentials for https://b.example: the files are ours")
        #expect(!events.joined().contains(Self.secret) && !"\(response.metadata.redirects)".contains(Self.secret))
    }

    @Test func keptCredentialsNeedHTTPS() async throws {
        for policy in [RedirectPolicy.standard, RedirectPolicy(allowsDowngrade: true)] {
            let stub = StubTransport(Stub().responds(moved(to: "http://b.example/b")))
            let stack = stub.redirect(policy.deciding { .followKeepingCredentials($0.next, because: "a test") })
            let error = await #expect(throws: RedirectError.self) { try await stack.send(Self.request("http://a.example/a")) }
            #expect(error?.failureNumber == .redirectNeedsHTTPS && stub.requests.count == 1)
            #expect(error?.code.description == "its target does not use https, which followKeepingCredentials requires")
        }
    }

    @Test func aDecisionCannotLeaveHTTPSUnlessThePolicyAllowsIt() async throws {
        let choose: @Sendable (RedirectPolicy.Hop) -> RedirectPolicy.Choice = { hop in
            var next = hop.next
            next.head.scheme = "http"
            Self.addSecrets(to: &next)
            return .follow(next)
        }
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")), Stub().responds(.status(.ok)))
        let error = await #expect(throws: RedirectError.self) {
            try await stub.redirect(.standard.deciding(choose)).send(Self.request())
        }
        #expect(error?.failureNumber == .redirectDowngrade && stub.requests.count == 1)
        let response = try await stub.redirect(RedirectPolicy(allowsDowngrade: true).deciding(choose)).send(Self.request())
        #expect(response.request.url?.description == "http://a.example/b" && Self.secrets(in: response.request) == [])
    }

    // MARK: The call

    @Test func aNewRequestBelongsToTheCall() async throws {
        let stub = StubTransport(Stub(nil, "/a").responds(moved(to: "/b")), Stub().responds(.status(.ok)))
        let (clock, sink) = (ManualClock(), RecordingEventSink())
        var request = try Self.request()
        request.deadline = Deadline(after: .seconds(7), clock: clock)
        request.options.addEventSink(sink)
        let stack = stub.redirect(
            .standard.deciding { _ in
                var next = Request(.get, url: try! HTTPURL("https://a.example/new"))
                next.deadline = Deadline(after: .seconds(600), clock: clock)
                return .follow(next)
            }, clock: clock
        ).number()
        let response = try await stack.send(request)
        let last = try #require(stub.requests.last?.request)
        #expect(response.status == .ok && last.path == "/new" && last.id == request.id)
        #expect(last.deadline?.remaining == .seconds(7) && last.options.resendCount == 1)
        #expect(last.options.requestNumber == stub.requests.first?.request.options.requestNumber && last.options.requestNumber != nil)
        #expect(sink.events.allSatisfy { $0.request == request.id } && sink.kinds.count { $0 == .start } == 2)
        // The response of the call names no limit of the stack.
        #expect(response.request.deadline?.remaining == .seconds(7))
    }

    @Test func aRequestWithoutAURLIsNotSent() async throws {
        let stub = StubTransport(Stub().responds(moved(to: "/b")))
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/x")
        let stack = stub.redirect(.standard.deciding { _ in .follow(Request(head: head)) })
        let error = await #expect(throws: InvalidURLError.self) { try await stack.send(Self.request()) }
        #expect(error?.code == .missingHost && stub.requests.count == 1)
    }

    @Test func policiesAreEqualOnlyWithTheSameDecision() {
        let first = RedirectPolicy.standard.deciding { _ in .standard }
        let second = RedirectPolicy.standard.deciding { _ in .standard }
        var copy = first
        #expect(first == copy && Set([first, second, copy, .standard]).count == 3)
        copy.maxHops = 3
        #expect(first != copy && first != second && first != .standard)
    }

    @Test func aDescriptionShowsNoSecret() throws {
        let url = try HTTPURL("https://a.example/?token=\(Self.secret)")
        let head = HTTPResponse(status: .found, headerFields: [.setCookie: Self.secret])
        let hop = RedirectPolicy.Hop(response: head, from: url, to: url, next: Request(.get, url: url))
        #expect("\(hop)" == "302 from https://a.example/?token=REDACTED to https://a.example/?token=REDACTED")
        let choices: [(RedirectPolicy.Choice, String)] = [
            (.standard, "standard"), (.stop, "stop"), (.fail(TestError(Self.secret)), "fail"),
            (.follow(hop.next), "follow GET https://a.example/?token=REDACTED"),
            (
                .followKeepingCredentials(hop.next, because: "a test"),
                "follow GET https://a.example/?token=REDACTED, keeping credentials: a test"
            ),
        ]
        var dumped = ""
        dump(hop, to: &dumped)
        for (choice, text) in choices {
            #expect("\(choice)" == text)
            dump(choice, to: &dumped)
        }
        #expect(!dumped.contains(Self.secret) && !String(reflecting: hop).contains(Self.secret))
    }
}
