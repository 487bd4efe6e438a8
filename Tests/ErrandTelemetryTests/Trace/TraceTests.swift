import Errand
import ErrandTesting
import TestSupport
import Testing
import Tracing

@Suite(.timeLimit(.minutes(5))) struct TraceTests {
    private let tracer = RecordingTracer()
    private let clock = ManualClock()

    /// The attributes that the conventions name.
    private func texts(_ span: RecordingSpan) -> [String: String] { span.texts.filter { !$0.key.hasPrefix("errand.") } }

    @Test(arguments: TelemetryCase.all) func eachEndHasItsAttributesAndItsStatus(_ outcome: TelemetryCase) async throws {
        try await outcome.play(clock: clock) { $0.trace(tracer: tracer) }
        let span = try #require(tracer.spans.first)
        #expect(tracer.spans.count == 1 && span.endCount == 1 && span.kind == .client && span.parent == nil)
        var expected = outcome.common.merging(outcome.attributes) { $1 }
        expected["url.full"] = outcome.url
        if outcome.method != .get { expected["http.request.method_original"] = "PURGE" }
        #expect(texts(span) == expected)
        #expect(span.operationName == (outcome.method == .get ? "GET" : "HTTP"))
        #expect((span.status?.code == .error) == (outcome.attributes["error.type"] != nil))
        // Where the status says all, words add nothing.
        if outcome.attributes["error.type"] == outcome.attributes["http.response.status_code"] { #expect(span.status?.message == nil) }
        let everything = "\(span.texts) \(span.status?.message ?? "")"
        #expect(!everything.contains("t0ps3cret"))
    }

    @Test func aFailureHasAStatusMessage() async throws {
        let stub = StubTransport(Stub().responds(TelemetryCase.transport(.cannotConnect)))
        await #expect(throws: TransportError.self) { try await stub.trace(tracer: tracer).send(try request()) }
        #expect(tracer.spans.first?.status == SpanStatus(code: .error, message: "cannot connect (not sent)"))
    }

    @Test func aSpanEndsWithTheBody() async throws {
        let response = try await StubTransport(Stub().responds(.stream(streamed))).trace(tracer: tracer).send(try request())
        #expect(tracer.ended.isEmpty)
        _ = try await response.body.collect()
        #expect(tracer.ended.count == 1)
    }

    @Test func aChangeOfProtocolEndsWithItsHead() async throws {
        let response = try await HTTPStack(UpgradingSender()).trace(tracer: tracer).send(try request())
        #expect(tracer.ended.first?.texts["http.response.status_code"] == "101")
        response.exchange.end(.complete)
        #expect(tracer.spans.map(\.endCount) == [1])
    }

    // MARK: - Attributes

    @Test func theNameIsTheTemplateAndNeverThePath() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.trace(tracer: tracer).server("https://a.example")
        _ = try await stack.send(try Request(.get, "/users/\(4711, "id")/posts/\(5)", query: ["page": 2]))
        _ = try await stack.send(try Request(.get, PathTemplate(verbatim: "/next/4711")))
        _ = try await stack.send(try Request(.get, url: "https://a.example/users/4711"))
        #expect(tracer.spans.map(\.operationName) == ["GET /users/{id}/posts/{}", "GET", "GET"])
        #expect(tracer.spans.map { $0.texts["url.template"] } == ["/users/{id}/posts/{}", nil, nil])
        #expect(tracer.spans.first?.texts["url.full"] == "https://a.example/users/4711/posts/5?page=2")
    }

    @Test func aTypedCallNamesItsSpan() async throws {
        let stub = StubTransport(Stub().responds(.status(.noContent)))
        let client = APIClient(stub.trace(tracer: tracer).server("https://a.example"))
        try await client.value(Endpoint<Void>.delete("/orgs/\("apple", "owner")/repos"))
        #expect(tracer.spans.map(\.operationName) == ["DELETE /orgs/{owner}/repos"])
    }

    /// The seven of the conventions, and ours.
    @Test(arguments: [
        "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature",
        "access_token", "api_key", "own_name",
    ]) func aSecretOfTheURLIsNotShown(_ name: String) async throws {
        var call = try Request(.get, url: "https://a.example/x?color=blue&\(name)=t0ps3cret&page=2")
        call.options.sensitivity = Sensitivity(fields: [], queryNames: ["own_name"])
        _ = try await StubTransport(Stub().responds(.status(.ok))).trace(tracer: tracer).send(call)
        #expect(tracer.spans.first?.texts["url.full"] == "https://a.example/x?color=blue&\(name)=REDACTED&page=2")
    }

    @Test func credentialsOfTheURLAreNotShown() async throws {
        let head = HTTPRequest(method: .get, scheme: "https", authority: "user:t0ps3cret@a.example", path: "/x")
        await #expect(throws: InvalidURLError.self) { try await StubTransport().trace(tracer: tracer).send(Request(head: head)) }
        let texts = try #require(tracer.spans.first?.texts)
        #expect(texts["url.full"] == "https://REDACTED:REDACTED@a.example/x" && texts["server.address"] == "a.example")
        #expect(texts["error.type"] == "InvalidURLError" && tracer.ended.count == 1)
    }

    @Test func aRequestWithoutAServerHasNoServerAttributes() async throws {
        await #expect(throws: InvalidURLError.self) { try await StubTransport().trace(tracer: tracer).send(try Request(.get, "/x")) }
        let texts = try #require(tracer.spans.first?.texts)
        #expect(texts["server.address"] == nil && texts["url.full"] == nil)
    }

    @Test func aKnownVersionIsRecorded() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.transformResponse { $0.metadata.httpVersion = .http1_1 }.trace(tracer: tracer).send(try request())
        #expect(tracer.spans.first?.texts["network.protocol.version"] == "1.1")
        #expect(tracer.spans.first?.texts["network.protocol.name"] == nil)
    }

    @Test func fieldsAreCapturedOnDemandAndSecretOnesNever() async throws {
        let fields = HTTPFields([
            HTTPField(name: .setCookie, value: "t0ps3cret"), HTTPField(name: .location, value: "/y?token=t0ps3cret"),
            HTTPField(name: .via, value: "one"), HTTPField(name: .via, value: "two"),
        ])
        var call = try request()
        call.head.headerFields = [.authorization: "t0ps3cret", .accept: "a/b", .userAgent: "t0ps3cret"]
        call.head.headerFields[fields: .userAgent] = call.head.headerFields[fields: .userAgent].map {
            var field = $0
            field.indexingStrategy = .disallow
            return field
        }
        let options = TraceOptions(
            requestHeaders: [.authorization, .accept, .userAgent, .age], responseHeaders: [.setCookie, .location, .via, .age])
        let stub = StubTransport(Stub().responds(.status(.ok, headers: fields)))
        _ = try await stub.trace(tracer: tracer, options: options).send(call)
        let texts = try #require(tracer.spans.first?.texts).filter { $0.key.contains(".header.") }
        #expect(
            texts == [
                "http.request.header.accept": #"["a/b"]"#, "http.response.header.location": #"["/y?token=REDACTED"]"#,
                "http.response.header.via": #"["one", "two"]"#,
            ])
    }

    @Test func sizesAreRecordedOnDemand() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        var call = try request(.post, body: .data(Data(count: 7)))
        _ = try await stub.trace(tracer: tracer).send(call).body.collect()
        call.options.trace = .use(TraceOptions(recordsBodySizes: true))
        _ = try await stub.trace(tracer: tracer).send(call).body.collect()
        #expect(tracer.spans.map { $0.texts["http.response.body.size"] } == [nil, "11"])
        #expect(tracer.spans.map { $0.texts["http.request.body.size"] } == [nil, "7"])
    }

    @Test func idNumberAndTagsHaveTheNamesOfTheLog() async throws {
        let (logger, lines) = recordingLogger()
        var call = try request()
        call.options.tags = ["tenant": "a", "api_key": "t0ps3cret"]
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.trace(tracer: tracer).log(to: logger, style: .oneLine, metadata: .all).traceCall(tracer: tracer).number().send(
            call)
        let expected = [
            "errand.request.id": "\(call.id)", "errand.request.number": "1", "errand.tag.tenant": "a", "errand.tag.api_key": "<redacted>",
        ]
        for span in tracer.spans { #expect(span.texts.filter { $0.key.hasPrefix("errand.") } == expected) }
        for line in lines.all { #expect(line.metadata.filter { expected.keys.contains($0.key) } == expected) }
        #expect(tracer.ended.count == 2 && lines.all.count == 2)
    }

    @Test func aNumberFromAnInnerLayerIsRecorded() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.number().traceCall(tracer: tracer).send(try request())
        #expect(tracer.spans.first?.texts["errand.request.number"] == "1")
    }

    @Test func logsNameAFailureAsSpansDo() async throws {
        let (logger, lines) = recordingLogger()
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.trace(tracer: tracer).log(to: logger, style: .oneLine, metadata: .all, clock: clock).timeout(
            .seconds(1), clock: clock)
        await #expect(throws: TransportError.self) {
            try await clock.advancingToSleepers { _ = try await stack.send(try request()) }
        }
        #expect(lines.all.last?.metadata["error.type"] == "timeout" && tracer.spans.first?.texts["error.type"] == "timeout")
    }

    // MARK: - Repeated requests

    @Test func eachAttemptHasASpanWithItsCount() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), TelemetryCase.transport(.cannotConnect), .status(.ok)))
        let stack = stub.trace(tracer: tracer).retry(clock: clock).traceCall(tracer: tracer)
        _ = try await clock.advancingToSleepers { try await stack.send(try request()) }
        let (call, attempts) = (try #require(tracer.spans.first), tracer.spans.dropFirst())
        #expect(call.kind == .internal && call.texts["http.response.status_code"] == "200" && call.status == nil)
        #expect(call.texts["url.full"] == nil && call.texts["http.request.resend_count"] == nil)
        #expect(attempts.map(\.kind) == [.client, .client, .client])
        #expect(attempts.map(\.parent) == [call.id, call.id, call.id])
        #expect(attempts.map { $0.texts["http.request.resend_count"] } == [nil, "1", "2"])
        #expect(attempts.map { $0.texts["error.type"] } == ["503", "cannot_connect", nil])
        #expect(Set(attempts.map { $0.texts["errand.request.id"] }).count == 1)
    }

    @Test func redirectsWithinRetriesAreCountedTogether() async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.redirect(to: "/y")),
            Stub(.get, "/y").responds(.status(.serviceUnavailable), .status(.ok)))
        _ = try await clock.advancingToSleepers {
            try await stub.trace(tracer: tracer).redirect().retry(clock: clock).send(try request())
        }
        #expect(stub.requests.map(\.path) == ["/x", "/y", "/x", "/y"])
        #expect(tracer.spans.map { $0.texts["http.request.resend_count"] } == [nil, "1", "2", "3"])
    }

    @Test func aRepetitionByAValidatorIsCounted() async throws {
        let stub = StubTransport(Stub().responds(.status(.unauthorized), .status(.ok)))
        let again = ResponseValidator("again") { _, response, _ in
            response.status == .unauthorized ? .retry(.immediate, atMost: 1) : .next
        }
        _ = try await stub.trace(tracer: tracer).validate(again).send(try request())
        #expect(tracer.spans.map { $0.texts["http.request.resend_count"] } == [nil, "1"])
    }

    @Test func aCallThatFailsIsAnError() async throws {
        let stub = StubTransport(Stub().responds(.status(.notFound)))
        await #expect(throws: StatusError.self) { try await stub.validateStatus().traceCall(tracer: tracer).send(try request()) }
        #expect(tracer.spans.first?.status?.code == .error && tracer.spans.first?.texts["error.type"] == "404")
    }

    // MARK: - Context

    /// The field as the server saw it.
    private func field(_ name: String, _ request: RecordedRequest) throws -> String? {
        request.request.head.headerFields[try #require(HTTPField.Name(name))]
    }

    @Test func eachAttemptSendsItsOwnContext() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        var context = ServiceContext.topLevel
        context.trace = TraceContext(trace: String(repeating: "a", count: 32), span: String(repeating: "b", count: 16), state: "v=1")
        try await ServiceContext.withValue(context) {
            _ = try await clock.advancingToSleepers {
                try await stub.trace(tracer: tracer).retry(clock: clock).send(try request())
            }
        }
        let parents = try stub.requests.map { TraceContext(try field("traceparent", $0) ?? "") }
        #expect(parents.map { $0?.trace } == [context.trace?.trace, context.trace?.trace])
        #expect(parents.map { $0?.span } == tracer.spans.map(\.id) && Set(tracer.spans.map(\.id)).count == 2)
        #expect(tracer.spans.map(\.parent) == [context.trace?.span, context.trace?.span])
        #expect(try stub.requests.map { try field("tracestate", $0) } == ["v=1", "v=1"])
    }

    @Test func codeWithinASpanSeesTheSpan() async throws {
        let stub = StubTransport(
            Stub().responds(.custom { _ in (HTTPResponse(status: .ok), Data((ServiceContext.current?.trace?.span ?? "").utf8)) }))
        let response = try await stub.trace(tracer: tracer).send(try request())
        #expect(try await response.body.collect() == Data((tracer.spans.first?.id ?? "none").utf8))
        #expect(ServiceContext.current == nil)
    }

    @Test func anUnsampledSpanIsPropagatedWithoutAttributes() async throws {
        let tracer = RecordingTracer(isSampling: false)
        let stub = StubTransport(Stub().responds(.status(.notFound)))
        _ = try await stub.trace(tracer: tracer).send(try request())
        #expect(try field("traceparent", stub.requests[0])?.hasSuffix("-00") == true)
        #expect(tracer.spans.first?.texts == [:] && tracer.ended.count == 1)
    }

    @Test func theTracersContextReplacesTheCallersOwn() async throws {
        var call = try request()
        call.head.headerFields[try #require(HTTPField.Name("traceparent"))] = "00-\(String(repeating: "c", count: 32))-dddddddddddddddd-01"
        call.head.headerFields[try #require(HTTPField.Name("tracestate"))] = "old=1"
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.trace(tracer: tracer).send(call)
        _ = try await stub.trace(tracer: NoOpTracer()).send(call)
        _ = try await stub.trace().send(call)
        call.options.trace = .off
        _ = try await stub.trace(tracer: tracer).send(call)
        #expect(try field("traceparent", stub.requests[0])?.contains(tracer.spans[0].id) == true)
        #expect(try field("tracestate", stub.requests[0]) == nil, "it belonged to the other")
        for left in stub.requests.dropFirst() { #expect(left.request.head.headerFields == call.head.headerFields) }
        #expect(tracer.spans.count == 1)
    }

    @Test(
        arguments: [
            (TraceOptions.BaggageScope.firstOrigin, ["k=v", "k=v", nil, nil]), (.everywhere, ["k=v", "k=v", "k=v", "k=v"]),
            (.nowhere, [nil, nil, nil, nil]),
        ] as [(TraceOptions.BaggageScope, [String?])])
    func baggageStaysWithinItsScope(_ scope: TraceOptions.BaggageScope, _ expected: [String?]) async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.redirect(to: "/y")), Stub(.get, "/y").responds(.redirect(to: "https://b.example/z")),
            Stub(.get, "/z").responds(.redirect(to: "https://a.example/back")), Stub(.get, "/back").responds(.status(.ok)))
        var context = ServiceContext.topLevel
        context.baggage = "k=v"
        try await ServiceContext.withValue(context) {
            _ = try await stub.trace(tracer: tracer, options: TraceOptions(baggage: scope)).redirect().send(try request())
        }
        #expect(try stub.requests.map { try field("baggage", $0) } == expected)
        #expect(try stub.requests.allSatisfy { try field("traceparent", $0) != nil })
    }

    // MARK: - Off

    @Test func aRequestWithTracingOffHasNoSpan() async throws {
        var call = try request()
        call.options.trace = .off
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await stub.trace(tracer: tracer).traceCall(tracer: tracer).send(call)
        #expect(tracer.spans.isEmpty && stub.requests[0].request.head.headerFields.isEmpty)
    }

    @Test func aWrongPlaceOfTraceIsNamed() {
        let stub = StubTransport()
        let sound = stub.metrics().trace().concurrencyLimit(1).redirect().retry().timeout(.seconds(1)).traceCall()
        #expect(sound.server("https://a.example").orderProblems.isEmpty)
        #expect(
            stub.trace().traceCall().retry().orderProblems == ["retry is outside traceCall: each attempt would be recorded as a call"])
        #expect(stub.redirect().trace().orderProblems == ["trace is outside redirect: all attempts would share one span"])
    }
}
