import Errand
import ErrandTesting
import Foundation
import Logging
import TestSupport
import Testing

/// The beginning of a refused body in the log.
@Suite(.timeLimit(.minutes(5))) struct LogRefusalTests {
    private struct Wrapper: ResponseEnvelope {
        var code: Int
        var failure: ServiceError? { code == 0 ? nil : ServiceError(.init(code), message: "sold out") }
    }

    private struct Note: Codable, Sendable { var id: Int }

    private let clock = ManualClock()
    private let missing: JSONValue = ["error": "no such note", "token": "t0ps3cret"]
    private static let excerpt = #"body: {"error":"no such note","token":"REDACTED"}"#

    /// Returns the texts of the records of a call that is refused.
    private func texts(
        _ response: StubResponse, detail: LogDetail = .basic, style: LogStyle = .pretty, isInside: Bool = false,
        envelope: (any ResponseEnvelope.Type)? = nil, options: @escaping @Sendable (inout RequestOptions) -> Void = { _ in }
    ) async -> [String] {
        let (logger, lines) = recordingLogger()
        let stub = HTTPStack(StubTransport(Stub().responds(response)))
        let logged: HTTPStack =
            isInside
            ? stub.log(to: logger, detail: detail, style: style, clock: clock).validateStatus()
            : stub.validateStatus().log(to: logger, detail: detail, style: style, clock: clock)
        let client = APIClient(logged.server("https://a.example"), envelope: envelope)
        await #expect(throws: (any Error).self) { try await client.get("/notes/8", as: Note.self, options: options) }
        return lines.all.map(\.text)
    }

    @Test(arguments: [true, false]) func aRecordHasTheBeginningOfARefusedBody(_ isInside: Bool) async {
        let texts = await texts(.json(missing, status: .notFound), isInside: isInside)
        #expect(texts == ["GET https://a.example/notes/8: 404 in 0 s\n  < " + Self.excerpt])
        let streamed = await self.texts(
            .stream(
                [Data(#"{"error":"no such "#.utf8), Data(#"note","token":"t0ps3cret"}"#.utf8)], status: .notFound,
                headers: [.contentType: "application/json"]), isInside: isInside)
        #expect(streamed == texts)
    }

    @Test(arguments: [true, false]) func eachStyleAndDetailHasIt(_ isInside: Bool) async {
        let response = StubResponse.json(missing, status: .notFound)
        let line = await texts(response, style: .oneLine, isInside: isInside)
        #expect(line.last == "GET https://a.example/notes/8: 404 in 0 s | " + Self.excerpt)
        let fields = await texts(response, detail: .headers, isInside: isInside)
        #expect(fields.count == 1 && fields[0].hasSuffix("\n  < " + Self.excerpt))
        // With the body itself, the record has no second excerpt.
        let whole = await texts(response, detail: .body(), isInside: isInside)
        #expect(whole.count == 1 && whole[0].contains("\"error\": \"no such note\"") && !whole[0].contains("< body: "))
        let none = await texts(response, detail: .body(limitBytes: 0), isInside: isInside)
        #expect(!none[0].contains("no such note"))
    }

    @Test(arguments: [true, false]) func aLongBodyIsCutAndAnUnknownTextIsHidden(_ isInside: Bool) async {
        let long = await texts(.json(["error": .string(String(repeating: "x", count: 500))], status: .conflict), isInside: isInside)
        #expect(long[0].hasSuffix(" …") && long[0].utf8.count < 300)
        let html = await texts(
            .status(.badGateway, headers: [.contentType: "text/html"], text: "<p>t0ps3cret</p>"), isInside: isInside)
        #expect(html == ["GET https://a.example/notes/8: 502 in 0 s\n  < body: 16 bytes (text/html)"])
        let empty = await texts(.status(.notFound), isInside: isInside)
        #expect(empty == ["GET https://a.example/notes/8: 404 in 0 s"])
    }

    @Test(arguments: [true, false]) func namesOfTheRequestAreHidden(_ isInside: Bool) async {
        let texts = await texts(.json(["iban": "DE1234567890"], status: .conflict), isInside: isInside) {
            $0.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["iban"]))
        }
        #expect(texts == [#"GET https://a.example/notes/8: 409 in 0 s"# + "\n" + #"  < body: {"iban":"REDACTED"}"#])
    }

    @Test(arguments: [true, false]) func anErrorOfTheBackEndHasItsOwnText(_ isInside: Bool) async {
        let texts = await texts(.json(["code": 40_401], status: .notFound), isInside: isInside, envelope: Wrapper.self)
        #expect(texts.count == 1 && texts[0].contains("service error 40401: sold out") && !texts[0].contains("body:"))
    }

    /// An inner layer sends a request of its own, which does not declare the names.
    @Test(arguments: [true, false]) func namesOfTheOuterRequestAreHiddenInTheResponseOfAnother(_ isInside: Bool) async {
        let substituting = ClosureMiddleware { request, next in
            var response = try await next.send(Request(.get, url: "https://b.example/x"))
            response.request = request
            return response
        }
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.json(["iban": "DE1234567890"], status: .conflict)))
        let substituted: HTTPStack = HTTPStack(stub).wrapped(by: substituting)
        let stack: HTTPStack =
            isInside
            ? substituted.log(to: logger, clock: clock).validateStatus() : substituted.validateStatus().log(to: logger, clock: clock)
        let client = APIClient(stack.server("https://a.example"))
        await #expect(throws: (any Error).self) {
            try await client.get("/notes/8", as: Note.self) {
                $0.sensitivity.formUnion(Sensitivity(fields: [], queryNames: ["iban"]))
            }
        }
        #expect(!lines.all.isEmpty && !lines.all.contains { $0.text.contains("DE1234567890") })
    }

    @Test func anUntypedCallWithAnEnvelopeHasTheSameRecordOnBothSides() async {
        var texts: [[String]] = []
        for isInside in [true, false] {
            let (logger, lines) = recordingLogger()
            let stub = HTTPStack(StubTransport(Stub().responds(.json(["code": 0], status: .notFound))))
            let stack: HTTPStack =
                isInside ? stub.log(to: logger, clock: clock).validateStatus() : stub.validateStatus().log(to: logger, clock: clock)
            let client = APIClient(stack.server("https://a.example"), envelope: Wrapper.self)
            await #expect(throws: (any Error).self) { _ = try await client.send(Endpoint<Void>.get("/notes/8")) }
            texts.append(lines.all.map(\.text))
        }
        #expect(texts[0] == texts[1] && texts[0].count == 1)
    }

    @Test func aRawSendWithoutARuleHasNoBody() async throws {
        let (logger, lines) = recordingLogger()
        let stack = StubTransport(Stub().responds(.json(missing, status: .notFound))).log(to: logger, clock: clock)
        _ = try await stack.send(Request(.get, url: "https://a.example/notes/8")).body.collect()
        #expect(lines.all.map(\.text) == ["GET https://a.example/notes/8: 404 in 0 s"])
    }

    /// The property `refusal` is public, for middleware of users.
    @Test(arguments: [true, false]) func anObserverGetsTheRefusal(_ isInside: Bool) async {
        let outcomes = RecordingList<CallOutcome>()
        let observing = ObservingMiddleware { RecordingObserver(outcomes) }
        let stub = HTTPStack(StubTransport(Stub().responds(.json(missing, status: .notFound))))
        let stack: HTTPStack =
            isInside ? stub.wrapped(by: observing).validateStatus() : stub.validateStatus().wrapped(by: observing)
        let client = APIClient(stack.server("https://a.example"))
        await #expect(throws: StatusError.self) { try await client.get("/notes/8", as: Note.self) }
        let texts = outcomes.all.map { $0.refusal?.error.map { String(reflecting: $0) } ?? "none" }
        #expect(texts.count == 1 && texts[0].hasSuffix("; " + Self.excerpt))
        #expect(outcomes.all.map { $0.refusal?.innerError != nil } == [!isInside])
    }

    /// The server repeats the secret of the request under another name.
    @Test(arguments: [true, false], [LogDetail.basic, .headers, .body()])
    func aSecretOfTheRequestIsHidden(_ isInside: Bool, _ detail: LogDetail) async throws {
        for body in [["rejectedValue": "s3cret-value"], ["message": "Bearer s3cret-value is expired"]] as [JSONValue] {
            let texts = await texts(.json(body, status: .unprocessableContent), detail: detail, isInside: isInside) { options in
                options.fallbackHeaders[.authorization] = "Bearer s3cret-value"
            }
            #expect(!texts.isEmpty && !texts.joined().contains("s3cret-value"), "\(texts)")
        }
    }
}
