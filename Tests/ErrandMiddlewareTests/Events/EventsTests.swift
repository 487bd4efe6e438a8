import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct EventsTests {
    private let sink = RecordingEventSink()
    private static let exchange: [ExchangeEvent.Kind] = [.start, .requestHeadSent, .requestSent, .responseHead]

    @Test func aWholeCallIsReported() async throws {
        let stack = StubTransport(Stub().responds(.status(.ok, text: "fine"))).retry().redirect().events(to: sink).number()
        var sent = try request()
        sent.options.tags = ["feature": "search", "api_key": "s3cret"]
        _ = try await stack.send(sent).body.collect()
        #expect(
            sink.kinds == [.callStart] + Self.exchange + [.responseBytesReceived, .end, .retryDecision, .callEnd]
                || sink.kinds == [.callStart] + Self.exchange + [.responseBytesReceived, .end, .callEnd], "\(sink.kinds)")
        #expect(EventGrammar.violations(sink.events) == [])
        #expect(
            sink.events.allSatisfy {
                $0.request == sent.id && $0.number == 1 && $0.tags == ["feature": "search", "api_key": Sensitivity.placeholder]
            })
        #expect(Set(sink.events.compactMap(\.exchange)).count == 1)
    }

    @Test func aRetryIsReportedWithItsWait() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let stack = stub.retry(clock: clock, random: { 0.5 }).events(to: sink)
        _ = try await clock.advancingToSleepers { try await stack.send(try request()) }
        #expect(EventGrammar.violations(sink.events) == [])
        let decisions = sink.events.compactMap(\.decision)
        #expect(decisions.map(\.continues) == [true, false])
        #expect(decisions.first?.description == "503, again" && decisions.first?.delay == .milliseconds(50))
        #expect(sink.kinds.count { $0 == .start } == 2)
        let wait = try #require(sink.kinds.firstIndex(of: .waitStart))
        #expect(sink.kinds[wait + 1] == .waitEnd)
    }

    @Test func aRedirectIsReportedWithoutItsSecrets() async throws {
        let stub = StubTransport(
            Stub(.get, "/x").responds(.redirect(to: "https://b.example/y?token=s3cret")), Stub(.get, "/y").responds(.status(.ok)))
        _ = try await stub.redirect().events(to: sink).send(try request())
        let decisions = sink.events.compactMap(\.decision)
        #expect(decisions.map(\.description) == ["302 to https://b.example/y?token=REDACTED"])
        #expect(EventGrammar.violations(sink.events) == [])
    }

    @Test func theWaitInAQueueIsReported() async throws {
        let simulation = Simulation()
        let stub = StubTransport(Stub().responds(.status(.ok).delayed(by: .seconds(1))), clock: simulation.clock)
        let stack = stub.concurrencyLimit(1).events { [sink] in $0.method == .head ? sink : nil }
        simulation.begin { try await stack.send(try request()) }
        simulation.runUntilIdle()
        simulation.begin { try await stack.send(try request(.head)) }
        simulation.run()
        #expect(sink.kinds.prefix(3) == [.callStart, .queueStart, .queueEnd])
        #expect(EventGrammar.violations(sink.events) == [])
    }

    @Test func aFailureAndACancellationAreReported() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let stub = StubTransport(Stub(.get).responds(.failure(lost)), Stub(.head).responds(.never))
        let stack = stub.events(to: sink)
        await #expect(throws: TransportError.self) { try await stack.send(try request()) }
        #expect(sink.kinds.suffix(2) == [.end, .callEnd])
        #expect((sink.events.last?.failure as? TransportError)?.code == .connectionLost)
        #expect(EventGrammar.violations(sink.events) == [])

        let others = RecordingEventSink()
        let task = Task {
            var request = try request(.head)
            request.options.events = .use(others)
            return try await stack.send(request)
        }
        await eventually { others.kinds.contains(.requestHeadSent) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(others.events.last?.failure is CancellationError && others.kinds.last == .callEnd)
        #expect(EventGrammar.violations(others.events) == [])
    }

    @Test func theEndOfTheCallWaitsForTheBody() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let response = try await stub.events(to: sink).send(try request())
        #expect(!sink.kinds.contains(.end) && !sink.kinds.contains(.callEnd))
        response.body.abandon()
        #expect(sink.kinds.suffix(2) == [.end, .callEnd])
        #expect(EventGrammar.violations(sink.events) == [])
    }

    @Test func aSinkOfTheRequestGetsTheEventsToo() async throws {
        let own = RecordingEventSink()
        let stack = StubTransport(Stub().responds(.status(.ok))).events(to: sink)
        var sent = try request()
        sent.options.eventSink = own
        _ = try await stack.send(sent)
        #expect(own.kinds == sink.kinds && own.kinds.last == .callEnd)
        sent.options.events = .off
        _ = try await stack.send(sent)
        #expect(own.kinds.count > sink.kinds.count)
    }

    @Test func twoSinksGetTheEventsOfACall() async throws {
        let others = RecordingEventSink()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let stack = stub.retry(RetryPolicy(backoff: .immediate)).events(to: sink).events(to: others)
        _ = try await stack.send(try request())
        #expect(sink.kinds == others.kinds && sink.kinds.count { $0 == .start } == 2)
        #expect(EventGrammar.violations(sink.events) == [] && EventGrammar.violations(others.events) == [])
    }

    /// As the first caller of a coalesced exchange may leave while that waits for its turn.
    @Test(arguments: [
        (ExchangeEvent.Kind.queueStart, ExchangeEvent.Kind.queueEnd), (.waitStart, .waitEnd), (.networkWaitStart, .networkWaitEnd),
    ])
    func theEndOfTheCallWaitsForTheEndOfAWait(start: ExchangeEvent.Kind, end: ExchangeEvent.Kind) throws {
        let request = try Request(.get, "/")
        let id = request.id
        let log = CallEventLog(of: request, to: sink)
        log.record(ExchangeEvent(start, request: id))
        log.end(CancellationError())
        #expect(sink.kinds == [.callStart, start])
        log.record(ExchangeEvent(end, request: id))
        #expect(sink.kinds == [.callStart, start, end, .callEnd])
        log.record(ExchangeEvent(.start, request: id, exchange: 1))
        #expect(EventGrammar.violations(sink.events) == [])
    }

    @Test func aReturnedRequestHasNoEventLog() async throws {
        let stack = StubTransport(Stub().responds(.status(.ok))).profile().events(to: sink)
        let first = try await stack.send(try request())
        #expect(first.request.options.eventSink == nil && first.request.options.call.profilePosition == nil)
        let second = try await stack.send(first.request)
        #expect(first.metadata.timings?.exchanges.count == 1 && second.metadata.timings?.exchanges.count == 1)
        #expect(sink.kinds.count { $0 == .callStart } == 2)
    }

    @Test func aRedirectThatIsReturnedIsReported() async throws {
        let stub = StubTransport(Stub().responds(.redirect(to: "/y", status: .temporaryRedirect)))
        let once = AsyncStream<Data> { $0.finish() }
        let response = try await stub.redirect().events(to: sink).send(try request(.post, body: .stream(once)))
        #expect(response.status == .temporaryRedirect)
        #expect(sink.events.compactMap(\.decision).map(\.description) == ["307, returned"])
    }

    @Test func anEventShowsNoSecret() throws {
        struct AppError: Error { let password = "s3cret" }
        let head = HTTPResponse(status: .ok, headerFields: [.setCookie: "session=s3cret"])
        let url = try Request(.get, url: "https://a.example/?token=s3cret")
        let lost = TransportError(.connectionLost, phase: .response, request: url, delivery: .unknown)
        let all = [
            ExchangeEvent(.responseHead, request: url.id, exchange: 7, response: head),
            ExchangeEvent(.end, request: url.id, exchange: 7, failure: lost),
            ExchangeEvent(.callEnd, request: url.id, failure: AppError()),
        ]
        #expect(all[0].description == "responseHead of exchange 7, status 200" && all[2].description == "callEnd, AppError")
        for event in all {
            var dumped = ""
            dump(event, to: &dumped)
            #expect(!"\(event) \(String(reflecting: event)) \(dumped)".contains("s3cret"))
        }
    }

    /// A sink may do anything, also end the exchange that it hears of.
    @Test func aSinkMayCancelTheCall() async throws {
        let canceller = CancellingEventSink(at: .requestHeadSent)
        let stack = StubTransport(Stub().responds(.never)).events(to: canceller)
        let task = Task {
            try await canceller.isReady()
            _ = try await stack.send(try request())
        }
        canceller.cancels(task)
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    static let broken: [(kinds: [ExchangeEvent.Kind], violation: String)] = [
        ([.callStart, .start, .callEnd], "exchange 1: ends with start"),
        ([.callStart, .start, .end], "callEnd is not the last event, or occurs more than once"),
        ([.start, .end, .callEnd], "callStart is not the first event, or occurs more than once"),
        ([.callStart, .start, .end, .end, .callEnd], "exchange 1: end more than once"),
        ([.callStart, .start, .responseHead, .end, .callEnd], "exchange 1: a response without a request"),
        ([.callStart, .start, .requestSent, .requestHeadSent, .end, .callEnd], "exchange 1: requestSent before the request's head"),
        (
            [.callStart, .start, .requestHeadSent, .connectionAcquired, .end, .callEnd],
            "exchange 1: connectionAcquired after requestHeadSent"
        ),
        ([.callStart, .queueStart, .callEnd], "queueStart without queueEnd"),
        ([.callStart, .waitEnd, .waitStart, .callEnd], "waitEnd without waitStart"),
        ([.callStart, .networkWaitStart, .callEnd], "networkWaitStart without networkWaitEnd"),
    ]

    @Test(arguments: broken) func theGrammarFindsViolations(_ kinds: [ExchangeEvent.Kind], _ violation: String) throws {
        let id = RequestID()
        let call: Set<ExchangeEvent.Kind> = [.callStart, .callEnd, .queueStart, .waitStart, .waitEnd, .networkWaitStart]
        let events = kinds.map { ExchangeEvent($0, request: id, exchange: call.contains($0) ? nil : 1) }
        #expect(EventGrammar.violations(events).contains(violation), "\(EventGrammar.violations(events))")
    }
}
