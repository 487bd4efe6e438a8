import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// The change of a request from `http` to `https` of the same host.
@Suite(.timeLimit(.minutes(5))) struct HTTPSChangeTests {
    private struct StubHosts: HTTPSDemands {
        let names: Set<String>
        func demandsHTTPS(_ origin: Origin) -> Bool { names.contains(origin.host) }
    }

    private enum BoundKey: OptionKey { static var defaultValue: String? { nil } }

    @Test(arguments: [
        ("http://a.example/x?y=1", "https://a.example/x?y=1"), ("http://a.example:80/", "https://a.example/"),
        ("http://a.example:8080/x", "https://a.example:8080/x"), ("http://a.example:443/x", "https://a.example/x"),
        ("http://a.example./x", "https://a.example./x"), ("http://A.EXAMPLE/X", "https://a.example/X"),
        ("http://127.0.0.1:9/", "https://127.0.0.1:9/"), ("http://[::1]/", "https://[::1]/"),
        ("https://a.example:80/x", "https://a.example:80/x"), ("https://a.example/", "https://a.example/"),
    ])
    func theSchemeChangesAndOnlyPort80Changes(url: String, expected: String) throws {
        var request = try Request(.get, url: url)
        try request.changeToHTTPS()
        #expect(request.url?.description == expected && request.redactedURL == expected)
    }

    @Test func aHandwrittenHeadChanges() throws {
        var request = Request(head: HTTPRequest(method: .options, scheme: "http", authority: "a.example:80", path: "*"))
        try request.changeToHTTPS()
        #expect(request.head.scheme == "https" && request.head.authority == "a.example" && request.head.path == "*")
        #expect(request.originBeforeHTTPS == "http://a.example")
    }

    @Test func aRequestWithoutAnOriginStaysUnchanged() throws {
        var request = try Request(.get, "/x")
        try request.changeToHTTPS()
        #expect(request.head.scheme == nil && request.originBeforeHTTPS == nil && request.httpsRecord == nil)
    }

    @Test func aURLThatBecomesTooLongIsAnError() throws {
        var request = try Request(.get, url: "http://a.example/" + String(repeating: "x", count: 65_535 - 17))
        let error = #expect(throws: InvalidURLError.self) { try request.changeToHTTPS() }
        #expect(error?.code == .tooManyOctets)
    }

    @Test func everythingElseStays() throws {
        var request = try Request(.post, url: "http://a.example/x", headers: [.authorization: "s3cret", .cookie: "a=b"], body: .text("x"))
        request.options[BoundKey.self] = "bound"
        request.options.fieldsOfServer = [.accept]
        request.options.credentialIdentity = CredentialIdentity(scheme: "x", "joe")
        let before = request
        try request.changeToHTTPS()
        #expect(request.headers == before.headers && request.options[BoundKey.self] == "bound" && !request.options.hasLeftOrigin)
        #expect(request.options.credentialIdentity == before.options.credentialIdentity && request.options.fieldsOfServer == [.accept])
        #expect(request.id == before.id && request.body.bufferedData == before.body.bufferedData)
    }

    @Test func theRecordHasBothURLsWithoutSecrets() throws {
        var request = try Request(.get, url: "http://a.example:80/x?token=s3cret")
        #expect(request.httpsRecord == nil)
        try request.changeToHTTPS()
        let record = RedirectRecord(
            status: .temporaryRedirect, from: "http://a.example/x?token=REDACTED", to: "https://a.example/x?token=REDACTED", reason: .hsts)
        #expect(request.httpsRecord == record && record != RedirectRecord(status: record.status, from: record.from, to: record.to))
    }

    // MARK: Redirects

    /// The values that a layer that follows redirects has after the first response.
    private func request(_ url: String, sentTo hosts: StubHosts) throws -> Request {
        var request = try Request(.get, url: url, headers: [.authorization: "s3cret"])
        var sent = request
        if let origin = sent.origin, hosts.demandsHTTPS(origin) { try sent.changeToHTTPS() }
        var change = sent.options.httpsChange ?? HTTPSChange()
        change.hosts = hosts
        sent.options.httpsChange = change
        request.adoptHTTPS(of: sent)
        return request
    }

    @Test(arguments: [
        ("http://a.example/x", "https://a.example/y", "https://a.example/y", false),
        ("http://a.example/x", "http://a.example/y", "https://a.example/y", true),
        ("https://a.example/x", "http://a.example/y", "https://a.example/y", true),
        ("https://a.example/x", "http://a.example:80/y", "https://a.example/y", true),
    ])
    func credentialsStayWithinAHostThatDemandsHTTPS(url: String, target: String, sent: String, isChanged: Bool) throws {
        var request = try request(url, sentTo: StubHosts(names: ["a.example"]))
        #expect(request.origin == "https://a.example")
        try request.move(to: HTTPURL(target), from: request.origin)
        #expect(request.url?.description == sent && request.headers[.authorization] == "s3cret" && !request.options.hasLeftOrigin)
        #expect((request.httpsRecord != nil) == isChanged)
    }

    @Test(arguments: [
        ("https://a.example/x", "http://a.example:8080/y", "https://a.example:8080/y"),
        ("https://b.example/x", "http://a.example/y", "https://a.example/y"),
        ("https://a.example/x", "http://b.example/y", "http://b.example/y"),
        ("https://b.example/x", "http://b.example/y", "http://b.example/y"),
    ])
    func credentialsDoNotReachAnotherOrigin(url: String, target: String, sent: String) throws {
        var request = try request(url, sentTo: StubHosts(names: ["a.example"]))
        try request.move(to: HTTPURL(target), from: request.origin)
        #expect(request.url?.description == sent && request.headers[.authorization] == nil && request.options.hasLeftOrigin)
    }

    @Test func theOriginBeforeTheChangeBelongsToItsHost() throws {
        var request = try request("http://a.example/x", sentTo: StubHosts(names: ["a.example"]))
        try request.move(to: HTTPURL("https://a.example/y"), from: request.origin)
        #expect(request.originBeforeHTTPS == "http://a.example" && request.httpsRecord == nil)
        try request.move(to: HTTPURL("https://b.example/y"), from: request.origin)
        #expect(request.originBeforeHTTPS == nil)
    }

    @Test func anotherRequestIsNotAdopted() throws {
        var request = try Request(.get, url: "http://a.example/x")
        var other = try Request(.get, url: "http://a.example/x")
        try other.changeToHTTPS()
        request.adoptHTTPS(of: other)
        #expect(request.origin == "http://a.example" && request.options.httpsChange == nil)
    }
}
