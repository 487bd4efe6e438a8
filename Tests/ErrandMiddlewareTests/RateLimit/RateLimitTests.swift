import Errand
import ErrandFormats
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RateLimitTests {
    private let clock = ManualClock()
    private let origin = "https://a.example"

    private func call(_ path: String = "/x", host: String = "a.example", _ priority: RequestPriority = .normal) throws -> Request {
        var request = try Request(.get, url: "https://\(host)\(path)")
        request.options.priority = priority
        return request
    }

    /// Starts a call, and returns when the call waits in the queue and the leader sleeps.
    private func queued(
        _ request: Request, on stack: HTTPStack, _ middleware: RateLimitMiddleware
    ) async -> Task<Response, any Error> {
        let before = middleware.queued(for: origin)
        let task = Task { try await stack.send(request) }
        await eventually { middleware.queued(for: origin) != before && clock.sleeperCount > 0 }
        return task
    }

    private func paths(_ stub: StubTransport) -> [String] { stub.requests.map { $0.request.head.path ?? "" } }

    // MARK: The line

    @Test func requestsOverTheLimitQueue() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perSecond(2), clock: clock)
        let stack = stub.wrapped(by: middleware)
        for _ in 0..<2 { _ = try await stack.send(call()) }
        #expect(try await middleware.state(of: Origin(origin)) == .init(queued: 0, available: 0))
        let third = await queued(try call(), on: stack, middleware)
        #expect(try await middleware.state(of: Origin(origin)) == .init(queued: 1, available: 0))
        #expect(clock.nextSleeper == .seconds(1) && stub.requests.count == 2)
        clock.advance(by: .seconds(1))
        #expect(try await third.value.status == .ok)
        #expect(try await middleware.state(of: Origin(origin)) == .init(queued: 0, available: 1))
    }

    @Test func eachOriginHasItsOwnLimitAndANilKeyHasNoLimit() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.rateLimit(.perHour(1), clock: clock)
        for host in ["a.example", "b.example"] { _ = try await stack.send(call(host: host)) }
        let free = stub.rateLimit(.perHour(1), per: .key { $0.head.path == "/free" ? nil : "all" }, clock: clock)
        for path in ["/free", "/x", "/free"] { _ = try await free.send(call(path)) }
        #expect(clock.sleeperCount == 0 && stub.requests.count == 5)
    }

    @Test func queuedRequestsStartByPriorityAndThenByArrival() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perSecond(1), clock: clock)
        let stack = stub.wrapped(by: middleware)
        _ = try await stack.send(call("/first"))
        var tasks: [Task<Response, any Error>] = []
        for (path, priority) in [
            ("/low", RequestPriority.low), ("/normal1", .normal), ("/background", .background), ("/normal2", .normal), ("/high", .high),
        ] {
            tasks.append(await queued(try call(path, priority), on: stack, middleware))
        }
        for count in 2...6 {
            #expect(clock.sleeperCount == 1, "the leader sleeps, and nobody else")
            clock.advance(by: .seconds(1))
            await eventually { stub.requests.count >= count && (count == 6 || clock.sleeperCount > 0) }
        }
        for task in tasks { _ = try await task.value }
        #expect(paths(stub) == ["/first", "/high", "/normal1", "/normal2", "/low", "/background"])
    }

    @Test(arguments: [0, 1, 2]) func aCancelledRequestLeavesTheQueue(_ leaving: Int) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perSecond(1), clock: clock)
        let stack = stub.wrapped(by: middleware)
        _ = try await stack.send(call("/first"))
        var tasks: [Task<Response, any Error>] = []
        for number in 0..<3 { tasks.append(await queued(try call("/\(number)"), on: stack, middleware)) }
        tasks[leaving].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[leaving].value }
        defer { for task in tasks { task.cancel() } }
        await eventually { clock.sleeperCount == 1 }  // the first of them led
        try #require(clock.sleeperCount == 1, "somebody leads")
        #expect(middleware.queued(for: origin) == 2 && clock.nextSleeper == .seconds(1))
        try await clock.advancingToSleepers {
            for number in 0..<3 where number != leaving { _ = try await tasks[number].value }
        }
        #expect(paths(stub) == ["/first"] + (0..<3).filter { $0 != leaving }.map { "/\($0)" })
        #expect(middleware.queued(for: origin) == 0 && clock.sleeperCount == 0)
    }

    @Test func theGrantOfACancelledRequestGoesToTheNext() async throws {
        let store = ScriptedStore(.granted, .never)
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perSecond(1), store: store, clock: clock)
        let stack = stub.wrapped(by: middleware)
        let task = Mutex<Task<Response, any Error>?>(nil)
        let other = Mutex<Task<Response, any Error>?>(nil)
        // Just before the grant, another call enters the queue, and the first call leaves.
        await store.whenAsked {
            other.withLock { $0 = Task { try await stack.send(try call("/next")) } }
            await eventually { middleware.queued(for: origin) >= 2 }
            task.withLock { $0?.cancel() }
        }
        task.withLock { $0 = Task { try await stack.send(try call("/leaving")) } }
        await eventually { other.withLock { $0 != nil } }
        let (leaving, next) = (try #require(task.withLock { $0 }), try #require(other.withLock { $0 }))
        await #expect(throws: CancellationError.self) { try await leaving.value }
        #expect(try await next.value.status == .ok)
        #expect(paths(stub) == ["/next"] && middleware.queued(for: origin) == 0 && store.asked == 1)
    }

    // MARK: Waits that are too long

    @Test func aRequestThatWouldMissItsDeadlineFailsImmediately() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perMinute(1), clock: clock)
        let stack = stub.wrapped(by: middleware)
        _ = try await stack.send(call())
        let waiting = await queued(try call(), on: stack, middleware)
        var short = try call()
        short.deadline = Deadline(after: .seconds(59), clock: clock)
        let bounded = short
        let refused = await #expect(throws: RateLimitError.self) { try await stack.send(bounded) }
        #expect(refused?.retryAfter == .seconds(120), "one is in front of it")
        #expect(refused?.cause == .limit && refused?.delivery == .notSent && refused?.phase == .queue)
        #expect(
            refused?.description == "GET https://a.example/x: refused by the rate limit: the next request may be sent in 2 min (not sent)")
        waiting.cancel()
        _ = await waiting.result
        let alone = await #expect(throws: RateLimitError.self) { try await stack.send(bounded) }
        #expect(alone?.retryAfter == .seconds(60), "and who would lead is told the same way")
        #expect(clock.sleeperCount == 0 && stub.requests.count == 1)
    }

    @Test func aDeadlineThatPassesInTheQueueIsATimeout() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perMinute(60, burst: 30), clock: clock)
        let stack = stub.wrapped(by: middleware)
        for _ in 0..<30 { _ = try await stack.send(call()) }
        var ahead: [Task<Response, any Error>] = []
        for _ in 0..<5 { ahead.append(await queued(try call(), on: stack, middleware)) }
        var short = try call("/short")
        short.deadline = Deadline(after: .milliseconds(2500), clock: clock)
        let leaving = await queued(short, on: stack, middleware)
        for _ in 0..<2 {
            await eventually { clock.sleeperCount >= 2 }
            clock.advance(by: .seconds(1))
        }
        await eventually { clock.sleeperCount >= 2 }
        clock.advance(by: .milliseconds(500))
        let error = await #expect(throws: TransportError.self) { try await leaving.value }
        #expect(error?.code == .timedOut && error?.phase == .queue && error?.delivery == .notSent)
        try await clock.advancingToSleepers { for task in ahead { _ = try await task.value } }
        #expect(!paths(stub).contains("/short") && middleware.queued(for: origin) == 0 && clock.sleeperCount == 0)
    }

    @Test func aWaitOverTheMaximumFails() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perSecond(1), maxWait: .milliseconds(2500), clock: clock)
        let stack = stub.wrapped(by: middleware)
        _ = try await stack.send(call("/0"))
        var tasks: [Task<Response, any Error>] = []
        for number in 1...2 { tasks.append(await queued(try call("/\(number)"), on: stack, middleware)) }
        let refused = await #expect(throws: RateLimitError.self) { try await stack.send(call("/3")) }
        #expect(refused?.retryAfter == .seconds(3))
        // The urgent ones go first, and the last in line, which could hope before, finds out when its time is up.
        let urgent = await queued(try call("/urgent", .high), on: stack, middleware)
        await eventually { clock.sleeperCount >= 4 }
        clock.advance(by: .seconds(1))
        #expect(try await urgent.value.status == .ok)
        await eventually { clock.sleeperCount >= 3 }
        clock.advance(by: .seconds(1))
        #expect(try await tasks[0].value.status == .ok)
        let late = await #expect(throws: RateLimitError.self) {
            // As it leads, it learns that it is too late.
            try await tasks[1].value
        }
        #expect(late?.retryAfter == .seconds(1) && clock.sleeperCount == 0 && middleware.queued(for: origin) == 0)
    }

    @Test func aMaximumWaitOfZeroQueuesNoRequest() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let store = ScriptedStore(.granted, .wait(.seconds(7)), .failure)
        let stack = stub.rateLimit(.perSecond(1), store: store, maxWait: .zero, clock: clock)
        _ = try await stack.send(call())
        var bounded = try call()
        bounded.deadline = Deadline(after: .seconds(60), clock: clock)
        let sent = bounded
        let refused = await #expect(throws: RateLimitError.self) { try await stack.send(sent) }
        #expect(refused?.retryAfter == .seconds(7) && clock.sleeperCount == 0)
        _ = try await stack.send(call())
        #expect(stub.requests.count == 2, "and where the store fails, they go")
    }

    @Test func aRequestWithTheLimitOffBypassesTheQueue() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "60"])))
        let stack = stub.rateLimit(.perHour(1), clock: clock)
        var off = try call()
        off.options.rateLimit = .off
        for _ in 0..<3 { #expect(try await stack.send(off).status == .tooManyRequests) }
        _ = try await stack.send(call())
        #expect(stub.requests.count == 4 && clock.sleeperCount == 0)
    }

    // MARK: The server

    @Test(arguments: [HTTPResponse.Status.tooManyRequests, .serviceUnavailable])
    func aRefusalWithRetryAfterHoldsLaterRequests(_ status: HTTPResponse.Status) async throws {
        let stub = StubTransport(Stub().responds(.status(status, headers: [.retryAfter: "30"], text: "later"), .status(.ok)))
        let middleware = RateLimitMiddleware(clock: clock)
        let stack = stub.wrapped(by: middleware)
        let refused = try await stack.send(call())
        #expect(refused.status == status && refused.head.headerFields[.retryAfter] == "30")
        #expect(try await refused.body.collect() == Data("later".utf8), "it comes back as it is")
        let next = await queued(try call(), on: stack, middleware)
        #expect(clock.nextSleeper == .seconds(30) && stub.requests.count == 1)
        clock.advance(by: .seconds(30))
        #expect(try await next.value.status == .ok)
    }

    @Test func aTooLongPauseFailsQueuedRequestsImmediately() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "3601"])))
        let store = MemoryRateLimitStore(clock: clock)
        let middleware = RateLimitMiddleware(.perSecond(1), store: store, clock: clock)
        let stack = stub.wrapped(by: middleware)
        store.observe(RateLimitFields(retryAfter: .seconds(10)), for: origin, after: nil)
        let leader = await queued(try call(), on: stack, middleware)
        var short = try call()
        short.deadline = Deadline(after: .seconds(100), clock: clock)
        let (parked, bounded) = (await queued(try call(), on: stack, middleware), await queued(short, on: stack, middleware))
        store.observe(RateLimitFields(retryAfter: .seconds(3700)), for: origin, after: nil)
        clock.advance(by: .seconds(10))
        for task in [leader, parked, bounded] {
            let refused = await #expect(throws: RateLimitError.self) { try await task.value }
            #expect(refused?.retryAfter == .seconds(3690) && refused?.cause == .server)
            #expect(refused?.description.contains("refused by the rate limit of the server") == true)
        }
        #expect(stub.requests.isEmpty && clock.sleeperCount == 0 && middleware.queued(for: origin) == 0)
    }

    @Test func theServersQuotaIsNotExceededBeforeItsTime() async throws {
        let stub = StubTransport(
            Stub().responds(
                .status(.ok, headers: [HTTPField.Name("RateLimit")!: #""default";r=2;t=30"#]), .status(.ok), repeatingLast: true)
        )
        let middleware = RateLimitMiddleware(clock: clock)
        let stack = stub.wrapped(by: middleware)
        for _ in 0..<3 { _ = try await stack.send(call()) }
        #expect(try await middleware.state(of: Origin(origin)).available == 0)
        let next = await queued(try call(), on: stack, middleware)
        #expect(clock.nextSleeper == .seconds(30) && stub.requests.count == 3)
        clock.advance(by: .seconds(30))
        #expect(try await next.value.status == .ok)
    }

    private static let rateLimit = HTTPField.Name("RateLimit")!

    @Test func aBetterQuotaEndsAWait() async throws {
        let desk = ParkedSender()
        let middleware = RateLimitMiddleware(clock: clock)
        let stack = HTTPStack(desk).wrapped(by: middleware)
        func respond(_ index: Int, _ value: String) async {
            await eventually { desk.requests.count > index }
            guard desk.requests.count > index else { return }
            let head = HTTPResponse(status: .ok, headerFields: [Self.rateLimit: value])
            await desk.respond(index, with: .success(Response(head: head, data: Data(), request: desk.requests[index])))
        }
        let first = Task { try await stack.send(try call("/first")) }
        await respond(0, #""d";r=1;t=3000"#)
        _ = try await first.value
        let second = Task { try await stack.send(try call("/a")) }
        await eventually { desk.requests.count == 2 }
        let waiting = await queued(try call("/b"), on: stack, middleware)
        await respond(1, #""d";r=500;t=3000"#)
        _ = try await second.value
        await eventually { desk.requests.count == 3 }
        try #require(desk.requests.count == 3, "the one that waited has gone")
        await respond(2, #""d";r=499;t=3000"#)
        _ = try await waiting.value
        var short = try call("/c")
        short.deadline = Deadline(after: .seconds(30), clock: clock)
        let bounded = short
        let third = Task { try await stack.send(bounded) }
        await respond(3, #""d";r=498;t=3000"#)
        _ = try await third.value
        #expect(clock.sleeperCount == 0 && middleware.queued(for: origin) == 0, "and the time stood still")
    }

    @Test func aQuotaInASharedStoreAppliesWithinAMinute() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let store = MemoryRateLimitStore(clock: clock)
        let middleware = RateLimitMiddleware(store: store, clock: clock)
        let stack = stub.wrapped(by: middleware)
        let none = RateLimitFields(quotas: [.init(remaining: 0, reset: .seconds(3000))])
        store.observe(none, for: origin, after: nil)
        let waiting = await queued(try call(), on: stack, middleware)
        store.observe(RateLimitFields(quotas: [.init(remaining: 500, reset: .seconds(3000))]), for: origin, after: nil)
        #expect(clock.nextSleeper == .seconds(60))
        clock.advance(by: .seconds(60))
        #expect(try await waiting.value.status == .ok)
    }

    /// A wrong value, or a value in milliseconds, must not block the requests to an origin for a day.
    @Test(
        arguments: [
            [.retryAfter: "999999999"], [rateLimit: #""a";r=0;t=999999999999"#],
            [HTTPField.Name("X-RateLimit-Remaining")!: "0", HTTPField.Name("X-RateLimit-Reset")!: "86000"],
        ] as [HTTPFields])
    func anImplausibleQuotaHoldsForAnHourBeforeAProbe(_ fields: HTTPFields) async throws {
        let desk = ParkedSender()
        let middleware = RateLimitMiddleware(clock: clock)
        let stack = HTTPStack(desk).wrapped(by: middleware)
        func respond(_ index: Int, _ status: HTTPResponse.Status, _ fields: HTTPFields = HTTPFields()) async {
            await eventually { desk.requests.count > index }
            guard desk.requests.count > index else { return }
            let head = HTTPResponse(status: status, headerFields: fields)
            await desk.respond(index, with: .success(Response(head: head, data: Data(), request: desk.requests[index])))
        }
        func probe(_ index: Int, _ status: HTTPResponse.Status, _ fields: HTTPFields = HTTPFields()) async throws {
            let task = Task { try await stack.send(try call("/probe")) }
            await eventually { desk.requests.count == index + 1 }
            await #expect(throws: RateLimitError.self, "the others wait for what comes of it") { try await stack.send(call()) }
            await respond(index, status, fields)
            _ = try await task.value
        }
        let first = Task { try await stack.send(try call()) }
        await respond(0, .tooManyRequests, fields)
        _ = try await first.value
        for _ in 0..<2 {
            let refused = await #expect(throws: RateLimitError.self) { try await stack.send(call()) }
            #expect(refused?.cause == .server && (refused?.retryAfter ?? .zero) > .zero)
            #expect((refused?.retryAfter ?? .zero) <= .seconds(3600))
            clock.advance(by: .seconds(1200))
        }
        clock.advance(by: .seconds(1200))
        try await probe(1, .tooManyRequests, fields)
        await #expect(throws: RateLimitError.self) { try await stack.send(call()) }
        clock.advance(by: .seconds(3600))
        try await probe(2, .ok)
        let free = Task { try await stack.send(try call("/free")) }
        await respond(3, .ok)
        #expect(try await free.value.status == .ok && clock.sleeperCount == 0)
    }

    @Test func aFailedProbeAllowsAnotherProbe() async throws {
        let lost = TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
        let stub = StubTransport(
            Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "999999"]), .failure(lost), .status(.ok)))
        let stack = stub.rateLimit(clock: clock)
        _ = try await stack.send(call())
        clock.advance(by: .seconds(3600))
        await #expect(throws: TransportError.self) { try await stack.send(call()) }
        #expect(try await stack.send(call()).status == .ok)
    }

    @Test func aKeyCanBeForgotten() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "999999"]), .status(.ok)))
        let store = MemoryRateLimitStore(clock: clock)
        let stack = stub.rateLimit(store: store, clock: clock)
        _ = try await stack.send(call())
        await #expect(throws: RateLimitError.self) { try await stack.send(call()) }
        store.forget(origin)
        #expect(try await stack.send(call()).status == .ok && store.keyCount == 1)
    }

    @Test func hugeDurationsAreCapped() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(RateLimit(1, per: .seconds(Int64.max)), maxWait: .seconds(Int64.max), clock: clock)
        let stack = stub.wrapped(by: middleware)
        _ = try await stack.send(call())
        var tasks: [Task<Response, any Error>] = []
        for _ in 0..<50 { tasks.append(Task { try await stack.send(try call()) }) }
        await eventually { middleware.queued(for: origin) + tasks.count >= 51 && clock.sleeperCount > 0 }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        #expect(clock.sleeperCount == 0)
    }

    @Test func fieldsOfTheServerAreIgnoredOnDemand() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "30"])))
        let stack = stub.rateLimit(.perSecond(10), obeysServer: false, clock: clock)
        for _ in 0..<5 { _ = try await stack.send(call()) }
        #expect(stub.requests.count == 5)
    }

    /// Retry waits as long as the server asks, and the limit beside it no longer than that.
    @Test func aRateLimitInsideRetryDoesNotWaitTwice() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "5"]), .status(.ok)))
        let stack = stub.rateLimit(.perSecond(10), clock: clock).retry(clock: clock, random: { 0 })
        let start = clock.now
        let response = try await clock.advancingToSleepers { try await stack.send(call()) }
        #expect(response.status == .ok && start.duration(to: clock.now) == .seconds(5))
        #expect(stack.orderProblems.isEmpty && !stub.retry().rateLimit().orderProblems.isEmpty)
        #expect(!stub.rateLimit().concurrencyLimit(1).orderProblems.isEmpty)
    }

    // MARK: The store

    @Test func aFailingStoreLetsRequestsPass() async throws {
        let store = ScriptedStore(.wait(.seconds(1)), .failure)
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perHour(1), store: store, clock: clock)
        let stack = stub.wrapped(by: middleware)
        var tasks: [Task<Response, any Error>] = []
        for _ in 0..<5 { tasks.append(await queued(try call(), on: stack, middleware)) }
        clock.advance(by: .seconds(1))
        for task in tasks { #expect(try await task.value.status == .ok) }
        #expect(store.asked == 2, "one asks for all of them")
        #expect(middleware.queued(for: origin) == 0)
        #expect(try await middleware.state(of: Origin(origin)) == .init(queued: 0, available: nil))
    }

    @Test func aFailingStoreFailsRequestsOnDemand() async throws {
        let store = ScriptedStore(.wait(.seconds(1)), .failure)
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let middleware = RateLimitMiddleware(.perHour(1), store: store, storeFailure: .failClosed, clock: clock)
        let stack = stub.wrapped(by: middleware)
        var tasks: [Task<Response, any Error>] = []
        for _ in 0..<3 { tasks.append(await queued(try call(), on: stack, middleware)) }
        clock.advance(by: .seconds(1))
        for task in tasks {
            let failed = await #expect(throws: RateLimitStoreError.self) { try await task.value }
            #expect(failed?.delivery == .notSent && failed?.underlying is TestError)
            #expect(
                failed?.description == "GET https://a.example/x: refused, because the store of the rate limit failed: TestError (not sent)")
        }
        #expect(stub.requests.isEmpty && store.asked == 2)
    }

    @Test func aFailureToRecordAResponseIsHiddenFromTheCaller() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "60"])))
        let stack = stub.rateLimit(store: ScriptedStore(.granted), clock: clock)
        var bounded = try call()
        #expect(try await stack.send(bounded).status == .tooManyRequests)
        bounded.deadline = Deadline(after: .seconds(60), clock: clock)
        #expect(try await stack.send(bounded).status == .tooManyRequests)
    }

    @Test func aHangingStoreIsAbandonedAtTheDeadline() async throws {
        let middleware = RateLimitMiddleware(.perHour(1), store: ScriptedStore(.never), clock: clock)
        let stack = StubTransport(Stub().responds(.status(.ok))).wrapped(by: middleware)
        var bounded = try call()
        bounded.deadline = Deadline(after: .seconds(5), clock: clock)
        let task = await queued(bounded, on: stack, middleware)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .timedOut && error?.phase == .queue && middleware.queued(for: origin) == 0)
    }

    @Test func stacksWithTheSameStoreShareARefusal() async throws {
        let store = MemoryRateLimitStore(clock: clock)
        let refusing = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "30"])))
        let other = StubTransport(Stub().responds(.status(.ok)))
        _ = try await refusing.rateLimit(store: store, clock: clock).send(call())
        let middleware = RateLimitMiddleware(store: store, clock: clock)
        let task = await queued(try call(), on: other.wrapped(by: middleware), middleware)
        #expect(other.requests.isEmpty && clock.nextSleeper == .seconds(30))
        clock.advance(by: .seconds(30))
        #expect(try await task.value.status == .ok)
    }

    // MARK: Stores that decide without suspension

    @Test func anImmediateStoreOfAThirdPartyNeedsNoQueueWhileItHasRoom() async throws {
        let (stub, store, events) = (StubTransport(Stub().responds(.status(.ok))), ThirdPartyStore(limit: 2), RecordingEventSink())
        let stack = stub.rateLimit(.perSecond(1), store: store, clock: clock).events(to: events)
        for _ in 0..<2 { _ = try await stack.send(call()) }
        #expect(store.asked == 0 && !events.events.contains { $0.kind == .queueStart })
        let third = Task { try await stack.send(call()) }
        await eventually { clock.sleeperCount > 0 }
        #expect(store.asked == 1 && events.events.count { $0.kind == .queueStart } == 1)
        third.cancel()
        await #expect(throws: CancellationError.self) { try await third.value }
    }

    @Test func aQueuedRequestFailsByTheCurrentDecisionOfAnImmediateStore() async throws {
        let (stub, store) = (StubTransport(Stub().responds(.status(.ok))), ThirdPartyStore(limit: 0))
        let middleware = RateLimitMiddleware(.perSecond(1), store: store, maxWait: .seconds(20), clock: clock)
        let stack = stub.wrapped(by: middleware)
        let leader = await queued(try call(), on: stack, middleware)
        #expect(clock.nextSleeper == .seconds(10))
        // The leader knows of ten seconds. The next request is told of the second that is left.
        store.pause = .seconds(1)
        var short = try call()
        short.deadline = Deadline(after: .seconds(5), clock: clock)
        let other = Task { [short] in try await stack.send(short) }
        await eventually { middleware.queued(for: origin) == 2 }
        other.cancel()
        leader.cancel()
        for task in [other, leader] { await #expect(throws: CancellationError.self) { try await task.value } }
    }

    @Test func anImmediateStoreRecordsFieldsBeforeTheResponseIsReturned() async throws {
        let stub = StubTransport(Stub().responds(.status(.tooManyRequests, headers: [.retryAfter: "30"])))
        let store = ThirdPartyStore(limit: 5)
        _ = try await stub.rateLimit(store: store, clock: clock).send(call())
        #expect(store.pause == .seconds(30))
    }
}

