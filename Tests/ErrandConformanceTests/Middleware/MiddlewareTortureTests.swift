import Errand
import ErrandConformance
import Logging
import Synchronization
import TestSupport
import Testing

/// Each middleware of the library under cancellation at every point, over a stub with a body in pieces.
@Suite(.serialized, .timeLimit(.minutes(5)), .leavesNothingBehind(inParallelRuns: false))
struct MiddlewareTortureTests {
    @Test(arguments: Scenario.all) func eachMiddlewareIsCancelledAtEveryPoint(_ scenario: Scenario) async throws {
        let stages = Stages()
        let before = LiveWork.allCases.map(\.count)
        let torture = CancellationTorture(leastCancelled: scenario.leastCancelled, lateJobs: scenario.lateJobs)
        let report = try await torture.run {
            let stage = Stage(scenario)
            stages.latest.withLock { $0 = stage }
            return try await stage.play()
        } accepts: {
            $0 == scenario.expected
        } check: { run in
            guard let stage = stages.latest.withLock({ $0 }) else { return #expect(run.jobNumber == 1, "\(run)") }
            try await stage.check("\(run)")
            // Other suites may run beside this one: then the counts are not this one's alone.
            if !LeakTrait.isRunParallel {
                await stage.settle { LiveWork.allCases.map(\.count) == before }
                #expect(LiveWork.allCases.map(\.count) == before, "\(run)")
            }
        }
        #expect(report.uncancelled >= 2, "\(report)")
    }
}

/// The stack of the current run. Each run begins with a new stack.
private final class Stages: Sendable {
    let latest = Mutex<Stage?>(nil)
}

/// A middleware, the responses of its transport, and the expected result.
struct Scenario: Sendable, CustomTestStringConvertible {
    let name: String
    var stub = Stub().responds(pieces())
    var method = HTTPRequest.Method.get
    var url = "https://a.example/x"
    /// Whether time is moved to the next sleeper.
    var movesTime = false
    var expected = "200 onetwothree"
    var leastCancelled = 10
    /// A body has more than ten reads. Therefore, reads that ignore the cancellation are found. A middleware that moves time, races or
    /// shares has more jobs after the cancellation.
    var lateJobs = 10
    /// Whether work of its own, which belongs to no caller, may end a moment after the call.
    var endsLater = false
    /// The number of concurrent calls.
    var calls = 1
    let wrap: @Sendable (Stage.Parts) -> HTTPStack

    var testDescription: String { name }

    /// A head that is waited for, and then a body whose every piece is.
    static func pieces(_ status: HTTPResponse.Status = .ok, headers: HTTPFields = HTTPFields()) -> StubResponse {
        .streaming { _, _ in
            await Task.yield()
            return (
                HTTPResponse(status: status, headerFields: headers),
                ScriptedBodySource("onetwothree".map { String($0) }) { await Task.yield() }
            )
        }
    }

