import Dispatch
import Errand
import ErrandFormats
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Ten minutes and more of load, in a few seconds: one test after the other, and most on a queue of their own, where what is
/// ready runs in turn.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RateLimitSimulationTests {
    /// Records the time and the sender of each request.
    private final class RecordingArrivalSender: HTTPSender {
        private let clock: ManualClock
        private let start: ManualClock.Instant
        private let seen = Mutex<[(who: String, at: Duration)]>([])

        init(_ clock: ManualClock) { (self.clock, start) = (clock, clock.now) }

        var count: Int { seen.withLock(\.count) }
        var instants: [Duration] { seen.withLock { $0.map(\.at) } }
        var counts: [String: Int] { seen.withLock { Dictionary($0.map { ($0.who, 1) }, uniquingKeysWith: +) } }

        func send(_ request: Request) async throws -> Response {
            let at = start.duration(to: clock.now)
            seen.withLock { $0.append((request.head.path ?? "", at)) }
            return Response(head: HTTPResponse(status: .ok), request: request)
        }
    }

    private let clock = ManualClock()
    private let origin = "https://a.example"

    @Test func aLimitOfFiftyPerSecondIsNeverExceeded() async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let record = RecordingArrivalSender(clock)
        let middleware = RateLimitMiddleware(.perSecond(50, burst: 10), clock: clock)
        let stack = HTTPStack(record).wrapped(by: middleware)
        var random = SeededGenerator(seed: 50)
        var sent = 0
        while simulation.elapsed < .seconds(600) {
            // Times with few requests, and times with more requests than the limit permits.
            let isBusy = Int.random(in: 0..<3, using: &random) > 0
            for _ in 0..<(isBusy ? Int.random(in: 1..<120, using: &random) : 1) {
                sent += 1
                simulation.begin { [origin] in _ = try await stack.send(try Request(.get, url: "\(origin)/")) }
            }
            simulation.run(until: simulation.elapsed + .microseconds(Int.random(in: 1..<1_600_000, using: &random)))
            #expect(record.count + middleware.queued(for: origin) == sent && clock.sleeperCount <= 1)
        }
        simulation.run()
        #expect(record.count == sent && middleware.queued(for: origin) == 0)
        let instants = record.instants
        #expect(instants.mostIn(.seconds(1)) == 50, "as many as may, and no more")
        #expect(instants.mostIn(.nanoseconds(1)) == 10)
        #expect(instants.count > 15_000 && clock.sleeperCount == 0)
    }

    /// A hundred callers, each of whom sends again as soon as it may.
    @Test func callersShareTheLimitEquallyUnderOverload() async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let record = RecordingArrivalSender(clock)
        let middleware = RateLimitMiddleware(.perSecond(50, burst: 10), clock: clock)
        let stack = HTTPStack(record).wrapped(by: middleware)
        let seconds = 60
        // The first requests get the saved grants.
        for _ in 0..<10 { simulation.begin { [origin] in _ = try await stack.send(try Request(.get, url: "\(origin)/first")) } }
        simulation.runUntilIdle()
        let callers = (0..<100).map { caller in
            simulation.begin { [origin] in while (try? await stack.send(try Request(.get, url: "\(origin)/\(caller)"))) != nil {} }
        }
        simulation.run(until: .seconds(seconds))
        #expect(middleware.queued(for: origin) == 100 && clock.sleeperCount == 1)
        for caller in callers { caller.cancel() }
        simulation.run()
        let counts = record.counts.filter { $0.key != "/first" }.values
        #expect(record.instants.filter { $0 < .seconds(seconds) }.count >= 49 * seconds, "\(record.count) in \(seconds) s")
        #expect(record.instants.mostIn(.seconds(1)) <= 50)
        #expect(counts.count == 100 && (counts.max() ?? 0) - (counts.min() ?? 0) <= 1, "\(counts.sorted())")
        #expect(middleware.queued(for: origin) == 0 && clock.sleeperCount == 0)
    }

    @Test func twoStacksWithOneStoreHoldTheLimitTogether() async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let record = RecordingArrivalSender(clock)
        let store = MemoryRateLimitStore(clock: clock)
        let both = (0..<2).map { _ in RateLimitMiddleware(.perSecond(20, burst: 5), store: store, clock: clock) }
        let callers = (0..<20).map { caller in
            let stack = HTTPStack(record).wrapped(by: both[caller % 2])
            return simulation.begin { [origin] in
                while (try? await stack.send(try Request(.get, url: "\(origin)/\(caller)"))) != nil {}
            }
        }
        simulation.run(until: .seconds(30))
        #expect(both.allSatisfy { $0.queued(for: origin) == 10 } && clock.sleeperCount == 2)
        for caller in callers { caller.cancel() }
        simulation.run()
        #expect(record.instants.mostIn(.seconds(1)) <= 20 && record.count >= 19 * 30)
        #expect(Set(record.counts.keys).count == 20, "nobody starves")
    }

    /// Three callers at a time are more urgent than one waiting caller. This caller still has its turn.
    @Test func theLeastUrgentRequestIsSentUnderOverload() async throws {
        let simulation = Simulation()
        let record = RecordingArrivalSender(simulation.clock)
        let stack = HTTPStack(record).rateLimit(.perSecond(1), clock: simulation.clock)
        for _ in 0..<3 {
            simulation.begin { [origin] in
                while simulation.elapsed < .seconds(60) {
                    var urgent = try Request(.get, url: "\(origin)/urgent")
                    urgent.options.priority = .high
                    _ = try await stack.send(urgent)
                }
            }
        }
        simulation.run(until: .seconds(2))
        let low = simulation.begin { [origin] in
            var low = try Request(.get, url: "\(origin)/low")
            low.options.priority = .low
            _ = try await stack.send(low)
            return simulation.elapsed
        }
        simulation.run()
        #expect(try await low.value <= .seconds(22), "every tenth grant is for whoever has waited longest: three came before it")
        #expect(record.counts["/low"] == 1)
    }

    /// Three thousand calls, a third of them cancelled at any moment: nobody is lost, and nobody who leads leaves the line without a lead.
    @Test(arguments: [false, true]) func cancelledCallersLoseNoOtherCaller(_ isRemote: Bool) async throws {
        let executor = QueueExecutor(isConcurrent: true)
        try await withTaskExecutorPreference(executor) { try await self.manyComeAndGo(isRemote, on: executor) }
    }

    private func manyComeAndGo(_ isRemote: Bool, on executor: QueueExecutor) async throws {
        let record = RecordingArrivalSender(clock)
        let store = isRemote ? RemoteStore(clock) : nil
        let middleware = RateLimitMiddleware(.perSecond(1000, burst: 5), store: store, clock: clock)
        let stack = HTTPStack(record).wrapped(by: middleware)
        let ended = await clock.advancingToSleepers {
            await withTaskGroup(of: Bool.self) { group in
                for number in 0..<3_000 {
                    group.addTask {
                        let task = Task(executorPreference: executor) {
                            try await stack.send(try Request(.get, url: "\(origin)/\(number)"))
                        }
                        if number % 3 == 0 {
                            for _ in 0..<(number % 7) { await Task.yield() }
                            task.cancel()
                        }
                        switch await withTaskCancellationHandler(operation: { await task.result }, onCancel: { task.cancel() }) {
                        case .success: return true
                        case .failure(let error): return error is CancellationError && number % 3 == 0
                        }
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
        }
        #expect(ended == 3_000 && record.count >= 2_000)
        #expect(middleware.queued(for: origin) == 0 && clock.sleeperCount == 0)
    }
}

/// Takes a while for each response, and gives up when it is cancelled, at whatever moment.
private struct RemoteStore: RateLimitStore {
    private let memory: MemoryRateLimitStore

    init(_ clock: ManualClock) { memory = MemoryRateLimitStore(clock: clock) }

    func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision {
        await Task.yield()
        try Task.checkCancellation()
        let decision = memory.take(key, limit: limit)
        await Task.yield()
        return decision
    }

    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) async throws {
        await Task.yield()
        memory.observe(fields, for: key, after: grant)
    }

    func available(_ key: String, limit: RateLimit?) -> Int? { nil }
}
