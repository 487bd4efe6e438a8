import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CircuitBreakerMachineTests {
    enum Step: Sendable {
        /// So many calls that begin and end at this second.
        case calls(Int, CircuitBreakerMachine.Outcome, at: Int)
        /// Whether a call may go.
        case enters(Bool, at: Int)
        case isolate, close
        case state(CircuitBreakerMachine.State)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var policy = CircuitBreakerPolicy(failureRatio: 0.5, minimumCalls: 4, window: .seconds(10), breakTime: .seconds(5), probeCount: 2)
        let steps: [Step]
        var testDescription: String { name }
    }

    private static let fine = CircuitBreakerMachine.Outcome.succeeded(after: .zero)
    private static let failed = CircuitBreakerMachine.Outcome.failed(retryAfter: nil)
    private static let slowPolicy = CircuitBreakerPolicy(
        minimumCalls: 4, window: .seconds(10), breakTime: .seconds(5), probeCount: 1, slowCallThreshold: .seconds(2), slowCallRatio: 0.5)

    static let rows: [Row] = [
        Row(name: "few calls say nothing", steps: [.calls(3, failed, at: 0), .state(.closed)]),
        Row(name: "half of them fail", steps: [.calls(2, fine, at: 0), .calls(2, failed, at: 1), .state(.open(until: .seconds(6)))]),
        Row(name: "less than half", steps: [.calls(3, fine, at: 0), .calls(2, failed, at: 1), .state(.closed)]),
        Row(
            name: "what is older than the window is forgotten",
            steps: [.calls(3, failed, at: 0), .calls(1, failed, at: 11), .state(.closed)]),
        Row(
            name: "within the window it is not",
            steps: [.calls(3, failed, at: 0), .calls(1, failed, at: 9), .state(.open(until: .seconds(14)))]),
        Row(name: "callers who leave don't count", steps: [.calls(50, .cancelled, at: 0), .calls(3, failed, at: 1), .state(.closed)]),
        Row(
            name: "open, it refuses until its time is up",
            steps: [.calls(4, failed, at: 0), .enters(false, at: 4), .enters(true, at: 5), .state(.halfOpen(inFlight: 1, succeeded: 0))]),
        Row(
            name: "no more than the probes go",
            steps: [.calls(4, failed, at: 0), .enters(true, at: 5), .enters(true, at: 5), .enters(false, at: 5)]),
        Row(name: "probes that succeed close it", steps: [.calls(4, failed, at: 0), .calls(2, fine, at: 5), .state(.closed)]),
        Row(
            name: "and what was counted before is forgotten",
            steps: [.calls(4, failed, at: 0), .calls(2, fine, at: 5), .calls(3, failed, at: 6), .state(.closed)]),
        Row(
            name: "a probe that fails opens it again",
            steps: [
                .calls(4, failed, at: 0), .calls(1, fine, at: 5), .calls(1, failed, at: 6), .state(.open(until: .seconds(11))),
            ]),
        Row(
            name: "a probe whose caller leaves makes room for another",
            steps: [
                .calls(4, failed, at: 0), .calls(1, .cancelled, at: 5), .state(.halfOpen(inFlight: 0, succeeded: 0)),
                .calls(2, fine, at: 6), .state(.closed),
            ]),
        Row(
            name: "Retry-After is the break",
            steps: [.calls(4, .failed(retryAfter: .seconds(30)), at: 0), .state(.open(until: .seconds(30)))]),
        Row(
            name: "but not a short one, and not one beyond the longest",
            steps: [
                .calls(4, .failed(retryAfter: .seconds(1)), at: 0), .state(.open(until: .seconds(5))), .close,
                .calls(4, .failed(retryAfter: .seconds(3_600)), at: 10), .state(.open(until: .seconds(70))),
            ]),
        Row(
            name: "Retry-After of any failure in the window, not of the last alone",
            steps: [.calls(3, .failed(retryAfter: .seconds(60)), at: 0), .calls(1, failed, at: 1), .state(.open(until: .seconds(60)))]),
        Row(
            name: "probes that hang let one more go for each break",
            steps: [
                .calls(4, failed, at: 0), .enters(true, at: 5), .enters(true, at: 6), .enters(false, at: 10), .enters(true, at: 11),
                .enters(false, at: 11), .enters(false, at: 15), .enters(true, at: 16), .state(.halfOpen(inFlight: 4, succeeded: 0)),
            ]),
        Row(
            name: "and those that succeed beside them close it",
            steps: [
                .calls(4, failed, at: 0), .enters(true, at: 5), .enters(true, at: 5), .calls(1, fine, at: 10), .calls(1, fine, at: 15),
                .state(.closed),
            ]),
        Row(
            name: "a window without a length",
            policy: CircuitBreakerPolicy(minimumCalls: 4, window: .nanoseconds(1), breakTime: .seconds(5)),
            steps: [.calls(3, failed, at: Int(Int32.max)), .state(.closed)]),
        Row(
            name: "a break without an end",
            policy: CircuitBreakerPolicy(minimumCalls: 4, breakTime: .seconds(Int64.max), maxBreakTime: .seconds(Int64.max)),
            steps: [.calls(4, .failed(retryAfter: .seconds(Int64.max)), at: 1), .enters(false, at: Int(Int32.max))]),
        Row(
            name: "slow calls open it", policy: slowPolicy,
            steps: [
                .calls(2, fine, at: 0), .calls(1, .succeeded(after: .seconds(1)), at: 0), .calls(1, .succeeded(after: .seconds(2)), at: 0),
                .state(.closed), .calls(2, .succeeded(after: .seconds(3)), at: 1), .state(.open(until: .seconds(6))),
            ]),
        Row(
            name: "a slow probe opens it again", policy: slowPolicy,
            steps: [.calls(4, failed, at: 0), .calls(1, .succeeded(after: .seconds(2)), at: 5), .state(.open(until: .seconds(10)))]),
        Row(
            name: "isolated by hand, until it is closed by hand",
            steps: [.isolate, .enters(false, at: 0), .enters(false, at: 10_000), .close, .enters(true, at: 10_000), .state(.closed)]),
    ]

    @Test(arguments: rows) func theMachineChangesItsStates(_ row: Row) {
        var machine = CircuitBreakerMachine(row.policy)
        for (index, step) in row.steps.enumerated() {
            switch step {
            case .calls(let count, let outcome, let second):
                for _ in 0..<count {
                    guard case .go(let generation) = machine.enter(at: .seconds(second)) else {
                        Issue.record("step \(index): refused")
                        return
                    }
                    machine.leave(generation, outcome, at: .seconds(second))
                }
            case .enters(let may, let second):
                let entry = machine.enter(at: .seconds(second))
                if case .go = entry { #expect(may, "step \(index)") } else { #expect(!may, "step \(index)") }
            case .isolate: machine.isolate()
            case .close: machine.close()
            case .state(let state): #expect(machine.state == state, "step \(index)")
            }
        }
    }

    @Test func aCallFromBeforeAChangeDoesNotCount() throws {
        var machine = CircuitBreakerMachine(CircuitBreakerPolicy(minimumCalls: 2, probeCount: 1))
        guard case .go(let old) = machine.enter(at: .zero), case .go(let other) = machine.enter(at: .zero),
            case .go(let third) = machine.enter(at: .zero)
        else {
            Issue.record("refused")
            return
        }
        for entered in [old, other] { machine.leave(entered, .failed(retryAfter: nil), at: .seconds(1)) }
        guard case .go(let probe) = machine.enter(at: .seconds(10)) else {
            Issue.record("refused")
            return
        }
        machine.leave(third, .failed(retryAfter: nil), at: .seconds(10))
        #expect(machine.state == .halfOpen(inFlight: 1, succeeded: 0), "the late failure of an old call is not the probe's")
        machine.leave(probe, .succeeded(after: .zero), at: .seconds(10))
        #expect(machine.state == .closed)
    }
}

@Suite(.timeLimit(.minutes(5))) struct CircuitBreakerTests {
    private let clock = ManualClock()
    private let policy = CircuitBreakerPolicy(minimumCalls: 4, breakTime: .seconds(5), probeCount: 1)

    private func call(_ host: String = "a.example") throws -> Request { try Request(.get, url: "https://\(host)/x") }

    @Test func aFailingOriginGetsNoRequestsAndThenProbes() async throws {
        let changes = Mutex<[String]>([])
        let breaker = CircuitBreaker(policy, clock: clock) { origin, state in changes.withLock { $0.append("\(origin) \(state)") } }
        let unavailable = StubResponse.status(.serviceUnavailable)
        let stub = StubTransport(
            Stub(matching: .url("https://a.example/x")).responds(
                unavailable, unavailable, unavailable, unavailable, .status(.ok), repeatingLast: true),
            Stub().responds(.status(.ok)))
        let stack = stub.circuitBreaker(breaker)
        for _ in 0..<4 { #expect(try await stack.send(call()).status == .serviceUnavailable) }
        #expect(breaker.state(of: "https://a.example") == .open(for: .seconds(5)))
        let refused = await #expect(throws: CircuitBreakerError.self) { try await stack.send(call()) }
        #expect(refused?.retryAfter == .seconds(5) && refused?.delivery == .notSent && stub.requests.count == 4)
        #expect(refused?.description == "GET https://a.example/x: refused: the circuit stays open for another 5 s (not sent)")
        #expect(try await stack.send(call("b.example")).status == .ok, "another origin has a circuit of its own")
        clock.advance(by: .seconds(5))
        #expect(breaker.state(of: "https://a.example") == .halfOpen)
        #expect(try await stack.send(call()).status == .ok)
        #expect(breaker.state(of: "https://a.example") == .closed)
        #expect(
            changes.withLock { $0.map { $0.prefix(26) } }
                == ["https://a.example open(for:", "https://a.example halfOpen", "https://a.example closed"].map { $0.prefix(26) })
    }

    @Test func failuresOfTheServerCountAndFaultsOfTheRequestDoNot() async throws {
        for (code, counts) in [
            (TransportError.Code.cannotConnect, true), (.timedOut, true), (.connectionLost, true), (.invalidRequest, false),
            (.requestBody, false),
        ] {
            let breaker = CircuitBreaker(policy, clock: clock)
            let failure = TransportError(code, phase: .send, request: nil, delivery: .unknown)
            let stack = StubTransport(Stub().responds(.failure(failure))).circuitBreaker(breaker)
            for _ in 0..<4 { await #expect(throws: TransportError.self) { try await stack.send(call()) } }
            #expect((breaker.state(of: "https://a.example") == .closed) == !counts, "\(code)")
        }
    }

    @Test func aTimeoutInTheQueueDoesNotCount() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        for phase in [ExchangePhase.queue, .connectivity] {
            let late = TransportError(.timedOut, phase: phase, request: nil, delivery: .notSent)
            let stack = StubTransport(Stub().responds(.failure(late))).circuitBreaker(breaker)
            for _ in 0..<10 { await #expect(throws: TransportError.self) { try await stack.send(call()) } }
        }
        #expect(breaker.state(of: "https://a.example") == .closed)
    }

    @Test(arguments: [(own: true, threshold: Duration.seconds(1), counts: false), (true, .zero, true), (false, .seconds(1), true)])
    func aTimeoutOfTheCallCountsOnlyAfterTheThreshold(own: Bool, threshold: Duration, counts: Bool) async throws {
        let policy = CircuitBreakerPolicy(minimumCalls: 4, callTimeoutThreshold: threshold)
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(Stub().responds(.never, repeatingLast: true))
        let stack = stub.circuitBreaker(breaker).timeout(own ? .seconds(60) : .milliseconds(5), clock: clock)
        for number in 0..<4 {
            var request = try call()
            // Both ways give the call its own timeout.
            if own, number.isMultiple(of: 2) { request.options.timeout = .use(.milliseconds(5)) }
            if own, !number.isMultiple(of: 2) { request.deadline = Deadline(after: .milliseconds(5), clock: clock) }
            let sent = request
            let error = await #expect(throws: TransportError.self) {
                try await clock.advancingToSleepers { try await stack.send(sent) }
            }
            #expect(error?.code == .timedOut)
        }
        #expect((breaker.state(of: "https://a.example") == .closed) == !counts)
    }

    @Test func anOwnTimeoutDoesNotOpenAHalfOpenCircuit() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(
            Stub().responds(
                .status(.serviceUnavailable), .status(.serviceUnavailable), .status(.serviceUnavailable),
                .status(.serviceUnavailable), .never, .status(.ok)))
        let stack = stub.circuitBreaker(breaker)
        for _ in 0..<4 { #expect(try await stack.send(call()).status == .serviceUnavailable) }
        clock.advance(by: .seconds(5))
        var hasty = try call()
        hasty.deadline = Deadline(after: .milliseconds(5), clock: clock)
        let sent = hasty
        await #expect(throws: TransportError.self) { try await clock.advancingToSleepers { try await stack.send(sent) } }
        #expect(breaker.state(of: "https://a.example") == .halfOpen)
        #expect(try await stack.send(call()).status == .ok)
        #expect(breaker.state(of: "https://a.example") == .closed)
    }

    @Test func aBreakerDescribesItsCircuits() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        #expect("\(breaker)" == "circuit breaker, closed: 0")
        let stub = StubTransport(
            Stub(matching: .url("https://a.example/x")).responds(.status(.serviceUnavailable), repeatingLast: true),
            Stub().responds(.status(.ok), repeatingLast: true))
        let stack = stub.circuitBreaker(breaker)
        for _ in 0..<4 { _ = try await stack.send(call()) }
        _ = try await stack.send(call("c.example"))
        breaker.isolate("https://b.example")
        #expect("\(breaker)" == "circuit breaker, https://a.example: open for another 5 s, https://b.example: isolated, closed: 1")
        clock.advance(by: .seconds(5))
        #expect("\(breaker)".contains("https://a.example: half-open"))
        for number in 0..<9 { breaker.isolate("https://\(number).example") }
        #expect("\(breaker)".hasSuffix("https://4.example: isolated, 6 more circuits that are not closed, closed: 1"))
    }

    @Test func cancelledCallersDoNotCount() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(Stub().responds(.never))
        let stack = stub.circuitBreaker(breaker)
        for number in 1...10 {
            let task = Task { try await stack.send(call()) }
            await eventually { stub.requests.count >= number }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(breaker.state(of: "https://a.example") == .closed)
    }

    @Test func aBreakerIsIsolatedAndResetByHand() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(Stub().responds(.status(.ok)))
        let stack = stub.circuitBreaker(breaker)
        breaker.isolate("https://a.example")
        let refused = await #expect(throws: CircuitBreakerError.self) { try await stack.send(call()) }
        #expect(refused?.retryAfter == nil && breaker.state(of: "https://a.example") == .isolated && stub.requests.isEmpty)
        var past = try call()
        past.options.circuitBreaker = .off
        #expect(try await stack.send(past).status == .ok)
        breaker.close("https://a.example")
        #expect(try await stack.send(call()).status == .ok)
    }

    @Test func aBreakerInsideRetryEndsTheRetries() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(Stub().responds(.status(.serviceUnavailable)))
        let stack = stub.circuitBreaker(breaker).retry(RetryPolicy(maxAttempts: 10, backoff: .immediate), budget: nil, clock: clock)
        let refused = await #expect(throws: CircuitBreakerError.self) { try await stack.send(call()) }
        #expect(stub.requests.count == 4 && refused?.attempts.count == 4, "each attempt counts, and the refusal ends them")
        #expect(stack.orderProblems.isEmpty && !stub.retry().circuitBreaker().orderProblems.isEmpty)
    }

    @Test func stateByOriginIsBounded() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(Stub(.get, "/x").responds(.status(.ok)), Stub(.get, "/broken").responds(.status(.serviceUnavailable)))
        let stack = stub.circuitBreaker(breaker)
        for number in 0..<1_500 { _ = try await stack.send(call("\(number).example")) }
        #expect(breaker.originCount == 1_000, "those without a failure")
        for number in 0..<1_500 { _ = try await stack.send(try Request(.get, url: "https://\(number).broken.example/broken")) }
        #expect((1_990...2_000).contains(breaker.originCount), "and as many with one")
    }

    @Test func theLeastRecentlyUsedOriginIsForgotten() async throws {
        let breaker = CircuitBreaker(CircuitBreakerPolicy(minimumCalls: 2), clock: clock)
        let stack = StubTransport(Stub().responds(.status(.serviceUnavailable))).circuitBreaker(breaker)
        for number in 0..<1_000 { _ = try await stack.send(call("\(number).example")) }
        // This circuit is no longer the oldest circuit.
        breaker.close("https://0.example")
        _ = try await stack.send(call("0.example"))
        _ = try await stack.send(call("new.example"))
        for host in ["0", "new", "2", "999"] {
            _ = try await stack.send(call("\(host).example"))
            #expect(breaker.state(of: "https://\(host).example") == .open(for: .seconds(5)), "\(host): its first failure is known")
        }
        _ = try await stack.send(call("1.example"))
        #expect(breaker.state(of: "https://1.example") == .closed, "forgotten: this is its first failure")
    }

    @Test func failingOriginsAreKeptBeforeHealthyOrigins() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stub = StubTransport(Stub(.get, "/x").responds(.status(.ok)), Stub(.get, "/broken").responds(.status(.serviceUnavailable)))
        let stack = stub.circuitBreaker(breaker)
        for round in 0..<4 {
            for number in 0..<1_100 { _ = try await stack.send(call("\(number).example")) }
            for number in 0..<20 {
                let response = try await stack.send(try Request(.get, url: "https://\(number).broken.example/broken"))
                #expect(response.status == .serviceUnavailable, "round \(round)")
            }
        }
        let open = (0..<20).count { breaker.state(of: "https://\($0).broken.example") == .open(for: .seconds(5)) }
        #expect(open == 20)
    }

    @Test func anIsolatedOriginIsNeverForgotten() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let stack = StubTransport(Stub().responds(.status(.serviceUnavailable))).circuitBreaker(breaker)
        for number in 0..<1_010 { breaker.isolate("https://\(number).example") }
        for number in 0..<1_100 { _ = try await stack.send(call("\(number).broken.example")) }
        #expect((0..<1_010).allSatisfy { breaker.state(of: "https://\($0).example") == .isolated })
    }

    @Test func changesAreReportedInTheirOrder() {
        let changes = Mutex<[CircuitBreaker.State]>([])
        let breaker = Mutex<CircuitBreaker?>(nil)
        let made = CircuitBreaker(policy, clock: clock) { origin, state in
            // Another change, while this one is being reported.
            if state == .isolated { breaker.withLock { $0 }?.close(origin) }
            changes.withLock { $0.append(state) }
        }
        breaker.withLock { $0 = made }
        made.isolate("https://a.example")
        #expect(changes.withLock { $0 } == [.isolated, .closed])
        breaker.withLock { $0 = nil }
    }

    @Test func hangingProbesDoNotKeepACircuitOpen() async throws {
        let breaker = CircuitBreaker(policy, clock: clock)
        let unavailable = StubResponse.status(.serviceUnavailable)
        let stub = StubTransport(
            Stub().responds(unavailable, unavailable, unavailable, unavailable, .never, .status(.ok), repeatingLast: true))
        let stack = stub.circuitBreaker(breaker)
        for _ in 0..<4 { _ = try await stack.send(call()) }
        clock.advance(by: .seconds(5))
        let hanging = Task { try await stack.send(call()) }
        await eventually { stub.requests.count == 5 }
        await #expect(throws: CircuitBreakerError.self) { try await stack.send(call()) }
        clock.advance(by: .seconds(5))
        #expect(try await stack.send(call()).status == .ok)
        #expect(breaker.state(of: "https://a.example") == .closed)
        hanging.cancel()
        _ = await hanging.result
    }
}