    private static let lost = StubResponse.streaming { _, _ in
        await Task.yield()
        throw TransportError(.connectionLost, phase: .response, request: nil, delivery: .unknown)
    }
    private static let hedging =
        (try? ResiliencePolicy(retry: RetryPolicy(backoff: .immediate), hedge: HedgePolicy(.fixed(.seconds(5))))) ?? .standard
    private static let atOnce = RetryPolicy(backoff: .immediate)
    /// No more for five seconds.
    private static let refusedFirst = Stub().responds(
        pieces(.tooManyRequests, headers: [HTTPField.Name("RateLimit") ?? .retryAfter: #""all";r=0;t=5"#]), pieces())
    private static let quiet = Logger(label: "torture") { _ in SwiftLogNoOpLogHandler() }

    private static func again(on status: HTTPResponse.Status, _ verdict: ResponseValidator.Verdict) -> ResponseValidator {
        ResponseValidator("again") { _, response, _ in
            await Task.yield()
            return response.status == status ? verdict : .next
        }
    }

    /// Asks for a token, and accepts only this token.
    private static func guarded(_ token: String) -> Stub {
        Stub().responds(
            .streaming { request, _ in
                await Task.yield()
                let isRight = request.headers[.authorization] == "Bearer \(token)"
                return (
                    HTTPResponse(status: isRight ? .ok : .unauthorized),
                    ScriptedBodySource("onetwothree".map { String($0) }) { await Task.yield() }
                )
            })
    }

    /// The token `0`, and `1` after a refresh.
    private static func refreshing(_ store: YieldingTokenStore? = nil) -> TokenSource {
        TokenSource(store == nil ? AccessToken("0") : nil, store: store) { _ in
            for _ in 0..<5 { await Task.yield() }
            return AccessToken("1")
        }
    }

    static let all: [Scenario] = [
        Scenario(name: "server") { $0.stub.server("https://a.example", headers: [.userAgent: "x"]) },
        Scenario(name: "userAgent") { $0.stub.userAgent("Shop/2.1") },
        Scenario(name: "number") { $0.stub.number() },
        Scenario(name: "log") { $0.stub.log(to: quiet) },
        Scenario(name: "log of bodies") { $0.stub.log(to: recordingLogger().0, detail: .body()) },
        Scenario(name: "timeout") { $0.stub.timeout(.seconds(60), clock: $0.stillClock) },
        Scenario(name: "validateStatus", stub: Stub().responds(pieces(.notFound)), expected: "error 404 onetwothree") {
            $0.stub.validateStatus()
        },
        Scenario(name: "redirect", stub: Stub().responds(pieces(.seeOther, headers: [.location: "/to"]), pieces()), method: .post) {
            $0.stub.redirect()
        },
        Scenario(name: "retry", stub: Stub().responds(pieces(.serviceUnavailable), pieces()), movesTime: true, lateJobs: 40) {
            $0.stub.retry(clock: $0.clock, random: { 0.5 })
        },
        Scenario(name: "validate, retry", stub: Stub().responds(pieces(.serviceUnavailable), pieces()), movesTime: true, lateJobs: 40) {
            $0.stub.validate(again(on: .serviceUnavailable, .retry(.constant(.seconds(1)), atMost: 1)), clock: $0.clock)
        },
        Scenario(name: "validate, retry after work", stub: Stub().responds(pieces(.unauthorized), pieces()), lateJobs: 40) {
            $0.stub.validate(
                again(
                    on: .unauthorized,
                    .retryAfterRunning {
                        for _ in 0..<3 { await Task.yield() }
                        try Task.checkCancellation()
                    }))
        },
        Scenario(
            name: "validate, retry after work under a deadline", stub: Stub().responds(pieces(.unauthorized), pieces()), lateJobs: 40
        ) {
            $0.stub.validate(again(on: .unauthorized, .retryAfterRunning { await Task.yield() })).timeout(
                .seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "validate, retry after another request", stub: Stub().responds(pieces(.unauthorized), pieces(), pieces())) {
            let wake = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/wake"))
            return $0.stub.validate(again(on: .unauthorized, .retryAfterSending(wake)))
        },
        Scenario(name: "validate, accept", stub: Stub().responds(pieces(.notFound))) {
            $0.stub.validate(
                ResponseValidator("read") { _, response, _ in
                    var response = response
                    response.body = ResponseBody(try await response.body.collect())
                    response.head.status = .ok
                    return .accept(response)
                })
        },
        Scenario(name: "transform", expected: "200 other") {
            $0.stub.transformRequest { _ in await Task.yield() }
                .transformResponse {
                    _ = try await $0.body.collect()
                    $0.body = ResponseBody(Data("other".utf8))
                }
        },
        Scenario(name: "a body that passes transforms and observers", expected: "200 ONETWOTHREE") {
            $0.stub.transformResponse { $0.body = $0.body.observed { _ in }.transformed(by: UppercaseTransform()).observed { _ in } }
                .transformResponse { $0.body = $0.body.transformed(by: UppercaseTransform()) }
        },
        Scenario(name: "a body that passes a transform and a race", expected: "200 ONETWOTHREE", lateJobs: 40) {
            $0.stub.transformResponse { $0.body = $0.body.transformed(by: UppercaseTransform()) }.phaseTimeouts(
                idleRead: .seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "delay") { $0.stub.delay(by: .zero, clock: $0.stillClock) },
        Scenario(name: "delay of a millisecond", movesTime: true, lateJobs: 40) { $0.stub.delay(by: .milliseconds(1), clock: $0.clock) },
        Scenario(name: "waitForNetwork", lateJobs: 40) {
            $0.stub.waitForNetwork(upTo: .seconds(60), monitor: ScriptedPathMonitor(), clock: $0.stillClock)
        },
        Scenario(name: "waitForNetwork, up to the limit", movesTime: true, lateJobs: 40, endsLater: true) {
            $0.stub.waitForNetwork(upTo: .seconds(1), monitor: ScriptedPathMonitor(.unsatisfied), clock: $0.clock)
        },
        Scenario(
            name: "waitForNetwork, three at the gate under a deadline", movesTime: true, leastCancelled: 20, lateJobs: 60, endsLater: true
        ) {
            $0.stub.waitForNetwork(upTo: .seconds(1), monitor: ScriptedPathMonitor(.unsatisfied), clock: $0.clock)
                .wrapped(by: tripling).timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "waitForNetwork, with a path that returns", lateJobs: 40, endsLater: true) {
            let network = ScriptedPathMonitor(.unsatisfied)
            return $0.stub.waitForNetwork(upTo: .seconds(60), monitor: network, clock: $0.stillClock)
                .wrapped(by: ReturningMiddleware(network: network))
        },
        Scenario(name: "fallback after a failure", stub: Stub().responds(lost)) { $0.stub.fallback(to: $0.other) },
        Scenario(name: "fallback after a status", stub: Stub().responds(pieces(.serviceUnavailable))) {
            $0.stub.fallback(to: $0.other, statuses: [503])
        },
        Scenario(name: "fallback that fails", stub: Stub().responds(pieces(.serviceUnavailable)), expected: "503 onetwothree") {
            $0.stub.fallback(statuses: [503]) { _, _ in
                await Task.yield()
                throw TransportError(.cannotConnect, phase: .connect, request: nil, delivery: .notSent)
            }
        },
        Scenario(name: "timeouts", lateJobs: 40) {
            $0.stub.phaseTimeouts(
                queue: .seconds(60), connect: .seconds(60), firstByte: .seconds(60), idleRead: .seconds(60), idleWrite: .seconds(60),
                attempt: .seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "concurrencyLimit") { $0.stub.concurrencyLimit(1) },
        Scenario(name: "concurrencyLimit under a deadline") {
            $0.stub.concurrencyLimit(1).timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "coalesce", endsLater: true) { $0.stub.coalesce() },
        Scenario(name: "coalesce under a deadline", endsLater: true) {
            $0.stub.coalesce().timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "coalesce over a limit", endsLater: true) { $0.stub.concurrencyLimit(1).coalesce() },
        Scenario(
            name: "coalesce, several at once", expected: "200 onetwothree 200 onetwothree 200 onetwothree", lateJobs: 40, endsLater: true,
            calls: 3
        ) {
            $0.stub.concurrencyLimit(1).coalesce().timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "rateLimit") { $0.stub.rateLimit(.perSecond(1), clock: $0.clock) },
        Scenario(name: "rateLimit, waiting for the server", stub: refusedFirst, movesTime: true, lateJobs: 40) {
            $0.stub.rateLimit(.perSecond(1), clock: $0.clock).retry(atOnce, clock: $0.clock, random: { 0.5 })
        },
        Scenario(name: "rateLimit, waiting under a deadline", stub: refusedFirst, movesTime: true, lateJobs: 40) {
            $0.stub.rateLimit(.perSecond(1), clock: $0.clock).retry(atOnce, clock: $0.clock, random: { 0.5 })
                .timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "rateLimit, three in line", movesTime: true, lateJobs: 40) {
            $0.stub.rateLimit(.perSecond(1), clock: $0.clock).wrapped(by: tripling)
        },
        Scenario(name: "rateLimit, three in line under a deadline", movesTime: true, leastCancelled: 20, lateJobs: 40) {
            $0.stub.rateLimit(.perSecond(1), clock: $0.clock).wrapped(by: tripling).timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "circuitBreaker") { $0.stub.circuitBreaker() },
        Scenario(name: "hedge, the first gets a response") {
            $0.stub.hedge(HedgePolicy(.fixed(.seconds(60))), clock: $0.stillClock)
        },
        Scenario(name: "hedge, the second gets a response", stub: Stub().responds(.never, pieces()), movesTime: true, lateJobs: 40) {
            $0.stub.hedge(HedgePolicy(.fixed(.milliseconds(50))), clock: $0.clock)
        },
        Scenario(name: "standardResilience", stub: Stub().responds(pieces(.serviceUnavailable), pieces()), lateJobs: 40) {
            $0.stub.standardResilience(hedging, clock: $0.stillClock)
        },
        Scenario(
            name: "authenticate, challenged",
            stub: Stub().responds(
                pieces(.unauthorized, headers: [.wwwAuthenticate: #"Digest realm="a", nonce="n", qop="auth""#]), pieces()),
            lateJobs: 40
        ) { $0.stub.authenticate(.digest(user: "joe", password: "secret"), clock: $0.stillClock) },
        Scenario(name: "authenticate, refused", stub: Stub().responds(pieces(.unauthorized)), expected: "401 onetwothree") {
            $0.stub.authenticate(.basic(user: "joe", password: "secret"), clock: $0.stillClock)
        },
        Scenario(name: "authenticate, with a token to load", stub: guarded("0"), endsLater: true) {
            let tokens = TokenSource(store: YieldingTokenStore(AccessToken("0"))) { _ in throw CancellationError() }
            return $0.stub.authenticate(.bearer(tokens), clock: $0.stillClock)
        },
        Scenario(name: "authenticate, in the middle of a refresh", stub: guarded("1"), lateJobs: 40, endsLater: true) {
            $0.stub.authenticate(.bearer(refreshing()), clock: $0.stillClock)
        },
        Scenario(name: "authenticate, in the middle of a refresh under a deadline", stub: guarded("1"), lateJobs: 40, endsLater: true) {
            $0.stub.authenticate(.bearer(refreshing()), clock: $0.stillClock).timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(name: "authenticate, in the middle of a refresh that is saved", stub: guarded("1"), lateJobs: 40, endsLater: true) {
            $0.stub.authenticate(.bearer(refreshing(YieldingTokenStore(AccessToken("0")))), clock: $0.stillClock)
        },
        Scenario(name: "authenticate, in the middle of a refresh by a request", stub: guarded("1"), lateJobs: 40, endsLater: true) {
            parts in
            let tokens = TokenSource(AccessToken("0")) { _ in
                let response = try await parts.other.send(Request(.post, url: "https://auth.example/token"))
                return AccessToken(try await response.body.collect() == Data("onetwothree".utf8) ? "1" : "0")
            }
            return parts.stub.authenticate(.bearer(tokens), clock: parts.stillClock)
        },
        Scenario(
            name: "authenticate, three in the middle of a refresh", stub: guarded("1"),
            expected: "200 onetwothree 200 onetwothree 200 onetwothree", lateJobs: 40, endsLater: true, calls: 3
        ) { $0.stub.authenticate(.bearer(refreshing()), clock: $0.stillClock) },
        Scenario(name: "hsts") { $0.stub.hsts(HSTSList()) },
        Scenario(name: "hsts, with a list to load", url: "http://a.example/x", lateJobs: 40, endsLater: true) {
            $0.stub.hsts(HSTSList(store: YieldingHSTSStore()))
        },
        Scenario(name: "hsts, with a list to load under a deadline", url: "http://a.example/x", lateJobs: 40, endsLater: true) {
            $0.stub.hsts(HSTSList(store: YieldingHSTSStore())).timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(
            name: "hsts, with a list to write", stub: Stub().responds(pieces(headers: [.strictTransportSecurity: "max-age=9"])),
            lateJobs: 40, endsLater: true
        ) { $0.stub.hsts(HSTSList(store: YieldingHSTSStore())) },
        Scenario(name: "cookies", stub: Stub().responds(pieces(headers: [.setCookie: "a=b"]))) { $0.stub.cookies(CookieJar()) },
        Scenario(name: "cookies, with a store to load", endsLater: true) {
            $0.stub.cookies(CookieJar(store: YieldingCookieStore()))
        },
        Scenario(name: "cookies, with a store to load under a deadline", lateJobs: 40, endsLater: true) {
            $0.stub.cookies(CookieJar(store: YieldingCookieStore())).timeout(.seconds(60), clock: $0.stillClock)
        },
        Scenario(
            name: "cookies, three that are saved", stub: Stub().responds(pieces(headers: [.setCookie: "a=b; Max-Age=60"])),
            expected: "200 onetwothree 200 onetwothree 200 onetwothree", lateJobs: 40, endsLater: true, calls: 3
        ) { $0.stub.cookies(CookieJar(store: YieldingCookieStore())) },
        Scenario(name: "sign") { $0.stub.sign(with: YieldingSigner()) },
        Scenario(name: "metrics") { $0.stub.metrics(factory: $0.metrics) },
        Scenario(name: "trace") { $0.stub.trace(tracer: $0.tracer) },
        Scenario(name: "traceCall") { $0.stub.traceCall(tracer: $0.tracer) },
        Scenario(name: "events") { $0.stub.events { _ in StubEventSink() } },
        Scenario(name: "profile") { $0.stub.retry(clock: $0.clock).profile() },
        Scenario(name: "by a condition") {
            $0.stub.wrapped(by: RedirectMiddleware(), when: .host("*.example")).wrapped(by: NumberMiddleware(), when: !.method(.get))
        },
        Scenario(
            name: "all of them",
            stub: Stub().responds(
                lost, pieces(.serviceUnavailable), pieces(.found, headers: [.location: "/to", .setCookie: "a=b"]), pieces(.unauthorized),
                pieces()),
            movesTime: true, leastCancelled: 20, lateJobs: 40
        ) { parts in
            let (clock, still) = (parts.clock, parts.stillClock)
            return parts.stub.wrapped {
                PhaseTimeoutsMiddleware(PhaseTimeouts(firstByte: .seconds(60), idleRead: .seconds(60), clock: still), attempt: .seconds(60))
                TraceMiddleware(tracer: parts.tracer)
                MetricsMiddleware(factory: parts.metrics)
                TransformMiddleware.request { _ in await Task.yield() }
                DelayMiddleware(by: .milliseconds(1), clock: clock)
                CookiesMiddleware(CookieJar())
                HSTSMiddleware(HSTSList())
                RedirectMiddleware()
                RetryMiddleware(clock: clock, random: { 0.5 })
                ValidateMiddleware([again(on: .unauthorized, .retry(.constant(.seconds(1)), atMost: 1))], clock: clock)
                FallbackMiddleware(to: parts.other)
                ValidateStatusMiddleware()
                TimeoutMiddleware(.seconds(86_400), clock: still)
                LogMiddleware(quiet)
                TraceCallMiddleware(tracer: parts.tracer)
                NumberMiddleware()
                ServerMiddleware("https://a.example")
            }
        },
    ]
}

/// A store in memory that yields before and after each step.
private final class YieldingTokenStore: TokenStore {
    private let inner: MemoryTokenStore

    init(_ token: AccessToken) { inner = MemoryTokenStore(token) }

    func load() async -> AccessToken? {
        await Task.yield()
        return inner.load()
    }

    func save(_ token: AccessToken) async {
        await Task.yield()
        inner.save(token)
        await Task.yield()
    }

    func remove() async {
        await Task.yield()
        inner.remove()
    }
}

/// A list of hosts in memory that yields before and after each step.
private final class YieldingHSTSStore: HSTSStore {
    func load() async -> [HSTSHost] {
        for _ in 0..<3 { await Task.yield() }
        return []
    }

    func apply(_ notes: [HSTSHost]) async -> [HSTSHost] {
        for _ in 0..<3 { await Task.yield() }
        return notes
    }
}

/// A store in memory that yields before and after each step.
private actor YieldingCookieStore: CookieStore {
    private var cookies: [Cookie] = []

    func load() async -> [Cookie] {
        for _ in 0..<3 { await Task.yield() }
        return cookies
    }

    func apply(changed: [Cookie], removed: [Cookie.Key]) async -> [Cookie] {
        await Task.yield()
        let keys = Set(changed.map(\.key) + removed)
        cookies = cookies.filter { !keys.contains($0.key) } + changed
        await Task.yield()
        return cookies
    }
}

/// Brings the network back while a request waits.
private struct ReturningMiddleware: HTTPMiddleware {
    let network: ScriptedPathMonitor

    func send(_ request: Request, to next: some HTTPSender) async throws -> Response {
        // The network is lost before the call starts. Otherwise, the call could wait forever after the return.
        network.change(to: .unsatisfied)
        async let response = next.send(request)
        for _ in 0..<20 where !Task.isCancelled { await Task.yield() }
        network.change(to: .wifi)
        return try await response
    }
}

/// A signer that takes its time.
private struct YieldingSigner: RequestSigner {
    func sign(_ request: inout Request) async throws {
        await Task.yield()
        try Task.checkCancellation()
        request.headers[.authorization] = "Signature x"
    }
}

/// Sends each request three times concurrently, and returns the last response.
private let tripling = ClosureMiddleware { request, next in
    try await withThrowingTaskGroup(of: Response.self) { group in
        for _ in 0..<3 { group.addTask { try await next.send(request) } }
        var last: Response?
        for try await response in group {
            last?.body.abandon()
            last = response
        }
        guard let last else { throw CancellationError() }
        return last
    }
}

/// A stack over its own stubs.
final class Stage: Sendable {
    struct Parts: Sendable {
        let stub: StubTransport
        /// For what falls back.
        let other = StubTransport(Stub().responds(Scenario.pieces()))
        /// Whose time is moved.
        let clock = ManualClock()
        /// Whose time is not.
        let stillClock = ManualClock()
        let metrics = RecordingMetrics()
        let tracer = RecordingTracer()
    }

    private let scenario: Scenario
    private let parts: Parts
    private let stack: HTTPStack

    init(_ scenario: Scenario) {
        self.scenario = scenario
        let next = Stub(.get, "/next").responds(Scenario.pieces())
        parts = Parts(stub: StubTransport(next, scenario.stub))
        stack = scenario.wrap(parts)
    }

    func play() async throws -> String {
        guard scenario.movesTime else { return try await send() }
        return try await parts.clock.advancingToSleepers { try await send() }
    }

    private func send() async throws -> String {
        guard scenario.calls > 1 else { return try await sendOne() }
        return try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<scenario.calls { group.addTask { try await self.sendOne() } }
            return try await group.reduce(into: [String]()) { $0.append($1) }.joined(separator: " ")
        }
    }

    private func sendOne() async throws -> String {
        do {
            let response = try await stack.send(Request(scenario.method, url: scenario.url))
            // One who shares an exchange may get its response when another has read it to the end.
            if scenario.calls == 1, response.body.bufferedData == nil, response.exchange.outcome != nil {
                try Task.checkCancellation()
                return "an exchange that ended before its body"
            }
            return "\(response.status.code) \(String(decoding: try await response.body.collect(), as: UTF8.self))"
        } catch let error as StatusError {
            return "error \(error.status.code) \(String(decoding: error.bodyPrefix, as: UTF8.self))"
        }
    }

    /// No body is open, no call waits, and the next request through the same stack succeeds.
    func check(_ run: String) async throws {
        await settle { parts.stub.openBodyCount == 0 && parts.other.openBodyCount == 0 }
        checkNothingIsOpen(run)
        let next = try Request(.get, url: "https://a.example/next")
        let response = try await parts.clock.advancingToSleepers { try await stack.send(next) }
        let data = try await response.body.collect()
        #expect(
            response.status == .ok
                && String(decoding: data, as: UTF8.self).lowercased().hasSuffix(scenario.name == "transform" ? "other" : "three"),
            "\(run)")
        checkNothingIsOpen(run)
    }

    /// Returns when `condition` holds, or after ten seconds. Work that belongs only to the call has ended with the call.
    func settle(_ condition: () -> Bool) async {
        if scenario.endsLater { _ = try? await poll("the end of what goes on", upTo: .seconds(10), value: condition) { $0 } }
    }

    private func checkNothingIsOpen(_ run: String) {
        #expect(parts.stub.openBodyCount == 0 && parts.other.openBodyCount == 0, "\(run)")
        #expect(parts.tracer.spans.allSatisfy { $0.endCount == 1 }, "\(run)")
        #expect(parts.metrics.level("http.client.active_requests") == 0, "\(run)")
        #expect(parts.clock.sleeperCount == 0 && parts.stillClock.sleeperCount == 0, "\(run)")
    }
}
