import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Middleware with a state for each origin treats these origins as equal, however the head of a request writes them.
@Suite(.timeLimit(.minutes(5))) struct OriginKeysTests {
    private static let authorities = ["a.example", "a.example:443", "A.example"]
    private let requests = Self.authorities.map { Request(head: HTTPRequest(method: .get, scheme: "https", authority: $0, path: "/x")) }
    private let other = Request(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example:8443", path: "/x"))

    @Test func spellingsOfAnOriginShareAConcurrencyLimit() async throws {
        let middleware = ConcurrencyLimitMiddleware(.fixed(1))
        let stack = StubTransport(Stub().responds(.never)).wrapped(by: middleware)
        let tasks = requests.map { request in Task { try await stack.send(request) } }
        await eventually { middleware.state(of: "https://a.example").queued == 2 }
        #expect(middleware.state(of: "https://a.example:443") == .init(inFlight: 1, queued: 2, limit: 1) && middleware.keyCount == 1)
        #expect(middleware.state(of: "https://a.example:8443") == .init(inFlight: 0, queued: 0, limit: 1))
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
    }

    @Test func spellingsOfAnOriginShareARateLimit() async throws {
        let middleware = RateLimitMiddleware(.perHour(3), maxWait: .zero, clock: ManualClock())
        let stack = StubTransport(Stub().responds(.status(.ok))).wrapped(by: middleware)
        for request in requests { _ = try await stack.send(request) }
        #expect(await middleware.state(of: "https://A.example:443") == .init(queued: 0, available: 0))
        await #expect(throws: RateLimitError.self) { try await stack.send(requests[1]) }
        #expect(try await stack.send(other).status == .ok)
    }

    @Test func spellingsOfAnOriginShareARetryBudget() async throws {
        let budget = RetryBudget(reserve: 3, perSuccess: 1, perSecond: 0, clock: ManualClock())
        let failing = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let stack = failing.retry(RetryPolicy(maxAttempts: 2, backoff: .immediate), budget: budget)
        for request in requests { _ = try await stack.send(request) }
        #expect(budget.balance(of: "https://a.example:443") == 0 && budget.originCount == 1)
        #expect(budget.balance(of: "https://a.example:8443") == 3)
        _ = try await StubTransport(Stub().responds(.status(.ok))).retry(budget: budget).send(requests[2])
        #expect(budget.balance(of: "https://a.example") == 1)
    }

    @Test func spellingsOfAnOriginShareACircuit() async throws {
        let changes = Mutex<[Origin]>([])
        let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 3), clock: ManualClock()) { origin, _ in
            changes.withLock { $0.append(origin) }
        }
        let stub = StubTransport(
            Stub(matching: .url("https://a.example:8443/x")).responds(.status(.ok)), Stub().responds(.status(.badGateway)))
        let stack = stub.circuitBreaker(breaker)
        for request in requests { _ = try await stack.send(request) }
        for request in requests { await #expect(throws: CircuitBreakerError.self) { try await stack.send(request) } }
        #expect(breaker.state(of: "https://A.example:443") == .open(for: .seconds(5)) && changes.withLock { $0 } == ["https://a.example"])
        breaker.close("https://a.example:443")
        breaker.isolate("https://A.EXAMPLE")
        await #expect(throws: CircuitBreakerError.self) { try await stack.send(requests[0]) }
        #expect(try await stack.send(other).status == .ok)
    }

    @Test func requestsWithoutAnOriginShareACircuitThatIsNotReported() async throws {
        let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 2), clock: ManualClock()) { origin, _ in Issue.record("\(origin)") }
        let stack = StubTransport(Stub().responds(.status(.badGateway))).server("https://a.example").circuitBreaker(breaker)
        for _ in 0..<2 { _ = try await stack.send(Request(.get, "/x")) }
        await #expect(throws: CircuitBreakerError.self) { try await stack.send(Request(.get, "/y")) }
        #expect(breaker.originCount == 1)
    }

    @Test func spellingsOfAnOriginShareAHedgeWindow() async throws {
        let middleware = HedgeMiddleware(clock: ManualClock())
        let stack = StubTransport(Stub().responds(.status(.ok))).wrapped(by: middleware)
        for request in requests { _ = try await stack.send(request) }
        #expect(middleware.originCount == 1)
        _ = try await stack.send(other)
        #expect(middleware.originCount == 2)
    }

    @Test(arguments: authorities, authorities)
    func aRedirectBetweenSpellingsKeepsCredentials(_ from: String, _ to: String) throws {
        var request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: from, path: "/x"))
        request.head.headerFields[.authorization] = "S"
        for (port, isKept) in [("", true), ("8443", false)] {
            let location = "https://" + (port.isEmpty ? to : "a.example:\(port)") + "/y"
            let head = HTTPResponse(status: .found, headerFields: [.location: location])
            guard case .follow(let next) = try RedirectPolicy.standard.decision(for: head, to: request, hops: 0) else {
                Issue.record("not followed")
                return
            }
            #expect((next.head.headerFields[.authorization] == "S") == isKept)
            #expect(next.url?.description == "https://a.example\(port.isEmpty ? "" : ":" + port)/y")
        }
    }

    @Test(arguments: authorities) func spellingsOfAnOriginGetTheFieldsOfItsServer(_ authority: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/x"))
        _ = try await stub.server("https://a.example:443/v1", headers: [.accept: "a"]).send(request)
        #expect(stub.requests.first?.headers[.accept] == "a")
    }

    @Test(arguments: authorities) func aHostConditionMatchesAllSpellings(_ authority: String) async throws {
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let request = Request(head: HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/x"))
        let marking = TransformMiddleware.request { $0.head.headerFields[.accept] = "a" }
        _ = try await stub.wrapped(by: marking, when: .host("a.example:443")).send(request)
        #expect(stub.requests.first?.headers[.accept] == "a")
    }
}
