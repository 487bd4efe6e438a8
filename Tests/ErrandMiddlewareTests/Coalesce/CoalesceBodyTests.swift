import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// A body that several read, each at its own pace.
@Suite(.timeLimit(.minutes(5)), .leavesNothingBehind(inParallelRuns: false)) struct CoalesceBodyTests {
    private let desk = ParkedSender()
    private let middleware: CoalesceMiddleware
    private var stack: HTTPStack { HTTPStack(desk).wrapped(by: middleware) }

    init() { middleware = CoalesceMiddleware(viewLimitBytes: 100) }

    /// The responses of callers that share an exchange, with a body that the test writes.
    private func responses(_ count: Int, _ body: RecordingBodySource, _ change: (Int, inout Request) -> Void = { _, _ in }) async throws
        -> [Response]
    {
        let calls = try (0..<count).map { index in
            var request = try request()
            change(index, &request)
            let sent = request
            return Task { [stack] in try await stack.send(sent) }
        }
        await middleware.callers(count)
        await desk.respond(body: body)
        var responses: [Response] = []
        for call in calls { responses.append(try await call.value) }
        return responses
    }

    private func text(_ response: Response) async throws -> String {
        String(decoding: try await response.body.collect(), as: UTF8.self)
    }

    // MARK: Slow readers

    /// The body is read for all callers, as for a stream.
    @Test func anObserverInsideSeesBytesInMemory() async throws {
        let events = Mutex<[String]>([])
        let inner = StubTransport(Stub().responds(.status(.ok, text: "text"))).transformResponse { response in
            let data = response.body.bufferedData ?? Data()
            response.body = ResponseBody(data, trailers: [.eTag: "x"]).observed { event in
                switch event {
                case .opened: break
                case .chunk(let chunk): events.withLock { $0.append("\(chunk.count)") }
                case .end(let end, _): events.withLock { $0.append("\(end)") }
                }
            }
        }
        let response = try await inner.coalesce().send(Request(.get, url: "https://a.example/"))
        #expect(try await response.body.collect() == Data("text".utf8) && response.body.trailers == [.eTag: "x"])
        #expect(events.withLock { $0 } == ["4", "complete"])
    }

    /// The task of the slow reader has asked for bytes, and does not run, like a task on a busy main actor. The simulation runs jobs only
    /// in `runUntilIdle()`.
    @Test func aReaderWhoseExecutorIsBusyKeepsNoMoreThanTheLimit() async throws {
        let simulation = Simulation()
        let (stack, body) = (stack, RecordingBodySource())
        let slow = simulation.begin { () -> (bytes: Int, fellBehind: Bool) in
            let response = try await stack.send(try request())
            let reader = response.body.makeSharedIterator()
            var bytes = 0
            do {
                while let chunk = try await reader.next() { bytes += chunk.count }
                return (bytes, false)
            } catch is SlowReaderError {
                return (bytes, true)
            }
        }
        await eventually {
            simulation.runUntilIdle()
            return desk.requests.count == 1
        }
        let fast = Task { try await stack.send(try request()).body.collect().count }
        await middleware.callers(2)
        await desk.respond(body: body)
        // Both callers have asked for bytes. One of them reads for both.
        await eventually {
            simulation.runUntilIdle()
            return body.asked == 1
        }
        for number in 1...100 {
            body.write(Data(count: 50))
            await eventually { body.asked > number }
        }
        body.finish()
        #expect(try await fast.value == 5_000)
        await eventually {
            simulation.runUntilIdle()
            return middleware.state.callers == 0
        }
        let outcome = try await slow.value
        #expect(outcome.fellBehind && outcome.bytes <= 150, "\(outcome)")
    }

    // MARK: All of it

    /// Several readers, some of which dawdle, some of which join late, get every byte.
    @Test(arguments: 1...20) func everyReaderGetsEveryByte(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let content = Data.seeded(Int.random(in: 0...300_000, using: &random), seed: seed)
        var chunks: [Data] = []
        var rest = content
        while !rest.isEmpty {
            let count = min(rest.count, Int.random(in: 1...40_000, using: &random))
            chunks.append(Data(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        let sent = chunks
        let middleware = CoalesceMiddleware()
        let stub = StubTransport(
            Stub().responds(
                .streaming { _, _ in
                    await middleware.callers(8)
                    let body = RecordingBodySource(trailers: [.eTag: "t"])
                    for chunk in sent { body.write(chunk) }
                    body.finish()
                    return (HTTPResponse(status: .ok), body)
                }))
        let stack = stub.wrapped(by: middleware)
        let paces = (0..<8).map { _ in Int.random(in: 0...20, using: &random) }
        let isRight = try await withThrowingTaskGroup(of: Bool.self) { group in
            for pace in paces {
                group.addTask {
                    var read = Data()
                    let response = try await stack.send(request())
                    for try await chunk in response.body {
                        read += chunk
                        for _ in 0..<pace { await Task.yield() }
                    }
                    guard case .complete? = response.exchange.outcome else { return false }
                    return read == content && response.body.trailers?[.eTag] == "t"
                }
            }
            return try await group.reduce(true) { $0 && $1 }
        }
        #expect(isRight)
        #expect(stub.requests.count == 1 && stub.openBodyCount == 0)
        #expect(middleware.state.has(0, callers: 0))
    }

    @Test func theFastestReaderSetsThePaceOfTheBody() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(2, body)
        #expect(body.asked == 0, "nobody has read")
        var fast = responses[0].body.makeAsyncIterator()
        var slow = responses[1].body.makeAsyncIterator()
        for text in ["a", "b", "c"] { body.write(text) }
        #expect(try await fast.next() == Data("a".utf8) && body.asked == 1)
        #expect(try await fast.next() == Data("b".utf8) && body.asked == 2)
        #expect(try await slow.next() == Data("a".utf8) && body.asked == 2, "kept for the slow one")
        #expect(try await slow.next() == Data("b".utf8) && body.asked == 2)
        #expect(try await slow.next() == Data("c".utf8) && body.asked == 3, "now it is the fast one")
        body.finish()
        #expect(try await slow.next() == nil)
        #expect(try await fast.next() == Data("c".utf8))
        #expect(try await fast.next() == nil)
        #expect(body.asked == 4)
    }

    @Test func theLastReaderReadsOnlyOnDemand() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(3, body)
        var iterator = responses[0].body.makeAsyncIterator()
        body.write("a")
        #expect(try await iterator.next() == Data("a".utf8))
        responses[1].body.abandon()
        responses[2].body.abandon()
        #expect(middleware.state.callers == 1 && body.abandoned == 0)
        for text in ["b", "c"] { body.write(text) }
        for _ in 0..<20 { await Task.yield() }
        #expect(body.asked == 1)
        #expect(try await iterator.next() == Data("b".utf8) && body.asked == 2)
        body.finish()
        #expect(try await iterator.next() == Data("c".utf8))
        #expect(try await iterator.next() == nil && middleware.state.inFlight == 0)
    }

    // MARK: Joining

    @Test func aCallerJoinsUntilTheFirstByteIsRead() async throws {
        let body = RecordingBodySource()
        let first = try await responses(1, body)[0]
        let second = try await stack.send(request())
        #expect(desk.requests.count == 1, "the head has come, and no byte was read")
        let reading = Task { try await text(first) }
        await eventually { body.isBeingRead }
        let third = try await stack.send(request())
        #expect(desk.requests.count == 1, "a read is under way")
        body.write("a")
        body.finish()
        #expect(try await reading.value == "a")
        let fourth = Task { [stack] in try await stack.send(request()) }
        await desk.respond(1, text: "anew")
        #expect(try await text(fourth.value) == "anew" && desk.requests.count == 2)
        for response in [second, third] { #expect(try await text(response) == "a") }
    }

    @Test func noCallerJoinsAnExchangeAfterItsFirstByte() async throws {
        let body = RecordingBodySource()
        let first = try await responses(1, body)[0]
        var iterator = first.body.makeAsyncIterator()
        body.write("a")
        #expect(try await iterator.next() == Data("a".utf8))
        let second = Task { [stack] in try await stack.send(request()) }
        await desk.respond(1, text: "anew")
        #expect(try await text(second.value) == "anew")
        body.finish()
        #expect(try await iterator.next() == nil)
    }

    /// A caller that comes much later does not get a response that nobody has read.
    @Test func noCallerJoinsAnExchangeAfterItsEndOnTheWire() async throws {
        let body = RecordingBodySource()
        let first = try await responses(1, body)[0]
        body.write("old")
        body.finish()
        let second = Task { [stack] in try await stack.send(request()) }
        await desk.respond(1, text: "new")
        #expect(try await text(second.value) == "new")
        #expect(try await text(first) == "old")
    }

    // MARK: Too slow

    @Test func onlyASlowReaderFails() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(3, body)
        var fast = responses[0].body.makeAsyncIterator()
        var other = responses[1].body.makeAsyncIterator()
        for number in UInt8(0)..<10 {
            let chunk = Data(repeating: number, count: 30)
            body.write(chunk)
            #expect(try await fast.next() == chunk)
            #expect(try await other.next() == chunk)
            if number == 2 { #expect(responses[2].exchange.outcome == nil, "90 bytes are kept, of 100") }
        }
        guard case .failed(is SlowReaderError)? = responses[2].exchange.outcome else { return #expect(Bool(false), "it is out") }
        #expect(middleware.state.callers == 2)
        let error = await #expect(throws: SlowReaderError.self) { try await text(responses[2]) }
        #expect(error?.limitBytes == 100 && error?.request?.id == responses[2].request.id && error?.response?.status == .ok)
        #expect(error?.phase == .body && error?.delivery == .sent)
        body.finish()
        #expect(try await fast.next() == nil)
        #expect(try await other.next() == nil)
        #expect(responses[0].exchange.outcome != nil && body.abandoned == 0)
    }

    @Test func aChunkOverTheLimitReachesWaitingReaders() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(2, body)
        let large = Data(count: 1_000)
        let waiting = Task { try await responses[0].body.collect() }
        await eventually { body.isBeingRead }
        body.write(large)
        body.finish()
        #expect(try await waiting.value.count == 1_000)
        await #expect(throws: SlowReaderError.self) { try await text(responses[1]) }
    }

    /// The caller that asked for the chunk has left. Therefore, the chunk fails no other reader.
    @Test func aChunkForACancelledReaderFailsNoReader() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(2, body)
        let leaving = Task { try await text(responses[0]) }
        await eventually { body.isBeingRead }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        body.write(Data(count: 1_000))
        body.finish()
        #expect(try await responses[1].body.collect().count == 1_000 && body.cancelled == 0)
    }

    // MARK: Leaving

    @Test func aReaderCancelledDuringAReadLeavesTheReadToTheOthers() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(2, body)
        let leaving = Task { try await text(responses[0]) }
        await eventually { body.isBeingRead }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        guard case .abandoned? = responses[0].exchange.outcome else { return #expect(Bool(false), "abandoned") }
        #expect(body.isBeingRead && body.cancelled == 0 && body.abandoned == 0)
        body.write("whole")
        body.finish()
        #expect(try await text(responses[1]) == "whole" && body.asked == 2)
    }

    @Test func anAbandoningReaderDoesNotAffectTheOthers() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(2, body)
        let staying = Task { try await text(responses[1]) }
        body.write("a")
        for try await _ in responses[0].body { break }
        guard case .abandoned? = responses[0].exchange.outcome else { return #expect(Bool(false), "abandoned") }
        body.write("b")
        body.finish()
        #expect(try await staying.value == "ab")
        guard case .complete? = responses[1].exchange.outcome else { return #expect(Bool(false), "complete") }
    }

    @Test func theLastReleasedViewAbandonsTheBody() async throws {
        let body = RecordingBodySource()
        do {
            let responses = try await responses(3, body)
            responses[0].body.abandon()
            responses[1].body.abandon()
            #expect(body.abandoned == 0)
        }
        #expect(body.abandoned == 1 && middleware.state.has(0, callers: 0))
    }

    /// The read ends immediately, although only cancellation can end the read itself.
    @Test(arguments: [1, 2], [true, false]) func theLastReleasedViewEndsAReadInProgress(views: Int, endsReads: Bool) async throws {
        let body = RecordingBodySource(endsReads: endsReads)
        let responses = try await responses(views, body)
        let readers = responses.map { response in Task { try await text(response) } }
        await eventually { body.isBeingRead }
        for (response, reader) in zip(responses, readers) {
            response.body.abandon()
            await #expect(throws: BodyAlreadyUsedError.self) { try await reader.value }
        }
        #expect(body.abandoned == 1 && middleware.state.inFlight == 0)
        await eventually { !body.isBeingRead }
    }

    /// By then it reads by itself.
    @Test func aViewAbandonedByAnotherTaskEndsItsReadAfterTheFirstByte() async throws {
        let body = RecordingBodySource()
        let response = try await responses(2, body)[1]
        let reader = Task { try await text(response) }
        await eventually { body.isBeingRead }
        body.write("a")
        await eventually { body.asked == 2 && body.isBeingRead }
        response.body.abandon()
        await #expect(throws: BodyAlreadyUsedError.self) { try await reader.value }
        #expect(body.abandoned == 1 && middleware.state.inFlight == 0)
    }

    @Test func aCancelledOnlyReaderAbandonsTheBody() async throws {
        let body = RecordingBodySource(endsReads: false)
        let response = try await responses(1, body)[0]
        let reader = Task { try await text(response) }
        await eventually { body.isBeingRead }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(body.abandoned == 1)
        await eventually { !body.isBeingRead }
        await middleware.isIdle()
    }

    @Test func aDeadlineInTheBodyEndsOnlyItsReader() async throws {
        let clock = ManualClock()
        let body = RecordingBodySource()
        let responses = try await responses(3, body) { index, request in
            if index < 2 { request.deadline = Deadline(after: .seconds(5), clock: clock) }
        }
        let waiting = Task { try await text(responses[0]) }
        await eventually { body.isBeingRead }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        for late in [waiting, Task { try await text(responses[1]) }] {
            let error = await #expect(throws: TransportError.self) { try await late.value }
            #expect(error?.code == .timedOut && error?.phase == .body && error?.elapsed == .seconds(5))
        }
        guard case .failed(is TransportError)? = responses[0].exchange.outcome else { return #expect(Bool(false), "failed") }
        body.write("in time")
        body.finish()
        #expect(try await text(responses[2]) == "in time" && clock.sleeperCount == 0)
    }

    @Test func aResponseAfterTheLastCallerLeftIsReleased() async throws {
        let body = RecordingBodySource()
        let isAsked = Mutex(false)
        let go = Mutex(false)
        let stack = HTTPStack(
            StubSender { request in
                isAsked.withLock { $0 = true }
                await eventually { go.withLock { $0 } }  // deaf to cancellation
                return body.response(to: request)
            }
        ).wrapped(by: middleware)
        let call = Task { try await stack.send(request()) }
        await eventually { isAsked.withLock { $0 } }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(middleware.state.inFlight == 0)
        go.withLock { $0 = true }
        await eventually { body.abandoned > 0 }
    }

    // MARK: Breaking off

    @Test(arguments: [1, 2, 50]) func aBrokenBodyReachesEachReaderAfterItsBytes(count: Int) async throws {
        let body = RecordingBodySource()
        let responses = try await responses(count, body)
        body.write("some")
        body.finish(TransportError(.connectionLost, phase: .body, request: desk.requests[0], delivery: .sent))
        for response in responses {
            var iterator = response.body.makeAsyncIterator()
            #expect(try await iterator.next() == Data("some".utf8))
            let error = await #expect(throws: TransportError.self) { _ = try await iterator.next() }
            #expect(error?.code == .connectionLost && error?.request?.id == response.request.id)
            guard case .failed? = response.exchange.outcome else { return #expect(Bool(false), "failed") }
        }
        #expect(middleware.state.inFlight == 0)
    }

    @Test func aCancellationInTheBodyFailsJoinedCallers() async throws {
        let body = RecordingBodySource()
        let first = try await responses(1, body)[0]
        let second = try await stack.send(request())
        body.finish(CancellationError())
        await #expect(throws: CancellationError.self) { try await text(first) }
        let error = await #expect(throws: TransportError.self) { try await text(second) }
        #expect(error?.code == .connectionLost && error?.phase == .body)
    }

    @Test func trailersReachEveryView() async throws {
        let body = RecordingBodySource(trailers: [.eTag: "t"])
        let responses = try await responses(3, body)
        body.write("x")
        body.finish()
        for response in responses {
            #expect(response.body.trailers == nil)
            #expect(try await text(response) == "x" && response.body.trailers?[.eTag] == "t")
        }
    }

    @Test func anEmptyBodyEndsForAll() async throws {
        let body = RecordingBodySource()
        let responses = try await responses(3, body)
        body.finish()
        for response in responses { #expect(try await text(response) == "") }
        #expect(body.asked == 1 && middleware.state.inFlight == 0)
    }

    // MARK: The slot

    @Test func aSlotInsideIsFreedOnceAtTheEndOfTheExchange() async throws {
        let limit = ConcurrencyLimitMiddleware(.fixed(1), per: .all)
        let body = RecordingBodySource()
        let stack = HTTPStack(desk).wrapped(by: limit).wrapped(by: middleware)
        let calls = (0..<3).map { _ in Task { try await stack.send(request()) } }
        await middleware.callers(3)
        await desk.respond(body: body)
        var responses: [Response] = []
        for call in calls { responses.append(try await call.value) }
        responses[0].body.abandon()
        #expect(limit.state.inFlight == 1, "one slot, while one of them stays")
        body.write("x")
        #expect(responses[1].exchange.outcome == nil)
        body.finish()
        #expect(limit.state.inFlight == 0, "nobody has read it")
        guard case .complete? = responses[1].exchange.outcome else { return #expect(Bool(false), "complete, though nobody has read it") }
        for response in responses[1...] { #expect(try await text(response) == "x") }
        #expect(limit.state.inFlight == 0)
    }

    @Test func theLastReleasedViewFreesTheSlot() async throws {
        let limit = ConcurrencyLimitMiddleware(.fixed(1), per: .all)
        let body = RecordingBodySource()
        let stack = HTTPStack(desk).wrapped(by: limit).wrapped(by: middleware)
        let call = Task { try await stack.send(request()) }
        await desk.respond(body: body)
        try await call.value.body.abandon()
        #expect(limit.state.inFlight == 0 && body.abandoned == 1)
    }
}
