import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct FallbackMiddlewareTests {
    private func lost(_ sent: Delivery = .unknown) -> TransportError {
        TransportError(.connectionLost, phase: .response, message: "the first", request: nil, delivery: sent)
    }

    // MARK: The deadline

    private func deadlined(_ method: HTTPRequest.Method, _ clock: ManualClock) throws -> Request {
        var request = try request(method)
        request.deadline = Deadline(after: .seconds(10), clock: clock)
        return request
    }

    @Test func aHangingFirstSenderLeavesAQuarterOfTheTime() async throws {
        let clock = ManualClock()
        let (hanging, mirror) = (StubTransport(Stub().responds(.never)), StubTransport(Stub().responds(.status(.ok, text: "mirror"))))
        let (stack, sent) = (hanging.fallback(to: mirror), try deadlined(.get, clock))
        let task = Task { try await stack.send(sent) }
        try await clock.sleepers(atLeast: 1)
        #expect(clock.nextSleeper == .milliseconds(7_500))
        clock.advance(by: .milliseconds(7_500))
        let response = try await task.value
        #expect(response.metadata.isFallback && hanging.openBodyCount == 0)
        #expect(mirror.requests.first?.request.deadline?.remaining == .milliseconds(2_500))
    }

    @Test func theBodyOfTheFirstSenderHasItsShareOfTheTime() async throws {
        let clock = ManualClock()
        let (first, mirror) = (StubTransport(Stub().responds(.stream(streamed))), StubTransport(Stub().responds(.status(.ok))))
        let response = try await first.fallback(to: mirror).send(try deadlined(.get, clock))
        clock.advance(by: .seconds(7))
        #expect(try await response.body.collect() == Data("onetwothree".utf8) && mirror.requests.isEmpty)
        #expect(first.requests.first?.request.deadline?.remaining == .milliseconds(500))
    }

    /// A cancellation would say nothing about the server.
    @Test func aHangingFirstSenderCountsAsAFailureOfItsServer() async throws {
        let clock = ManualClock()
        let (hanging, mirror) = (StubTransport(Stub().responds(.never)), StubTransport(Stub().responds(.status(.ok))))
        let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 2), clock: clock)
        let stack = hanging.circuitBreaker(breaker).fallback(to: mirror)
        for _ in 0..<2 {
            let sent = try deadlined(.get, clock)
            let task = Task { try await stack.send(sent) }
            try await clock.sleepers(atLeast: 1)
            clock.advance(by: .milliseconds(7_500))
            #expect(try await task.value.metadata.isFallback)
        }
        #expect(breaker.state(of: "https://a.example") == .open(for: .seconds(5)))
    }

    @Test func aRequestWithoutAFallbackKeepsTheWholeTime() async throws {
        let clock = ManualClock()
        let (first, mirror) = (StubTransport(Stub().responds(.never)), StubTransport(Stub().responds(.status(.ok))))
        for (stack, method) in [
            (first.fallback(to: mirror), HTTPRequest.Method.post), (first.fallback(to: mirror, deadlineShare: 0), .get),
        ] {
            let sent = try deadlined(method, clock)
            let before = first.requests.count
            let task = Task { try await stack.send(sent) }
            await eventually { first.requests.count == before + 1 }
            #expect(clock.nextSleeper != .milliseconds(7_500))
            task.cancel()
            _ = await task.result
        }
        #expect(mirror.requests.isEmpty)
    }

    // MARK: A value, a response that was kept, another sender

    @Test func aValueReplacesAFailure() async throws {
        let stub = StubTransport(Stub().responds(.failure(lost())))
        let stack = stub.fallback(status: .accepted, headers: [.contentType: "text/plain"], data: Data("later".utf8))
        let request = try request(.post, body: .text("x"))
        let response = try await stack.send(request)
        #expect(response.status == .accepted && response.headers[.contentType] == "text/plain")
        #expect(try await response.body.collect() == Data("later".utf8))
        #expect(response.metadata.isFallback && response.request.id == request.id)
        #expect(response.exchange.outcome != nil)
    }

    @Test func anAcceptedResponseIsReturned() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable, text: "busy")))
        let response = try await stub.fallback(data: Data(), statuses: [500, 502]).send(try request())
        #expect(response.status == .serviceUnavailable && !response.metadata.isFallback)
        #expect(try await response.body.collect() == Data("busy".utf8))
    }

    @Test func aKeptResponseReplacesAFailure() async throws {
        let store = KeptResponses()
        let stub = StubTransport(Stub().responds(.status(.ok, text: "fresh"), .failure(lost()), .status(.serviceUnavailable)))
        let stack = stub.transformResponse { try await store.keep(&$0) }
            .fallback(statuses: [503]) { request, _ in store.response(to: request) }
        for expected in [false, true, true] {
            let response = try await stack.send(try request())
            #expect(try await response.body.collect() == Data("fresh".utf8))
            #expect(response.metadata.isFallback == expected)
        }
        let another = StubTransport(Stub().responds(.failure(lost())))
        await #expect(throws: TransportError.self) {
            try await another.fallback { request, _ in store.response(to: request) }.send(Request(.get, url: "https://a.example/unknown"))
        }
    }

    @Test func anotherSenderReplacesAFailure() async throws {
        let mirror = StubTransport(Stub().responds(.echo))
        let stub = StubTransport(Stub().responds(.failure(lost())))
        let request = try request(.put, body: .text("content"))
        let response = try await stub.fallback(to: mirror).send(request)
        #expect(try await response.body.collect() == Data("content".utf8))
        #expect(response.metadata.isFallback)
        #expect(mirror.requests.map(\.request.id) == [request.id])
    }

    @Test func anotherTransportChecksItsRequests() async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let stack = StubTransport(Stub().responds(.failure(lost()))).fallback(to: mirror)
        for target in ["/x HTTP/1.1\r\nEvil: 1", "@evil.example/"] {
            var hostile = try request()
            hostile.head.path = target
            let sent = hostile
            await #expect(throws: InvalidURLError.self) { try await stack.send(sent) }
        }
        var late = try request()
        late.deadline = Deadline(after: .zero)
        let sent = late
        await #expect(throws: TransportError.self) { try await stack.send(sent) }
        #expect(mirror.requests.isEmpty)
    }

    @Test func theFailureReportsThatTheOtherServerMayHaveTheRequest() async throws {
        let mirror = StubTransport(Stub().responds(.failure(lost())))
        let stack = StubTransport(Stub().responds(.failure(lost(.notSent)))).fallback(to: mirror)
        let error = await #expect(throws: TransportError.self) { try await stack.send(try request(.post)) }
        #expect(error?.delivery == .unknown && error?.attempts.count == 1)
    }

    @Test func theClosureGetsTheFailureOrTheResponse() async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.failure(lost()), .status(.badGateway), .status(.ok)))
        let stack = stub.fallback(statuses: [502]) { request, cause in
            switch cause {
            case .failure(let error): passage.record("\(type(of: error))")
            case .response(let response): passage.record("\(response.status.code)")
            }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
        for _ in 0..<3 { _ = try await stack.send(try request()) }
        #expect(passage.all == ["TransportError", "502"])
    }

    // MARK: Requests that are sent once

    @Test func aUsedOneShotBodyIsNotSentToAnotherSender() async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let chunks = AsyncThrowingStream<Data, any Error> {
            $0.yield(Data("x".utf8)); $0.finish()
        }
        let response = try await stub.fallback(to: mirror, statuses: [503]).send(try request(.put, body: .stream(chunks)))
        #expect(response.status == .serviceUnavailable)
        #expect(mirror.requests.isEmpty)
    }

    @Test func anUnreadOneShotBodyIsSentToAnotherSender() async throws {
        let mirror = StubTransport(Stub().responds(.echo))
        let first = StubSender { [error = lost(.notSent)] _ in throw error }
        let chunks = AsyncThrowingStream<Data, any Error> {
            $0.yield(Data("x".utf8)); $0.finish()
        }
        let response = try await first.fallback(to: mirror).send(try request(.put, body: .stream(chunks)))
        #expect(try await response.body.collect() == Data("x".utf8))
    }

    @Test(arguments: [
        (Delivery.notSent, HTTPRequest.Method.post, false, true), (.unknown, .post, false, false), (.sent, .patch, false, false),
        (.unknown, .post, true, true), (.unknown, .put, false, true), (.sent, .get, false, true),
    ])
    func anUnsafeRepetitionIsNotSentToAnotherSender(
        _ sent: Delivery, method: HTTPRequest.Method, hasKey: Bool, isSentAgain: Bool
    ) async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let stub = StubTransport(Stub().responds(.failure(lost(sent))))
        var request = try request(method, body: .text("x"))
        if hasKey { request.head.headerFields[HTTPField.Name("Idempotency-Key")!] = #""k""# }
        let response = try? await stub.fallback(to: mirror).send(request)
        #expect((response != nil) == isSentAgain && mirror.requests.count == (isSentAgain ? 1 : 0))
    }

    @Test func aPOSTWithARefusedStatusIsNotSentToAnotherSender() async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let response = try await stub.fallback(to: mirror, statuses: [503]).send(try request(.post, body: .text("x")))
        #expect(response.status == .serviceUnavailable && mirror.requests.isEmpty)
        #expect(try await response.body.collect() == Data("onetwothree".utf8))
    }

    // MARK: Failures of the other way

    @Test func theFirstErrorIsThrownIfTheFallbackFails() async throws {
        let stub = StubTransport(Stub().responds(.failure(lost())))
        let mirror = StubTransport(Stub().responds(.failure(TestError())))
        for stack in [stub.fallback(to: mirror), stub.fallback { _, _ in throw TestError() }, stub.fallback { _, _ in nil }] {
            let error = await #expect(throws: TransportError.self) { try await stack.send(try request()) }
            #expect(error?.message == "the first")
        }
        #expect(mirror.requests.count == 1)
    }

    @Test func theFirstResponseIsReturnedIfTheFallbackFails() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let mirror = StubTransport(Stub().responds(.failure(TestError())))
        for stack in [stub.fallback(to: mirror, statuses: [503]), stub.fallback(statuses: [503]) { _, _ in nil }] {
            let response = try await stack.send(try request())
            #expect(response.status == .serviceUnavailable && !response.metadata.isFallback)
            #expect(try await response.body.collect() == Data("onetwothree".utf8))
        }
        #expect(stub.openBodyCount == 0)
    }

    // MARK: Bodies

    @Test func theBodyOfAReplacedResponseIsReleased() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let mirror = StubTransport(Stub().responds(.stream(streamed)))
        let byValue = try await stub.fallback(data: Data("value".utf8), statuses: [503]).send(try request())
        #expect(stub.openBodyCount == 0)
        #expect(try await byValue.body.collect() == Data("value".utf8))
        let bySender = try await stub.fallback(to: mirror, statuses: [503]).send(try request())
        #expect(stub.openBodyCount == 0 && mirror.openBodyCount == 1)
        #expect(try await bySender.body.collect() == Data("onetwothree".utf8))
    }

    @Test func aChangedFirstResponseKeepsItsBody() async throws {
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let stack = stub.fallback(statuses: [503]) { _, cause in
            guard case .response(var response) = cause else { return nil }
            response.head.status = .ok
            return response
        }
        let response = try await stack.send(try request())
        #expect(response.status == .ok && response.metadata.isFallback)
        #expect(try await response.body.collect() == Data("onetwothree".utf8))
        #expect(stub.openBodyCount == 0)
    }

    // MARK: Cancellation

    @Test func aCancellationNeverFallsBack() async throws {
        let mirror = StubTransport(Stub().responds(.status(.ok)))
        let below = StubTransport(Stub().responds(.failure(CancellationError())))
        await #expect(throws: CancellationError.self) { try await below.fallback(to: mirror).send(try request()) }

        let clock = ManualClock()
        let waiting = StubTransport(Stub().responds(.status(.ok).delayed(by: .seconds(60))), clock: clock)
        let task = Task { try await waiting.fallback(to: mirror).send(try request()) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(mirror.requests.isEmpty)
    }

    /// A cancelled call does not fall back, whatever error the inner layers throw.
    @Test func aCancelledCallDoesNotFallBackAfterAFailure() async throws {
        let clock = ManualClock()
        let failing = StubSender { [error = lost()] _ in
            try? await clock.sleep(for: .seconds(60))
            throw error
        }
        let passage = RecordingList<String>()
        let task = Task {
            try await failing.fallback { request, _ in
                passage.record("fallback")
                return Response(head: HTTPResponse(status: .ok), request: request)
            }.send(try request())
        }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(passage.all.isEmpty)
    }

    @Test func cancellingDuringTheFallbackReleasesTheFirstResponse() async throws {
        let clock = ManualClock()
        let stub = StubTransport(Stub().responds(.stream(streamed, status: .serviceUnavailable)))
        let stack = stub.fallback(statuses: [503]) { request, _ in
            try await clock.sleep(for: .seconds(60))
            return nil
        }
        let task = Task { try await stack.send(try request()) }
        try await clock.sleepers(atLeast: 1)
        #expect(stub.openBodyCount == 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.openBodyCount == 0 && clock.sleeperCount == 0)
    }

    // MARK: In a stack

    @Test func theFallbackFollowsTheLastAttempt() async throws {
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let stack = stub.retry(clock: ManualClock(), random: { 0 }).fallback(data: Data("value".utf8), statuses: [503]).validateStatus()
        #expect(try await stack.send(try request()).metadata.isFallback)
        #expect(stub.requests.count == 3)
        #expect(stack.orderProblems.isEmpty)
        #expect(stack.description.hasPrefix("validateStatus(2xx) > fallback(a value) > retry("))
    }

    /// A server outside of both senders makes the URL absolute. Therefore, the second sender's own server does not change the URL.
    @Test func aServerOutsideOfTwoServersIsReported() async throws {
        let refusal = TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
        let (first, second) = (StubSender { _ in throw refusal }, StubTransport(Stub(.get, "/a").responds(.status(.ok))))
        let other = HTTPStack(second).server("https://b.example")
        let sorted = HTTPStack.sorted(around: first).server("https://a.example").fallback(to: other)
        #expect(sorted.orderProblems.count == 1 && sorted.orderProblems[0].hasPrefix("server is outside fallback: the fallback server"))
        let request = try Request(.get, "/a")
        let begun = HTTPStack.sorted(around: HTTPStack(first).server("https://a.example")).fallback(to: other)
        #expect(begun.orderProblems.isEmpty)
        #expect(try await begun.send(request).request.url?.description == "https://b.example/a")
        let wrapped = HTTPStack(first).server("https://a.example").fallback(to: other)
        #expect(wrapped.orderProblems.isEmpty)
        #expect(try await wrapped.send(request).request.url?.description == "https://b.example/a")
        // One server for both is no fault.
        #expect(HTTPStack.sorted(around: first).server("https://a.example").fallback(to: HTTPStack(second)).orderProblems.isEmpty)
    }

    @Test func aPassedDeadlineFallsBack() async throws {
        let clock = ManualClock()
        let stack = StubTransport(Stub().responds(.never)).timeout(.seconds(1), clock: clock).fallback(data: Data("value".utf8))
        let task = Task { try await stack.send(try request()) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        #expect(try await task.value.metadata.isFallback)
    }
}

/// The last good response to each URL.
private final class KeptResponses: Sendable {
    private let responses = Mutex<[String: (head: HTTPResponse, data: Data)]>([:])

    func keep(_ response: inout Response) async throws {
        guard response.status == .ok else { return }
        response.body = ResponseBody(try await response.body.collect())
        let (url, kept) = (response.request.redactedURL, (response.head, response.body.bufferedData ?? Data()))
        responses.withLock { $0[url] = kept }
    }

    func response(to request: Request) -> Response? {
        responses.withLock { $0[request.redactedURL] }.map { Response(head: $0.head, data: $0.data, request: request) }
    }
}
