import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct StubTransportTests {
    private func request(
        _ method: HTTPRequest.Method = .get, _ target: String, headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) throws -> Request {
        try Request(method, url: "https://a.example" + target, headers: headers, body: body)
    }

    /// Returns the body of the response; `nil` if no stub matches.
    private func text(of stub: Stub, _ request: Request) async throws -> String? {
        do {
            let response = try await HTTPStack(StubTransport(stub.responds(.status(.ok, text: "yes")))).send(request)
            return String(decoding: try await response.body.collect(), as: UTF8.self)
        } catch is UnmatchedRequestError {
            return nil
        }
    }

    @Test(
        arguments: [
            (nil, "/x", true), ("/x", "/x", true), ("/x", "/x?q=1", true), ("/x", "/x/", false), ("/x", "/X", false), ("/x", "/x/y", false),
            ("/", "/", true),
            ("/u/{id}", "/u/7", true), ("/u/{id}", "/u/a%2Fb", true), ("/u/{id}", "/u/", false), ("/u/{id}", "/u", false),
            ("/u/{id}", "/u/7/x", false),
            ("/u/{id}/x", "/u/7/x", true), ("/u/{id}/x", "/u/7/y", false), ("/u/**", "/u/a/b/c", true), ("/u/**", "/u/a", true),
            ("/u/**", "/u", true),
            ("/u/**", "/v/a", false), ("/**", "/", true), ("/{a}/**", "/x/y/z", true), ("/**/x", "/a/x", false), ("x", "/x", false),
        ] as [(String?, String, Bool)])
    func pathsMatchByTheirSegments(_ pattern: String?, _ target: String, _ matches: Bool) async throws {
        #expect(try await text(of: Stub(.get, pattern), request(.get, target)) == (matches ? "yes" : nil))
    }

    @Test func methodsMatchAndNilMatchesAll() async throws {
        #expect(try await text(of: Stub(.post), request(.post, "/")) == "yes")
        #expect(try await text(of: Stub(.post), request(.get, "/")) == nil)
        #expect(try await text(of: Stub(), request(.patch, "/any")) == "yes")
    }

    @Test(
        arguments: [
            ("q", "a b", "/?q=a%20b", true), ("q", nil, "/?q=x", true), ("q", nil, "/?q", true), ("q", nil, "/?r=q", false),
            ("q", "b", "/?q=a&q=b", true), ("q", "a", "/", false),
            ("a&b", "c=d", "/?a%26b=c%3Dd", true), ("q", "", "/?q=", true), ("q", "", "/?q", false), ("q", "a=b", "/?q=a=b", true),
        ] as [(String, String?, String, Bool)])
    func queriesMatchByItem(_ name: String, _ value: String?, _ target: String, _ matches: Bool) async throws {
        #expect(try await text(of: Stub().query(name, value), request(.get, target)) == (matches ? "yes" : nil))
    }

    @Test func fieldsMatchByNameAndValue() async throws {
        var headers: HTTPFields = [.accept: "a"]
        headers.append(HTTPField(name: .accept, value: "b"))
        let request = try request(.get, "/", headers: headers)
        for (stub, matches) in [
            (Stub().header(.accept), true), (Stub().header(.accept, "b"), true), (Stub().header(.accept, "c"), false),
            (Stub().header(.cookie), false),
        ] {
            #expect(try await text(of: stub, request) == (matches ? "yes" : nil), "\(stub)")
        }
    }

    @Test(
        arguments: [
            (["item": "tea"], #"{"item":"tea","count":2}"#, true), (["item": "tea"], #"{"item":"milk"}"#, false),
            (["a": ["b": 1]], #"{"a":{"b":1,"c":2}}"#, true),
            (["a": 1], "no JSON", false), (["a": 1], "", false), ([1, 2], "[1,2]", true),
        ] as [(JSONValue, String, Bool)])
    func bodiesMatchByAPartOfTheirJSON(_ subset: JSONValue, _ body: String, _ matches: Bool) async throws {
        #expect(try await text(of: Stub().json(subset), request(.post, "/", body: .text(body))) == (matches ? "yes" : nil))
    }

    @Test func aCustomConditionMatches() async throws {
        let stub = Stub().matching("a long body") { $0.body.count > 3 }
        #expect(try await text(of: stub, request(.post, "/", body: .text("long"))) == "yes")
        #expect(try await text(of: stub, request(.post, "/", body: .text("no"))) == nil)
    }

    @Test func theFirstMatchingStubRespondsAndAddedStubsAreLast() async throws {
        let stub = StubTransport(Stub(.get, "/a/{id}").responds(.status(.ok)), Stub(.get, "/a/7").responds(.status(.accepted)))
        stub.add(Stub().responds(.status(.notFound)))
        let statuses = [try await stub.send(request(.get, "/a/7")).status, try await stub.send(request(.get, "/b")).status]
        #expect(statuses == [.ok, .notFound])
    }

    @Test func aStubForOneMethodNeverHidesAnotherMethod() async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.status(.ok)), Stub(.post, "/x").responds(.status(.created)), Stub(nil, "/x").responds(.status(.gone))
        )
        for (method, status) in [(HTTPRequest.Method.post, HTTPResponse.Status.created), (.get, .ok), (.delete, .gone), (.post, .created)] {
            #expect(try await stub.send(request(method, "/x")).status == status)
        }
    }

    @Test func oneResponseRepeatsAndSeveralResponsesServeOnce() async throws {
        let stub = StubTransport(
            Stub(.get, "/one").responds(.status(.ok)), Stub(.get, "/two").responds(.status(.serviceUnavailable), .status(.created)))
        for _ in 0..<3 { #expect(try await stub.send(request(.get, "/one")).status == .ok) }
        #expect(try await stub.send(request(.get, "/two")).status == .serviceUnavailable)
        #expect(try await stub.send(request(.get, "/two")).status == .created)
        let error = await #expect(throws: UnmatchedRequestError.self) { try await stub.send(request(.get, "/two")) }
        #expect(error?.nearest == "'method GET, path /two' matches, but its 2 responses are used up")
        stub.add(Stub(.get, "/two").responds(.status(.gone)))
        #expect(try await stub.send(request(.get, "/two")).status == .gone, "what is used up makes way for the next")
    }

    @Test func anUnmatchedRequestNamesTheValuesThatItHas() async throws {
        let declared = try #require(HTTPField.Name("X-Tenant"))
        let stub = StubTransport(
            Stub(.get, "/x").query("p", "2").query("pin", "7").header(.accept, "a").header(declared, "1").header(.authorization, "Bearer b")
                .responds(.status(.ok)))
        var sent = try Request(
            .get, url: "https://a.example/x?p=3&pin=s3cr3t&p=https://u:s3cr3t@b.example",
            headers: [.accept: "b", declared: "s3cr3t", .authorization: "Bearer s3cr3t"])
        sent.options.sensitivity = Sensitivity(fields: [declared], queryNames: ["pin"])
        let error = try #require(await #expect(throws: UnmatchedRequestError.self) { try await stub.send(sent) })
        let nearest = try #require(error.nearest)
        #expect(
            nearest.contains(" differs in query p=2 (sent '3', 'https://REDACTED:REDACTED@b.example'), query pin=7 (sent '<redacted>')"))
        #expect(nearest.contains(", header Accept: a (sent 'b'), header X-Tenant: 1 (sent '<redacted>')"))
        let leaks = error.description.contains("s3c")
        #expect(nearest.hasSuffix(", header Authorization: <redacted> (sent '<redacted>')") && !leaks, "\(error)")
    }

    @Test func anUnmatchedRequestNamesTheNearestStub() async throws {
        let stub = StubTransport(
            Stub(.post, "/orders").query("dry").responds(.status(.ok)),
            Stub(.get, "/users/{id}").header(.accept, "a").responds(.status(.ok)),
            Stub(.put, "/silent"))
        let error = try #require(
            await #expect(throws: UnmatchedRequestError.self) { try await stub.send(request(.get, "/users/7?token=S1")) })
        #expect(
            error.description
                == "GET https://a.example/users/7?token=REDACTED: no stub matches; the nearest, 'method GET, path /users/{id}, header Accept: a' differs in header Accept: a (not sent)"
        )
        #expect(error.delivery == .notSent && error.phase == .request && error.request != nil)
        let silent = await #expect(throws: UnmatchedRequestError.self) { try await stub.send(request(.put, "/silent")) }
        #expect(silent?.nearest == "'method PUT, path /silent' matches, but it has no response")
        let none = await #expect(throws: UnmatchedRequestError.self) { try await StubTransport().send(request(.get, "/")) }
        #expect(none?.description == "GET https://a.example/: no stub matches; there are none")
        #expect(none?.errorDescription == "No stub responds to the request." && none?.failureReason == "There are no stubs.")
        #expect(silent?.failureReason == "The nearest stub, 'method PUT, path /silent' matches, but it has no response.")
        #expect(none?.recoverySuggestion == nil)
    }

    @Test func descriptionsOfStubsHoldNoSecret() async throws {
        let stub = Stub(.get, "/x").header(.authorization, "Bearer S1").query("access_token", "S2").query("page", "2")
        #expect(stub.description == "method GET, path /x, header Authorization: <redacted>, query access_token=<redacted>, query page=2")
        #expect(Stub().description == "any request")
        let error = await #expect(throws: UnmatchedRequestError.self) {
            try await StubTransport(stub.responds(.status(.ok))).send(request(.get, "/?token=S3", headers: [.cookie: "S4"]))
        }
        var text = ""
        dump(error, to: &text)
        #expect(!text.contains(/S\d/))
    }

    @Test func requestsAreRecorded() async throws {
        struct Order: Codable, Equatable { var item: String }
        let stub = StubTransport(Stub(.post).responds(.status(.ok)))
        _ = try await stub.send(request(.post, "/a%20b?q=%41&r&s=1=2&t=%FF", body: .text(#"{"item":"tea"}"#)))
        _ = try? await stub.send(request(.get, "/none"))
        let stream = RequestBody.stream(
            AsyncThrowingStream { continuation in
                for text in ["a", "b"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            })
        _ = try await stub.send(request(.post, "/stream", body: stream))
        #expect(stub.requests.map(\.path) == ["/a%20b", "/none", "/stream"])
        #expect(stub.requests.map { String(decoding: $0.body, as: UTF8.self) } == [#"{"item":"tea"}"#, "", "ab"])
        let first = try #require(stub.requests.first)
        let items: [(String, String?)] = [("q", "A"), ("r", nil), ("s", "1=2"), ("t", "%FF")]
        #expect(first.queryItems == items.map { URLQuery.Item(name: $0.0, value: $0.1) })
        #expect(try first.json(as: Order.self) == Order(item: "tea"))
        #expect(first.description == first.request.description)
    }

    @Test func responsesHaveStatusFieldsAndBody() async throws {
        let responses: [(StubResponse, Int, String?, String)] = [
            (.status(.noContent), 204, nil, ""),
            (.status(.notFound, headers: [.contentType: "text/plain"], text: "no"), 404, "text/plain", "no"),
            (.data(Data("d".utf8), headers: [.contentType: "a/b"]), 200, "a/b", "d"),
            (.json(["a": 1], status: .created), 201, "application/json", #"{"a":1}"#),
            (.json([1], headers: [.contentType: "application/vnd.x+json"]), 200, "application/vnd.x+json", "[1]"),
            (.stream([Data("a".utf8), Data(), Data("b".utf8)], status: .accepted, headers: [.contentType: "c/d"]), 202, "c/d", "ab"),
            (.custom { (HTTPResponse(status: .ok), Data($0.path.utf8)) }, 200, nil, "/x"),
        ]
        for (stubbed, status, contentType, body) in responses {
            let stub = StubTransport(Stub().responds(stubbed))
            let response = try await HTTPStack(stub).send(request(.get, "/x"))
            #expect(response.status.code == status && response.headers[.contentType] == contentType)
            #expect(try await response.body.collect() == Data(body.utf8))
            #expect(stub.openBodyCount == 0)
        }
    }

    @Test func aFailureIsThrownUnchanged() async throws {
        let stub = StubTransport(Stub().responds(.failure(TestError()), .status(.ok)))
        await #expect(throws: TestError()) { try await stub.send(request(.get, "/")) }
        #expect(try await stub.send(request(.get, "/")).status == .ok)
    }

    @Test func aBodyBreaksOffAfterItsLastChunk() async throws {
        let stub = StubTransport(Stub().responds(.stream([Data("a".utf8)], failure: TestError())))
        let response = try await HTTPStack(stub).send(request(.get, "/"))
        var iterator = response.body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("a".utf8))
        #expect(stub.openBodyCount == 1 && response.exchange.outcome == nil)
        await #expect(throws: TestError()) { try await iterator.next() }
        #expect(stub.openBodyCount == 0)
        guard case .failed(is TestError) = response.exchange.outcome else {
            Issue.record("ended as \(String(describing: response.exchange.outcome))")
            return
        }
    }

    @Test func openBodiesAreCountedUntilTheyAreReadAbandonedOrDropped() async throws {
        let stub = StubTransport(Stub().responds(.stream([Data("a".utf8), Data("b".utf8)])))
        let (read, abandoned) = (try await stub.send(request(.get, "/")), try await stub.send(request(.get, "/")))
        #expect(stub.openBodyCount == 2)
        _ = try await stub.send(request(.get, "/"))
        #expect(stub.openBodyCount == 2, "dropped at once")
        _ = try await read.body.collect()
        #expect(stub.openBodyCount == 1)
        abandoned.body.abandon()
        abandoned.body.abandon()
        #expect(stub.openBodyCount == 0)
        guard case .complete = read.exchange.outcome, case .abandoned = abandoned.exchange.outcome else {
            Issue.record("ended otherwise")
            return
        }
    }

    @Test func readingABodySeesCancellation() async throws {
        let stub = StubTransport(Stub().responds(.stream([Data("a".utf8)])))
        let response = try await stub.send(request(.get, "/"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await response.body.collect()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.openBodyCount == 0)
    }

    @Test func aResponseThatNeverComesIsCancellable() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let (request, sink) = (try request(.get, "/"), RecordingEventSink())
        let task = Task { try await HTTPStack(stub).send(request.reporting(to: sink)) }
        try await sink.wait(for: .requestSent)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func noRequestIsSentAfterShutdown() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        try await stub.shutdown()
        try await stub.shutdown()
        let error = await #expect(throws: TransportError.self) { try await stub.send(request(.get, "/")) }
        #expect(error?.code == .shutDown && error?.delivery == .notSent && stub.requests.isEmpty)
        #expect(stub.description == "StubTransport" && stub.capabilities.contains([.phaseEvents, .streamingDownload]))
    }

    @Test func twoHundredStubsInParallelDoNotInterfere() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let stub = StubTransport(
                        Stub(.get, "/\(number)").responds(.status(.accepted, text: "a"), .status(.ok, text: "\(number)")))
                    let stack = HTTPStack(stub)
                    _ = try await stack.send(request(.get, "/\(number)"))
                    let second = try await stack.send(request(.get, "/\(number)")).body.collect()
                    return second == Data("\(number)".utf8) && stub.requests.map(\.path) == ["/\(number)", "/\(number)"]
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func eachOfSeveralResponsesServesOneCaller() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok), .status(.created), .status(.accepted)))
        let codes = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { (try? await stub.send(request(.get, "/")).status.code) ?? 0 } }
            return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
        #expect(codes == Array(repeating: 0, count: 47) + [200, 201, 202] && stub.requests.count == 50)
    }
}

extension Request {
    fileprivate func reporting(to sink: some EventSink) -> Request {
        var copy = self
        copy.options.eventSink = sink
        return copy
    }
}
