import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RetryMiddlewareTests {
    private func lost(_ sent: Delivery, _ code: TransportError.Code = .connectionLost) -> TransportError {
        TransportError(code, phase: .send, request: nil, delivery: sent)
    }

    @Test func aRequestIsRepeatedUntilAResponse() async throws {
        let stub = StubTransport(
            Stub().responds(.failure(lost(.unknown)), .stream(streamed, status: .serviceUnavailable), .status(.ok)))
        let stack = stub.retry(clock: ManualClock(), random: { 0 })
        let response = try await stack.send(try request())
        #expect(response.status == .ok)
        #expect(response.metadata.attempts.map(\.number) == [1, 2])
        #expect(stub.openBodyCount == 0, "the body of the 503 was released")
    }

    @Test func retryWaitsByItsClock() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "30"]), .status(.ok)))
        let response = Task { try await stub.retry(clock: clock, random: { 0.5 }).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.advanceToNextSleeper() == .milliseconds(30_050))
        #expect(try await response.value.status == .ok)
    }

    @Test func theLastResponseIsReturnedAfterTheLastAttempt() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, text: "busy")))
        let response = try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request())
        #expect(response.status == .serviceUnavailable)
        #expect(try await response.body.collect() == Data("busy".utf8))
        #expect(stub.requests.count == 3)
    }

    @Test func aRefusedPOSTDoesNotRefillTheBudget() async throws {
        let budget = RetryBudget(perSecond: 0, clock: ManualClock())
        let stub = StubTransport(Stub(.post).responds(.status(.serviceUnavailable)), Stub(.get).responds(.status(.ok)))
        let stack = stub.retry(budget: budget, clock: ManualClock())
        #expect(budget.withdraw("https://a.example"))
        _ = try await stack.send(try request(.post, body: .text("x")))
        #expect(budget.balance(of: "https://a.example") == 4)
        _ = try await stack.send(try request())
        #expect(budget.balance(of: "https://a.example") == 4.2)
    }

    @Test func theLastErrorIsThrownWithTheEarlierAttempts() async throws {
        let stub = StubTransport(Stub().responds(.failure(lost(.unknown))))
        let error = await #expect(throws: TransportError.self) {
            try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request())
        }
        #expect(error?.attempts.map(\.number) == [1, 2])
        #expect(stub.requests.count == 3)
    }

    @Test func statusErrorsOutsideRetryHaveTheAttempts() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let error = await #expect(throws: StatusError.self) {
            try await stub.retry(clock: ManualClock(), random: { 0 }).validateStatus().send(try request())
        }
        #expect(error?.attempts.count == 2)
    }

    @Test func aPOSTIsSentTwiceOnlyIfItNeverLeft() async throws {
        for (sent, expected) in [(Delivery.notSent, 3), (.unknown, 1), (.sent, 1)] {
            let stub = StubTransport(Stub().responds(.failure(lost(sent, .cannotConnect))))
            await #expect(throws: TransportError.self) {
                try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request(.post, body: .text("x")))
            }
            #expect(stub.requests.count == expected)
        }
    }

    @Test func aBodyThatCanBeReadOnceIsSentOnce() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
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
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        _ = try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request(.put, body: try .file(file)))
        #expect(stub.requests.map(\.body) == [content, content])
    }

    @Test func cancellingEndsRetryDuringTheWait() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let task = Task { try await stub.retry(clock: clock, random: { 0.5 }).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.count == 1)
        #expect(stub.openBodyCount == 0)
        #expect(clock.sleeperCount == 0)
    }

    @Test func aCancellationFromBelowIsNeverRetried() async throws {
        let stub = StubTransport(Stub().responds(.failure(CancellationError())))
        await #expect(throws: CancellationError.self) { try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request()) }
        #expect(stub.requests.count == 1)
    }

    @Test func aCancelledCallIsNotRetriedAfterAFailure() async throws {
        for sent in [Delivery.notSent, .unknown] {
            let stub = StubTransport(Stub().responds(.never, .status(.ok)))
            let failure = lost(sent)
            let replacing = ClosureMiddleware { request, next in
                do { return try await next.send(request) } catch { throw failure }
            }
            let stack = stub.wrapped(by: replacing).retry(clock: ManualClock(), random: { 0 })
            let task = Task { try await stack.send(try request()) }
            await eventually { stub.requests.count == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(stub.requests.count == 1)
        }
    }

    /// Whoever goes by the failure sends an order a second time otherwise.
    @Test(arguments: [Delivery.unknown, .sent]) func aRequestThatAnEarlierAttemptMayHaveSentIsNotSafeToRepeat(_ sent: Delivery) async throws
    {
        let first: StubResponse = sent == .sent ? .status(.serviceUnavailable) : .failure(lost(sent))
        let stub = StubTransport(Stub().responds(first, .failure(lost(.notSent, .cannotConnect))))
        var order = try request(.post)
        order.options.idempotencyKey = .attached
        let keyed = order
        let stack = stub.retry(RetryPolicy(maxAttempts: 2, backoff: .immediate), clock: ManualClock(), random: { 0 })
        let error = await #expect(throws: TransportError.self) { try await stack.send(keyed) }
        #expect(error?.code == .cannotConnect && error?.delivery == sent && error?.attempts.count == 1)
    }

    @Test func aFallbackDoesNotRepeatARequestThatMayHaveBeenSent() async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let stub = StubTransport(Stub().responds(.failure(lost(.unknown)), .failure(lost(.notSent, .cannotConnect))))
        let policy = RetryPolicy(maxAttempts: 2, backoff: .immediate)
        let stack = stub.retry(policy, clock: ManualClock(), random: { 0 }).fallback(to: mirror)
        var order = try request(.post)
        order.options.idempotencyKey = .attached
        let keyed = order
        await #expect(throws: TransportError.self) { try await stack.send(keyed) }
        #expect(stub.requests.count == 2 && mirror.requests.isEmpty)
    }

    @Test func permanentErrorsAreThrownImmediately() async throws {
        for code in [TransportError.Code.tls, .invalidResponse, .invalidRequest, .shutDown, .requestBody] {
            let stub = StubTransport(Stub().responds(.failure(lost(.notSent, code))))
            await #expect(throws: TransportError.self) { try await stub.retry(clock: ManualClock()).send(try request()) }
            #expect(stub.requests.count == 1)
        }
    }

    @Test func eachAttemptPassesTheWholeInnerStack() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let inner = stub.wrapped(by: RecordingMiddleware(name: "auth", list: passage))
        _ = try await inner.retry(clock: ManualClock(), random: { 0 }).send(try request())
        #expect(passage.all == ["> auth", "< auth", "> auth", "< auth"])
    }

    @Test func aRequestReplacesThePolicy() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        var request = try request()
        request.options.retry = .use(RetryPolicy(maxAttempts: 5))
        _ = try await stub.retry(clock: ManualClock(), random: { 0 }).send(request)
        #expect(stub.requests.count == 5)
    }

    @Test(arguments: [nil, Duration.seconds(60)]) func anUnsentRequestObeysTheMaximumOfAttempts(_ timeout: Duration?) async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let stub = StubTransport(Stub().responds(.failure(lost(.notSent, .cannotFindHost))))
        let task = simulation.begin {
            var request = try request(.post, body: .text("x"))
            request.deadline = timeout.map { Deadline(after: $0, clock: clock) }
            return try await stub.retry(clock: clock, random: { 0.5 }).send(request)
        }
        simulation.run()
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.attempts.count == 2 && stub.requests.count == 3)
        #expect(simulation.elapsed == .milliseconds(150), "half of 100 ms and of 200 ms")
    }

    @Test func eachCallWaitsAsItsPolicyDeclares() async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(base: .seconds(1), maxDelay: .seconds(3)), jitter: .none)
        let stack = stub.retry(policy, budget: nil, clock: clock)
        let task = simulation.begin { () -> [[Duration]] in
            var delays: [[Duration]] = []
            for _ in 0..<2 { delays.append(try await stack.send(request()).metadata.attempts.map(\.delay)) }
            return delays
        }
        simulation.run()
        let waits = [1, 2, 3, 3].map { Duration.seconds($0) }
        #expect(try await task.value == [waits, waits], "the second call begins anew")
        #expect(simulation.elapsed == .seconds(18))
        #expect(stub.requests.map(\.request.options.resendCount) == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    }

    @Test func anUnsentRequestUsesTheBudget() async throws {
        let clock = ManualClock()
        let budget = RetryBudget(reserve: 2, perSecond: 0, clock: clock)
        let stub = StubTransport(Stub().responds(.failure(lost(.notSent, .cannotConnect))))
        var request = try request()
        request.deadline = Deadline(after: .seconds(60), clock: clock)
        let (sent, stack) = (request, stub.retry(RetryPolicy(maxAttempts: 10, backoff: .immediate), budget: budget, clock: clock))
        await #expect(throws: TransportError.self) { try await stack.send(sent) }
        #expect(stub.requests.count == 3 && budget.balance(of: "https://a.example") == 0)
    }

    @Test func attemptsOfALayerInsideAreKeptAndNumberedThrough() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let inner = stub.retry(RetryPolicy(maxAttempts: 2), budget: nil, clock: ManualClock(), random: { 0 })
        let stack = inner.retry(RetryPolicy(maxAttempts: 2), budget: nil, clock: ManualClock(), random: { 0 })
        let response = try await stack.send(try request())
        #expect(stub.requests.count == 4 && response.metadata.attempts.map(\.number) == [1, 2, 3])
        let failing = StubTransport(Stub().responds(.failure(lost(.unknown))))
        let twice = failing.retry(RetryPolicy(maxAttempts: 2), budget: nil, clock: ManualClock(), random: { 0 })
            .retry(RetryPolicy(maxAttempts: 2), budget: nil, clock: ManualClock(), random: { 0 })
        let error = await #expect(throws: TransportError.self) { try await twice.send(try request()) }
        #expect(failing.requests.count == 4 && error?.attempts.map(\.number) == [1, 2, 3])
    }

    @Test func aHugeWaitIsCapped() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok)))
        let policy = RetryPolicy(backoff: .constant(.seconds(Int64.max)), jitter: .none)
        let task = Task { try await stub.retry(policy, clock: clock).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .longest)
        task.cancel()
        _ = await task.result
    }

    @Test func anUnprocessedRequestIsRepeatedOnceImmediately() async throws {
        for method in [HTTPRequest.Method.post, .get] {
            let unprocessed = TransportError(.connectionLost, phase: .response, request: nil, delivery: .notSent)
            let budget = RetryBudget(reserve: 0)
            let stub = StubTransport(Stub().responds(.failure(unprocessed), .status(.ok)))
            let response = try await stub.retry(budget: budget, clock: ManualClock()).send(try request(method, body: .text("x")))
            #expect(response.status == .ok && response.metadata.attempts.map(\.delay) == [.zero])
        }
    }

    @Test func aClosedIdleConnectionCostsNoAttempt() async throws {
        let stub = StubTransport(Stub().responds(.failure(lost(.notSent)), .status(.ok)))
        let stack = stub.retry(RetryPolicy(maxAttempts: 1), budget: RetryBudget(reserve: 0), clock: ManualClock())
        #expect(try await stack.send(try request(.post, body: .text("x"))).status == .ok)
    }

    /// Only a success gives back, and once, however many attempts it took.
    @Test func onlySuccessesRefillTheBudget() async throws {
        let clock = ManualClock()
        let unavailable = StubResponse.status(.serviceUnavailable)
        let stub = StubTransport(
            Stub(.get, "/recovers").responds(unavailable, unavailable, .status(.ok)),
            Stub(.get, "/fails").responds(.failure(lost(.sent, .tls))),
            Stub(.get, "/hangs").responds(.never), Stub(.get, "/fine").responds(.status(.ok)))
        let budget = RetryBudget(perSecond: 0, clock: clock)
        let stack = stub.retry(budget: budget, clock: clock, random: { 0 })
        func send(_ path: String, _ retry: OptionOverride<RetryPolicy> = .inherited) async throws {
            var request = try Request(.get, url: "https://a.example\(path)")
            request.options.retry = retry
            _ = try await stack.send(request)
        }
        func expectBalance(_ expected: Double, _ after: Comment) {
            #expect(abs(budget.balance(of: "https://a.example") - expected) < 1e-9, after)
        }
        try await send("/recovers")
        expectBalance(3.2, "two retries and one success")
        await #expect(throws: TransportError.self) { try await send("/fails") }
        expectBalance(3.2, "a failure")
        let hanging = Task { try await stack.send(Request(.get, url: "https://a.example/hangs")) }
        await eventually { stub.requests.count == 5 }
        hanging.cancel()
        await #expect(throws: CancellationError.self) { try await hanging.value }
        expectBalance(3.2, "a cancelled call")
        try await send("/fine", .off)
        expectBalance(3.2, "a call without retry")
        clock.advance(by: .seconds(1_000))
        expectBalance(3.2, "time, with perSecond 0")
        try await send("/fine")
        expectBalance(3.4, "a success")
    }

    @Test func aSpentBudgetEndsTheRetriesImmediately() async throws {
        let clock = ManualClock()
        let budget = RetryBudget(reserve: 2, perSuccess: 0.5, perSecond: 0, clock: clock)
        let stub = StubTransport(Stub(.get, "/fine").responds(.status(.ok)), Stub().responds(.status(.serviceUnavailable)))
        let stack = stub.retry(budget: budget, clock: clock, random: { 0 })
        func retries(_ target: String) async throws -> Int {
            try await stack.send(Request(.get, url: "https://a.example" + target)).metadata.attempts.count
        }
        #expect(try await retries("/x") == 2)
        #expect(try await retries("/x") == 0, "spent")
        #expect(try await retries("/fine") == 0)
        #expect(try await retries("/x") == 0, "half a token")
        #expect(try await retries("/fine") == 0)
        #expect(try await retries("/x") == 1)
        let other = try await stack.send(Request(.get, url: "https://b.example/x"))
        #expect(other.metadata.attempts.count == 2, "another origin has a bucket of its own")
    }

    @Test func layersInsideRetrySeeTheResendCount() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        _ = try await stub.retry(clock: ManualClock(), random: { 0 }).send(try request())
        #expect(stub.requests.map(\.request.options.resendCount) == [0, 1, 2])
    }

    @Test func aRetryAfterInEachFormIsObeyed() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        for value in ["5", "Sun, 06 Nov 1994 08:49:42 GMT", "Sunday, 06-Nov-94 08:49:42 GMT", "Sun Nov  6 08:49:42 1994"] {
            let stub = StubTransport(
                Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: value, .date: date]), .status(.ok)))
            let clock = ManualClock()
            let task = Task { try await stub.retry(clock: clock, random: { 0 }).send(try request()) }
            try await clock.sleepers(atLeast: 1)
            #expect(clock.advanceToNextSleeper() == .seconds(5), "\(value)")
            #expect(try await task.value.status == .ok)
        }
    }

    @Test(arguments: ["Sun, 06 Nov 1994 08:49:36 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "0"])
    func aRetryAfterInThePastLeavesTheBackoff(_ value: String) async throws {
        let fields: HTTPFields = [.retryAfter: value, .date: "Sun, 06 Nov 1994 08:49:37 GMT"]
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: fields), .status(.ok)))
        let clock = ManualClock()
        let task = Task { try await stub.retry(clock: clock, random: { 0.5 }).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.advanceToNextSleeper() == .milliseconds(50))
        #expect(try await task.value.status == .ok)
    }

    @Test func aRetryAfterBeyondTheDeadlineFailsImmediately() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, headers: [.retryAfter: "30"])))
        var request = try request()
        request.deadline = Deadline(after: .seconds(30), clock: clock)
        let response = try await stub.retry(clock: clock).send(request)
        #expect(response.status == .serviceUnavailable && stub.requests.count == 1 && clock.sleeperCount == 0)
    }

    // MARK: - Keys

    private let key = HTTPField.Name("Idempotency-Key")!

    @Test func aPOSTWithAKeyIsSentAgainWithTheSameKey() async throws {
        let stub = StubTransport(Stub().responds(.failure(lost(.unknown)), .status(.init(code: 409)), .status(.ok)))
        var call = try request(.post, body: .text("x"))
        call.options.idempotencyKey = .attached
        let response = try await stub.retry(clock: ManualClock(), random: { 0 }).send(call)
        #expect(response.status == .ok, "409 says that the first one is under way")
        let keys = stub.requests.map { $0.headers[key] ?? "" }
        #expect(keys.count == 3 && Set(keys).count == 1)
        #expect(try /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.wholeMatch(in: keys[0]) != nil, "a UUID without quotation marks: \(keys)")
    }

    @Test func aPolicyAttachesANewKeyToEachCallOfItsMethods() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.retry(.standardWithKeys, clock: ManualClock())
        for method in [HTTPRequest.Method.post, .post, .patch, .put, .get] { _ = try await stack.send(try request(method)) }
        let keys = stub.requests.map { $0.headers[key] }
        #expect(Set(keys.prefix(3).compactMap(\.self)).count == 3 && keys.suffix(2) == [nil, nil])
    }

    @Test func aKeyOfTheCallerIsKept() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable), .status(.ok), .status(.ok), .status(.ok)))
        var mine = try request(.post, body: .text("x"))
        mine.head.headerFields[key] = "\"mine\""
        mine.options.idempotencyKey = .attached
        _ = try await stub.retry(clock: ManualClock(), random: { 0 }).send(mine)
        var named = try request(.post, body: .text("x"))
        named.options.idempotencyKey = try .value(#"a "b" \\ c"#)
        _ = try await stub.retry(clock: ManualClock()).send(named)
        named.options.idempotencyKey = try .value(#"a "b" \\ c"#).quoted
        _ = try await stub.retry(clock: ManualClock()).send(named)
        #expect(stub.requests.map { $0.headers[key] } == ["\"mine\"", "\"mine\"", #"a "b" \\ c"#, #""a \"b\" \\\\ c""#])
    }

    @Test func aKeyThatWasUsedForAnotherBodyIsNeverSentAgain() async throws {
        let stub = StubTransport(Stub().responds(.status(.init(code: 422))))
        var call = try request(.post, body: .text("x"))
        call.options.idempotencyKey = .attached
        _ = try await stub.retry(RetryPolicy(statuses: [503]), clock: ManualClock()).send(call)
        #expect(stub.requests.count == 1)
    }
}
