import Errand
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct RetryPolicyTests {
    struct Decision: Sendable, CustomTestStringConvertible {
        let name: String
        var attempt = 1
        var outcome = RetryPolicy.Outcome.status(503, retryAfter: nil)
        var method = HTTPRequest.Method.get
        var canReplay = true
        var remaining: Duration?
        var random = 0.5
        let expected: Duration?
        var testDescription: String { name }
    }

    static let decisions: [Decision] = [
        Decision(name: "first backoff, half of 100 ms", expected: .milliseconds(50)),
        Decision(name: "second backoff, half of 200 ms", attempt: 2, expected: .milliseconds(100)),
        Decision(name: "no jitter at all", random: 0, expected: .zero),
        Decision(name: "attempts used up", attempt: 3, expected: nil),
        Decision(name: "body can't be replayed", canReplay: false, expected: nil),
        Decision(name: "POST is answered: never again", method: .post, expected: nil),
        Decision(name: "PUT is idempotent", method: .put, expected: .milliseconds(50)),
        Decision(name: "QUERY is idempotent", method: .query, expected: .milliseconds(50)),
        Decision(name: "PATCH is not", method: .patch, expected: nil),
        Decision(name: "200", outcome: .status(200, retryAfter: nil), expected: nil),
        Decision(name: "404", outcome: .status(404, retryAfter: nil), expected: nil),
        Decision(name: "501", outcome: .status(501, retryAfter: nil), expected: nil),
        Decision(name: "429", outcome: .status(429, retryAfter: nil), expected: .milliseconds(50)),
        Decision(name: "Retry-After, jitter on top", outcome: .status(503, retryAfter: .seconds(2)), expected: .milliseconds(2050)),
        Decision(name: "Retry-After over its cap", outcome: .status(503, retryAfter: .seconds(61)), expected: nil),
        Decision(
            name: "Retry-After past the deadline", outcome: .status(503, retryAfter: .seconds(2)), remaining: .seconds(2), expected: nil),
        Decision(name: "backoff past the deadline", remaining: .milliseconds(50), expected: nil),
        Decision(name: "backoff just before the deadline", remaining: .milliseconds(51), expected: .milliseconds(50)),
        Decision(
            name: "POST that never left", outcome: .failure(isTransient: true, wasSent: .no), method: .post, expected: .milliseconds(50)),
        Decision(name: "POST that may have left", outcome: .failure(isTransient: true, wasSent: .maybe), method: .post, expected: nil),
        Decision(name: "GET that was cut off", outcome: .failure(isTransient: true, wasSent: .yes), expected: .milliseconds(50)),
        Decision(name: "a failure that stays", outcome: .failure(isTransient: false, wasSent: .no), expected: nil),
    ]

    @Test(arguments: decisions) func decides(_ decision: Decision) {
        let delay = RetryPolicy.standard.delay(
            afterAttempt: decision.attempt, decision.outcome, method: decision.method, canReplay: decision.canReplay,
            remaining: decision.remaining, random: decision.random)
        #expect(delay == decision.expected)
    }

    @Test func theBackoffDoublesUpToItsCap() {
        let policy = RetryPolicy(maxAttempts: 100)
        func longest(_ attempt: Int) -> Duration? {
            policy.delay(
                afterAttempt: attempt, .status(503, retryAfter: nil), method: .get, canReplay: true, remaining: nil, random: 1)
        }
        #expect((1...9).map(longest) == [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 20_000].map { .milliseconds($0) })
        #expect(longest(99) == .seconds(20))
    }
}