/// A store of a third party that decides without suspension, by the public protocol.
private final class ThirdPartyStore: RateLimitStore, ImmediateRateLimits {
    private let state = Mutex<(granted: Int, asked: Int, pause: Duration?)>((0, 0, nil))
    let limit: Int

    init(limit: Int) { self.limit = limit }

    /// How often an asynchronous function was called.
    var asked: Int { state.withLock(\.asked) }
    /// The wait of all requests; `nil`: only the limit counts.
    var pause: Duration? {
        get { state.withLock(\.pause) }
        set { state.withLock { $0.pause = newValue } }
    }

    var immediate: (any ImmediateRateLimits)? { self }

    func wait(_ key: String, limit: RateLimit?) -> (duration: Duration, cause: RateLimitDecision.Cause)? {
        if let pause { return (pause, .server) }
        return state.withLock { $0.granted < self.limit } ? nil : (.seconds(10), .limit)
    }

    func take(_ key: String, limit: RateLimit?) -> RateLimitDecision {
        if let (wait, cause) = wait(key, limit: limit) { return .wait(wait, cause: cause) }
        return state.withLock { state in
            state.granted += 1
            return .granted(RateLimitGrant(number: state.granted))
        }
    }

    func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision {
        state.withLock { $0.asked += 1 }
        return self.immediate?.take(key, limit: limit) ?? .granted(RateLimitGrant(number: 0))
    }

    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) { pause = fields.retryAfter }

    func available(_ key: String, limit: RateLimit?) -> Int? { nil }
}

/// Returns its decisions in order, and repeats the last decision. Recording a response fails.
private final class ScriptedStore: RateLimitStore {
    enum Step: Sendable {
        case granted, failure, never, wait(Duration)
    }

    private let state: Mutex<(steps: [Step], asked: Int, hook: (@Sendable () async -> Void)?)>

    init(_ steps: Step...) { state = Mutex((steps, 0, nil)) }

    var asked: Int { state.withLock(\.asked) }

    /// Runs it when the store is asked for the first time, before the decision.
    func whenAsked(_ hook: @escaping @Sendable () async -> Void) async { state.withLock { $0.hook = hook } }

    func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision {
        let (step, number, hook) = state.withLock { state in
            state.asked += 1
            defer { state.hook = nil }
            return (state.steps.count > 1 ? state.steps.removeFirst() : state.steps[0], state.asked, state.hook)
        }
        await hook?()
        switch step {
        case .granted: return .granted(RateLimitGrant(number: number))
        case .failure: throw TestError()
        case .wait(let wait): return .wait(wait, cause: .limit)
        case .never: try await untilCancelled()
        }
    }

    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) async throws { throw TestError() }

    func available(_ key: String, limit: RateLimit?) -> Int? { nil }
}