/// A server that fails after much good traffic.
@Suite(.timeLimit(.minutes(5))) struct ConsecutiveFailuresTests {
    private static let fine = CircuitBreakerMachine.Outcome.succeeded(after: .zero)
    private static let failed = CircuitBreakerMachine.Outcome.failed(retryAfter: nil)

    /// Returns the state after calls, each with its number, outcome and second.
    private func state(
        _ policy: CircuitBreakerPolicy = .standard, after calls: [(Int, CircuitBreakerMachine.Outcome, Int)]
    ) -> CircuitBreakerMachine.State {
        var machine = CircuitBreakerMachine(policy)
        for (count, outcome, second) in calls {
            for _ in 0..<count {
                guard case .go(let generation) = machine.enter(at: .seconds(second)) else { return machine.state }
                machine.leave(generation, outcome, at: .seconds(second))
            }
        }
        return machine.state
    }

    @Test func goodTrafficDoesNotHideADeadServer() {
        #expect(state(after: [(300, Self.fine, 0), (19, Self.failed, 1)]) == .closed)
        #expect(state(after: [(300, Self.fine, 0), (20, Self.failed, 1)]) == .open(until: .seconds(6)))
        #expect(state(after: [(300, Self.fine, 0), (10, Self.failed, 1), (10, Self.failed, 20)]) == .open(until: .seconds(25)))
    }

    @Test func aSuccessEndsTheSuccession() {
        #expect(state(after: [(300, Self.fine, 0), (19, Self.failed, 1), (1, Self.fine, 2), (19, Self.failed, 3)]) == .closed)
        let slow = CircuitBreakerPolicy(slowCallThreshold: .seconds(1))
        let late = CircuitBreakerMachine.Outcome.succeeded(after: .seconds(2))
        #expect(state(slow, after: [(300, Self.fine, 0), (19, Self.failed, 1), (1, late, 2), (19, Self.failed, 3)]) == .closed)
    }

    @Test func aCancelledCallDoesNotEndTheSuccession() {
        let calls = [(300, Self.fine, 0), (19, Self.failed, 1), (5, .cancelled, 2), (1, Self.failed, 3)]
        #expect(state(after: calls) == .open(until: .seconds(8)))
    }

    @Test func failuresBeforeTheWindowAreForgotten() {
        let policy = CircuitBreakerPolicy(minimumCalls: 1_000)
        #expect(state(policy, after: [(300, Self.fine, 0), (19, Self.failed, 1), (1, Self.failed, 40)]) == .closed)
        #expect(state(policy, after: [(300, Self.fine, 0), (19, Self.failed, 1), (20, Self.failed, 40)]) == .open(until: .seconds(45)))
    }

    @Test func theShareAloneCountsWithoutALimit() {
        let policy = CircuitBreakerPolicy(consecutiveFailures: nil)
        #expect(state(policy, after: [(300, Self.fine, 0), (299, Self.failed, 1)]) == .closed)
        #expect(state(policy, after: [(300, Self.fine, 0), (300, Self.failed, 1)]) == .open(until: .seconds(6)))
        #expect(state(CircuitBreakerPolicy(consecutiveFailures: 1), after: [(1, Self.failed, 0)]) == .open(until: .seconds(5)))
    }

    @Test func aDeadServerGetsTwentyRequests() async throws {
        let isDead = Signal()
        let stub = StubTransport(
            Stub().responds(.custom { _ in (HTTPResponse(status: isDead.hasCome ? .serviceUnavailable : .ok), Data()) }))
        let stack = stub.circuitBreaker(CircuitBreaker(clock: ManualClock()))
        func send() async throws -> HTTPResponse.Status { try await stack.send(Request(.get, url: "https://a.example/x")).status }
        for _ in 0..<300 { #expect(try await send() == .ok) }
        isDead.signal()
        for _ in 0..<20 { #expect(try await send() == .serviceUnavailable) }
        await #expect(throws: CircuitBreakerError.self) { try await send() }
        #expect(stub.requests.count == 320)
    }
}
