import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandMiddleware

/// The records of redirects, and the search for loops.
@Suite struct RedirectTrailTests {
    /// A response to a request: where it redirects to, and whether it sets a cookie.
    private struct Answer {
        let location: String
        var status = 302
        var setsCookie = false
    }

    /// Returns the number of requests that are sent before a loop is found; `nil` if no loop is found within 20 redirects.
    private func requests(from url: String, _ method: HTTPRequest.Method = .get, _ answer: (Request, Int) -> Answer) throws -> Int? {
        var trail = RedirectTrail()
        var request = try Request(method, url: url)
        for count in 1...20 {
            let answer = answer(request, count)
            var head = HTTPResponse(status: .init(code: answer.status), headerFields: [.location: answer.location])
            if answer.setsCookie { head.headerFields[.setCookie] = "id=\(count)" }
            do {
                guard case .follow(let hop) = try trail.step(after: head, to: request, by: .standard) else { return nil }
                request = hop.request
            } catch let error as RedirectError where error.failureNumber == .redirectLoop {
                #expect(trail.records.count == count - 1)
                return count
            }
        }
        return nil
    }

    @Test func aRequestIsSentAtMostTwice() throws {
        #expect(try requests(from: "https://a.example/x") { _, _ in Answer(location: "/x") } == 2)
        // A fragment is not sent.
        #expect(try requests(from: "https://a.example/x") { _, count in Answer(location: "/x#\(count)") } == 2)
        // From A to B to A.
        let cycle = try requests(from: "https://a.example/") { request, _ in
            Answer(location: request.origin?.host == "a.example" ? "https://b.example/" : "https://a.example/")
        }
        #expect(cycle == 4)
        // The way to the loop is not a part of the loop.
        #expect(try requests(from: "https://a.example/1") { request, _ in Answer(location: request.path == "/1" ? "/2" : "/2") } == 3)
    }

    @Test func anotherQueryOrAnotherMethodIsNoLoop() throws {
        #expect(try requests(from: "https://a.example/x") { _, count in Answer(location: "/x?page=\(count)") } == nil)
        let posted = try requests(from: "https://a.example/x", .post) { _, count in
            Answer(location: "/x", status: count < 2 ? 307 : 303)
        }
        // POST, POST, GET, GET
        #expect(posted == 4)
    }

    /// A page that needs a cookie sets the cookie, and redirects to itself.
    @Test func aCookieRestartsTheSearchForLoops() throws {
        #expect(try requests(from: "https://a.example/x") { _, count in Answer(location: "/x", setsCookie: count == 1) } == 3)
        #expect(try requests(from: "https://a.example/x") { _, count in Answer(location: "/x", setsCookie: count == 2) } == 4)
        #expect(try requests(from: "https://a.example/x") { _, _ in Answer(location: "/x", setsCookie: true) } == nil)
    }

