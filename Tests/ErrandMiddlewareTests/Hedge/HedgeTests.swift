import Errand
import ErrandConformance
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HedgeTests {
    private typealias Pace = PacedSender.Pace

    private struct Outcome: Sendable {
        var text: String?
        var status: Int?
        var hedge: HedgeRecord?
        var error: (any Error)?
        var elapsed: Duration
    }

    /// One call through a hedge, to its end.
    private static func call(
        _ paces: [Pace], _ policy: HedgePolicy = HedgePolicy(.fixed(.milliseconds(50))), budget: RetryBudget? = nil,
        method: HTTPRequest.Method = .get, _ change: (inout Request) -> Void = { _ in }, cancelAt: Duration? = nil
    ) async throws -> (Outcome, PacedSender.Seen) {
        let simulation = Simulation()
        let server = PacedSender(simulation.clock) { paces[min($0, paces.count) - 1] }
        let stack = HTTPStack(server).hedge(policy, budget: budget, clock: simulation.clock)
        var request = try request(method)
        change(&request)
        let sent = request
        let task = simulation.begin { () -> Outcome in
            do {
                let response = try await stack.send(sent)
                let elapsed = simulation.elapsed
                let body = try await response.body.collect()
                return Outcome(
                    text: String(decoding: body, as: UTF8.self), status: response.status.code, hedge: response.metadata.hedge,
                    elapsed: elapsed)
            } catch {
                return Outcome(error: error, elapsed: simulation.elapsed)
            }
        }
        if let cancelAt {
            simulation.run(until: cancelAt)
            task.cancel()
        }
        simulation.run()
        return (try await task.value, server.seen)
    }

    @Test func aFastResponseIsReturnedWithoutAHedge() async throws {
        let (outcome, seen) = try await Self.call([Pace(time: .milliseconds(20))])
        #expect(outcome.text == "1" && outcome.hedge == nil && outcome.elapsed == .milliseconds(20))
        #expect(seen.received == 1)
    }

    @Test func aSlowRequestIsHedgedAndTheLoserCancelled() async throws {
        let (outcome, seen) = try await Self.call([Pace(time: .seconds(1)), Pace(time: .milliseconds(20))])
        #expect(outcome.text == "2" && outcome.hedge == HedgeRecord(attempts: 2, winner: 2))
        #expect(outcome.elapsed == .milliseconds(70))
        #expect(seen.received == 2 && seen.cancelled == 1 && seen.requests.map(\.options.resendCount) == [0, 1])
    }

    @Test func theFirstAttemptCanWin() async throws {
        let (outcome, seen) = try await Self.call([Pace(time: .milliseconds(60)), Pace(time: .seconds(1))])
        #expect(outcome.text == "1" && outcome.hedge == HedgeRecord(attempts: 2, winner: 1))
        #expect(seen.received == 2 && seen.cancelled == 1)
    }

    @Test func aLateResponseOfTheLoserIsReleased() async throws {
        let (outcome, seen) = try await Self.call([Pace(time: .seconds(1), isDeaf: true), Pace(time: .milliseconds(20))])
        #expect(outcome.text == "2")
        #expect(seen.abandoned == 1)
    }

    @Test func eachOfThreeAttemptsStartsAfterItsDelay() async throws {
        let (outcome, seen) = try await Self.call(
            [Pace(time: .seconds(1)), Pace(time: .seconds(1)), Pace(time: .milliseconds(20))],
            HedgePolicy(.fixed(.milliseconds(50)), maxAttempts: 3))
        #expect(outcome.text == "3" && outcome.elapsed == .milliseconds(120) && seen.cancelled == 2)
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch]) func anUnsafeMethodIsSentOnce(_ method: HTTPRequest.Method)
        async throws
    {
        let (outcome, seen) = try await Self.call([Pace(time: .seconds(1))], method: method)
        #expect(outcome.text == "1" && seen.received == 1)
    }

    @Test func aBodyThatCanBeReadOnceIsSentOnce() async throws {
        let query = try #require(HTTPRequest.Method("QUERY"))
        let once = AsyncStream<Data> { $0.finish() }
        let (_, one) = try await Self.call([Pace(time: .seconds(1))], method: query) { $0.body = .stream(once) }
        #expect(one.received == 1)
        let (_, two) = try await Self.call([Pace(time: .seconds(1))], method: query) { $0.body = .text("{}") }
        #expect(two.received == 2)
    }

    @Test func anUpgradeIsSentOnce() async throws {
        let (_, seen) = try await Self.call([Pace(time: .seconds(1))]) { $0.options.upgrade = UpgradeRequest(protocolName: "websocket") }
        #expect(seen.received == 1)
    }

    @Test func refusalsDoNotCountAsResponses() async throws {
        let simulation = Simulation()
        let server = PacedSender(simulation.clock) { $0 > 5 ? Pace(time: .seconds(1)) : Pace(time: .milliseconds(1), status: 503) }
        let stack = HTTPStack(server).hedge(HedgePolicy(.percentile(0.9, samples: 5)), clock: simulation.clock)
        for _ in 0..<6 {
            simulation.begin { try await stack.send(try request()).body.abandon() }
            simulation.run()
        }
        #expect(server.seen.received == 6)
    }

    @Test func aRequestReplacesOrDropsThePolicy() async throws {
        let (_, off) = try await Self.call([Pace(time: .seconds(1))]) { $0.options.hedge = .off }
        #expect(off.received == 1)
        let (_, own) = try await Self.call([Pace(time: .milliseconds(30))]) {
            $0.options.hedge = .use(HedgePolicy(.fixed(.milliseconds(5))))
        }
        #expect(own.received == 2)
    }

    @Test func aFailureWithoutAnotherAttemptIsTheResult() async throws {
        let (outcome, seen) = try await Self.call([Pace(time: .milliseconds(5), failure: .connectionLost)])
        #expect((outcome.error as? TransportError)?.code == .connectionLost && seen.received == 1)
        let (response, _) = try await Self.call([Pace(time: .milliseconds(5), status: 503)])
        #expect(response.status == 503)
    }

    @Test func aFailureWaitsForTheOtherAttempt() async throws {
        let failing = [Pace(time: .milliseconds(60), failure: .connectionLost), Pace(time: .milliseconds(100))]
        let (outcome, _) = try await Self.call(failing)
        #expect(outcome.text == "2" && outcome.elapsed == .milliseconds(150))
        let refused = [Pace(time: .milliseconds(60), status: 503), Pace(time: .milliseconds(100))]
        let (response, seen) = try await Self.call(refused)
        #expect(response.status == 200 && seen.abandoned == 1)
    }

    @Test func theLastOfSeveralFailuresIsTheResult() async throws {
        let (outcome, seen) = try await Self.call([
            Pace(time: .milliseconds(60), status: 503), Pace(time: .milliseconds(100), failure: .timedOut),
        ])
        #expect((outcome.error as? TransportError)?.code == .timedOut && seen.abandoned == 1)
    }

    @Test func aServerThatAsksForAPauseGetsNoFurtherAttempt() async throws {
        let (outcome, seen) = try await Self.call(
            [
                Pace(time: .milliseconds(60), status: 429, fields: [.retryAfter: "5"]), Pace(time: .milliseconds(200)),
                Pace(time: .milliseconds(10)),
            ], HedgePolicy(.fixed(.milliseconds(50)), maxAttempts: 3))
        #expect(outcome.text == "2" && seen.received == 2)
    }

    @Test func anEmptyBudgetHedgesNothing() async throws {
        let (outcome, seen) = try await Self.call(
            [Pace(time: .seconds(1))], budget: RetryBudget(reserve: 0, perSuccess: 0, perSecond: 0))
        #expect(outcome.text == "1" && outcome.hedge == nil && seen.received == 1)
    }

    @Test func hedgingAndRetryShareABudget() async throws {
        let simulation = Simulation()
        let budget = RetryBudget(reserve: 3, perSuccess: 0, perSecond: 0, clock: simulation.clock)
        let server = PacedSender(simulation.clock) { _ in Pace(time: .milliseconds(80), status: 503) }
        let stack = HTTPStack(server).hedge(HedgePolicy(.fixed(.milliseconds(50))), budget: budget, clock: simulation.clock)
            .retry(RetryPolicy(maxAttempts: 10, backoff: .immediate), budget: budget, clock: simulation.clock)
        let task = simulation.begin { try await stack.send(try request()).status.code }
        simulation.run()
        #expect(try await task.value == 503)
        #expect(server.seen.received == 4, "one, and three tokens")
    }

    @Test(arguments: [10, 60]) func cancellingTheCallCancelsEveryAttempt(milliseconds: Int) async throws {
        let (outcome, seen) = try await Self.call([Pace(time: .seconds(1))], cancelAt: .milliseconds(milliseconds))
        #expect(outcome.error is CancellationError && seen.cancelled == seen.received && outcome.elapsed == .milliseconds(milliseconds))
    }

    @Test func hedgingStartsAfterEnoughSamples() async throws {
        let simulation = Simulation()
        let server = PacedSender(simulation.clock) { Pace(time: $0 > 5 ? .seconds(1) : .milliseconds(10)) }
        let policy = HedgePolicy(.percentile(0.9, samples: 5))
        let stack = HTTPStack(server).hedge(policy, clock: simulation.clock)
        for _ in 0..<5 {
            simulation.begin { try await stack.send(try request()).body.abandon() }
            simulation.run()
        }
        #expect(server.seen.received == 5)
        let begun = simulation.elapsed
        simulation.begin { try await stack.send(try request()).body.abandon() }
        simulation.run(until: begun + .milliseconds(500))
        #expect(server.seen.received == 7, "the delay is about 10 ms")
        simulation.run()
    }

    /// If cancelled attempts did not count, slow calls would be left out, and each call would make the delay shorter.
    @Test func hedgedCallsCountForThePercentile() async throws {
        let simulation = Simulation()
        let server = PacedSender(simulation.clock) { Pace(time: .milliseconds($0 <= 20 ? 10 : 40)) }
        let budget = RetryBudget(reserve: 1_000, clock: simulation.clock)
        let stack = HTTPStack(server).hedge(HedgePolicy(.percentile(0.5, samples: 10)), budget: budget, clock: simulation.clock)
        for _ in 0..<120 {
            simulation.begin { try await stack.send(try request()).body.abandon() }
            simulation.run()
        }
        #expect(server.seen.received <= 20 + 100 + 30, "\(server.seen.received): once half of them are slow, slow is usual")
    }

    @Test func manyOriginsAreHedgedInBoundedMemory() async throws {
        let simulation = Simulation()
        let isSlow = Mutex(false)
        let server = PacedSender(simulation.clock) { _ in Pace(time: isSlow.withLock { $0 } ? .seconds(1) : .milliseconds(10)) }
        let middleware = HedgeMiddleware(
            HedgePolicy(.percentile(0.9, samples: 2)), budget: RetryBudget(reserve: 1_000, clock: simulation.clock), clock: simulation.clock
        )
        let stack = HTTPStack(server).wrapped(by: middleware)
        func callAll(_ origins: Range<Int>) {
            for number in origins {
                simulation.begin { try await stack.send(try Request(.get, url: "https://\(number).example/")).body.abandon() }
            }
            simulation.run()
        }
        for _ in 0..<2 { callAll(0..<300) }
        isSlow.withLock { $0 = true }
        callAll(0..<20)
        #expect(server.seen.received == 600 + 40, "each of the slow ones was hedged")
        isSlow.withLock { $0 = false }
        callAll(300..<1_500)
        #expect(middleware.originCount == 1_000)
    }

    static let races: [([HedgeRace.Event], [HedgeRace.Step])] = [
        ([.responded], [.end]),
        ([.failed(isPushback: false)], [.end]),
        ([.timeUp, .responded], [.begin(thenTime: true), .end]),
        ([.timeUp, .failed(isPushback: false), .responded], [.begin(thenTime: true), .wait, .end]),
        ([.timeUp, .failed(isPushback: false), .failed(isPushback: false)], [.begin(thenTime: true), .wait, .end]),
        ([.timeUp, .failed(isPushback: true), .timeUp, .responded], [.begin(thenTime: true), .wait, .wait, .end]),
        ([.timeUp, .timeUp, .timeUp, .responded], [.begin(thenTime: true), .begin(thenTime: false), .wait, .end]),
    ]

    @Test(arguments: races) func eachEventOfARaceHasItsStep(_ events: [HedgeRace.Event], _ steps: [HedgeRace.Step]) {
        var race = HedgeRace(maxAttempts: 3)
        let taken = events.map { event in
            let step = race.next(event)
            if case .begin = step { race.begun() }
            return step
        }
        #expect(taken == steps)
    }

    @Test func theWindowComputesPercentilesToASixteenth() {
        var window = LatencyWindow(window: .seconds(60), at: .zero)
        for milliseconds in 1...1_000 { window.add(.milliseconds(milliseconds), at: .seconds(1)) }
        for (share, exact) in [(0.5, 500.0), (0.9, 900), (0.99, 990), (0.999, 999)] {
            let found = (window.percentile(share, of: 100, at: .seconds(1)) ?? .zero) / .milliseconds(1)
            #expect(found >= exact && found <= exact * 1.07, "\(share): \(found)")
        }
        #expect(window.percentile(0.5, of: 1_001, at: .seconds(1)) == nil)
        #expect(window.percentile(0.5, of: 1, at: .seconds(59)) != nil)
        #expect(window.percentile(0.5, of: 1, at: .seconds(120)) == nil, "what is old is forgotten")
        for exact in [Duration.zero, .microseconds(3), .seconds(100_000_000)] { window.add(exact, at: .seconds(200)) }
        #expect(window.percentile(0.01, of: 1, at: .seconds(200)) == .microseconds(1))
    }
}
