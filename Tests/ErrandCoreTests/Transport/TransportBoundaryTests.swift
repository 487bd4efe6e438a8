import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TransportBoundaryTests {
    private let clock = ManualClock()

    private func request(within duration: Duration? = nil) -> Request {
        var request = Request.sample("/x")
        request.deadline = duration.map { Deadline(after: $0, clock: clock) }
        return request
    }

    @Test func aRequestWithoutAnAuthorityIsRefused() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let relative = try Request(.get, "/x")
        let error = await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(relative) }
        #expect(error?.code == .missingHost)
        let schemeless = Request(head: HTTPRequest(method: .get, scheme: nil, authority: "a.example", path: "/"))
        await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(schemeless) }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: ["/a b", "/a\r\nX: y", "/a\u{0}b", "/a\tb", "/ä", "/a\u{7F}b", "/a\u{2028}"])
    func aCustomPathCannotEndTheRequestLine(_ path: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(.sample(path)) }
        var changed = Request.sample()
        changed.head.path = path
        await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(changed) }
        changed = .sample()
        changed.head.authority = "a.example" + path
        await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(changed) }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [":56841/stolen", ".evil.example/x", "users/1", "*", "@evil.example/", "1", "a?b", ";x", "https://evil.example/"])
    func aTargetCannotBecomeAPartOfTheHost(_ target: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let request = Request.sample(target)
        let error = await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(request) }
        #expect(error?.code == .invalidTarget && stub.requests.isEmpty)
        #expect(request.url == nil)
        #expect(request.redactedURL.hasPrefix("https://a.example/"))
        var options = request
        options.head.method = .options
        if target != "*" { await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(options) } }
    }

    @Test(arguments: [
        ("/x", "https://a.example/x"), ("?x", "https://a.example/?x"), ("", "https://a.example/"), ("/*", "https://a.example/*"),
    ])
    func aTargetWithoutASlashIsSent(_ target: String, _ url: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        _ = try await HTTPStack(stub).send(.sample(target))
        #expect(stub.requests.count == 1 && Request.sample(target).url?.description == url)
    }

    @Test func theTargetOfOPTIONSMayBeTheServerItself() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = Request.sample("*")
        request.head.method = .options
        _ = try await HTTPStack(stub).send(request)
        #expect(stub.requests.first?.request.head.path == "*")
        #expect(request.url?.host == "a.example" && request.url?.path == "" && request.url?.origin == Request.sample().url?.origin)
        #expect(request.redactedURL == "https://a.example/*")
    }

    @Test(arguments: [
        "a.example/x", "a.example?", "a.example#", "u@a.example", "a.example\\x", "joe:hunter2\"x@a.example", "joe:12\"hunter2@h",
    ])
    func anAuthorityCannotHoldMoreThanHostAndPort(_ authority: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/"))
        #expect(request.url == nil && !"\(request)".contains("hunter2"))
        let error = await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(request) }
        #expect(error.map { "\($0)" }?.contains("hunter2") == false && stub.requests.isEmpty)
    }

    @Test func aRefusedRequestDoesNotShowTheValuesOfItsPath() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let error = await #expect(throws: InvalidURLError.self) {
            try await HTTPStack(stub).send(try Request(.get, "/reset/\("hunter2", "token")"))
        }
        #expect(
            error?.description
                == "invalid URL '/reset/{token}': it has no host; give a whole URL, or add .server(\"https://…\") to the stack")
        var request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/reset/hunter2\""))
        request.options.urlTemplate = "/reset/{token}"
        let refused = await #expect(throws: InvalidURLError.self) { try await HTTPStack(stub).send(request) }
        #expect(refused?.text == "/reset/{token}" && refused?.code == .invalidOctet(0x22, component: "path"))
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(9_223_372_036.9), .seconds(300 * 366 * 86_400), .seconds(Int64.max) * 15])
    func aHugeTimeoutDoesNotEndTheCall(_ duration: Duration) async throws {
        // On the system's clock, whose nanoseconds would not hold it; nothing of it is waited for.
        func body() -> ClosureTransport { ClosureTransport(body: ScriptedBodySource(["a"])) }
        var request = Request.sample()
        for deadline in [Deadline(after: duration), Deadline(.now + duration), Deadline(after: duration, clock: SuspendingClock())] {
            request.deadline = deadline
            #expect(try await HTTPStack(body()).send(request).body.collect() == Data("a".utf8))
            #expect(!deadline.hasPassed && deadline.remaining > .seconds(99 * 365 * 86_400))
        }
        request.deadline = nil
        var limits = PhaseTimeouts(queue: duration, connect: duration, firstByte: duration, idleRead: duration, idleWrite: duration)
        for capabilities in [TransportCapabilities(), .phaseEvents] {
            let transport = ClosureTransport(capabilities: capabilities) {
                Response(
                    head: HTTPResponse(status: .ok), body: ResponseBody(ScriptedBodySource(["a"])), request: $0,
                    exchange: ExchangeLifetime())
            }
            request.options.phaseTimeouts = .use(limits)
            #expect(try await HTTPStack(transport).send(request).body.collect() == Data("a".utf8))
        }
        limits.idleRead = .zero - duration
        request.options.phaseTimeouts = .use(limits)
        let stalled = try await HTTPStack(ClosureTransport(body: ScriptedBodySource(then: .stall))).send(request)
        await #expect(throws: TransportError.self) { try await stalled.body.collect() }
    }

    @Test func cancellationBeforeTheTransportReachesIt() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await HTTPStack(stub).send(.sample())
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let cancelling = HTTPStack(stub).wrapped(
            by: ClosureMiddleware { request, next in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await next.send(request)
            })
        let inside = Task { try await cancelling.send(.sample()) }
        await #expect(throws: CancellationError.self) { try await inside.value }
        #expect(stub.requests.isEmpty)
    }

    @Test func aPriorityIsSentToTheServer() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let name = try #require(HTTPField.Name("Priority"))
        for (priority, expected) in [(RequestPriority.normal, nil), (.high, "u=1"), (.background, "u=7")] {
            var request = Request.sample()
            request.options.priority = priority
            _ = try await HTTPStack(stub).send(request)
            #expect(stub.requests.last?.headers[name] == expected)
        }
        var own = Request.sample()
        own.options.priority = .high
        own.head.headerFields[name] = "u=0, i"
        _ = try await HTTPStack(stub).send(own)
        #expect(stub.requests.last?.headers[name] == "u=0, i")
    }

    @Test func aFallbackFieldIsAddedWithoutAFieldOfItsName() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        var request = Request.sample()
        request.head.headerFields = [.accept: "text/plain"]
        var fallback: HTTPFields = [.accept: "application/json"]
        fallback.append(HTTPField(name: .acceptLanguage, value: "de"))
        fallback.append(HTTPField(name: .acceptLanguage, value: "en"))
        fallback.append(HTTPField(name: .authorization, value: "S"))
        request.options.fallbackHeaders = fallback
        _ = try await HTTPStack(stub).send(request)
        let sent = try #require(stub.requests.first).request.head.headerFields
        #expect(sent[values: .accept] == ["text/plain"])
        #expect(sent[values: .acceptLanguage] == ["de", "en"])
        #expect(sent[values: .authorization] == ["S"])
    }

    @Test func aDeadlineThatHasPassedSendsNothing() async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let late = request(within: .seconds(5))
        clock.advance(by: .seconds(5))
        var continuous = request()
        continuous.deadline = Deadline(after: .zero)
        for request in [late, continuous] {
            let error = await #expect(throws: TransportError.self) { try await HTTPStack(stub).send(request) }
            #expect(error?.code == .timedOut && error?.phase == .queue && error?.delivery == .notSent && error?.request?.id == request.id)
        }
        #expect(stub.requests.isEmpty)
    }

    @Test func aDeadlineEndsAResponseThatNeverComes() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let request = request(within: .seconds(30))
        async let response = HTTPStack(stub).send(request)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(29_999))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        do {
            _ = try await response
            Issue.record("a response came")
        } catch let error as TransportError {
            #expect(
                error.description
                    == "GET https://a.example/x: timed out while waiting for the response after 30 s: the deadline of the request passed (may have been sent)"
            )
            #expect(error.phase == .response && error.elapsed == .seconds(30))
        }
    }

    @Test func aDeadlineEndsABodyThatStalls() async throws {
        let source = ScriptedBodySource(["a"], then: .stall)
        let response = try await HTTPStack(ClosureTransport(body: source)).send(request(within: .seconds(30)))
        #expect(clock.sleeperCount == 0, "nobody waits while nobody reads")
        clock.advance(by: .seconds(20))
        let task = Task { try await response.body.collect() }
        await source.reachedEnding.waitIgnoringCancellation()
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(10))
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.code == .timedOut && error?.phase == .body && error?.delivery == .sent && error?.elapsed == .seconds(30))
        #expect(source.abandonCount == 1)
    }

    @Test func aBodyInTimeIsWholeWithItsTrailersAndLeavesNoSleeper() async throws {
        let source = ScriptedBodySource(["a", "b"], trailers: [.eTag: "x"])
        let transport = ClosureTransport { request in
            Response(
                head: HTTPResponse(status: .ok), body: ResponseBody(source, expectedLength: 2), request: request,
                exchange: ExchangeLifetime())
        }
        let response = try await HTTPStack(transport).send(request(within: .seconds(30)))
        #expect(response.body.expectedLength == 2)
        #expect(try await response.body.collect() == Data("ab".utf8))
        #expect(response.body.trailers == [.eTag: "x"])
        #expect(source.abandonCount == 0 && clock.sleeperCount == 0)
    }

    @Test func abandoningABodyUnderADeadlineReachesItsSource() async throws {
        let (abandoned, dropped, broken) = (
            ScriptedBodySource(["a"]), ScriptedBodySource(["a"]), ScriptedBodySource(then: .failure(TestError()))
        )
        try await HTTPStack(ClosureTransport(body: abandoned)).send(request(within: .seconds(1))).body.abandon()
        _ = try await HTTPStack(ClosureTransport(body: dropped)).send(request(within: .seconds(1)))
        let response = try await HTTPStack(ClosureTransport(body: broken)).send(request(within: .seconds(1)))
        await #expect(throws: TestError()) { try await response.body.collect() }
        #expect([abandoned, dropped, broken].map(\.abandonCount) == [1, 1, 1])
    }

    @Test func cancellingACallUnderADeadlineIsCancellation() async throws {
        let stub = StubTransport(Stub().responds(.never))
        let request = request(within: .seconds(30))
        let task = Task { try await HTTPStack(stub).send(request) }
        try await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func aResponseAtTheDeadlineIsReleased() async throws {
        let source = ScriptedBodySource(["a"])
        let transport = ClosureTransport { request in
            _ = try? await untilCancelled()  // a transport that responds although it was cancelled
            return Response(head: HTTPResponse(status: .ok), body: ResponseBody(source), request: request, exchange: ExchangeLifetime())
        }
        let request = request(within: .seconds(30))
        let task = Task { try await HTTPStack(transport).send(request) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        await #expect(throws: TransportError.self) { try await task.value }
        #expect(source.abandonCount == 1)
    }

    @Test func aTransportWithDeadlinesGetsNoTimer() async throws {
        let source = ScriptedBodySource(["a"])
        let transport = ClosureTransport(capabilities: .deadlines) { request in
            Response(head: HTTPResponse(status: .ok), body: ResponseBody(source), request: request, exchange: ExchangeLifetime())
        }
        var continuous = request()
        continuous.deadline = Deadline(after: .seconds(1_000_000))
        #expect(try await HTTPStack(transport).send(continuous).body.collect() == Data("a".utf8))
        // Not so with a clock that it can't know.
        let never = ClosureTransport(capabilities: .deadlines) { _ in try await untilCancelled() }
        let manual = request(within: .seconds(1))
        let task = Task { try await HTTPStack(never).send(manual) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        await #expect(throws: TransportError.self) { try await task.value }
    }
}
