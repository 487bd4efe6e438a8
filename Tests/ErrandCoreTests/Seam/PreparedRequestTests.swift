import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandCore

@Suite(.timeLimit(.minutes(5))) struct PreparedRequestTests {
    private let stub = StubTransport(Stub().responds(.status(.ok), repeatingLast: true))
    private let clock = ManualClock()
    private let events = RecordingEventSink()

    private func request() throws -> Request {
        try Request(.post, "/users/\("a b", "id")", query: ["token": "hunter2"], headers: [.accept: "text/plain"], body: .text("x"))
    }

    @Test func aRequestIsPreparedAsTheTransportWouldGetIt() async throws {
        let stack = stub.transformRequest { $0.headers[.custom("X-Tenant")] = "blue" }.redirect().retry(.standardWithKeys, clock: clock)
            .validateStatus().timeout(.seconds(30), clock: clock).server("https://a.example/v1", headers: [.userAgent: "errand"])
        var original = try request()
        original.options.fallbackHeaders = [.acceptLanguage: "de"]
        original.options.priority = .high
        let prepared = try await stack.prepared(original)
        #expect(prepared.id == original.id && prepared.method == .post && prepared.body.bufferedData == Data("x".utf8))
        #expect(prepared.url?.description == "https://a.example/v1/users/a%20b?token=hunter2")
        #expect(prepared.headers[.custom("X-Tenant")] == "blue" && prepared.headers[.userAgent] == "errand")
        #expect(prepared.headers[.acceptLanguage] == "de" && prepared.headers[.custom("Priority")] == "u=1")
        #expect(prepared.headers[.custom("Idempotency-Key")] != nil && prepared.options.urlTemplate == "/users/{id}")
        #expect(stub.requests.isEmpty && stub.unusedStubs.count == 1)
    }

    @Test func curlWorksBeforeSending() async throws {
        let curl = try await stub.retry().server("https://a.example").prepared(request()).curl()
        #expect(
            curl.hasPrefix("curl -X POST --path-as-is --globoff 'https://a.example/users/a%20b?token=REDACTED' -H 'Accept: text/plain'"))
        #expect(curl.hasSuffix(" --data-binary @- < body.bin"))
    }

    @Test func preparationLeavesNoStateOnTheRequest() async throws {
        let original = try request()
        let stack = stub.retry(clock: clock).timeout(.seconds(30), clock: clock).profile().events(to: events).server("https://a.example")
        let prepared = try await stack.prepared(original)
        #expect(prepared.deadline == nil && prepared.options.eventSink == nil && prepared.options.keys.isEmpty)
        #expect(!prepared.options.call.hasEntered)
        #expect(try await HTTPStack(stub).send(prepared).status == .ok, "it can be sent")
        #expect(try await stack.send(original).status == .ok)
        #expect(stub.requests.count == 2)
    }

    @Test func limitsAndSharedWorkAreNotDisturbed() async throws {
        let breaker = CircuitBreaker()
        let stack = stub.concurrencyLimit(1).rateLimit(RateLimit(1, per: .seconds(3600), burst: 1), clock: clock).circuitBreaker(breaker)
            .hedge(HedgePolicy(.fixed(.zero)), clock: clock).coalesce().delay(by: .seconds(3600), clock: clock)
            .retry(clock: clock).fallback(data: Data("other".utf8)).number().events(to: events).server("https://a.example")
        breaker.isolate("https://a.example" as Origin)
        for _ in 0..<3 {
            let prepared = try await stack.prepared(Request(.get, "/x"))
            #expect(prepared.url?.description == "https://a.example/x" && prepared.options.requestNumber == nil)
        }
        #expect(events.events.isEmpty && stub.requests.isEmpty)
        // The only token of the limit is still there.
        var own = try Request(.get, "/x")
        own.options.circuitBreaker = .off
        own.options.delay = .off
        own.options.hedge = .off
        let response = try await stack.send(own)
        #expect(response.status == .ok && !response.metadata.isFallback && response.metadata.requestNumber == 1)
    }

    #if Telemetry
    @Test func observersRecordNothing() async throws {
        let (logger, lines) = recordingLogger()
        let (metrics, tracer) = (RecordingMetrics(), RecordingTracer())
        let stack = stub.metrics(factory: metrics).trace(tracer: tracer).redirect().retry(clock: clock).traceCall(tracer: tracer)
            .log(to: logger, detail: .body()).profile().events(to: events).server("https://a.example")
        var original = try request()
        original.options.eventSink = events
        let prepared = try await stack.prepared(original)
        #expect(prepared.url?.path == "/users/a%20b" && prepared.options.eventSink != nil)
        #expect(lines.all.isEmpty && metrics.names.isEmpty && tracer.spans.isEmpty && events.events.isEmpty)
    }
    #endif

    @Test func anOptionOfARequestIsCheckedAsInSending() async throws {
        var original = try request()
        original.options.hedge = .use(.standard)
        let unsupported = original
        await #expect(throws: UnsupportedOptionError.self) { try await stub.server("https://a.example").prepared(unsupported) }
        await #expect(throws: InvalidURLError.self) { try await stub.retry().prepared(request()) }
        let failing = stub.transformRequest { _ in throw TestError() }.server("https://a.example")
        await #expect(throws: TestError.self) { try await failing.prepared(request()) }
    }

    @Test func aMiddlewareWithItsOwnResponseIsAnError() async throws {
        let responding = ClosureMiddleware { request, _ in Response(head: HTTPResponse(status: .ok), request: request) }
        let error = await #expect(throws: PreparationError.self) {
            try await stub.wrapped(by: responding).server("https://a.example").prepared(request())
        }
        #expect(error?.delivery == .notSent && error?.description.contains("hunter2") == false)
        #expect(
            error?.description.hasSuffix(
                "a middleware returned a response and did not pass the request on; send the request, or prepare it without that middleware (not sent)"
            ) == true)
        #expect(error?.errorDescription == "The request cannot be shown before it is sent.")
        #expect(error?.failureReason == "A middleware returned a response and did not pass the request on.")
        #expect(error?.recoverySuggestion == nil)
    }

    @Test func aCustomMiddlewareCanBeLeftOut() async throws {
        for isPart in [true, false] {
            let count = Watched(0)
            let counting = ClosureMiddleware(appliesToPreparedRequests: isPart) { request, next in
                count.change { $0 += 1 }
                return try await next.send(request)
            }
            let stack = stub.wrapped(by: counting, when: .method(.post)).server(
                "https://a.example")
            _ = try await stack.prepared(request())
            #expect(count.value == (isPart ? 1 : 0))
        }
    }

    @Test func theTokenRequestOfAMiddlewareIsSent() async throws {
        let stub = StubTransport(Stub(.post, "/token").responds(.status(.ok, text: "t1"), repeatingLast: true))
        let signingIn = ClosureMiddleware { request, next in
            var own = try Request(.post, url: "https://login.example/token")
            own.options = request.options
            let token = try await next.send(own).body.collect()
            var request = request
            request.headers[.authorization] = "Bearer " + String(decoding: token, as: UTF8.self)
            return try await next.send(request)
        }
        for inner in [HTTPStack(stub), HTTPStack(OpaqueSender(stub))] {
            let original = try request()
            let prepared = try await inner.number().events(to: events).wrapped(by: signingIn).retry(clock: clock).server(
                "https://a.example"
            )
            .prepared(original)
            #expect(prepared.id == original.id && prepared.url?.path == "/users/a%20b")
            #expect(prepared.headers[.authorization] == "Bearer t1")
        }
        #expect(stub.requests.map(\.path) == ["/token", "/token"])
        #expect(!events.events.isEmpty, "what is sent is recorded")
    }

    @Test func aCustomSenderIsNotCalled() async throws {
        let failing = StubSender { _ in throw TestError() }
        let prepared = try await failing.transformRequest { $0.query.set("a", 1) }.prepared(Request(.get, "/x"))
        #expect(prepared.head.path == "/x?a=1")
    }

    @Test func aCancelledTaskPreparesNothing() async throws {
        let (stack, request) = (stub.server("https://a.example"), try self.request())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stack.prepared(request)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