    @Test func aLoopIsAnErrorThatNamesTheLoop() async throws {
        let stub = StubTransport(Stub().responds(.redirect(to: "/x")))
        let sink = RecordingEventSink()
        let error = await #expect(throws: RedirectError.self) { try await stub.redirect().events(to: sink).send(try request()) }
        #expect(
            error?.description == "GET https://a.example/x: the redirect (status 302) can't be followed: "
                + "it is part of a loop, in which no response sets a cookie; redirected from GET https://a.example/x (1 hop)")
        #expect(error?.failureNumber == .redirectLoop && stub.requests.count == 2 && stub.openBodyCount == 0)
        #expect(sink.events.compactMap(\.decision).map(\.description) == ["302 to https://a.example/x", "302, refused"])
    }

    /// The code of the app has only the first URL.
    @Test func aFailureAfterRedirectsNamesTheFirstRequest() async throws {
        let stub = StubTransport(
            Stub(.post, "/old").responds(.redirect(to: "/next?token=s3cret")),
            Stub(.get, "/next").responds(.redirect(to: "/new")), Stub(.get, "/new").responds(.status(.notFound)))
        var request = try Request(.post, url: "https://a.example/old?card=s3cret")
        request.options.sensitivity = Sensitivity(fields: [], queryNames: ["card"])
        let refused = await #expect(throws: StatusError.self) { try await stub.redirect().validateStatus().send(request) }
        let status = try #require(refused)
        #expect(status.description.hasPrefix("GET https://a.example/new: status 404 Not Found"))
        #expect(status.description.hasSuffix("; redirected from POST https://a.example/old?card=REDACTED (2 hops)"))
        #expect(status.redirects.map(\.method) == [.post, .get])
        let limited = await #expect(throws: RedirectError.self) { try await stub.redirect(RedirectPolicy(maxHops: 1)).send(request) }
        let redirect = try #require(limited)
        #expect(redirect.description.hasPrefix("GET https://a.example/next?token=REDACTED: the redirect (status 302) can't be followed"))
        #expect(redirect.description.hasSuffix("; redirected from POST https://a.example/old?card=REDACTED (1 hop)"))
        #expect(redirect.redirects.map(\.to) == ["https://a.example/next?token=REDACTED"])
    }

    /// A change from http to https is no redirect of a server.
    @Test func aChangeByTheClientIsNotNamedAsARedirect() async throws {
        let change = RedirectRecord(status: .temporaryRedirect, from: "http://a.example/x", to: "https://a.example/x", reason: .hsts)
        let upgrading = ClosureMiddleware { request, next in
            var response = try await next.send(request)
            response.metadata.redirects = [change]
            return response
        }
        let stub = StubTransport(Stub().responds(.status(.notFound)))
        let error = await #expect(throws: StatusError.self) {
            try await HTTPStack(stub).wrapped(by: upgrading).validateStatus().send(try request())
        }
        #expect(error?.redirects == [change] && error?.description == "GET https://a.example/x: status 404 Not Found")
    }

    /// The app knows better: only the number of hops ends such a call.
    @Test func aDecisionOfTheAppRestartsTheSearchForLoops() async throws {
        let stub = StubTransport(Stub().responds(.redirect(to: "/x")))
        let policy = RedirectPolicy(maxHops: 5).deciding { .follow($0.next) }
        let error = await #expect(throws: RedirectError.self) { try await stub.redirect(policy).send(try request()) }
        #expect(error?.failureNumber == .tooManyRedirects && stub.requests.count == 6)
    }

    @Test func aRecordHasBothURLsAndTheFieldsWithoutSecrets() throws {
        var trail = RedirectTrail()
        var request = try Request(.get, url: "https://a.example/x?token=s3cret")
        request.options.sensitivity = Sensitivity(fields: [HTTPField.Name("X-Own")!], queryNames: ["card"])
        var head = HTTPResponse(status: .seeOther, headerFields: [.location: "https://b.example/y?card=s3cret", .server: "nginx"])
        head.headerFields[HTTPField.Name("X-Own")!] = "s3cret"
        head.headerFields[values: .setCookie] = ["a=s3cret", "b=s3cret"]
        head.headerFields[HTTPField.Name("X-Long")!] = String(repeating: "x", count: 10_000)
        _ = try trail.step(after: head, to: request, by: .standard)
        let record = try #require(trail.records.first)
        #expect(record.status == .seeOther && record.from == "https://a.example/x?token=REDACTED")
        #expect(record.to == "https://b.example/y?card=REDACTED" && record.reason == .redirect && !record.isInternal)
        #expect(record.headerFields[.location] == "https://b.example/y?card=REDACTED" && record.headerFields[.server] == "nginx")
        #expect(record.headerFields[values: .setCookie] == ["<redacted>", "<redacted>"] && record.keptCredentials == nil)
        #expect(try #require(record.headerFields[HTTPField.Name("X-Long")!]).utf8.count < 9000)
        var dumped = ""
        dump(record, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }

    /// Such records take no hop from the limit.
    @Test func theRecordsOfInnerLayersAreKeptInOrder() async throws {
        let stub = StubTransport(Stub(nil, "/x").responds(.redirect(to: "/y")), Stub(nil, "/y").responds(.status(.ok)))
        let upgrading = ClosureMiddleware { request, next in
            var response = try await next.send(request)
            let path = request.path
            response.metadata.redirects = [
                RedirectRecord(status: .temporaryRedirect, from: "http://a.example\(path)", to: request.redactedURL, reason: .hsts)
            ]
            return response
        }
        let response = try await HTTPStack(stub).wrapped(by: upgrading).redirect(RedirectPolicy(maxHops: 1)).send(try request())
        #expect(response.metadata.redirects.map(\.isInternal) == [true, false, true])
        #expect(
            response.metadata.redirects.map(\.from) == ["http://a.example/x", "https://a.example/x", "http://a.example/y"])
    }

    @Test func aRecordOfTheClientIsInternal() {
        let record = RedirectRecord(
            status: .temporaryRedirect, from: "http://a.example/", to: "https://a.example/", reason: .hsts)
        #expect(record.isInternal && record.headerFields.isEmpty && "\(record.reason)" == "HSTS")
        #expect(record != RedirectRecord(status: .temporaryRedirect, from: "http://a.example/", to: "https://a.example/"))
    }
}
