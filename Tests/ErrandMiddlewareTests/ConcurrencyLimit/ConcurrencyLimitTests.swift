import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConcurrencyLimitTests {
    /// The number of requests that ``yielding`` got, and the number of requests that are in progress.
    private struct Load: Sendable {
        var received = 0
        var inFlight = 0
        var most = 0
    }

    private let load = Watched(Load())

    /// Responds after a few yields, and records its load.
    private var yielding: StubSender {
        StubSender { [load] request in
            load.change { load in
                load.received += 1
                load.inFlight += 1
                load.most = max(load.most, load.inFlight)
            }
            defer { load.change { $0.inFlight -= 1 } }
            for _ in 0..<3 { await Task.yield() }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
    }

    private func paths(_ sender: ParkedSender) -> [String] { sender.requests.map { $0.head.path ?? "" } }

    private func call(_ path: String, host: String = "a.example", _ priority: RequestPriority = .normal) throws -> Request {
        var request = try Request(.get, url: "https://\(host)\(path)")
        request.options.priority = priority
        return request
    }

    @Test(arguments: [1, 3, 10]) func requestsInProgressStayWithinTheLimit(_ limit: Int) async throws {
        let middleware = ConcurrencyLimitMiddleware(.fixed(limit), per: .all)
        let stack = HTTPStack(yielding).wrapped(by: middleware)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 { group.addTask { _ = try await stack.send(call("/\(number)", host: "\(number % 7).example")) } }
            try await group.waitForAll()
        }
        #expect(load.value.most <= limit && load.value.received == 200)
        #expect(middleware.state.inFlight == 0 && middleware.state.queued == 0)
    }

    @Test func eachOriginHasItsOwnQueue() async throws {
        let gate = ParkedSender()
        let stack = HTTPStack(gate).concurrencyLimit(1)
        let tasks = ["a.example", "b.example"].map { host in Task { try await stack.send(call("/", host: host)) } }
        await eventually { gate.inFlight >= 2 }
        for _ in tasks { await gate.respondToOldest() }
        for task in tasks { _ = try await task.value }
    }

    @Test func aCustomKeyLimitsItsRequests() async throws {
        let gate = ParkedSender()
        let stack = HTTPStack(gate).concurrencyLimit(.fixed(1), per: .key { $0.head.path == "/free" ? nil : "all" })
        let tasks = ["/free", "/one", "/free"].map { path in Task { try await stack.send(call(path)) } }
        await eventually { gate.inFlight >= 3 }
        for _ in tasks { await gate.respondToOldest() }
        for task in tasks { _ = try await task.value }
    }

    /// Starts a call, and returns when the call waits in the queue.
    private func queued(
        _ request: Request, on stack: HTTPStack, _ middleware: ConcurrencyLimitMiddleware
    ) async -> Task<Response, any Error> {
        let before = middleware.state(of: "https://a.example").queued
        let task = Task { try await stack.send(request) }
        await eventually { middleware.state(of: "https://a.example").queued != before }
        return task
    }

    @Test func queuedRequestsStartByPriorityAndThenByArrival() async throws {
        let gate = ParkedSender()
        let middleware = ConcurrencyLimitMiddleware(.fixed(1))
        let stack = HTTPStack(gate).wrapped(by: middleware)
        let first = Task { try await stack.send(call("/first")) }
        await eventually { gate.inFlight >= 1 }
        var tasks: [Task<Response, any Error>] = []
        for (path, priority) in [
            ("/low", RequestPriority.low), ("/normal1", .normal), ("/background", .background), ("/normal2", .normal), ("/high", .high),
        ] {
            tasks.append(await queued(try call(path, priority), on: stack, middleware))
        }
        #expect(middleware.state(of: "https://a.example").inFlight == 1)
        for _ in 0..<6 { await gate.respondToOldest() }
        for task in tasks + [first] { _ = try await task.value }
        #expect(paths(gate) == ["/first", "/high", "/normal1", "/normal2", "/low", "/background"])
    }

    @Test func aCancelledQueuedRequestLeavesTheQueue() async throws {
        let gate = ParkedSender()
        let middleware = ConcurrencyLimitMiddleware(.fixed(1))
        let stack = HTTPStack(gate).wrapped(by: middleware)
        let first = Task { try await stack.send(call("/first")) }
        await eventually { gate.inFlight >= 1 }
        let leaving = await queued(try call("/leaving"), on: stack, middleware)
        let staying = await queued(try call("/staying"), on: stack, middleware)
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        for _ in 0..<2 { await gate.respondToOldest() }
        _ = try await (first.value, staying.value)
        #expect(paths(gate) == ["/first", "/staying"] && middleware.state(of: "https://a.example").isIdle)
    }

    @Test func aPassedDeadlineRemovesOnlyItsQueuedRequest() async throws {
        let clock = ManualClock()
        let gate = ParkedSender()
        let middleware = ConcurrencyLimitMiddleware(.fixed(1))
        let stack = HTTPStack(gate).wrapped(by: middleware)
        let first = Task { try await stack.send(call("/first")) }
        await eventually { gate.inFlight >= 1 }
        var short = try call("/short")
        short.deadline = Deadline(after: .seconds(5), clock: clock)
        let leaving = await queued(short, on: stack, middleware)
        let staying = await queued(try call("/staying"), on: stack, middleware)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: TransportError.self) { try await leaving.value }
        #expect(error?.code == .timedOut && error?.phase == .queue && error?.delivery == .notSent)
        for _ in 0..<2 { await gate.respondToOldest() }
        _ = try await (first.value, staying.value)
        #expect(paths(gate) == ["/first", "/staying"] && clock.sleeperCount == 0)
    }

    @Test(arguments: [ConcurrencyLimit.fixed(.max), .adaptive(initial: .max, maximum: .max)])
    func anInfiniteLimitQueuesNoRequest(_ limit: ConcurrencyLimit) async throws {
        let middleware = ConcurrencyLimitMiddleware(limit, per: .all)
        let stack = StubTransport(Stub().responds(.status(.ok))).wrapped(by: middleware)
        for _ in 0..<3 { #expect(try await stack.send(call("/")).status == .ok) }
        #expect(middleware.state == .init(inFlight: 0, queued: 0, limit: 1_000_000_000_000_000))
    }

    @Test func aSlotIsFreedWhenTheExchangeEndsNotWhenItIsRead() async throws {
        let stub = StubTransport(Stub(.get, "/small").responds(.status(.ok, text: "small")), Stub().responds(.stream(streamed)))
        let stack = stub.concurrencyLimit(1)
        // Two responses in one scope. Nobody reads them, but small bodies hold no slot.
        let (one, two) = (try await stack.send(call("/small")), try await stack.send(call("/small")))
        #expect(try await one.body.collect() == two.body.collect())
        let large = try await stack.send(call("/large"))
        let next = Task { try await stack.send(call("/small")).status }
        for _ in 0..<50 { await Task.yield() }
        #expect(stub.requests.count == 3, "the large one still holds its slot")
        _ = try await large.body.collect()
        #expect(try await next.value == .ok)
    }

    @Test func aFailureFreesItsSlot() async throws {
        let stub = StubTransport(Stub().responds(.failure(TestError()), .status(.ok)))
        let stack = stub.concurrencyLimit(1)
        await #expect(throws: TestError.self) { try await stack.send(call("/")) }
        #expect(try await stack.send(call("/")).status == .ok)
    }

    @Test func aRequestWithTheLimitOffBypassesTheQueue() async throws {
        let gate = ParkedSender()
        let stack = HTTPStack(gate).concurrencyLimit(1)
        var off = try call("/off")
        off.options.concurrencyLimit = .off
        let sent = off
        let tasks = [Task { try await stack.send(call("/first")) }, Task { try await stack.send(sent) }]
        await eventually { gate.inFlight >= 2 }
        for _ in tasks { await gate.respondToOldest() }
        for task in tasks { _ = try await task.value }
    }

    /// Ten thousand calls. A third of the calls is cancelled at any moment. No call and no slot is lost.
    @Test func cancelledCallersLoseNoSlot() async throws {
        let middleware = ConcurrencyLimitMiddleware(.fixed(5))
        let stack = HTTPStack(yielding).wrapped(by: middleware)
        let ended = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<10_000 {
                group.addTask {
                    let task = Task { try await stack.send(call("/\(number)")) }
                    if number % 3 == 0 {
                        for _ in 0..<(number % 7) { await Task.yield() }
                        task.cancel()
                    }
                    switch await task.result {
                    case .success: return true
                    case .failure(let error): return error is CancellationError && number % 3 == 0
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(ended == 10_000 && load.value.most <= 5)
        #expect(middleware.state(of: "https://a.example").isIdle)
    }

    @Test func anExchangeThatIsCancelledFreesItsSlot() async throws {
        let gate = ParkedSender()
        let middleware = ConcurrencyLimitMiddleware(.fixed(1))
        let stack = HTTPStack(gate).wrapped(by: middleware)
        let first = Task { try await stack.send(call("/first")) }
        await eventually { gate.inFlight == 1 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(middleware.state(of: "https://a.example").isIdle)
    }

    /// The slot becomes free at the instant at which the deadlines of the waiting calls pass.
    @Test func aLateSlotIsNotLost() async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let middleware = ConcurrencyLimitMiddleware(.fixed(1))
        let server = PacedSender(clock) { _ in PacedSender.Pace(time: .seconds(5)) }
        let stack = HTTPStack(server).wrapped(by: middleware)
        simulation.begin { [self] in try await stack.send(call("/first")).body.abandon() }
        simulation.runUntilIdle()
        let late = (0..<3).map { number in
            simulation.begin { [self] in
                var request = try call("/\(number)")
                request.deadline = Deadline(after: .seconds(5), clock: clock)
                try await stack.send(request).body.abandon()
            }
        }
        simulation.run()
        for task in late { await #expect(throws: TransportError.self) { try await task.value } }
        #expect(middleware.state(of: "https://a.example").isIdle)
    }

    @Test func theLeastUrgentRequestIsSentUnderOverload() async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let server = PacedSender(clock) { _ in PacedSender.Pace(time: .seconds(1)) }
        let stack = HTTPStack(server).concurrencyLimit(2)
        for _ in 0..<6 {
            simulation.begin { [self] in
                while simulation.elapsed < .seconds(100) { try await stack.send(call("/high", .high)).body.abandon() }
            }
        }
        simulation.run(until: .seconds(3))
        simulation.begin { [self] in try await stack.send(call("/low", .low)).body.abandon() }
        simulation.run(until: .seconds(20))
        #expect(server.seen.requests.contains { $0.head.path == "/low" }, "every tenth turn is for whoever has waited longest")
        simulation.run()
    }

    // MARK: - Adaptive

    @Test(
        arguments: [
            (.responded(after: .seconds(1)), 20, 10, 21), (.responded(after: .seconds(1)), 20, 9, 20),
            (.responded(after: .seconds(6)), 20, 20, 18),
            (.dropped, 20, 1, 18), (.dropped, 1, 1, 1), (.responded(after: .zero), 200, 200, 200), (.cancelled, 20, 20, 20),
        ] as [(ConcurrencyLimit.Outcome, Double, Int, Double)])
    func anAdaptiveLimitFollowsTheResponses(_ outcome: ConcurrencyLimit.Outcome, _ limit: Double, _ inUse: Int, _ next: Double) {
        #expect(ConcurrencyLimit.adaptive().next(after: outcome, limit: limit, inUse: inUse) == next)
        #expect(ConcurrencyLimit.fixed(20).next(after: outcome, limit: limit, inUse: inUse) == limit)
    }

    @Test func refusalsNarrowTheLimitAndResponsesWidenIt() async throws {
        let stub = StubTransport(Stub(.get, "/busy").responds(.status(.serviceUnavailable)), Stub().responds(.status(.ok)))
        let middleware = ConcurrencyLimitMiddleware(.adaptive(initial: 10, minimum: 2), per: .all)
        let stack = stub.wrapped(by: middleware)
        for _ in 0..<50 { _ = try await stack.send(call("/busy")) }
        #expect(middleware.state.limit == 2)
        for _ in 0..<5 { _ = try await stack.send(call("/fine")) }
        #expect(middleware.state.limit == 3, "one at a time uses half of two, and less than half of three")
    }

    @Test func anAdaptiveLimitForgetsKeysThatAreIdle() async throws {
        let middleware = ConcurrencyLimitMiddleware(.adaptive())
        let stack = StubTransport(Stub().responds(.status(.ok))).wrapped(by: middleware)
        for number in 0..<1_100 { _ = try await stack.send(call("/", host: "\(number).example")) }
        #expect(middleware.keyCount == 1_000)
    }

    @Test func anAdaptiveLimitKeepsEveryKeyInUse() async throws {
        let gate = ParkedSender()
        let middleware = ConcurrencyLimitMiddleware(.adaptive())
        let stack = HTTPStack(gate).wrapped(by: middleware)
        let tasks = (0..<1_100).map { number in Task { try await stack.send(call("/", host: "\(number).example")) } }
        await eventually { gate.inFlight == 1_100 }
        #expect(middleware.keyCount == 1_100)
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        #expect(middleware.keyCount == 1_000)
    }

    @Test func failuresBeforeTheServerDoNotNarrowTheLimit() async throws {
        let middleware = ConcurrencyLimitMiddleware(.adaptive(), per: .all)
        let refusing = CircuitBreaker()
        refusing.isolate("https://a.example")
        let inner: [any HTTPSender] = [
            StubTransport(Stub().responds(.failure(TransportError(.invalidRequest, phase: .request, request: nil, delivery: .notSent)))),
            StubTransport(Stub().responds(.failure(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)))),
            StubTransport(Stub().responds(.failure(TransportError(.requestBody, phase: .send, request: nil, delivery: .unknown)))),
            StubTransport(Stub().responds(.failure(TestError()))), StubTransport(Stub().responds(.status(.ok))).circuitBreaker(refusing),
        ]
        for sender in inner {
            for _ in 0..<10 { _ = try? await HTTPStack(sender).wrapped(by: middleware).send(call("/")) }
        }
        #expect(middleware.state.limit == 20)
        let lost = StubTransport(
            Stub().responds(.failure(TransportError(.connectionLost, phase: .response, request: nil, delivery: .sent))))
        _ = try? await lost.wrapped(by: middleware).send(call("/"))
        #expect(middleware.state.limit == 18)
    }

    @Test func theLeastRecentlyUsedIdleKeyIsForgotten() async throws {
        let middleware = ConcurrencyLimitMiddleware(.adaptive(initial: 10))
        let stub = StubTransport(Stub(.get, "/hangs").responds(.never), Stub().responds(.status(.serviceUnavailable)))
        let stack = stub.wrapped(by: middleware)
        func limit(of host: String) -> Int { middleware.state(of: Origin("https://\(host)")).limit }
        _ = try await stack.send(call("/busy", host: "used.example"))
        let used = Task { try await stack.send(call("/hangs", host: "used.example")) }
        await eventually { stub.requests.count == 2 }
        for number in 0..<1_001 { _ = try await stack.send(call("/busy", host: "\(number).example")) }
        #expect(middleware.keyCount == 1_001, "1,000 that are idle, and the one in use")
        #expect(middleware.state(of: "https://used.example") == .init(inFlight: 1, queued: 0, limit: 9))
        #expect(limit(of: "0.example") == 10, "forgotten")
        #expect(limit(of: "1.example") == 9)
        #expect(limit(of: "1000.example") == 9)
        used.cancel()
        _ = await used.result
    }
}

extension ConcurrencyLimitMiddleware.State {
    fileprivate var isIdle: Bool { inFlight == 0 && queued == 0 }
}
