import Errand
import ErrandConformance
import ErrandTesting
import Logging
import TestSupport
import Testing

/// The rules for every middleware of the library.
@Suite(.timeLimit(.minutes(5))) struct EveryMiddlewareTests {
    static let middleware: [MiddlewareUnderTest] = [
        MiddlewareUnderTest("server", changes: .addedFields, switchOff: { $0.options.server = .off }) {
            $0.server("https://b.example/base", headers: [.userAgent: "x"])
        },
        MiddlewareUnderTest("userAgent", changes: .addedFields, switchOff: { $0.options.userAgent = .off }) { $0.userAgent("Shop/2.1") },
        MiddlewareUnderTest("number", switchOff: { $0.options.number = .off }) { $0.number() },
        MiddlewareUnderTest("events", switchOff: { $0.options.events = .off }) { $0.events(to: RecordingEventSink()) },
        MiddlewareUnderTest("profile", switchOff: { $0.options.profile = .off }) { $0.profile() },
        MiddlewareUnderTest("log", switchOff: { $0.options.log = .off }) { $0.log(to: recordingLogger().0) },
        MiddlewareUnderTest("timeout", switchOff: { $0.options.timeout = .off }) { $0.timeout(.seconds(60)) },
        MiddlewareUnderTest("validateStatus", switchOff: { $0.options.validateStatus = .off }) { $0.validateStatus() },
        MiddlewareUnderTest("redirect", switchOff: { $0.options.redirect = .off }) { $0.redirect() },
        MiddlewareUnderTest("hsts", switchOff: { $0.options.hsts = .off }) { $0.hsts(HSTSList()) },
        MiddlewareUnderTest(
            "hsts, with a known host", changes: .target, request: { try Request(.get, url: "http://a.example/x") },
            switchOff: { $0.options.hsts = .off }
        ) { $0.hsts(HSTSList(preloaded: (try? HSTSHost("a.example")).map { [$0] } ?? [])) },
        MiddlewareUnderTest("decompress", changes: .addedFields, switchOff: { $0.options.decompress = .off }) { $0.decompress() },
        MiddlewareUnderTest("compressRequests", switchOff: { $0.options.compressRequests = .off }) { $0.compressRequests(nil) },
        MiddlewareUnderTest("authenticate", changes: .addedFields, switchOff: { $0.options.authenticate = .off }) {
            $0.authenticate(.basic(user: "joe", password: "secret"))
        },
        MiddlewareUnderTest("authenticate, which waits to be asked", switchOff: { $0.options.authenticate = .off }) {
            $0.authenticate(.digest(user: "joe", password: "secret"))
        },
        MiddlewareUnderTest("cookies", switchOff: { $0.options.cookies = .off }) { $0.cookies(CookieJar()) },
        MiddlewareUnderTest("cookies, with a cookie", changes: .addedFields, switchOff: { $0.options.cookies = .off }) {
            let jar = CookieJar()
            try? jar.set(Cookie(name: "a", value: "b", domain: "a.example", created: HTTPDate(secondsSinceEpoch: 0)))
            return $0.cookies(jar)
        },
        MiddlewareUnderTest("sign", changes: .addedFields, switchOff: { $0.options.sign = .off }) {
            $0.sign(with: .awsV4(AWSCredentials(accessKeyID: "id", secretAccessKey: "secret"), region: "r", service: "s3"))
        },
        MiddlewareUnderTest("concurrencyLimit", switchOff: { $0.options.concurrencyLimit = .off }) { $0.concurrencyLimit(5) },
        MiddlewareUnderTest("hedge", switchOff: { $0.options.hedge = .off }) { $0.hedge(HedgePolicy(.fixed(.seconds(60)))) },
        // Equal concurrent calls would share a response, which is the purpose of this middleware.
        MiddlewareUnderTest(
            "coalesce", request: { try Request(.get, url: "https://a.example/\(RequestID())") }, switchOff: { $0.options.coalesce = .off }
        ) { $0.coalesce() },
        MiddlewareUnderTest("rateLimit", switchOff: { $0.options.rateLimit = .off }) { $0.rateLimit(.perSecond(1_000)) },
        MiddlewareUnderTest("rateLimit, as the server says", switchOff: { $0.options.rateLimit = .off }) { $0.rateLimit() },
        MiddlewareUnderTest("circuitBreaker", switchOff: { $0.options.circuitBreaker = .off }) { $0.circuitBreaker() },
        MiddlewareUnderTest("retry", switchOff: { $0.options.retry = .off }) { $0.retry(clock: ManualClock()) },
        MiddlewareUnderTest("transformRequest", changes: .addedFields, switchOff: { $0.options.transform = .off }) {
            $0.transformRequest { $0.head.headerFields[.acceptLanguage] = "de" }
        },
        MiddlewareUnderTest("transformResponse", switchOff: { $0.options.transform = .off }) {
            $0.transformResponse { $0.head.headerFields[.server] = "x" }
        },
        MiddlewareUnderTest("a body that is observed", switchOff: { $0.options.transform = .off }) {
            $0.transformResponse { $0.body = $0.body.observed { _ in } }.transformRequest { request in
                if request.body.bufferedData == nil { request.body = request.body.observed { _ in } }
            }
        },
        MiddlewareUnderTest("a body that passes a transform", switchOff: { $0.options.transform = .off }) {
            $0.transformResponse {
                $0.body = $0.body.transformed(by: IdentityTransform(), length: $0.body.expectedLength).observed { _ in }
            }
        },
        MiddlewareUnderTest("log of bodies", switchOff: { $0.options.log = .off }) { $0.log(to: recordingLogger().0, detail: .body()) },
        MiddlewareUnderTest("delay", switchOff: { $0.options.delay = .off }) { $0.delay(by: .milliseconds(1)) },
        MiddlewareUnderTest("waitForNetwork", switchOff: { $0.options.waitForNetwork = .off }) {
            $0.waitForNetwork(upTo: .seconds(60), monitor: ScriptedPathMonitor())
        },
        MiddlewareUnderTest("waitForNetwork, without a network", switchOff: { $0.options.waitForNetwork = .off }) {
            $0.waitForNetwork(upTo: .milliseconds(1), monitor: ScriptedPathMonitor(.unsatisfied))
        },
        MiddlewareUnderTest("fallback", switchOff: { $0.options.fallback = .off }) { $0.fallback(statuses: [503]) { _, _ in nil } },
        MiddlewareUnderTest("validate", switchOff: { $0.options.validate = .off }) {
            $0.validate(
                // A validator may send any request again, even a POST. This validator does not send a POST again.
                ResponseValidator("not 503") { request, response, _ in
                    response.status == .serviceUnavailable && request.method != .post ? .retry(.immediate, atMost: 2) : .next
                })
        },
        MiddlewareUnderTest("timeouts", switchOff: { $0.options.phaseTimeouts = .off }) {
            $0.phaseTimeouts(
                queue: .seconds(60), connect: .seconds(60), firstByte: .seconds(60), idleRead: .seconds(60), idleWrite: .seconds(60))
        },
        MiddlewareUnderTest(
            "timeouts of an attempt",
            switchOff: {
                $0.options.phaseTimeouts = .off
                $0.options.attemptTimeout = .off
            }
        ) { $0.phaseTimeouts(idleRead: .seconds(60), attempt: .seconds(60)) },
        MiddlewareUnderTest("metrics", switchOff: { $0.options.metrics = .off }) { $0.metrics(factory: RecordingMetrics()) },
        MiddlewareUnderTest("trace", changes: .addedFields, switchOff: { $0.options.trace = .off }) {
            $0.trace(tracer: RecordingTracer())
        },
        MiddlewareUnderTest("traceCall", switchOff: { $0.options.trace = .off }) { $0.traceCall(tracer: RecordingTracer()) },
        MiddlewareUnderTest("number, by a condition", switchOff: { $0.options.number = .off }) {
            $0.wrapped(by: NumberMiddleware(), when: .host("*.example") && !.method(.post))
        },
        MiddlewareUnderTest("retry, by a condition that never holds", switchOff: { _ in }) {
            $0.wrapped(by: RetryMiddleware(clock: ManualClock()), when: .host("b.example"))
        },
    ]

    private struct IdentityTransform: BodyTransform {
        mutating func next(_ input: inout Data) -> Data? {
            defer { input = Data() }
            return input.isEmpty ? nil : input
        }
    }

    @Test(arguments: middleware, MiddlewareBehavior.all)
    func conforms(_ middleware: MiddlewareUnderTest, to behavior: MiddlewareBehavior) async throws {
        try await behavior.check(middleware)
    }

    @Test(arguments: middleware) func layersRunInOrder(_ middleware: MiddlewareUnderTest) async throws {
        let passage = RecordingList<String>()
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let inner = stub.wrapped(by: RecordingMiddleware(name: "inner", list: passage))
        let stack = middleware.wrap(inner).wrapped(by: RecordingMiddleware(name: "outer", list: passage))
        let response = try await stack.send(try request())
        #expect(response.status == .ok)
        #expect(passage.all == ["> outer", "> inner", "< inner", "< outer"])
    }

    @Test func theDescriptionIsAFlatListOutermostFirst() {
        let stack = StubTransport().retry().validateStatus().timeout(.seconds(30)).number().server("https://a.example/v1?token=t0ps3cret")
        #expect(
            stack.description
                == "server(https://a.example/v1?token=REDACTED) > number > timeout(30 s) > validateStatus(2xx) > "
                + "retry(3 attempts, 100 ms to 20 s, budget 5 + 20 % of successes) > StubTransport")
        #expect(stack.orderProblems.isEmpty)
    }

    @Test func theDescriptionNamesAWrongOrder() {
        let stack = StubTransport().validateStatus().retry()
        #expect(stack.orderProblems == ["retry is outside validateStatus: retry would get an error instead of the status"])
        #expect(stack.description.contains("retry would get an error"))
    }
}
