import Errand
import ErrandConformance
import ErrandTesting
import Logging
import TestSupport
import Testing
import Tracing

@testable import ErrandCore

/// What log, spans, metrics, events and the profile say of a typed call.
@Suite(.timeLimit(.minutes(5))) struct CallEndObserverTests {
    private let clock = ManualClock()
    private let tracer = RecordingTracer()
    private let metrics = RecordingMetrics()
    private let sink = RecordingEventSink()
    private static let duration = "http.client.request.duration"
    private static let active = "http.client.active_requests"

    /// The returned body is buffered, or is a stream.
    static let responses: [StubResponse] = [.status(.ok, text: "t0ps3cret"), .stream([Data("t0ps".utf8), Data("3cret".utf8)])]

    /// Takes three seconds.
    private var slow: Endpoint<Int> {
        Endpoint(
            .get, "/x",
            decoding: ResponseDecoding { [clock] _, _, _ in
                clock.advance(by: .seconds(3))
                return 7
            })
    }

    /// Takes three seconds, and fails.
    private var failing: Endpoint<Int> {
        Endpoint(
            .get, "/x",
            decoding: ResponseDecoding { [clock] _, _, _ in
                clock.advance(by: .seconds(3))
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "t0ps3cret"))
            })
    }

    private func client(_ stubbed: StubResponse, _ wrap: (HTTPStack) -> HTTPStack) -> APIClient {
        APIClient(wrap(HTTPStack(StubTransport(Stub().responds(stubbed)))).server("https://a.example"))
    }

    private func fails(_ client: APIClient) async {
        await #expect(throws: ResponseDecodingError.self) { _ = try await client.value(failing) }
    }

    // MARK: Metrics

    @Test(arguments: responses) func metricsCountADecodingFailureOnce(_ stubbed: StubResponse) async throws {
        let client = client(stubbed) { $0.metrics(factory: metrics, clock: clock) }
        await fails(client)
        #expect(metrics.values(Self.duration, ["error.type": "ResponseDecodingError", "http.response.status_code": "200"]) == [3])
        #expect(metrics.values(Self.duration).count == 1 && metrics.level(Self.active) == 0)
        #expect(try await client.value(slow) == 7)
        #expect(metrics.values(Self.duration) == [3, 3])
        #expect(metrics.values("http.client.response.body.size") == [9, 9])
    }

    @Test(arguments: responses) func metricsOfARawSendEndWithTheExchange(_ stubbed: StubResponse) async throws {
        let stack = StubTransport(Stub().responds(stubbed)).metrics(factory: metrics, clock: clock)
        let response = try await stack.send(try request())
        _ = try await response.body.collect()
        #expect(metrics.values(Self.duration) == [0])
        // Step by step, a client's calls are raw as well.
        let client = client(stubbed) { $0.metrics(factory: metrics, clock: clock) }
        let raw = try await client.send(failing)
        await #expect(throws: ResponseDecodingError.self) { try await client.decode(raw, as: failing.decoding) }
        #expect(metrics.values(Self.duration) == [0, 0] && metrics.values(Self.duration, ["error.type": "ResponseDecodingError"]).isEmpty)
    }

    /// Not those before it, however they are let go of.
    @Test(arguments: responses) func onlyTheLastAttemptWaitsForDecoding(_ stubbed: StubResponse) async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, text: "no"), stubbed))
        let client = APIClient(
            stub.metrics(factory: metrics, clock: clock).trace(tracer: tracer)
                .retry(RetryPolicy(backoff: .constant(.seconds(60))), clock: clock, random: { 0.5 }).server("https://a.example"))
        let call = Task { try await client.value(failing) }
        try await clock.sleepers(atLeast: 1)
        #expect(metrics.values(Self.duration, ["error.type": "503"]) == [0] && metrics.level(Self.active) == 0, "it ended before the wait")
        #expect(tracer.ended.map { $0.texts["error.type"] } == ["503"])
        clock.advanceToNextSleeper()
        await #expect(throws: ResponseDecodingError.self) { try await call.value }
        #expect(metrics.values(Self.duration, ["error.type": "ResponseDecodingError"]) == [3])
        #expect(tracer.ended.map { $0.texts["error.type"] } == ["503", "ResponseDecodingError"])
        #expect(metrics.values(Self.duration).count == 2 && tracer.spans.allSatisfy { $0.endCount == 1 })
    }

    /// It is not one call's alone.
    @Test func aSharedExchangeEndsOnTheWire() async throws {
        let client = client(.status(.ok, text: "x")) { $0.metrics(factory: metrics, clock: clock).coalesce().traceCall(tracer: tracer) }
        await fails(client)
        #expect(metrics.values(Self.duration) == [0])
        #expect(tracer.ended.map { $0.texts["error.type"] } == ["ResponseDecodingError"])
    }

    // MARK: Spans

    @Test(arguments: responses) func spansShowADecodingFailure(_ stubbed: StubResponse) async throws {
        let client = client(stubbed) { $0.trace(tracer: tracer).traceCall(tracer: tracer) }
        await fails(client)
        #expect(tracer.spans.map(\.endCount) == [1, 1])
        for span in tracer.spans {
            #expect(span.texts["error.type"] == "ResponseDecodingError" && span.texts["http.response.status_code"] == "200")
            #expect(span.status?.code == .error && span.status?.message?.contains("t0ps3cret") == false)
        }
    }

    @Test func spansLastUntilTheValueIsDecoded() async throws {
        let client = client(.status(.ok, text: "x")) { $0.trace(tracer: tracer).traceCall(tracer: tracer) }
        let endpoint = Endpoint<Int>(
            .get, "/x",
            decoding: ResponseDecoding { [tracer] _, _, _ in
                #expect(tracer.spans.map(\.endCount) == [0, 0])
                return 7
            })
        _ = try await client.value(endpoint)
        #expect(tracer.spans.map(\.endCount) == [1, 1] && tracer.spans.allSatisfy { $0.status == nil })
    }

    // MARK: Log

    @Test(arguments: responses, [LogDetail.basic, .headers, .body()])
    func theLogShowsADecodingFailureInOneLine(_ stubbed: StubResponse, _ detail: LogDetail) async throws {
        let (logger, lines) = recordingLogger()
        await fails(client(stubbed) { $0.log(to: logger, detail: detail, style: .oneLine, metadata: .all, clock: clock) })
        try #require(lines.all.count == 2, "\(lines.everything)")
        let line = lines.all[1]
        #expect(line.level == .warning && line.text.contains("cannot decode Int"), "\(line)")
        #expect(line.metadata["error.type"] == "ResponseDecodingError" && line.metadata["http.response.status_code"] == "200")
        #expect(line.metadata["errand.elapsed"] == Duration.seconds(3).inWords)
        #expect(line.text.contains("body of 9 bytes") == (detail == .body()))
    }

    @Test(arguments: responses, [LogDetail.basic, .body()])
    func theLogShowsTheWholeTimeOfATypedCall(_ stubbed: StubResponse, _ detail: LogDetail) async throws {
        let (logger, lines) = recordingLogger()
        #expect(
            try await client(stubbed) { $0.log(to: logger, detail: detail, style: .oneLine, metadata: .all, clock: clock) }.value(slow) == 7
        )
        let elapsed = Duration.seconds(3).inWords
        #expect(lines.all.map(\.level) == [.info, .info])
        let text = "GET https://a.example/x: 200 in \(elapsed)"
        #expect(lines.all.last?.text.hasPrefix(text) == true && lines.all.last?.metadata["errand.elapsed"] == elapsed)
        #expect(lines.all.last?.text.contains("body of 9 bytes") == (detail == .body()))
    }

    @Test func theLogShowsABrokenBodyOnce() async throws {
        let (logger, lines) = recordingLogger()
        let client = client(.data(Data(count: 10)).breaking(afterBytes: 5)) {
            $0.log(to: logger, detail: .body(), style: .oneLine, metadata: .all, clock: clock)
        }
        await #expect(throws: TransportError.self) { _ = try await client.value(slow) }
        #expect(lines.all.count == 2 && lines.all.last?.level == .warning)
        #expect(lines.all.last?.metadata["error.type"] == "connection_lost")
    }

    @Test func aBodyThatIsTooLongIsAFailureOfTheCall() async throws {
        let (logger, lines) = recordingLogger()
        let stack = StubTransport(Stub().responds(.stream(streamed))).metrics(factory: metrics, clock: clock).log(
            to: logger, style: .oneLine, metadata: .all, clock: clock)
        let client = APIClient(stack.server("https://a.example"), bodyLimitBytes: 4)
        await #expect(throws: TransportError.self) { try await client.data(slow) }
        #expect(metrics.values(Self.duration, ["error.type": "body_too_large"]) == [0] && metrics.values(Self.duration).count == 1)
        #expect(lines.all.count == 2 && lines.all.last?.metadata["error.type"] == "body_too_large")
    }

    // MARK: Profile and events

    @Test(arguments: responses) func theProfileShowsADecodingFailure(_ stubbed: StubResponse) async throws {
        let client = client(stubbed) { $0.retry().profile() }
        let profile = CallProfile()
        await #expect(throws: ResponseDecodingError.self) { _ = try await client.value(failing.with(\.profile, .use(profile))) }
        let total = try #require(profile.duration)
        #expect(profile.result == "ResponseDecodingError" && profile.layers.first?.result == "200")
        #expect(profile.layers.allSatisfy { $0.duration.map { $0 <= total } ?? false })
        #expect(profile.description.hasSuffix(" ms in all, ResponseDecodingError"))
    }

    @Test func theProfileLastsUntilTheValueIsDecoded() async throws {
        let client = client(.status(.ok, text: "x")) { $0.profile() }
        let profile = CallProfile()
        let endpoint = Endpoint<Int>(
            .get, "/x",
            decoding: ResponseDecoding { _, _, _ in
                #expect(profile.duration == nil && profile.result == nil)
                return 7
            })
        let response = try await client.response(endpoint.with(\.profile, .use(profile)))
        #expect(profile.result == "200" && profile.duration != nil)
        #expect(response.metadata.profile === profile && response.metadata.callEnd == nil)
    }

    @Test func theProfileOfARawSendEndsWithTheExchange() async throws {
        let response = try await StubTransport(Stub().responds(.stream(streamed))).profile().send(try request())
        let profile = try #require(response.metadata.profile)
        #expect(profile.result == nil)
        _ = try await response.body.collect()
        #expect(profile.result == "200")
        let failed = CallProfile()
        var request = try request()
        request.options.profile = .use(failed)
        let stack = StubTransport(Stub().responds(.status(.notFound)))
        await #expect(throws: StatusError.self) { try await stack.validateStatus().profile().send(request) }
        #expect(failed.result == "404")
    }

    @Test(arguments: responses) func theLastEventCarriesTheDecodingFailure(_ stubbed: StubResponse) async throws {
        await fails(client(stubbed) { $0.events(to: sink) })
        #expect(sink.events.last?.kind == .callEnd && sink.events.last?.failure is ResponseDecodingError)
        #expect(sink.kinds.filter { $0 == .callEnd }.count == 1 && EventGrammar.violations(sink.events) == [])
    }

    // MARK: Kept references

    @Test func aReturnedResponseKeepsNoCallState() async throws {
        let client = client(.status(.ok, text: "7")) { $0.redirect().metrics(factory: metrics, clock: clock) }
        let response = try await client.response(Endpoint<Int>.get("/x"))
        #expect(!response.request.options.call.awaitsDecoding && response.request.options.call.passedStatusRule == nil)
        #expect(!response.request.options.redirectsAreFollowed && response.metadata.callEnd == nil)
    }

    @Test func aCallWithoutAnObserverMakesNoCallEnd() async throws {
        let made = Watched(false)
        let stack = StubTransport(Stub().responds(.status(.ok, text: "7")))
            .transformResponse { response in
                let hasEnd = response.metadata.callEnd != nil
                made.change { $0 = hasEnd }
            }
        #expect(try await APIClient(stack.server("https://a.example")).value(Endpoint<Int>.get("/x")) == 7)
        #expect(!made.value)
    }
}