@Suite(.timeLimit(.minutes(1))) struct RetryMiddlewareTests {
    private func lost(_ sent: WasSent, _ code: TransportError.Code = .connectionLost) -> TransportError {
        TransportError(code, phase: .send, request: nil, wasSent: sent)
    }

    @Test func sendsAgainUntilItIsAnswered() async throws {
        let stub = StubTransport(
            Stub().answers(.failure(lost(.maybe)), .stream(streamed, status: .serviceUnavailable), .status(.ok)))
        let stack = stub.retry(clock: ManualClock(), random: { 0 })
        let response = try await stack.send(try request())
        #expect(response.status == .ok)
        #expect(response.metadata.attempts.map(\.number) == [1, 2])
        #expect(stub.openBodyCount == 0, "the body of the 503 was released")
    }

    @Test func waitsByItsClock() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable, headers: [.retryAfter: "30"]), .status(.ok)))
        let response = Task { try await stub.retry(clock: clock, random: { 0.5 }).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.advanceToNextSleeper() == .milliseconds(30_050))
        #expect(try await response.value.status == .ok)
    }

    @Test func returnsTheLastAnswerWhenTheAttemptsAreUsedUp() async throws {
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable, text: "busy")))
        let response = try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request())
        #expect(response.status == .serviceUnavailable)
        #expect(try await response.body.collect() == Data("busy".utf8))
        #expect(stub.requests.count == 3)
    }

    @Test func throwsTheLastErrorWithTheEarlierOnes() async throws {
        let stub = StubTransport(Stub().answers(.failure(lost(.maybe))))
        let error = await #expect(throws: TransportError.self) {
            try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request())
        }
        #expect(error?.attempts.map(\.number) == [1, 2])
        #expect(stub.requests.count == 3)
    }

    @Test func statusErrorsOutsideItKnowTheAttempts() async throws {
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable)))
        let error = await #expect(throws: StatusError.self) {
            try await stub.retry(clock: ManualClock(), random: { 0 }).validateStatus().send(try request())
        }
        #expect(error?.attempts.count == 2)
    }

    @Test func aPOSTIsSentTwiceOnlyIfItNeverLeft() async throws {
        for (sent, expected) in [(WasSent.no, 3), (.maybe, 1), (.yes, 1)] {
            let stub = StubTransport(Stub().answers(.failure(lost(sent, .cannotConnect))))
            await #expect(throws: TransportError.self) {
                try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request(.post, body: .text("x")))
            }
            #expect(stub.requests.count == expected)
        }
    }

    @Test func aBodyThatCanBeReadOnceIsSentOnce() async throws {
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable)))
        let chunks = AsyncThrowingStream<Data, any Error> {
            $0.yield(Data("x".utf8)); $0.finish()
        }
        let response = try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request(.put, body: .stream(chunks)))
        #expect(response.status == .serviceUnavailable)
        #expect(stub.requests.count == 1)
    }

    @Test func aFileIsSentAgainWhole() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        let content = Data(repeating: 7, count: 300_000)
        try content.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable), .status(.ok)))
        _ = try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request(.put, body: try .file(file)))
        #expect(stub.requests.map(\.body) == [content, content])
    }

    @Test func cancellingEndsItDuringTheWait() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().answers(.stream(streamed, status: .serviceUnavailable)))
        let task = Task { try await stub.retry(clock: clock, random: { 0.5 }).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.count == 1)
        #expect(stub.openBodyCount == 0)
        #expect(clock.sleeperCount == 0)
    }

    @Test func aCancellationFromBelowIsNeverRetried() async throws {
        let stub = StubTransport(Stub().answers(.failure(CancellationError())))
        await #expect(throws: CancellationError.self) { try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request()) }
        #expect(stub.requests.count == 1)
    }

    @Test func errorsThatStayAreThrownAtOnce() async throws {
        for code in [TransportError.Code.tls, .invalidResponse, .invalidRequest, .shutDown, .requestBody] {
            let stub = StubTransport(Stub().answers(.failure(lost(.no, code))))
            await #expect(throws: TransportError.self) { try await stub.retry(clock: ManualClock()).send(try request()) }
            #expect(stub.requests.count == 1)
        }
    }

    @Test func eachAttemptPassesTheWholeInnerStack() async throws {
        let passage = Passage()
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable), .status(.ok)))
        let inner = stub.wrapped(by: RecordingMiddleware(name: "auth", passage: passage))
        _ = try await inner.retry(clock: ManualClock(), random: { 0 }).send(try request())
        #expect(passage.all == ["> auth", "< auth", "> auth", "< auth"])
    }

    @Test func aRequestHasAPolicyOfItsOwn() async throws {
        let stub = StubTransport(Stub().answers(.status(.serviceUnavailable)))
        var request = try request()
        request.options.retry = .use(RetryPolicy(maxAttempts: 5))
        _ = try await stub.retry(clock: ManualClock(), random: { 0 }).send(request)
        #expect(stub.requests.count == 5)
    }
}
