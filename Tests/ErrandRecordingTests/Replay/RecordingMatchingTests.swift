import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordingMatchingTests {
    /// Whether a recording of the one request matches the other; else why not.
    private func miss(_ matcher: RecordingMatcher, recorded: Request, asked: Request) async throws -> String? {
        let folder = try TestFolder("recording")
        try await folder.record([recorded], over: ClosureTransport())
        do {
            _ = try await folder.replay(matching: matcher).send(asked)
            return nil
        } catch let error as NoRecordedExchangeError {
            return error.nearest ?? "nothing"
        }
    }

    private func request(
        _ method: HTTPRequest.Method = .get, _ url: String, headers: HTTPFields = HTTPFields(), body: RequestBody = .empty
    ) throws -> Request {
        try Request(method, url: url, headers: headers, body: body)
    }

    @Test(
        arguments: [
            ("http://a.example/x", "http://a.example/x", nil), ("http://a.example/x", "http://A.example:80/x", nil),
            ("http://a.example", "http://a.example/", nil),
            ("http://a.example/x", "https://a.example/x", "the URL (recorded http://a.example/x, requested https://a.example/x)"),
            ("http://a.example/x", "http://b.example/x", "the URL (recorded http://a.example/x, requested http://b.example/x)"),
            ("http://a.example/x", "http://a.example:81/x", "the URL (recorded http://a.example/x, requested http://a.example:81/x)"),
            ("http://a.example/x", "http://a.example/x/", "the URL (recorded http://a.example/x, requested http://a.example/x/)"),
            ("http://a.example/?a=1&b=2", "http://a.example/?b=2&a=1", nil), ("http://a.example/?a=%41", "http://a.example/?a=A", nil),
            ("http://a.example/?a=1", "http://a.example/", "the query (recorded a=1, requested nothing)"),
            ("http://a.example/?a=1&b=1", "http://a.example/?a=2&b=1", "the query (recorded a=1, requested a=2)"),
            ("http://a.example/?a=1", "http://a.example/?a=1&a=1", "the query (recorded nothing, requested a=1)"),
            ("http://a.example/?a", "http://a.example/?a=", "the query (recorded a, requested a=)"),
            ("http://a.example/?token=abcdefghi", "http://a.example/?token=ihgfedcba", nil),
            ("http://a.example/?token=abc&a=1", "http://a.example/?token=x&a=2", "the query (recorded a=1, requested a=2)"),
        ] as [(String, String, String?)])
    func urlAndQueryDecideByDefault(_ recorded: String, _ asked: String, _ difference: String?) async throws {
        let miss = try await miss(.standard, recorded: request(.get, recorded), asked: request(.get, asked))
        let differs = miss.flatMap { $0.firstRange(of: "differs in ") }.map { String(miss![$0.upperBound...]) }
        #expect(differs == difference)
    }

    @Test func methodsDecideUnlessTheyAreIgnored() async throws {
        let (recorded, asked) = (try request(.put, "http://a.example/"), try request(.post, "http://a.example/"))
        #expect(
            try await miss(.standard, recorded: recorded, asked: asked)
                == "entry 1 (PUT http://a.example/), differs in the method (recorded PUT, requested POST)")
        #expect(try await miss(RecordingMatcher(comparesMethod: false), recorded: recorded, asked: asked) == nil)
    }

    @Test func theURLAndTheQueryCanBeIgnored() async throws {
        let (recorded, asked) = (try request(.get, "http://a.example/x?a=1"), try request(.get, "http://b.example/y?a=1&b=2"))
        #expect(try await miss(RecordingMatcher(comparesURL: false, query: .ignored), recorded: recorded, asked: asked) == nil)
        #expect(try await miss(RecordingMatcher(comparesURL: false), recorded: recorded, asked: asked) != nil)
    }

    @Test func theOrderOfTheQueryCanDecide() async throws {
        let (recorded, asked) = (try request(.get, "http://a.example/?a=1&b=2"), try request(.get, "http://a.example/?b=2&a=1"))
        #expect(
            try await miss(RecordingMatcher(query: .inOrder), recorded: recorded, asked: asked)?.hasSuffix(
                "the query (recorded a=1&b=2, requested b=2&a=1)") == true)
        #expect(try await miss(RecordingMatcher(query: .inOrder), recorded: recorded, asked: recorded) == nil)
    }

    @Test func chosenFieldsDecide() async throws {
        let recorded = try request(.get, "http://a.example/", headers: [.accept: "a", .userAgent: "x", .authorization: "Bearer 123456789"])
        let matcher = RecordingMatcher(headers: [.accept, .authorization])
        func asked(_ headers: HTTPFields) throws -> Request { try request(.get, "http://a.example/", headers: headers) }
        #expect(
            try await miss(matcher, recorded: recorded, asked: asked([.accept: "a", .userAgent: "y", .authorization: "Bearer 0"])) == nil)
        #expect(
            try await miss(matcher, recorded: recorded, asked: asked([.accept: "b", .authorization: "Bearer 0"]))
                == "entry 1 (GET http://a.example/), differs in the field Accept (recorded 'a', requested 'b')")
        #expect(try await miss(matcher, recorded: recorded, asked: asked([.accept: "a"])) != nil)
        var fallback = try request(.get, "http://a.example/", headers: [.authorization: "Bearer 1"])
        fallback.options.fallbackHeaders = [.accept: "a"]
        #expect(try await miss(matcher, recorded: recorded, asked: fallback) == nil)
    }

    @Test(
        arguments: [
            ("application/json", #"{"a":1,"b":[1,2]}"#, #"{ "b" : [1, 2.0], "a": 1 }"#, nil),
            ("application/vnd.x+json; charset=utf-8", #"{"a":1}"#, #"{"a":2}"#, "the JSON body, at $.a"),
            ("application/json", #"{"a":{"b":[1,{"c":1}]}}"#, #"{"a":{"b":[1,{"c":2}]}}"#, "the JSON body, at $.a.b[1].c"),
            ("application/json", #"[1]"#, #"[1,2]"#, "the JSON body, at $ (recorded 1 element, requested 2)"),
            ("application/json", #"{"a":1}"#, #"{"a":1,"x":1}"#, "the JSON body, at $.x"),
            ("application/json", #"{"token":"abcdefgh","a":1}"#, #"{"a":1,"token":"x"}"#, nil),
            ("application/x-www-form-urlencoded", "a=1&b=2+3&token=x", "b=2%203&token=y&a=1", nil),
            ("application/x-www-form-urlencoded", "a=1&b=2", "a=1&b=3", "the form (recorded b=2, requested b=3)"),
            ("text/plain", "abc", "abc", nil), ("text/plain", "abc", "abcd", "the body (recorded 3 bytes, requested 4)"),
            (
                "multipart/form-data; boundary=AaB", "--AaB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--AaB--\r\n",
                "--AaB\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n--AaB--\r\n", "the body (recorded 57 bytes, requested 57)"
            ),
        ] as [(String, String, String, String?)])
    func normalisedBodiesDecide(_ type: String, _ recorded: String, _ asked: String, _ difference: String?) async throws {
        let miss = try await miss(
            RecordingMatcher(body: .normalized), recorded: post("/", .text(recorded), type: type),
            asked: post("/", .text(asked), type: type))
        #expect(miss.map { String($0.split(separator: "differs in ").last ?? "") } == difference)
    }

    @Test func anotherBoundaryDoesNotChangeTheBody() async throws {
        func form(_ boundary: String) throws -> Request {
            try post(
                "/", .text("--\(boundary)\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--\(boundary)--\r\n"),
                type: "multipart/form-data; boundary=\(boundary)")
        }
        #expect(try await miss(RecordingMatcher(body: .normalized), recorded: form("aaaa"), asked: form("bbbbbb")) == nil)
        #expect(try await miss(RecordingMatcher(body: .exact), recorded: form("aaaa"), asked: form("bbbbbb")) != nil)
    }

    @Test func aBoundaryWithinAValueIsPartOfTheBody() async throws {
        func form(_ value: String) throws -> Request {
            try post(
                "/", .text("--ab\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(value)\r\n--ab--\r\n"),
                type: "multipart/form-data; boundary=ab")
        }
        #expect(try await miss(RecordingMatcher(body: .normalized), recorded: form("1 ab 2"), asked: form("1 ab 2")) == nil)
        #expect(try await miss(RecordingMatcher(body: .normalized), recorded: form("1 ab 2"), asked: form("1  2")) != nil)
    }

    @Test func exactBodiesAreComparedByteForByte() async throws {
        let matcher = RecordingMatcher(body: .exact)
        let (recorded, asked) = (#"{"a":1,"token":"x"}"#, #"{"a": 1,"token":"x"}"#)
        let type = "application/json"
        #expect(
            try await miss(matcher, recorded: post("/", .text(recorded), type: type), asked: post("/", .text(asked), type: type)) != nil)
        let other = #"{"a":1,"token":"abcdefghijk"}"#
        #expect(
            try await miss(matcher, recorded: post("/", .text(recorded), type: type), asked: post("/", .text(other), type: type)) == nil)
    }

    @Test func bodiesOfFilesAndStreamsAreComparedToo() async throws {
        let folder = try TestFolder("recording")
        let path = try folder.write("from a file", to: "body")
        let matcher = RecordingMatcher(body: .exact)
        let recorded = try post("/", .file(atPath: path))
        #expect(try await miss(matcher, recorded: recorded, asked: post("/", .text("from a file"))) == nil)
        let stream = RequestBody.stream(
            AsyncStream { continuation in
                for word in ["from ", "a ", "file"] { continuation.yield(Data(word.utf8)) }
                continuation.finish()
            })
        #expect(try await miss(matcher, recorded: recorded, asked: post("/", stream)) == nil)
        #expect(try await miss(matcher, recorded: recorded, asked: post("/", .text("from a pile"))) != nil)
    }

    @Test func aStreamThatWasReadForMatchingIsStillSentWhole() async throws {
        let folder = try TestFolder("recording")
        for limit in [4, 1_000] {
            let sent = Watched(Data())
            let live = ClosureTransport { request in
                let source = try await request.body.open()
                while let chunk = try await source.next() { sent.change { $0 += chunk } }
                #expect(request.body.replay == .oneShot && request.body.length == nil)
                return Response(head: HTTPResponse(status: .created), request: request)
            }
            let recording = try Recording(
                atPath: folder.file("\(limit).har"), mode: .newEpisodes, matching: RecordingMatcher(body: .exact), bodyLimitBytes: limit,
                keepsUnknownText: true)
            let body = RequestBody.stream(
                AsyncStream { continuation in
                    for word in ["one ", "two ", "three"] { continuation.yield(Data(word.utf8)) }
                    continuation.finish()
                })
            #expect(try await live.record(on: recording).send(post("/", body)).status == .created)
            #expect(sent.value == Data("one two three".utf8))
            #expect(recording.log.entries[0].request.postData?.text == (limit == 4 ? "one " : "one two three"))
        }
    }

    @Test func theErrorNamesTheNearestExchangeAndItsDifference() async throws {
        let folder = try TestFolder("recording")
        try await folder.record(
            [request(.get, "http://a.example/x?page=1&token=S3CRET-S3CRET"), request(.post, "http://b.example/y")],
            over: ClosureTransport())
        let replay = try folder.replay()
        let error = await #expect(throws: NoRecordedExchangeError.self) {
            try await replay.send(request(.get, "http://a.example/x?page=2&token=OTHER-OTHER"))
        }
        let path = folder.file("a.har")
        #expect(
            error?.description == """
                GET http://a.example/x?page=2&token=REDACTED: no exchange recorded in '\(path)' matches the request; the nearest, \
                entry 1 (GET http://a.example/x?page=1&token=REDACTED), differs in the query (recorded page=1, requested page=2)
                """)
        #expect(error?.errorDescription == "The recording has no response for the request.")
        #expect(
            error?.failureReason == """
                The nearest recorded exchange, entry 1 (GET http://a.example/x?page=1&token=REDACTED), differs in the query (recorded page=1, \
                requested page=2).
                """)
        #expect(error?.recoverySuggestion == nil)
        _ = try await replay.send(request(.post, "http://b.example/y"))
        let played = await #expect(throws: NoRecordedExchangeError.self) { try await replay.send(request(.post, "http://b.example/y")) }
        #expect(played?.nearest == "entry 2 (POST http://b.example/y), matches, but was already replayed")
        #expect(String(reflecting: played).contains("was already replayed"))
    }

    @Test func eachExchangeIsReplayedOnceUnlessRepeatsAreAllowed() async throws {
        let folder = try TestFolder("recording")
        let number = Watched(200)
        let live = ClosureTransport { request in
            number.change { $0 += 1 }
            return Response(head: HTTPResponse(status: .init(code: number.value)), request: request)
        }
        try await folder.record([get("/a"), get("/a"), get("/b")], over: live)
        let once = try folder.replay()
        for code in [201, 202] { #expect(try await once.send(get("/a")).status.code == code) }
        await #expect(throws: NoRecordedExchangeError.self) { try await once.send(get("/a")) }
        let again = try folder.replay(allowsRepeats: true)
        for code in [201, 202, 202, 202] { #expect(try await again.send(get("/a")).status.code == code) }
    }

    @Test func aSecretOfTheResponseDoesNotHideTheRequest() async throws {
        let folder = try TestFolder("recording")
        let live = ClosureTransport(headers: [.contentType: "application/json"], data: Data(#"{"session_id":"abcdefgh12"}"#.utf8))
        let log = try await folder.record([get("/sessions/abcdefgh12/items?s=abcdefgh12")], over: live)
        #expect(log.entries[0].request.url == "https://a.example/sessions/REDACTED/items?s=REDACTED")
        #expect(try await folder.replay().send(get("/sessions/abcdefgh12/items?s=abcdefgh12")).status == .ok)
        await #expect(throws: NoRecordedExchangeError.self) { try await folder.replay().send(get("/sessions/abcdefgh12/others?s=x")) }
    }
}
