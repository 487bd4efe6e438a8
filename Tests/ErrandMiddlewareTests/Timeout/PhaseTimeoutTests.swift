import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct PhaseTimeoutTests {
    private let simulation = Simulation()
    private var clock: ManualClock { simulation.clock }

    private enum Step: Sendable {
        case report(ExchangeEvent.Kind)
        case wait(Duration)
        /// Takes so many pieces of the request's body.
        case take(Int)
        case respond
    }

    /// A transport that takes `steps`, and then nothing more.
    private func transport(_ steps: [Step], capabilities: TransportCapabilities = [.phaseEvents]) -> ClosureTransport {
        ClosureTransport(capabilities: capabilities) { [clock] request in
            let source = try await request.body.open()
            defer { source.abandon() }
            for step in steps {
                switch step {
                case .report(let kind): request.options.eventSink?.record(ExchangeEvent(kind, request: request.id))
                case .wait(let duration): try await clock.sleep(for: duration)
                case .take(let count): for _ in 0..<count { _ = try await source.next() }
                case .respond: return Response(head: HTTPResponse(status: .ok), request: request)
                }
            }
            try await untilCancelled()
        }
    }

    private func failure(
        of steps: [Step], capabilities: TransportCapabilities = [.phaseEvents], body: RequestBody = .empty,
        _ limits: PhaseTimeouts
    ) async throws -> TransportError? {
        let stack = HTTPStack(transport(steps, capabilities: capabilities))
            .wrapped(by: PhaseTimeoutsMiddleware(limits))
        let call = try request(.post, body: body)
        let error = await #expect(throws: TransportError.self) { try await simulation.complete { try await stack.send(call) } }
        #expect(error?.code == .timedOut && clock.sleeperCount == 0)
        return error
    }

    private func limits(
        queue: Duration? = nil, connect: Duration? = nil, firstByte: Duration? = nil, idleRead: Duration? = nil, idleWrite: Duration? = nil
    ) -> PhaseTimeouts {
        PhaseTimeouts(queue: queue, connect: connect, firstByte: firstByte, idleRead: idleRead, idleWrite: idleWrite, clock: clock)
    }

    @Test func connectingIsBounded() async throws {
        let error = try await failure(of: [.report(.start)], limits(connect: .seconds(5), firstByte: .seconds(1)))
        #expect(error?.phase == .connect && error?.delivery == .unknown && error?.elapsed == .seconds(5))
        #expect(error?.message == "the limit connect is 5 s, set by .phaseTimeouts")
    }

    @Test func queueAndConnectShareTheirLimits() async throws {
        let error = try await failure(of: [.report(.start)], limits(queue: .seconds(2), connect: .seconds(5)))
        #expect(error?.phase == .connect && error?.elapsed == .seconds(7))
        #expect(error?.message == "the limit queue is 2 s, the limit connect is 5 s, set by .phaseTimeouts")
        let queue = try await failure(of: [.report(.start)], limits(queue: .seconds(2)))
        #expect(queue?.phase == .queue && queue?.delivery == .unknown && queue?.elapsed == .seconds(2))
    }

    @Test func theFirstByteIsBoundedFromTheEndOfTheRequest() async throws {
        let steps: [Step] = [.wait(.seconds(4)), .report(.requestHeadSent), .wait(.seconds(30)), .report(.requestSent)]
        let error = try await failure(of: steps, limits(connect: .seconds(5), firstByte: .seconds(3)))
        #expect(error?.phase == .response && error?.delivery == .unknown && error?.elapsed == .seconds(37))
        #expect(error?.description.contains("timed out while waiting for the response after 37 s: the limit firstByte is 3 s") == true)
    }

    @Test func idleWriteBoundsTheConnectionAndNotTheBody() async throws {
        let clock = clock
        let slow = RequestBody.stream { _ in
            ScriptedBodySource(Array(repeating: "piece", count: 5)) { try await clock.sleep(for: .seconds(100)) }
        }
        // The body takes its time for each piece; the connection takes three of them, and then no more.
        let error = try await failure(of: [.report(.requestHeadSent), .take(3)], body: slow, limits(idleWrite: .seconds(10)))
        #expect(error?.phase == .send && error?.delivery == .unknown && error?.elapsed == .seconds(310))
    }

    @Test func theFirstByteIsBoundedFromTheStartWithoutEvents() async throws {
        let error = try await failure(of: [], capabilities: [], limits(connect: .seconds(1), firstByte: .seconds(3)))
        #expect(error?.phase == .response && error?.delivery == .unknown && error?.elapsed == .seconds(3))
    }

    @Test func aRequestWithinItsLimitsGetsAResponse() async throws {
        let steps: [Step] = [
            .report(.start), .wait(.milliseconds(900)), .report(.requestHeadSent), .wait(.milliseconds(900)), .report(.requestSent),
            .wait(.milliseconds(900)), .report(.responseHead), .respond,
        ]
        let sink = RecordingEventSink()
        var call = try request()
        call.options.eventSink = sink
        let stack = HTTPStack(transport(steps))
            .phaseTimeouts(connect: .seconds(1), firstByte: .seconds(1), idleRead: .seconds(1), idleWrite: .seconds(1), clock: clock)
        let sent = call
        let response = try await simulation.complete { try await stack.send(sent) }
        #expect(response.status == .ok && clock.sleeperCount == 0)
        #expect(sink.kinds == [.start, .requestHeadSent, .requestSent, .responseHead], "the caller's sink is told as well")
        #expect((response.request.options.eventSink as? RecordingEventSink) === sink)
    }

    @Test func eachPieceOfTheResponseIsBounded() async throws {
        let clock = clock
        let stub = StubTransport(
            Stub().responds(
                .streaming { _, _ in
                    (
                        HTTPResponse(status: .ok),
                        ScriptedBodySource(Array(repeating: "piece", count: 3), then: .stall) { try await clock.sleep(for: .seconds(9)) }
                    )
                }))
        let stack = stub.phaseTimeouts(idleRead: .seconds(10), clock: clock)
        let call = try request()
        let (count, error) = try await simulation.complete {
            let response = try await stack.send(call)
            var count = 0
            do {
                for try await _ in response.body { count += 1 }
                return (count, nil as (any Error)?)
            } catch {
                return (count, error)
            }
        }
        #expect(count == 3, "27 seconds in all, nine for each")
        let failure = error as? TransportError
        #expect(failure?.code == .timedOut && failure?.phase == .body && failure?.delivery == .sent && failure?.elapsed == .seconds(10))
        #expect(failure?.message == "the limit idleRead is 10 s, set by .phaseTimeouts")
        #expect(stub.openBodyCount == 0 && clock.sleeperCount == 0)
    }

    @Test func theErrorOfAnAttemptTimeoutNamesTheAttempt() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.phaseTimeouts(attempt: .seconds(2), clock: clock)
        let attempt = try await transportError { try await simulation.complete { [call = try request()] in try await stack.send(call) } }
        #expect(attempt.message == "the limit attempt is 2 s, set by .phaseTimeouts" && attempt.elapsed == .seconds(2))
        var hurried = try request()
        hurried.deadline = Deadline(after: .seconds(1), clock: clock)
        let sent = hurried
        let call = try await transportError { try await simulation.complete { try await stack.send(sent) } }
        #expect(call.message == "the deadline of the request passed" && call.elapsed == .seconds(1))
        var own = try request()
        own.options.attemptTimeout = .use(.milliseconds(1))
        let option = own
        let optional = try await transportError { try await HTTPStack(stub).send(option) }
        #expect(optional.message == "the limit attempt is 1 ms, set by request.options.attemptTimeout")
    }

    @Test func theErrorOfATimeoutNamesTheLimitAndItsOrigin() async throws {
        let stack = StubTransport(Stub().responds(.never)).phaseTimeouts(attempt: .seconds(5), clock: clock).timeout(
            .seconds(30), clock: clock)
        func message(_ change: (inout RequestOptions) -> Void = { _ in }) async throws -> String {
            var request = try request()
            change(&request.options)
            let sent = request
            return try await transportError { try await simulation.complete { try await stack.send(sent) } }.message
        }
        #expect(try await message() == "the limit attempt is 5 s, set by .phaseTimeouts")
        #expect(try await message { $0.attemptTimeout = .off } == "the limit timeout is 30 s, set by .timeout")
        #expect(try await message { $0.timeout = .use(.seconds(2)) } == "the limit timeout is 2 s, set by request.options.timeout")
        #expect(
            try await message { $0.attemptTimeout = .use(.seconds(3)) } == "the limit attempt is 3 s, set by request.options.attemptTimeout"
        )
        let own = PhaseTimeouts(firstByte: .seconds(1), clock: clock)
        #expect(
            try await message { $0.phaseTimeouts = .use(own) } == "the limit firstByte is 1 s, set by request.options.phaseTimeouts")
    }

    @Test func theErrorOfATooSlowBodyNamesTheTimeout() async throws {
        let clock = clock
        let stub = StubTransport(
            Stub().responds(
                .streaming { _, _ in
                    (
                        HTTPResponse(status: .ok),
                        ScriptedBodySource(Array(repeating: "piece", count: 3), then: .stall) { try await clock.sleep(for: .seconds(1)) }
                    )
                }))
        let stack = stub.timeout(.seconds(30), clock: clock)
        let call = try request()
        let error = try await transportError { try await simulation.complete { try await stack.send(call).body.collect() } }
        #expect(error.phase == .body && error.message == "the limit timeout is 30 s, set by .timeout")
    }

    @Test func anUnreadBodyHasNoTimer() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed)))
        let response = try await stub.phaseTimeouts(idleRead: .seconds(1), clock: clock).send(try request())
        clock.advance(by: .seconds(100))
        #expect(clock.sleeperCount == 0)
        #expect(try await response.body.collect() == Data("onetwothree".utf8))
    }

    @Test func aRequestReplacesOrDropsTheLimits() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.phaseTimeouts(firstByte: .seconds(10), clock: clock)
        var own = try request()
        own.options.phaseTimeouts = .use(limits(firstByte: .seconds(2)))
        let sent = own
        let error = await #expect(throws: TransportError.self) { try await simulation.complete { try await stack.send(sent) } }
        #expect(error?.elapsed == .seconds(2))
        var off = try request()
        off.options.phaseTimeouts = .off
        let unbounded = off
        let waiting = Task { try await stack.send(unbounded) }
        await eventually { stub.requests.count == 2 }
        #expect(clock.sleeperCount == 0)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func theAttemptTimeoutCanBeSwitchedOff() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var off = try request()
        off.options.attemptTimeout = .off
        let stack = stub.phaseTimeouts(attempt: .seconds(3), clock: clock)
        _ = try await stack.send(off)
        _ = try await stack.send(try request())
        #expect(stub.requests.map { $0.request.deadline == nil } == [true, false])
    }

    @Test func eachAttemptHasItsOwnTimeout() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.phaseTimeouts(attempt: .seconds(3), clock: clock)
            .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1)), jitter: .none), clock: clock)
        let call = try request()
        let error = await #expect(throws: TransportError.self) { try await simulation.complete { try await stack.send(call) } }
        #expect(error?.code == .timedOut && error?.attempts.count == 2 && error?.elapsed == .seconds(3))
        #expect(stub.requests.count == 3)
    }

    @Test func cancellingEndsTheWatch() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.phaseTimeouts(connect: .seconds(1), firstByte: .seconds(10), clock: clock)
        let call = try request()
        let task = Task { try await stack.send(call) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func theDescriptionNamesTheLimitsThatAreSet() {
        let stack = StubTransport().phaseTimeouts(connect: .seconds(5), idleRead: .seconds(30), attempt: .seconds(60))
        #expect(
            stack.description
                == "phaseTimeouts(connect: 5 s, idleRead: 30 s, attempt: 1 min) > StubTransport")
    }

    // MARK: - Two of them

    private func limits(of request: Request?) -> [Duration?]? {
        guard case .use(let limits)? = request?.options.phaseTimeouts else { return nil }
        return [limits.queue, limits.connect, limits.firstByte, limits.idleRead, limits.idleWrite]
    }

    @Test func theShorterLimitOfTwoLayersHolds() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let inner = stub.phaseTimeouts(connect: .seconds(2), firstByte: .seconds(1), clock: clock)
        let stack = inner.phaseTimeouts(connect: .seconds(1), firstByte: .seconds(3), idleRead: .seconds(5), clock: clock)
            .phaseTimeouts(idleWrite: .seconds(7), clock: clock)
        _ = try await stack.send(try request())
        let sent = stub.requests.first?.request
        #expect(limits(of: sent) == [nil, .seconds(1), .seconds(1), .seconds(5), .seconds(7)])
    }

    @Test func limitsOfTheRequestReplaceAllLimits() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.phaseTimeouts(firstByte: .seconds(1), clock: clock).phaseTimeouts(idleRead: .seconds(5), clock: clock)
        var own = try request()
        own.options.phaseTimeouts = .use(PhaseTimeouts(firstByte: .seconds(60), clock: clock))
        _ = try await stack.send(own)
        #expect(limits(of: stub.requests.first?.request) == [nil, nil, .seconds(60), nil, nil])
        own.options.phaseTimeouts = .off
        _ = try await stack.send(own)
        #expect(stub.requests.last?.request.options.phaseTimeouts.isOff == true)
    }
}
