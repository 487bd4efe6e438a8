import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

/// What layers note on a request, and the deadlines and sinks that they give it, end with the call.
@Suite(.timeLimit(.minutes(5))) struct CallStateTests {
    private let clock = ManualClock()
    private let events = RecordingEventSink()

    /// Everything that changes a request for those inside it.
    private func layered(_ sender: some HTTPSender) -> HTTPStack {
        HTTPStack(sender).phaseTimeouts(firstByte: .seconds(9), attempt: .seconds(5), clock: clock).redirect().retry(
            RetryPolicy(maxAttempts: 1)
        )
        .fallback(
            to: StubTransport(Stub().responds(.failure(TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent))))
        )
        .validateStatus().timeout(.seconds(30), clock: clock).profile().events(to: events).server("https://a.example")
    }

    private func expectNothingLeft(_ request: Request?) throws {
        let request = try #require(request)
        #expect(request.deadline == nil && request.options.eventSink == nil)
        let call = request.options.call
        #expect(call.phaseLimits == nil)
        #expect(!call.hasEntered && !call.hasAttemptDeadline && !call.awaitsDecoding && !call.redirectsAreFollowed)
        #expect(call.passedStatusRule == nil && call.profilePosition == nil)
    }

    /// With an option, the call enters its stack; without, there is nothing to check.
    private func request(_ hasOption: Bool) throws -> Request {
        var request = try Request(.get, "/x")
        if hasOption { request.options.tags = ["a": "b"] }
        return request
    }

    @Test(arguments: [true, false]) func theRequestOfAResponseIsTheCallers(_ hasOption: Bool) async throws {
        let stack = layered(StubTransport(Stub().responds(.status(.ok))))
        try expectNothingLeft(try await stack.send(request(hasOption)).request)
    }

    @Test(arguments: [true, false]) func theRequestOfAResponseWithinACallIsTheCallers(_ hasOption: Bool) async throws {
        var request = try Request(.get, url: "https://a.example/x")
        if hasOption { request.options.tags = ["a": "b"] }
        let stack = HTTPStack(StubTransport(Stub().responds(.status(.ok))))
        try expectNothingLeft(try await stack.sendWithinCall(request).request)
    }

    @Test(arguments: [true, false]) func theRequestOfAFailureIsTheCallers(_ hasOption: Bool) async throws {
        let plain = StubTransport(Stub().responds(.status(.ok)))
        let breaker = CircuitBreaker()
        breaker.isolate("https://a.example")
        let rate = RateLimitMiddleware(.perSecond(1, burst: 1), maxWait: .zero, clock: clock)
        _ = try await plain.wrapped(by: rate).send(Request(.get, url: "https://a.example/"))
        let stacks: [HTTPStack] = [
            plain.circuitBreaker(breaker), plain.wrapped(by: rate),
            HTTPStack(StubTransport(Stub().responds(.status(.notFound)))),
            HTTPStack(StubTransport(Stub().responds(.redirect(to: "ftp://b.example")))),
            plain.wrapped(
                by: ClosureMiddleware { request, _ in
                    throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
                }),
        ]
        for stack in stacks {
            let failure = await #expect(throws: (any Error).self) { try await self.layered(stack).send(self.request(hasOption)) }
            try expectNothingLeft((failure as? any RequestFailure)?.request)
            // A typed call as well.
            let typed = await #expect(throws: (any Error).self) {
                try await APIClient(self.layered(stack)).data(Endpoint<Int>.get("/x"))
            }
            try expectNothingLeft((typed as? any RequestFailure)?.request)
        }
    }

    @Test func joinedCallersHaveTheirOwnRequest() async throws {
        let breaker = CircuitBreaker()
        breaker.isolate("https://a.example")
        let stack = layered(StubTransport(Stub().responds(.status(.ok))).circuitBreaker(breaker).coalesce())
        let requests = [try request(true), try request(true)]
        for request in requests {
            let failure = await #expect(throws: CircuitBreakerError.self) { try await stack.send(request) }
            #expect(failure?.request?.id == request.id)
            try expectNothingLeft(failure?.request)
        }
    }

    @Test func layersWithAnotherSenderLeaveNoStateOnTheRequest() async throws {
        let failing = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let other = StubTransport(Stub().responds(.status(.ok)))
        // With a layer outside that takes its own changes back, and without.
        let plain = failing.fallback(to: other, statuses: [503])
        try expectNothingLeft(try await plain.send(Request(.get, url: "https://a.example/")).request)
        let stack = plain.phaseTimeouts(firstByte: .seconds(9), clock: clock)
        let response = try await stack.send(Request(.get, url: "https://a.example/"))
        try expectNothingLeft(response.request)
        // Sent again, its options are checked, and the limits are those of the stack that it goes to.
        #expect(response.request.options.keys.isEmpty)
        var again = response.request
        again.options.hedge = .use(.standard)
        await #expect(throws: UnsupportedOptionError.self) { try await HTTPStack(other).send(again) }
    }

    @Test(arguments: [true, false]) func anotherRequestKeepsItsState(_ hasOption: Bool) async throws {
        var other = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/token"))
        other.deadline = Deadline(after: .seconds(1), clock: clock)
        let made = other
        let failing = layered(
            StubTransport().wrapped(
                by: ClosureMiddleware { _, _ in throw TransportError(.tls, phase: .connect, request: made, delivery: .notSent) }))
        let failure = await #expect(throws: TransportError.self) { try await failing.send(self.request(hasOption)) }
        #expect(failure?.request?.id == made.id && failure?.request?.deadline != nil)
        let responding = layered(
            StubTransport().wrapped(by: ClosureMiddleware { _, _ in Response(head: HTTPResponse(status: .ok), request: made) }))
        let response = try await responding.send(request(hasOption))
        #expect(response.request.id == made.id && response.request.deadline != nil)
    }

    /// A middleware of the app leaves nothing either, whatever it changes.
    @Test func changesOfAnAppMiddlewareEndWithItsLayer() async throws {
        let (sink, clock, events) = (RecordingEventSink(), clock, events)
        let changing = ClosureMiddleware(changing: { request in
            request.deadline = Deadline(after: .seconds(1), clock: clock)
            request.options.eventSink = events
        })
        var request = try Request(.get, url: "https://a.example/")
        request.deadline = Deadline(after: .seconds(9), clock: clock)
        request.options.eventSink = sink
        let (deadline, original) = (try #require(request.deadline), request)
        let stub = StubTransport(Stub(.get, "/").responds(.status(.ok)))
        let response = try await stub.wrapped(by: changing).send(original)
        #expect(response.request.deadline?.remaining == deadline.remaining && response.request.options.eventSink is RecordingEventSink)
        #expect(stub.requests.first?.request.deadline?.remaining == .seconds(1))
        let failure = await #expect(throws: TransportError.self) {
            try await StubTransport().wrapped(
                by: ClosureMiddleware { request, _ in
                    throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
                }
            ).wrapped(by: changing).send(original)
        }
        #expect(failure?.request?.deadline?.remaining == .seconds(9))
    }

    @Test(arguments: [true, false]) func aLayerThatSendsTheRequestAgainBeginsAnAttempt(_ hasLayer: Bool) async throws {
        let plain = StubTransport(Stub().responds(.status(.ok)))
        var request = try Request(.get, url: "https://a.example/")
        if !hasLayer { request.options.attemptTimeout = .use(.milliseconds(50)) }
        let inner = hasLayer ? plain.phaseTimeouts(attempt: .seconds(5), clock: clock) : HTTPStack(plain)
        // Like an authentication after a 401.
        let repeating = ClosureMiddleware { [clock] request, next in
            let response = try await next.send(request)
            response.body.abandon()
            clock.advance(by: .seconds(6))
            return try await next.send(response.request)
        }
        let response = try await inner.wrapped(by: repeating).send(request)
        #expect(response.status == .ok && response.request.deadline == nil)
    }

    @Test func anEarlierDeadlineOfAFallbackEndsWithItsAttempt() async throws {
        let stack = HTTPStack(StubTransport(Stub().responds(.status(.ok)))).fallback(to: StubTransport(Stub().responds(.status(.ok))))
        var request = try Request(.get, url: "https://a.example/")
        request.deadline = Deadline(after: .seconds(100), clock: clock)
        #expect(try await stack.send(request).request.deadline?.remaining == .seconds(100))
    }
}
