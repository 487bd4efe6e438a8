import Dispatch
import Errand
import ErrandFormats
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// Ten minutes and more of load, in a few seconds: one test after the other, and most on a queue of their own, where what is ready runs in turn.
@Suite(.serialized, .timeLimit(.minutes(1))) struct RateLimitSimulationTests {
    /// Notes when each request came, and who sent it.
    private final class Record: HTTPSender {
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

    /// Returns when all that were sent have come through or wait, and whoever leads them sleeps.
    private func settle(_ sent: Int, _ record: Record, _ middleware: RateLimitMiddleware) async throws {
        try await until {
            let waiting = middleware.waiting(for: origin)
            return record.count + waiting == sent && (waiting == 0 || clock.sleeperCount == 1)
        }
    }

    private func until(_ condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func fiftyASecondAreNeverExceeded() async throws {
        try await withTaskExecutorPreference(QueueExecutor()) { try await self.fiftyASecondAreNeverExceededOnItsQueue() }
    }

    private func fiftyASecondAreNeverExceededOnItsQueue() async throws {
        let record = Record(clock)
        let middleware = RateLimitMiddleware(.perSecond(50, burst: 10), clock: clock)
        let stack = HTTPStack(record).wrapped(by: middleware)
        var random = SeededGenerator(seed: 50)
        let end = clock.now.advanced(by: .seconds(600))
        try await withThrowingTaskGroup(of: Void.self) { group in
            var sent = 0
            var nextArrival = clock.now
            while clock.now < end {
                if clock.now >= nextArrival {
                    // Quiet times, and times with more than goes.
                    let isBusy = Int.random(in: 0..<3, using: &random) > 0
                    for _ in 0..<(isBusy ? Int.random(in: 1..<120, using: &random) : 1) {
                        sent += 1
                        group.addTask { _ = try await stack.send(try Request(.get, url: "\(origin)/")) }
                    }
                    nextArrival = clock.now.advanced(by: .microseconds(Int.random(in: 1..<1_600_000, using: &random)))
                }
                try await settle(sent, record, middleware)
                clock.advance(by: min(clock.nextSleeper ?? .seconds(600), clock.now.duration(to: nextArrival)))
                try await settle(sent, record, middleware)
            }
            while middleware.waiting(for: origin) > 0 {
                clock.advanceToNextSleeper()
                try await settle(sent, record, middleware)
            }
            try await group.waitForAll()
            #expect(record.count == sent)
        }
        let instants = record.instants
        #expect(instants.mostIn(.seconds(1)) == 50, "as many as may, and no more")
        #expect(instants.mostIn(.nanoseconds(1)) == 10)
        #expect(instants.count > 15_000 && clock.sleeperCount == 0)
    }

    /// A hundred callers, each of whom sends again as soon as it may.
    @Test func underOverloadEachGetsTheSameAndNothingIsWasted() async throws {
        try await withTaskExecutorPreference(QueueExecutor()) { try await self.underOverloadEachGetsTheSameAndNothingIsWastedOnItsQueue() }
    }

    private func underOverloadEachGetsTheSameAndNothingIsWastedOnItsQueue() async throws {
        let record = Record(clock)
        let middleware = RateLimitMiddleware(.perSecond(50, burst: 10), clock: clock)
        let stack = HTTPStack(record).wrapped(by: middleware)
        let seconds = 60
        // What is saved up goes to whoever comes first.
        for _ in 0..<10 { _ = try await stack.send(try Request(.get, url: "\(origin)/first")) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<100 {
                group.addTask { while (try? await stack.send(try Request(.get, url: "\(origin)/\(caller)"))) != nil {} }
            }
            let start = clock.now
            while start.duration(to: clock.now) < .seconds(seconds) {
                try await until { middleware.waiting(for: origin) == 100 && clock.sleeperCount == 1 }
                clock.advanceToNextSleeper()
            }
            group.cancelAll()
        }
        let counts = record.counts.filter { $0.key != "/first" }.values
        #expect(record.instants.filter { $0 < .seconds(seconds) }.count >= 49 * seconds, "\(record.count) in \(seconds) s")
        #expect(record.instants.mostIn(.seconds(1)) <= 50)
        #expect(counts.count == 100 && (counts.max() ?? 0) - (counts.min() ?? 0) <= 1, "\(counts.sorted())")
        #expect(middleware.waiting(for: origin) == 0 && clock.sleeperCount == 0)
    }

    @Test func twoStacksWithOneStoreHoldTheLimitTogether() async throws {
        try await withTaskExecutorPreference(QueueExecutor()) { try await self.twoStacksWithOneStoreHoldTheLimitTogetherOnItsQueue() }
    }

    private func twoStacksWithOneStoreHoldTheLimitTogetherOnItsQueue() async throws {
        let record = Record(clock)
        let store = MemoryRateLimitStore(clock: clock)
        let both = (0..<2).map { _ in RateLimitMiddleware(.perSecond(20, burst: 5), store: store, clock: clock) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<20 {
                let stack = HTTPStack(record).wrapped(by: both[caller % 2])
                group.addTask { while (try? await stack.send(try Request(.get, url: "\(origin)/\(caller)"))) != nil {} }
            }
            let start = clock.now
            while start.duration(to: clock.now) < .seconds(30) {
                try await until { both.allSatisfy { $0.waiting(for: origin) == 10 } && clock.sleeperCount == 2 }
                clock.advanceToNextSleeper()
            }
            group.cancelAll()
        }
        #expect(record.instants.mostIn(.seconds(1)) <= 20 && record.count >= 19 * 30)
        #expect(Set(record.counts.keys).count == 20, "nobody starves")
    }

    /// Three thousand calls, a third of them cancelled at any moment: nobody is lost, and nobody who leads leaves the line without a lead.
    @Test(arguments: [false, true]) func manyWhoComeAndGoLoseNobody(_ isRemote: Bool) async throws {
        let executor = QueueExecutor(isConcurrent: true)
        try await withTaskExecutorPreference(executor) { try await self.manyComeAndGo(isRemote, on: executor) }
    }

    private func manyComeAndGo(_ isRemote: Bool, on executor: QueueExecutor) async throws {
        let record = Record(clock)
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
        #expect(middleware.waiting(for: origin) == 0 && clock.sleeperCount == 0)
    }
}

/// Takes a while for each answer, and gives up when it is cancelled, at whatever moment.
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

    func observe(_ key: String, _ fields: RateLimitFields, after grant: RateLimitGrant?) async throws {
        await Task.yield()
        memory.observe(key, fields, after: grant)
    }
}

/// Runs its jobs in the order in which they are ready: one after the other, or several at a time.
private final class QueueExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(isConcurrent: Bool = false) { queue = DispatchQueue(label: "simulation", attributes: isConcurrent ? .concurrent : []) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
