#if Auth
import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct HSTSMiddlewareTests {
    private static let field = "max-age=600; includeSubDomains"

    private func hosts(_ names: String...) throws -> HSTSList { HSTSList(preloaded: try names.map { try HSTSHost($0) }) }

    private func ok(_ headers: HTTPFields = HTTPFields()) -> StubTransport {
        StubTransport(Stub().responds(.status(.ok, headers: headers), repeatingLast: true))
    }

    // MARK: The URL

    @Test(arguments: [
        ("http://a.example/x?y=1", "https://a.example/x?y=1"), ("http://a.example:80/", "https://a.example/"),
        ("http://sub.a.example:8080/", "https://sub.a.example:8080/"), ("http://b.example/", "http://b.example/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"), ("https://a.example:80/", "https://a.example:80/"),
    ])
    func theURLThatIsSentHasHTTPS(url: String, sent: String) async throws {
        let stub = ok()
        let response = try await stub.hsts(hosts("a.example")).send(Request(.get, url: url))
        #expect(stub.requests.map { $0.request.url?.description } == [sent])
        #expect(response.request.url?.description == sent)
        let record = RedirectRecord(status: .temporaryRedirect, from: url.replacing(":80/", with: "/"), to: sent, reason: .hsts)
        #expect(response.metadata.redirects == (sent.hasPrefix("https:") && url.hasPrefix("http:") ? [record] : []))
    }

    @Test func anyMethodKeepsItsBody() async throws {
        let stub = ok()
        let stack = stub.hsts(try hosts("a.example"))
        for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
            _ = try await stack.send(Request(method, url: "http://a.example/x", body: .text("body")))
        }
        #expect(stub.requests.map(\.method) == [.post, .put, .patch, .delete])
        #expect(stub.requests.allSatisfy { $0.request.url?.scheme == "https" && $0.body == Data("body".utf8) })
    }

    @Test func theChangeIsAnEvent() async throws {
        let sink = RecordingEventSink()
        let stack = ok().hsts(try hosts("a.example")).events(to: sink)
        _ = try await stack.send(Request(.get, url: "http://sub.a.example/?token=s3cret"))
        let decisions = sink.events.filter { $0.kind == .hstsDecision }.compactMap(\.decision)
        #expect(decisions == [.init(continues: true, "to https://sub.a.example/?token=REDACTED")])
        _ = try await stack.send(Request(.get, url: "https://a.example/"))
        #expect(sink.kinds.count { $0 == .hstsDecision } == 1)
    }

    @Test func aFailureShowsTheURLThatWasSent() async throws {
        let lost = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let stub = StubTransport(Stub().responds(.failure(lost)))
        let stack = stub.hsts(try hosts("a.example"))
        await #expect(throws: TransportError.self) { try await stack.send(Request(.get, url: "http://a.example/")) }
        // The request is never sent by http instead.
        #expect(stub.requests.map { $0.request.url?.description } == ["https://a.example/"])
    }

    @Test func aPreparedRequestHasHTTPS() async throws {
        let request = try await ok().hsts(hosts("a.example")).prepared(Request(.get, url: "http://a.example/x"))
        #expect(request.url?.description == "https://a.example/x")
    }

    // MARK: Options

    @Test func anOptionSwitchesTheLayerOff() async throws {
        let stub = ok([.strictTransportSecurity: Self.field])
        let list = try hosts("a.example")
        var request = try Request(.get, url: "http://a.example/")
        request.options.hsts = .off
        _ = try await stub.hsts(list).send(request)
        var other = try Request(.get, url: "https://b.example/")
        other.options.hsts = .off
        _ = try await stub.hsts(list).send(other)
        #expect(stub.requests.first?.request.url?.scheme == "http" && list.names == [".a.example"])
    }

    @Test func anOptionReplacesTheList() async throws {
        let stub = ok([.strictTransportSecurity: Self.field])
        let (list, own) = (HSTSList(), try hosts("a.example"))
        var request = try Request(.get, url: "http://a.example/")
        request.options.hsts = .use(own)
        _ = try await stub.hsts(list).send(request)
        #expect(stub.requests.first?.request.url?.scheme == "https" && list.hosts.isEmpty)
    }

    // MARK: Noting

    @Test func aHostIsKnownAfterItsFirstResponse() async throws {
        let stub = ok([.strictTransportSecurity: Self.field])
        let list = HSTSList()
        let stack = stub.hsts(list)
        // A response by http is ignored.
        _ = try await stack.send(Request(.get, url: "http://a.example/1"))
        #expect(list.hosts.isEmpty)
        _ = try await stack.send(Request(.get, url: "https://a.example/2"))
        _ = try await stack.send(Request(.get, url: "http://b.a.example/3"))
        #expect(
            stub.requests.compactMap { $0.request.url?.scheme } == ["http", "https", "https"]
                && list.names == [".a.example", ".b.a.example"])
    }

    @Test(arguments: [301, 401, 404, 500]) func aResponseWithAnyStatusCounts(status: Int) async throws {
        let list = HSTSList()
        let stub = StubTransport(Stub().responds(.status(.init(code: status), headers: [.strictTransportSecurity: Self.field])))
        _ = try await stub.hsts(list).send(Request(.get, url: "https://a.example/"))
        #expect(list.names == [".a.example"])
    }

    @Test func anUnverifiedServerIsIgnored() async throws {
        let list = HSTSList()
        let stack = ok([.strictTransportSecurity: Self.field])
            .transformResponse { $0.metadata.serverIsUnverified = true }.hsts(list)
        _ = try await stack.send(Request(.get, url: "https://a.example/"))
        #expect(list.hosts.isEmpty)
    }

    // MARK: Credentials

    private enum BoundKey: OptionKey { static var defaultValue: String? { nil } }

    @Test func aRequestKeepsItsCredentials() async throws {
        let stub = ok()
        let seen = RecordingList<String?>()
        let stack =
            stub
            .transformRequest { seen.record($0.options[BoundKey.self]) }
            .authenticate(.basic(user: "joe", password: "secret"))
            .hsts(try hosts("a.example"))
            .server("http://a.example", headers: [.userAgent: "own"])
        var request = try Request(.get, "/x", headers: [.cookie: "a=b", .custom("X-API-Key"): "key"])
        request.options[BoundKey.self] = "bound"
        _ = try await stack.send(request)
        let sent = try #require(stub.requests.first)
        #expect(sent.request.url?.description == "https://a.example/x" && sent.headers[.authorization] == "Basic am9lOnNlY3JldA==")
        #expect(sent.headers[.cookie] == "a=b" && sent.headers[.custom("X-API-Key")] == "key" && sent.headers[.userAgent] == "own")
        #expect(seen.all == ["bound"])
    }

    @Test func anOwnAuthorizationFieldStays() async throws {
        let stub = ok()
        var request = try Request(.get, url: "http://a.example/x", headers: [.authorization: "Bearer own"])
        request.options.authenticate = .use(.basic(user: "joe", password: "secret"))
        _ = try await stub.authenticate().hsts(hosts("a.example")).send(request)
        #expect(stub.requests.first?.headers[.authorization] == "Bearer own")
    }

    /// The app lists the origins that get credentials by the URLs that it knows.
    @Test(arguments: [
        ("http://a.example", "http://a.example/x", true), ("https://a.example", "http://a.example/x", true),
        ("http://a.example", "https://a.example/x", false), ("http://a.example:8080", "http://a.example/x", false),
        ("http://a.example:8080", "http://a.example:8080/x", true), ("http://b.example", "http://a.example/x", false),
    ])
    func aListedOriginStaysListed(listed: String, url: String, expected: Bool) async throws {
        let stub = ok()
        let stack = stub.authenticate(.basic(user: "joe", password: "secret"), origins: [try Origin(listed)])
            .hsts(try hosts("a.example"))
        _ = try await stack.send(Request(.get, url: url))
        #expect((stub.requests.first?.headers[.authorization] != nil) == expected)
    }

    // MARK: Redirects

    /// Redirects `/from` to `location`, and responds with 200 to all other paths.
    private func redirecting(to location: String) -> StubTransport {
        StubTransport(
            Stub().matching("from") { $0.path == "/from" }.responds(.redirect(to: location)), Stub().responds(.status(.ok)))
    }

    @Test(arguments: [
        ("/to", "https://a.example/to", true), ("https://a.example/to", "https://a.example/to", true),
        ("http://a.example/to", "https://a.example/to", true), ("http://a.example:80/to", "https://a.example/to", true),
        ("http://a.example:8080/to", "https://a.example:8080/to", false), ("https://b.a.example/to", "https://b.a.example/to", false),
        ("http://b.a.example/to", "https://b.a.example/to", false), ("https://b.example/to", "https://b.example/to", false),
    ])
    func aRedirectKeepsCredentialsWithinTheOrigin(location: String, sent: String, keeps: Bool) async throws {
        for scheme in ["http", "https"] {
            let stub = redirecting(to: location)
            let stack = stub.authenticate(.basic(user: "joe", password: "secret"))
                .hsts(try hosts("a.example")).redirect(RedirectPolicy(allowsDowngrade: false))
            let request = try Request(.get, url: "\(scheme)://a.example/from", headers: [.cookie: "a=b"])
            let response = try await stack.send(request)
            #expect(stub.requests.map { $0.request.url?.description } == ["https://a.example/from", sent])
            #expect(stub.requests.map { $0.headers[.cookie] } == ["a=b", keeps ? "a=b" : nil])
            #expect(stub.requests.map { $0.headers[.authorization] != nil } == [true, keeps])
            let records = response.metadata.redirects
            let isChanged = location.hasPrefix("http:")
            #expect(
                records.map(\.reason)
                    == (scheme == "http" ? [.hsts] : []) + [RedirectRecord.Reason.redirect] + (isChanged ? [.hsts] : []))
            #expect(zip(records, records.dropFirst()).allSatisfy { $0.to == $1.from })
            #expect(records.first?.from == "\(scheme)://a.example/from" && records.last?.to == sent)
        }
    }

    @Test func aHostThatIsNotKnownIsADowngrade() async throws {
        let stub = redirecting(to: "http://b.example/to")
        let stack = stub.hsts(try hosts("a.example")).redirect(RedirectPolicy(allowsDowngrade: false))
        let error = await #expect(throws: RedirectError.self) { try await stack.send(Request(.get, url: "http://a.example/from")) }
        #expect(error?.code.description == RedirectError.Code.downgrade.description && stub.requests.count == 1)
    }

    /// The response with the redirect may make a host known.
    @Test func aRedirectThatNotesItsHostIsObeyed() async throws {
        let stub = StubTransport(
            Stub().matching("first") { $0.request.url?.scheme == "http" }.responds(.redirect(to: "https://a.example/1")),
            Stub().matching("second") { $0.path == "/1" }.responds(
                .status(.found, headers: [.location: "http://a.example/2", .strictTransportSecurity: Self.field])),
            Stub().responds(.status(.ok)))
        let stack = stub.hsts(HSTSList()).redirect(RedirectPolicy(allowsDowngrade: false))
        let response = try await stack.send(Request(.get, url: "http://a.example/0"))
        #expect(response.request.url?.description == "https://a.example/2" && stub.requests.count == 3)
        #expect(response.metadata.redirects.map(\.reason) == [.redirect, .redirect, .hsts])
    }

    // MARK: The store

    @Test func theFirstRequestByHTTPWaitsForTheStore() async throws {
        let gate = Watched(false)
        let store = RecordingHSTSStore([try HSTSHost("a.example")]) { try await gate.wait { $0 } }
        let stub = ok()
        let stack = stub.hsts(HSTSList(store: store))
        // A request by https needs no list.
        _ = try await stack.send(Request(.get, url: "https://b.example/"))
        #expect(store.state.value.loads == 0)
        async let waiting = stack.send(Request(.get, url: "http://a.example/"))
        try await store.state.wait("the load") { $0.loads == 1 }
        #expect(stub.requests.count == 1)
        gate.change { $0 = true }
        #expect(try await waiting.request.url?.scheme == "https")
        _ = try await stack.send(Request(.get, url: "http://a.example/"))
        #expect(store.state.value.loads == 1)
    }

    @Test func anUnreadableStoreIsAnEventAndNoError() async throws {
        let folder = try TestFolder("hsts")
        try folder.write("no list", to: "hsts.txt")
        let sink = RecordingEventSink()
        let hosts = HSTSList(preloaded: [try HSTSHost("a.example")], store: FileHSTSStore(atPath: folder.file("hsts.txt")))
        let stack = ok().hsts(hosts).events(to: sink)
        let response = try await stack.send(Request(.get, url: "http://a.example/"))
        #expect(response.request.url?.scheme == "https")
        _ = try await stack.send(Request(.get, url: "http://b.example/"))
        let decisions = sink.events.filter { $0.kind == .hstsDecision }.compactMap(\.decision)
        #expect(decisions.map(\.continues) == [false, true])
        #expect(decisions.first?.description.hasPrefix("the store of HSTS failed: cannot read '") == true, "\(decisions)")
    }

    @Test func aFailedWriteIsAnEventOfTheNextCall() async throws {
        let sink = RecordingEventSink()
        let hosts = HSTSList(store: RecordingHSTSStore(failure: TestError("top s3cret")))
        let stack = ok([.strictTransportSecurity: Self.field]).hsts(hosts)
        _ = try await stack.send(Request(.get, url: "https://a.example/"))
        await #expect(throws: TestError.self) { try await hosts.save() }
        _ = try await stack.events(to: sink).send(Request(.get, url: "https://a.example/"))
        let decision = sink.events.first { $0.kind == .hstsDecision }?.decision
        // For an error of another library, only the type is shown.
        #expect(decision?.continues == false && decision?.description == "the store of HSTS failed: TestError")
    }

    @Test func theDeadlineEndsTheWaitForTheStore() async throws {
        let (clock, gate) = (ManualClock(), Watched(false))
        defer { gate.change { $0 = true } }
        let store = RecordingHSTSStore { try await gate.wait { $0 } }
        let stub = ok()
        let stack = stub.hsts(HSTSList(store: store)).timeout(.seconds(5), clock: clock)
        async let call = stack.send(Request(.get, url: "http://a.example/"))
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        do {
            _ = try await call
            Issue.record("the call has ended without its list")
        } catch let error as TransportError {
            #expect(error.code == .timedOut && error.delivery == .notSent && error.phase == .request, "\(error)")
        }
        #expect(stub.requests.isEmpty)
    }
}
#endif
