import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// The callers that share an exchange, and the callers that leave it.
@Suite(.timeLimit(.minutes(5)), .leavesNothingBehind(inParallelRuns: false)) struct CoalesceTests {
    private let desk = ParkedSender()
    private let middleware = CoalesceMiddleware()
    private var stack: HTTPStack { HTTPStack(desk).wrapped(by: middleware) }

    private typealias Call = Task<String, any Error>

    private func call(_ request: Request? = nil) throws -> Call {
        let request = try request ?? TestSupport.request()
        return Task { [stack] in String(decoding: try await stack.send(request).body.collect(), as: UTF8.self) }
    }

    /// Callers that share one exchange.
    private func calls(_ count: Int) async throws -> [Call] {
        let calls = try (0..<count).map { _ in try call() }
        await middleware.callers(count)
        return calls
    }

    @Test(arguments: [1, 2, 10_000]) func manyCallersShareOneExchange(_ count: Int) async throws {
        let calls = try await calls(count)
        #expect(middleware.state.has(1, callers: count))
        await desk.respond(text: "one")
        for call in calls { #expect(try await call.value == "one") }
        #expect(desk.requests.count == 1 && middleware.state.has(0, callers: 0))
    }

    @Test func cancelledCallersLeaveAndTheLastCallerGetsItsResponse() async throws {
        let calls = try await calls(10_000)
        for (index, call) in calls.enumerated() where index != 77 { call.cancel() }
        // The errors are counted without the test framework. With each expected error, the framework takes longer for the next error.
        var left = 0
        for (index, call) in calls.enumerated() where index != 77 {
            if case .failure(is CancellationError) = await call.result { left += 1 }
        }
        #expect(left == 9_999)
        #expect(middleware.state.has(1, callers: 1) && desk.cancelledCount == 0)
        await desk.respond(text: "for the last one")
        #expect(try await calls[77].value == "for the last one")
        #expect(desk.requests.count == 1)
    }

    @Test func theFirstCallerCanLeave() async throws {
        let first = try call()
        await middleware.callers(1)
        let second = try call()
        await middleware.callers(2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await desk.respond(text: "fine")
        #expect(try await second.value == "fine")
        #expect(desk.requests.count == 1 && desk.cancelledCount == 0)
    }

    @Test func theLastCancelledCallerCancelsTheExchange() async throws {
        let calls = try await calls(3)
        await eventually { desk.requests.count == 1 }
        for call in calls { call.cancel() }
        for call in calls { await #expect(throws: CancellationError.self) { try await call.value } }
        await eventually { desk.cancelledCount == 1 }
        let later = try call()
        await desk.respond(1, text: "anew")
        #expect(try await later.value == "anew")
        #expect(desk.requests.count == 2)
    }

    /// No caller joins an exchange that continues for a while after its cancellation.
    @Test func noCallerJoinsAnAbandonedExchange() async throws {
        let go = Mutex(false)
        let sent = Mutex(0)
        let slow = StubTransport(
            Stub().responds(
                .custom { _ in
                    let number = sent.withLock { sent in
                        sent += 1
                        return sent
                    }
                    // Deaf to cancellation.
                    if number == 1 { await eventually { go.withLock { $0 } } }
                    return (HTTPResponse(status: .ok), Data("\(number)".utf8))
                }))
        let stack = slow.wrapped(by: middleware)
        let first = Task { try await stack.send(request()) }
        await eventually { sent.withLock { $0 } == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await stack.send(request()).body.collect() == Data("2".utf8))
        go.withLock { $0 = true }
    }

    @Test func aPassedDeadlineEndsOnlyItsCaller() async throws {
        let clock = ManualClock()
        var short = try request()
        short.deadline = Deadline(after: .seconds(5), clock: clock)
        let leaving = try call(short)
        try await clock.sleepers(atLeast: 1)
        let staying = try call()
        await middleware.callers(2)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: TransportError.self) { try await leaving.value }
        #expect(error?.code == .timedOut && error?.phase == .response && error?.elapsed == .seconds(5))
        #expect(error?.request?.id == short.id && error?.delivery == .unknown)
        await middleware.callers(1)
        await desk.respond(text: "in time")
        #expect(try await staying.value == "in time")
        #expect(desk.requests.map { $0.deadline == nil } == [true] && clock.sleeperCount == 0)
    }

    @Test func aDeadlineThatHasPassedSendsNothing() async throws {
        var late = try request()
        late.deadline = Deadline(after: .zero)
        let sent = late
        let error = await #expect(throws: TransportError.self) { try await stack.send(sent) }
        #expect(error?.code == .timedOut && error?.delivery == .notSent && desk.requests.isEmpty)
    }

    @Test(arguments: [1, 2, 100]) func aFailureReachesEachCallerWithItsOwnRequest(_ count: Int) async throws {
        let requests = try (0..<count).map { _ in try request() }
        let calls = try requests.map { try call($0) }
        await middleware.callers(count)
        await eventually { !desk.requests.isEmpty }
        await desk.respond(
            with: .failure(TransportError(.cannotConnect, phase: .connect, message: "x", request: desk.requests[0], delivery: .notSent)))
        for (call, request) in zip(calls, requests) {
            let error = await #expect(throws: TransportError.self) { try await call.value }
            #expect(error?.code == .cannotConnect && error?.delivery == .notSent && error?.request?.id == request.id)
        }
        #expect(desk.requests.count == 1 && middleware.state.inFlight == 0)
        let later = try call()
        await desk.respond(1, text: "again")
        #expect(try await later.value == "again")
    }

    @Test func anErrorOfTheAppReachesAllCallersUnchanged() async throws {
        let calls = try await calls(3)
        await desk.respond(with: .failure(TestError()))
        for call in calls { await #expect(throws: TestError.self) { try await call.value } }
    }

    /// If the sender ends with a cancellation, only the first caller gets the cancellation. The other callers send the request again, a
    /// limited number of times.
    @Test func aCancellationOfTheSenderReachesTheFirstCallerOnly() async throws {
        let first = try call()
        await middleware.callers(1)
        let others = try (0..<3).map { _ in try call() }
        await middleware.callers(4)
        await desk.respond(with: .failure(CancellationError()))
        await #expect(throws: CancellationError.self) { try await first.value }
        // All callers have joined the new exchange.
        await eventually { desk.requests.count == 2 && middleware.state.has(1, callers: 3) }
        await desk.respond(1, text: "fine")
        for other in others { #expect(try await other.value == "fine") }
        #expect(desk.requests.count == 2)
    }

    @Test func aRepeatedlyCancelledSenderFailsTheOtherCallers() async throws {
        let first = try call()
        await middleware.callers(1)
        let others = try (0..<3).map { _ in try call() }
        await middleware.callers(4)
        await desk.respond(with: .failure(CancellationError()))
        await #expect(throws: CancellationError.self) { try await first.value }
        // All callers have joined the new exchange.
        await eventually { desk.requests.count == 2 && middleware.state.has(1, callers: 3) }
        await desk.respond(1, with: .failure(CancellationError()))
        var cancelled = 0
        for other in others {
            switch await other.result {
            case .failure(is CancellationError): cancelled += 1  // the one whose request was sent
            case .failure(let error as TransportError): #expect(error.code == .connectionLost && error.delivery == .unknown)
            default: Issue.record("a response from nowhere")
            }
        }
        #expect(cancelled == 1 && desk.requests.count == 2)
    }

    @Test func eachCallerHasItsOwnResponse() async throws {
        var requests = try [request(), request()]
        requests[1].head.headerFields[HTTPField.Name("traceparent")!] = "00-1-2-01"
        requests[1].deadline = Deadline(after: .seconds(60))
        let sent = requests
        let first = Task { [stack] in try await stack.send(sent[0]) }
        await middleware.callers(1)
        let second = Task { [stack] in try await stack.send(sent[1]) }
        await middleware.callers(2)
        await desk.respond(text: "x")
        let responses = try await [first.value, second.value]
        for (response, request) in zip(responses, requests) {
            #expect(response.request.id == request.id && response.request.head == request.head)
            #expect((response.request.deadline == nil) == (request.deadline == nil))
            guard case .complete? = response.exchange.outcome else { return #expect(Bool(false), "over") }
        }
        #expect(responses.map(\.metadata.coalescedInto) == [nil, requests[0].id])
    }

    /// After a redirect inside, where it went; not under another caller's id.
    @Test func eachResponseShowsARedirectInside() async throws {
        let moved = StubResponse.custom { [middleware] _ in
            await middleware.callers(2)
            return (HTTPResponse(status: .found, headerFields: [.location: "/y"]), Data())
        }
        let stub = StubTransport(Stub(.get, "/x").responds(moved), Stub().responds(.status(.ok)))
        let stack = stub.redirect().wrapped(by: middleware)
        let requests = try [request(), request()]
        let calls = requests.map { request in Task { try await stack.send(request) } }
        for (call, request) in zip(calls, requests) {
            let response = try await call.value
            #expect(response.request.head.path == "/y" && response.request.id == request.id)
        }
    }

    @Test func anUrgentCallerDoesNotJoinALessUrgentExchange() async throws {
        func prioritized(_ priority: RequestPriority) throws -> Call {
            var request = try request()
            request.options.priority = priority
            return try call(request)
        }
        let slow = try prioritized(.background)
        await middleware.callers(1)
        let urgent = try prioritized(.high)
        defer { for call in [slow, urgent] { call.cancel() } }
        await eventually { desk.requests.count == 2 }
        try #require(desk.requests.count == 2)
        let joining = try [prioritized(.normal), prioritized(.high)]
        await middleware.callers(4)
        #expect(desk.requests.map(\.options.priority) == [.background, .high])
        await desk.respond(1, text: "soon")
        for call in [urgent] + joining { #expect(try await call.value == "soon") }
        await desk.respond(0, text: "late")
        #expect(try await slow.value == "late" && desk.requests.count == 2)
    }

    // MARK: Sending again

    /// A failure of a shared exchange counts once, whatever the number of its callers is.
    @Test(arguments: [true, false]) func callersOfOneFailureAreRetriedTogether(_ isStatus: Bool) async throws {
        let clock = ManualClock()
        let budget = RetryBudget(reserve: 5, perSuccess: 0.25, perSecond: 0, clock: clock)
        let retrying = stack.retry(RetryPolicy(maxAttempts: 2), budget: budget, clock: clock)
        let calls = try (0..<50).map { _ in
            let request = try request()
            return Task { try await retrying.send(request).status.code }
        }
        defer { for call in calls { call.cancel() } }
        await middleware.callers(50)
        if isStatus {
            await desk.respond(status: .serviceUnavailable, text: "busy")
        } else {
            await desk.respond(with: .failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)))
        }
        try await clock.sleepers(atLeast: 50)
        #expect(budget.balance(of: "https://a.example") == 4, "one token for all")
        clock.advance(by: try #require(clock.nextSleeper))
        try #require(clock.sleeperCount == 0, "they wait for the same time")
        await middleware.callers(50)
        await desk.respond(1, text: "fine")
        for call in calls { #expect(try await call.value == 200) }
        #expect(desk.requests.count == 2 && budget.balance(of: "https://a.example") == 4.25, "one success for all")
    }

    @Test(arguments: [true, false]) func eachCallerWaitsByItsOwnRetryPolicy(_ isSlowFirst: Bool) async throws {
        let clock = ManualClock()
        let retrying = stack.retry(RetryPolicy(maxAttempts: 2, backoff: .immediate), clock: clock)
        var slow = try request()
        slow.options.retry = .use(RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(3600)), jitter: .none))
        var quick = try request()
        quick.deadline = Deadline(after: .seconds(3), clock: clock)
        let requests = isSlowFirst ? [slow, quick] : [quick, slow]
        var calls: [Task<Int, any Error>] = []
        for request in requests {
            calls.append(Task { try await retrying.send(request).status.code })
            await middleware.callers(calls.count)
        }
        defer { for call in calls { call.cancel() } }
        await desk.respond(with: .failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)))
        await eventually { desk.requests.count == 2 }
        await desk.respond(1, text: "fine")
        #expect(try await calls[isSlowFirst ? 1 : 0].value == 200)
        await eventually { clock.sleeperCount == 1 }
        #expect(clock.nextSleeper == .seconds(3600))
    }

    @Test func aSpentBudgetEndsTheRetriesOfAllCallers() async throws {
        let clock = ManualClock()
        let budget = RetryBudget(reserve: 0, perSecond: 0, clock: clock)
        let retrying = stack.retry(budget: budget, clock: clock)
        let calls = try (0..<10).map { _ in
            let request = try request()
            return Task { try await retrying.send(request).status.code }
        }
        await middleware.callers(10)
        await desk.respond(status: .serviceUnavailable, text: "busy")
        for call in calls { #expect(try await call.value == 503) }
        #expect(desk.requests.count == 1)
    }

    @Test func callersWithDifferentPoliciesDoNotShareAnExchange() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.redirect().wrapped(by: middleware)
        var strict = try request()
        strict.options.redirect = .use(RedirectPolicy(allowsDowngrade: true))
        let calls = try [request(), strict].map { request in Task { try await stack.send(request) } }
        await middleware.callers(2)
        #expect(middleware.state.inFlight == 2)
        #expect(!StubTransport().redirect().coalesce().orderProblems.isEmpty)
        for call in calls { call.cancel() }
        for call in calls { _ = await call.result }
        await middleware.isIdle()
    }

    @Test func aRequestWithCoalescingOffIsSentAlone() async throws {
        var off = try request()
        off.options.coalesce = .off
        let calls = try [call(), call(off), call(off)]
        await eventually { desk.requests.count == 3 }
        for index in 0..<3 { await desk.respond(index, text: "x") }
        for call in calls { _ = try await call.value }
    }

    @Test func aReturnedResponseInMemoryIsNotJoined() async throws {
        let first = Task { [stack] in try await stack.send(request()) }
        await desk.respond(text: "one")
        let response = try await first.value
        let second = try call()
        await desk.respond(1, text: "two")
        #expect(try await second.value == "two")
        #expect(try await response.body.collect() == Data("one".utf8))
    }

    @Test func cancelledCallersLoseNoOtherCaller() async throws {
        let stub = StubTransport(
            Stub().responds(
                .streaming { _, _ in
                    for _ in 0..<5 { await Task.yield() }
                    return (HTTPResponse(status: .ok), ScriptedBodySource(["3", "2", "1", "0"]) { await Task.yield() })
                }))
        let middleware = middleware
        let stack = stub.wrapped(by: middleware)
        let ended = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<5_000 {
                group.addTask {
                    let task = Task {
                        let request = try Request(.get, url: "https://a.example/\(number % 7)")
                        return String(decoding: try await stack.send(request).body.collect(), as: UTF8.self)
                    }
                    if number % 3 == 0 {
                        for _ in 0..<(number % 11) { await Task.yield() }
                        task.cancel()
                    }
                    switch await task.result {
                    case .success(let text): return text == "3210"
                    case .failure(let error): return error is CancellationError && number % 3 == 0
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(ended == 5_000)
        await middleware.isIdle()
        await eventually { stub.openBodyCount == 0 }
        #expect(stub.requests.count < 5_000)
    }
}
