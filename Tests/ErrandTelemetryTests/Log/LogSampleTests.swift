import Errand
import ErrandTesting
import Logging
import TestSupport
import Testing

/// What the console shows, as the doc comments have it.
@Suite(.timeLimit(.minutes(5))) struct LogSampleTests {
    private let clock = ManualClock()

    private struct Note: Codable { var id: Int }

    /// A server of notes that takes its time.
    private func notes(_ wrap: (HTTPStack) -> HTTPStack) -> HTTPStack {
        let stub = StubTransport(
            Stub(.post, "/notes").responds(.status(.created, headers: [.location: "/notes/7"], text: #"{"id":7}"#)),
            Stub(.get, "/notes/7").responds(.status(.ok, text: #"{"id":7}"#)),
            Stub(.get, "/notes/8").responds(.status(.internalServerError, text: "sorry")))
        let slow = stub.transformResponse { [clock] response in
            let milliseconds = [201: 73, 200: 21, 500: 5][response.status.code] ?? 0
            clock.advance(by: .milliseconds(milliseconds))
        }
        return wrap(slow).number().server("https://api.example")
    }

    private func note(secret: Bool = true) throws -> Request {
        guard secret else {
            return try Request(.post, "/notes", headers: [.contentType: "application/json"], body: .text(#"{"title":"Milk"}"#))
        }
        return try Request(
            .post, "/notes", query: ["draft": true], headers: [.authorization: "Bearer abc", .contentType: "application/json"],
            body: .text(#"{"title":"Milk","token":"abc123"}"#))
    }

    @Test(
        arguments: [
            (.basic, "#1 POST https://api.example/notes?draft=true: 201 in 73 ms"),
            (
                .headers,
                """
                #1 POST https://api.example/notes?draft=true: 201 in 73 ms
                  > Authorization: <redacted>
                  > Content-Type: application/json
                  < Location: /notes/7
                """
            ),
            (
                .body(),
                """
                #1 POST https://api.example/notes?draft=true: 201 in 73 ms
                  > Authorization: <redacted>
                  > Content-Type: application/json
                  > body of 33 bytes:
                    {
                      "title": "Milk",
                      "token": "REDACTED"
                    }
                  < Location: /notes/7
                  < body of 8 bytes:
                    {
                      "id": 7
                    }
                """
            ),
        ] as [(LogDetail, String)])
    func eachDetailIsOneRecord(_ detail: LogDetail, _ text: String) async throws {
        let (logger, lines) = recordingLogger()
        let stack = notes { $0.log(to: logger, detail: detail, clock: clock) }
        _ = try await stack.send(note()).body.collect()
        #expect(lines.all.map(\.text) == [text])
        let typed = recordingLogger()
        _ = try await APIClient(notes { $0.log(to: typed.0, detail: detail, clock: clock) }).value(
            Endpoint<Note>.post(
                "/notes", query: ["draft": true], headers: [.authorization: "Bearer abc", .contentType: "application/json"],
                body: .text(#"{"title":"Milk","token":"abc123"}"#)
            ))
        #expect(typed.1.all.map { $0.text.replacing("  > Accept: application/json\n", with: "") } == [text], "the same for a typed call")
    }

    @Test func theDefaultIsALineForEachCallAndTheCommandOfAFailure() async throws {
        let (logger, lines) = recordingLogger()
        let stack = notes { $0.log(to: logger, curl: true, clock: clock) }
        for id in [7, 8] { _ = try await stack.send(Request(.get, "/notes/\(id)")).body.collect() }
        #expect(
            lines.all.map(\.text) == [
                "#1 GET https://api.example/notes/7: 200 in 21 ms",
                """
                #2 GET https://api.example/notes/8: 500 in 5 ms
                  curl -X GET --path-as-is --globoff 'https://api.example/notes/8' -H 'User-Agent:' -H 'Accept:'
                """,
            ])
        #expect(lines.all.map(\.level) == [.info, .warning])
        // Nothing is said twice.
        #expect(lines.all.allSatisfy { $0.metadata.keys.sorted() == ["errand.request.id"] })
    }

    @Test func aRecordWithoutSettingsHasNoNumberAndNoCommand() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub(.get, "/notes/7").responds(.status(.ok)), Stub(.get, "/notes/8").responds(.status(.notFound)))
        let stack = stub.log(to: logger, clock: clock).server("https://api.example")
        for id in [7, 8] { _ = try await stack.send(Request(.get, "/notes/\(id)")).body.collect() }
        #expect(
            lines.all.map(\.text) == ["GET https://api.example/notes/7: 200 in 0 s", "GET https://api.example/notes/8: 404 in 0 s"])
    }

    @Test func theStyleOneLineWritesALineForEachEvent() async throws {
        let (logger, lines) = recordingLogger()
        let stack = notes { $0.log(to: logger, detail: .body(), style: .oneLine, clock: clock) }
        _ = try await stack.send(note(secret: false)).body.collect()
        #expect(
            lines.all.map(\.text) == [
                #"#1 POST https://api.example/notes | Content-Type: application/json | body of 16 bytes: {"title":"Milk"}"#,
                #"#1 POST https://api.example/notes: 201 in 73 ms | Location: /notes/7 | body of 8 bytes: {"id":7}"#,
            ])
    }

    @Test(
        arguments: [
            (.none, []), (.ids, ["errand.request.id", "errand.tag.tenant"]),
            (
                .all,
                [
                    "errand.elapsed", "errand.request.id", "errand.request.number", "errand.tag.tenant", "http.request.method",
                    "http.response.status_code", "url.full", "url.template",
                ]
            ),
        ] as [(LogMetadata, [String])])
    func metadataIsByChoice(_ metadata: LogMetadata, _ keys: [String]) async throws {
        let (logger, lines) = recordingLogger()
        var request = try Request(.get, "/notes/\(7)")
        request.options.tags = ["tenant": "a"]
        _ = try await notes { $0.log(to: logger, metadata: metadata, clock: clock) }.send(request)
        #expect(lines.all.map { $0.metadata.keys.sorted() } == [keys])
    }

    // MARK: - One record, whatever becomes of the exchange

    @Test func aStreamedBodyIsInTheRecordOfItsExchange() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.stream(streamed, headers: [.server: "s"])))
        let stack = stub.transformResponse { [clock] _ in clock.advance(by: .seconds(1)) }.log(to: logger, detail: .body(), clock: clock)
        let response = try await stack.send(try request())
        #expect(lines.all.isEmpty)
        clock.advance(by: .seconds(2))
        _ = try await response.body.collect()
        #expect(
            lines.all.map(\.text) == [
                "GET https://a.example/x: 200 in 1 s\n  < Server: s\n  < body of 11 bytes in 3 s, text"
            ])
    }

    @Test func failuresCancellationsAndUnreadBodiesAreOneRecordEach() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(
            Stub().responds(
                .failure(TestError()), .failure(CancellationError()), .stream([Data("one".utf8)], failure: TestError()), .stream(streamed)))
        let stack = stub.log(to: logger, detail: .body(), clock: ManualClock())
        await #expect(throws: TestError.self) { try await stack.send(try request(.post, body: .text("sent"))) }
        await #expect(throws: CancellationError.self) { try await stack.send(try request()) }
        await #expect(throws: TestError.self) { try await stack.send(try request()).body.collect() }
        try await stack.send(try request()).body.abandon()
        #expect(
            lines.all.map(\.text) == [
                "POST https://a.example/x: TestError\n  > body of 4 bytes, text", "GET https://a.example/x: cancelled after 0 s",
                "GET https://a.example/x: 200 in 0 s\n  < body broken off after 3 bytes in 0 s (TestError), text",
                "GET https://a.example/x: 200 in 0 s\n  < body unread after 0 s",
            ])
        #expect(lines.all.map(\.level) == [.warning, .info, .warning, .info])
    }

    // MARK: - In its natural place

    /// Wherever `validateStatus` stands, and without one.
    @Test(arguments: 0..<4) func aServerErrorIsAWarningWithItsCommand(_ place: Int) async throws {
        let (logger, lines) = recordingLogger()
        let stub = HTTPStack(StubTransport(Stub().responds(.status(.internalServerError, text: "sorry"))))
        func logged(_ stack: HTTPStack) -> HTTPStack { stack.log(to: logger, metadata: .all, curl: true) }
        switch place {
        case 0: _ = try await logged(stub).send(try get("/x"))
        case 1: await #expect(throws: StatusError.self) { try await logged(stub.validateStatus()).send(try get("/x")) }
        case 2: await #expect(throws: StatusError.self) { try await logged(stub).validateStatus().send(try get("/x")) }
        default:
            await #expect(throws: StatusError.self) {
                try await APIClient(logged(stub).server("https://a.example")).value(Endpoint<Void>.get("/x"))
            }
        }
        let line = try #require(lines.all.first)
        #expect(lines.all.count == 1 && line.level == .warning)
        #expect(line.text.hasPrefix("GET https://a.example/x: 500 in ") && line.text.contains("\n  curl -X GET"), "\(line.text)")
        #expect(line.metadata["error.type"] == "500" && line.metadata["http.response.status_code"] == "500")
    }

    /// Thrown as it is to the app, while the log has the status: in the client, and in a validator inside the log.
    @Test func anErrorOfTheAppIsLoggedWithTheStatus() async throws {
        struct Refusal: Error, Decodable {}
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.status(.conflict, text: "{}")))
        for stack in [
            stub.log(to: logger, metadata: .all, clock: clock), stub.validateStatus().log(to: logger, metadata: .all, clock: clock),
        ] {
            await #expect(throws: Refusal.self) {
                let _: Void = try await APIClient(stack.server("https://a.example"), mapError: { try $0.json(as: Refusal.self) }).get("/x")
            }
        }
        let validated = stub.validate(ResponseValidator("refusal") { _, _, _ in .fail(Refusal()) })
            .log(to: logger, metadata: .all, clock: clock)
        await #expect(throws: Refusal.self) { try await validated.send(try get("/x")) }
        #expect(
            lines.all.map(\.text) == [
                "GET https://a.example/x: 409 in 0 s\n  < body: {}", "GET https://a.example/x: 409 in 0 s\n  < body: {}",
                "GET https://a.example/x: status 409, Refusal",
            ])
        #expect(lines.all.allSatisfy { $0.level == .warning && $0.metadata["http.response.status_code"] == "409" })
    }

    private struct Envelope: ResponseEnvelope {
        var code: Int
        var message: String?
        var requestID: String?
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: message ?? "", requestID: requestID) }
    }

    /// Whatever the status is, and wherever `validateStatus` stands: around the log by the client, outside of it, and inside.
    @Test(arguments: [HTTPResponse.Status.ok, .unauthorized, .serviceUnavailable], 0..<3)
    func anErrorInAnEnvelopeIsLoggedAsItsServiceError(_ status: HTTPResponse.Status, _ place: Int) async throws {
        let (logger, lines) = recordingLogger()
        let json: JSONValue = ["code": 40_101, "message": "wrong\npassword", "requestID": "r-42", "data": ["token": "s3cret"]]
        for stubbed in [StubResponse.json(json, status: status), .stream([Data(json.bytes())], status: status)] {
            let stub = HTTPStack(StubTransport(Stub().responds(stubbed)))
            func logged(_ stack: HTTPStack) -> HTTPStack {
                stack.log(to: logger, detail: .body(), metadata: .all, curl: true, clock: clock)
            }
            let stack =
                switch place {
                case 0: logged(stub)
                case 1: logged(stub).validateStatus()
                default: logged(stub.validateStatus())
                }
            let client = APIClient(stack.server("https://a.example"), envelope: Envelope.self)
            let endpoint = Endpoint<JSONValue>.post("/login?token=s3cret", body: .json(["password": "s3cret"] as JSONValue))
            let error = await #expect(throws: ServiceError.self) { try await client.value(endpoint) }
            let record = try #require(lines.all.last)
            let shown = "\(try #require(error))"
            #expect(record.text.hasPrefix(shown + "\n"), "\(record.text)")
            #expect(record.text.contains("service error 40101: wrong") && record.text.contains("(request ID r-42, status \(status.code))"))
            #expect(record.text.contains("\n  curl -X POST") && record.level == .warning)
            #expect(record.text.components(separatedBy: "\n  < body of").count == 2, "\(record.text)")
            #expect(record.metadata["http.response.status_code"] == "\(status.code)")
            #expect(record.metadata["error.type"] == (status == .ok ? "ServiceError" : "\(status.code)"))
        }
        #expect(lines.all.count == 2 && !lines.everything.contains("s3cret"), "\(lines.everything)")
    }

    /// A response that is taken step by step, a list in pages and a stream: these requests are refused as well.
    @Test(arguments: 0..<3) func anErrorInAnEnvelopeIsLoggedOfEveryKindOfCall(_ kind: Int) async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.json(["code": 7, "message": "no"] as JSONValue, status: .forbidden)))
        let client = APIClient(stub.log(to: logger, clock: clock).server("https://a.example"), envelope: Envelope.self)
        let error = await #expect(throws: ServiceError.self) {
            switch kind {
            case 0: _ = try await client.send(Endpoint<Void>.get("/x"))
            case 1: for try await _ in client.pages(Endpoint<[Int]>.get("/x"), next: .link()) {}
            default: for try await _ in client.events("/x", as: Int.self) {}
            }
        }
        let shown = "\(try #require(error))"
        #expect(lines.all.map(\.text) == [shown])
    }

    /// An attempt that is made again is not the call's own failure, and a body that is no envelope says nothing.
    @Test func aBodyWithoutAnEnvelopeIsLoggedByItsStatus() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(
            Stub().responds(
                .json(["code": 7] as JSONValue, status: .serviceUnavailable), .status(.badGateway, text: "sorry"),
                .json(["code": 0] as JSONValue, status: .notFound)))
        let stack = stub.log(to: logger, clock: clock).retry(RetryPolicy(backoff: .constant(.zero)), clock: clock)
        let client = APIClient(stack.server("https://a.example"), envelope: Envelope.self)
        await #expect(throws: StatusError.self) { try await client.get("/x", as: Int.self) }
        #expect(
            lines.all.map(\.text) == [
                "GET https://a.example/x: 503 in 0 s", "GET https://a.example/x: 502 in 0 s",
                "GET https://a.example/x: 404 in 0 s\n  < body: {\"code\":0}",
            ])
    }

    /// Wherever `validateStatus` stands.
    @Test func aFailureIsLoggedWithAllThatItsErrorSays() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "99"])))
        let retrying = stub.retry(budget: nil, clock: clock)
        _ = try await retrying.log(to: logger, clock: clock).send(try get("/x"))
        await #expect(throws: StatusError.self) { try await retrying.validateStatus().log(to: logger, clock: clock).send(try get("/x")) }
        let tail =
            "503 in 0 s; the server asks to wait for 99 s; no further attempt: the server asks for a longer wait than the policy allows"
        #expect(lines.all.map(\.text) == [String](repeating: "GET https://a.example/x: \(tail)", count: 2))
        let problem = StubTransport(
            Stub().responds(
                .data(Data(#"{"title":"no"}"#.utf8), status: .badRequest, headers: [.contentType: "application/problem+json"])))
        await #expect(throws: StatusError.self) { try await problem.validateStatus().log(to: logger, clock: clock).send(try get("/x")) }
        #expect(lines.all.last?.text == "GET https://a.example/x: 400 in 0 s (no)")
    }

    @Test func aRecordHasTheNumberOfAttempts() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(
            Stub().responds(.status(.serviceUnavailable), .status(.serviceUnavailable), .status(.ok), .offline, .offline, .status(.ok)))
        let retrying = stub.retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.zero)), budget: nil, clock: clock)
        let stack = retrying.log(to: logger, metadata: .all, clock: clock)
        for _ in 0..<2 { _ = try await stack.send(try get("/x")) }
        stub.add(Stub(.get, "/y").responds(.status(.ok)))
        _ = try await stack.send(try get("/y"))
        let again = "GET https://a.example/x: 200 in 0 s after 3 attempts"
        #expect(lines.all.map(\.text) == [again, again, "GET https://a.example/y: 200 in 0 s"])
        #expect(lines.all.map { $0.metadata["http.request.resend_count"] } == ["2", "2", nil])

        let failing = StubTransport(Stub().responds(.offline)).retry(
            RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil, clock: clock)
        await #expect(throws: TransportError.self) {
            try await failing.log(to: logger, metadata: .all, clock: clock).send(try get("/x"))
        }
        #expect(lines.all.last?.metadata["http.request.resend_count"] == "1")
    }

    @Test func aDecodingFailureIsOneWarning() async throws {
        let (logger, lines) = recordingLogger()
        let client = APIClient(notes { $0.log(to: logger, curl: true, clock: clock) })
        await #expect(throws: ResponseDecodingError.self) { try await client.value(Endpoint<[Note]>.get("/notes/7")) }
        #expect(lines.all.count == 1 && lines.all.first?.level == .warning)
        #expect(lines.all.first?.text.contains("decode") == true && lines.all.first?.text.contains("curl -X GET") == true)
    }
}