/// `validateStatus` may stand on either side of an observer.
@Suite(.timeLimit(.minutes(5))) struct ValidateStatusPlaceTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let rule: StatusRule
        let option: OptionOverride<StatusRule>
        let isStreamed: Bool

        var testDescription: String { "\(status), \(rule), \(option), \(isStreamed ? "streamed" : "buffered")" }

        func request() throws -> Request {
            var request = try Request(.get, url: "https://a.example/x")
            request.options.validateStatus = option
            return request
        }

        var stub: StubTransport {
            let status = HTTPResponse.Status(code: status)
            let stubbed: StubResponse =
                isStreamed ? .stream([Data("so".utf8), Data("rry".utf8)], status: status) : .status(status, text: "sorry")
            return StubTransport(Stub().responds(stubbed))
        }
    }

    static let cases: [Case] = {
        var cases: [Case] = []
        let options: [OptionOverride<StatusRule>] = [.inherited, .off, .use(.statuses([503]))]
        for status in [200, 204, 304, 404, 503] {
            for rule in [StatusRule.successful, .successfulOrRedirection, .statuses([200, 404])] {
                for option in options {
                    for isStreamed in [false, true] {
                        cases.append(Case(status: status, rule: rule, option: option, isStreamed: isStreamed))
                    }
                }
            }
        }
        return cases
    }()

    private func play(_ stack: HTTPStack, _ request: Request) async throws {
        do {
            _ = try await stack.send(request).body.collect()
        } catch is StatusError {
        }
    }

    @Test(arguments: cases) func metricsAreTheSameOnBothSidesOfValidateStatus(_ row: Case) async throws {
        let request = try row.request()
        let (inner, outer) = (RecordingMetrics(buckets: [1]), RecordingMetrics(buckets: [1]))
        let clock = ManualClock()
        try await play(row.stub.metrics(factory: inner, clock: clock).validateStatus(row.rule), request)
        try await play(row.stub.validateStatus(row.rule).metrics(factory: outer, clock: clock), request)
        #expect(inner.exposition == outer.exposition && !inner.exposition.isEmpty)
    }

    @Test(arguments: cases) func spansAreTheSameOnBothSidesOfValidateStatus(_ row: Case) async throws {
        let request = try row.request()
        for isAttempt in [true, false] {
            let (inner, outer) = (RecordingTracer(), RecordingTracer())
            func traced(_ stack: some HTTPSender, by tracer: RecordingTracer) -> HTTPStack {
                isAttempt ? stack.trace(tracer: tracer, options: TraceOptions(recordsBodySizes: true)) : stack.traceCall(tracer: tracer)
            }
            try await play(traced(row.stub, by: inner).validateStatus(row.rule), request)
            try await play(traced(row.stub.validateStatus(row.rule), by: outer), request)
            let spans = try [inner, outer].map { try #require($0.spans.first) }
            #expect(spans[0].texts == spans[1].texts && spans[0].endCount == 1 && spans[1].endCount == 1)
            #expect(spans[0].status?.code == spans[1].status?.code && spans[0].status?.message == spans[1].status?.message)
        }
    }

    @Test(arguments: cases) func theLogIsTheSameOnBothSidesOfValidateStatus(_ row: Case) async throws {
        let request = try row.request()
        for detail in [LogDetail.basic, .headers, .body()] {
            for (level, style) in [(Logger.Level.trace, LogStyle.oneLine), (.trace, .pretty), (.warning, .oneLine), (.warning, .pretty)] {
                let clock = ManualClock()
                let (first, inner) = recordingLogger(level: level)
                let (second, outer) = recordingLogger(level: level)
                try await play(
                    row.stub.log(to: first, detail: detail, style: style, metadata: .all, curl: true, clock: clock).validateStatus(
                        row.rule), request)
                try await play(
                    row.stub.validateStatus(row.rule).log(
                        to: second, detail: detail, style: style, metadata: .all, curl: true, clock: clock), request)
                #expect(inner.all.map(\.text) == outer.all.map(\.text))
                #expect(inner.all.map(\.metadata) == outer.all.map(\.metadata) && inner.all.map(\.level) == outer.all.map(\.level))
            }
        }
    }

    @Test(arguments: cases) func theProfileIsTheSameOnBothSidesOfValidateStatus(_ row: Case) async throws {
        var results: [String?] = []
        for isInside in [true, false] {
            let profile = CallProfile()
            var request = try row.request()
            request.options.profile = .use(profile)
            let stack =
                isInside ? row.stub.profile().validateStatus(row.rule) : row.stub.validateStatus(row.rule).profile()
            _ = try? await stack.send(request).body.collect()
            results.append(profile.result)
        }
        #expect(results == ["\(row.status)", "\(row.status)"])
    }

    @Test func anAcceptedStatusIsNotReportedAsAnError() async throws {
        let (metrics, tracer, clock) = (RecordingMetrics(), RecordingTracer(), ManualClock())
        let stack = StubTransport(Stub().responds(.status(.notFound))).metrics(factory: metrics, clock: clock).trace(tracer: tracer)
            .validateStatus(.statuses([200, 404]))
        _ = try await stack.send(try request())
        #expect(metrics.values("http.client.request.duration", ["http.response.status_code": "404"]) == [0])
        #expect(metrics.names.allSatisfy { !$0.contains("error.type") })
        #expect(tracer.spans.first?.texts["error.type"] == nil && tracer.spans.first?.status == nil)
    }

    @Test func aStatusThatIsRefusedIsLoggedAsAFailure() async throws {
        let (logger, lines) = recordingLogger()
        let client = APIClient(
            StubTransport(Stub().responds(.status(.notFound))).log(to: logger, style: .oneLine, metadata: .all).server("https://a.example"))
        await #expect(throws: StatusError.self) { try await client.value(Endpoint<Void>.get("/x")) }
        #expect(lines.all.count == 2 && lines.all.last?.level == .warning && lines.all.last?.metadata["error.type"] == "404")
        #expect(lines.all.last?.text.contains("https://a.example/x: 404 in ") == true)
    }

    /// Within a chain of redirects, a status 3xx is not an error.
    @Test func aFollowedRedirectIsNotReportedAsAnError() async throws {
        let (metrics, tracer, clock) = (RecordingMetrics(), RecordingTracer(), ManualClock())
        let stub = StubTransport(Stub(.get, "/x").responds(.redirect(to: "/y")), Stub(.get, "/y").responds(.status(.ok)))
        let stack = stub.metrics(factory: metrics, clock: clock).trace(tracer: tracer).redirect().validateStatus()
        #expect(try await stack.send(try request()).status == .ok)
        #expect(tracer.spans.map { $0.texts["http.response.status_code"] } == ["302", "200"])
        #expect(tracer.spans.allSatisfy { $0.texts["error.type"] == nil && $0.status == nil })
        #expect(metrics.names.allSatisfy { !$0.contains("error.type") })
    }
}
