import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CancellationTortureTests {
    private func violation(
        _ torture: CancellationTorture = CancellationTorture(), accepts: (Int) -> Bool = { _ in true },
        check: (TortureRun<Int>) async throws -> Void = { _ in }, _ scenario: @escaping @Sendable () async throws -> Int
    ) async throws -> TortureError {
        try #require(await #expect(throws: TortureError.self) { _ = try await torture.run(scenario, accepts: accepts, check: check) })
    }

    @Test func aScenarioIsCancelledBeforeAndAfterEachOfItsJobs() async throws {
        let runs = Mutex([TortureRun<Int>]())
        let report = try await CancellationTorture().run {
            for _ in 0..<3 {
                await Task.yield()
                try Task.checkCancellation()
            }
            return 7
        } check: { run in
            runs.withLock { $0.append(run) }
        }
        let all = runs.withLock { $0 }
        let jobs = report.jobs
        #expect(report.value == 7 && jobs >= 4)
        #expect(all.map(\.jobNumber) == (1...jobs + 1).flatMap { [$0, $0] })
        #expect(all.map(\.moment) == (1...jobs + 1).flatMap { _ in [.before, .after] })
        // Only after its very last job does cancellation come too late; from the next on there is none.
        let names = all.map { "\($0)" }
        #expect(names.dropLast(3).allSatisfy { $0.contains(": cancelled, ") && !$0.contains("finished") })
        #expect(
            names.suffix(3) == [
                "after job \(jobs): cancelled, but finished, \(jobs) jobs", "before job \(jobs + 1): uncancelled, \(jobs) jobs",
                "after job \(jobs + 1): uncancelled, \(jobs) jobs",
            ])
        #expect((report.runs, report.cancelled, report.finished, report.uncancelled) == (2 * jobs + 2, 2 * jobs - 1, 1, 2))
        #expect(
            "\(report)"
                == "\(2 * jobs + 2) runs: \(2 * jobs - 1) cancelled, 1 cancelled but finished, 2 uncancelled, the last with \(jobs) jobs")
    }

    @Test func childTasksCountAndAreCancelledWithTheirParent() async throws {
        let alone = try await CancellationTorture(leastCancelled: 0).run { 1 }
        let report = try await CancellationTorture().run {
            async let first = ManualClock().sleep(for: .zero)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await Task.yield() } }
                try await group.waitForAll()
            }
            try await first
            try Task.checkCancellation()
            return 1
        }
        #expect(alone.jobs == 1 && alone.runs == 4)
        #expect(report.jobs > 7 && report.cancelled > 7)
    }

    /// What only ends by cancellation or by another's hand is cancelled while it waits.
    @Test func aSleeperIsCancelledInItsSleep() async throws {
        let clock = ManualClock()
        let report = try await CancellationTorture().run {
            try await clock.advancingToSleepers {
                for _ in 0..<3 { try await clock.sleep(for: .seconds(1800)) }
            }
        } check: { _ in
            #expect(clock.sleeperCount == 0)
        }
        #expect(report.cancelled > 10)
    }

    @Test func anErrorOtherThanCancellationErrorIsAViolation() async throws {
        let violation = try await violation {
            await Task.yield()
            if Task.isCancelled { throw TestError("some error") }
            return 1
        }
        #expect("\(violation)" == "cancelled before job 1: not CancellationError, but some error")
        #expect(violation.underlying is TestError && violation.jobNumber == 1 && violation.moment == .before)
    }

    @Test func aWrongResultIsAViolation() async throws {
        let violation = try await violation(accepts: { $0 == 3 }) {
            await Task.yield()
            await Task.yield()
            return Task.isCancelled ? 2 : 3
        }
        #expect("\(violation)" == "cancelled before job 1: the result was not accepted: 2")
    }

    @Test func aFailureWithoutCancellationIsAViolation() async throws {
        let failed = try await violation {
            if !Task.isCancelled { throw TestError("some error") }
            return 1
        }
        #expect("\(failed)" == "cancelled before job 2: uncancelled, but some error" || failed.what.hasPrefix("not CancellationError"))
        let ended = try await violation {
            if !Task.isCancelled { throw CancellationError() }
            return 1
        }
        #expect(ended.what == "uncancelled, but CancellationError()")
    }

    @Test func aRunWithoutAnEndIsAViolation() async throws {
        let (never, stop) = AsyncStream<Int>.makeStream()
        let violation = try await violation(CancellationTorture(hangLimit: .milliseconds(100))) {
            // A task of its own, whom nobody cancels.
            await Task { for await _ in never {} }.value
            return 1
        }
        #expect(violation.jobNumber == 1 && violation.moment == .before)
        #expect(violation.what == "the run did not end within 100 ms (1 job)")
        stop.finish()
    }

    @Test func aFailedCheckIsAViolationOfItsRun() async throws {
        let violation = try await violation(check: { run in if run.jobNumber == 2 { throw TestError("some error") } }) {
            await Task.yield()
            try Task.checkCancellation()
            return 1
        }
        #expect("\(violation)" == "cancelled before job 2: afterwards: some error")
    }

    @Test func anEndlessScenarioEndsAtTheLimit() async throws {
        let violation = try await violation(CancellationTorture(limit: 5)) {
            for _ in 0..<100 {
                await Task.yield()
                try Task.checkCancellation()
            }
            return 1
        }
        #expect(violation.what == "the scenario has more jobs than the limit of 5")
        #expect("\(violation)" == violation.what, "it is wrong with all runs: no job is named")
    }

    @Test func aScenarioThatIsNeverCancelledIsAViolation() async throws {
        // Its work is in a task of its own, whose jobs are not counted and which nobody cancels.
        let elsewhere = try await violation(CancellationTorture(hangLimit: .seconds(60))) {
            await Task { for _ in 0..<20 { await Task.yield() } }.value
            return 1
        }
        #expect(elsewhere.what.hasPrefix("only 0 of "), "\(elsewhere)")
        #expect(elsewhere.what.contains(" runs ended in CancellationError, and at least 1 must: "), "\(elsewhere)")
        #expect("\(elsewhere)" == elsewhere.what, "it is wrong with all runs: no job is named")
        let tooFew = try await violation(CancellationTorture(hangLimit: .seconds(60), leastCancelled: 8)) {
            for _ in 0..<2 { await Task { await Task.yield() }.value }
            try Task.checkCancellation()
            return 1
        }
        #expect(tooFew.what.contains("and at least 8 must"), "\(tooFew)")
    }

    @Test func workAfterCancellationIsAViolation() async throws {
        let finished = try await violation(CancellationTorture(lateJobs: 10)) {
            for _ in 0..<30 { await Task.yield() }
            return 1
        }
        #expect(finished.jobNumber == 1 && finished.what.contains(" jobs ran after the cancellation, 10 are allowed: "), "\(finished)")
        #expect("\(finished)".hasPrefix("cancelled before job 1: "), "\(finished)")
        let cancelled = try await violation(CancellationTorture(lateJobs: 10)) {
            for _ in 0..<30 { await Task.yield() }
            try Task.checkCancellation()
            return 1
        }
        #expect(cancelled.jobNumber == 1 && cancelled.what.contains(" jobs ran after the cancellation, 10 are allowed: "), "\(cancelled)")
        let report = try await CancellationTorture(lateJobs: 10).run {
            for _ in 0..<30 {
                try Task.checkCancellation()
                await Task.yield()
            }
            return 1
        }
        #expect(report.lateJobs <= 2, "\(report)")
    }

    @Test func cancellingTheTortureEndsTheTorture() async throws {
        let clock = ManualClock()
        let task = Task {
            try await CancellationTorture().run { try await clock.sleep(for: .seconds(1)) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func everyLayerRunsOnTheExecutorOfTheTorture() async throws {
        let report = try await CancellationTorture().run {
            let stub = StubTransport(Stub(.get, "/").responds(.stream([Data("a".utf8), Data("b".utf8)])))
            return try await stub.timeout(.seconds(3)).send(Request(.get, url: "https://a.example/")).body.collect()
        } accepts: {
            $0 == Data("ab".utf8)
        }
        #expect(report.value == Data("ab".utf8) && report.cancelled > 0)
    }
}

@Suite(.timeLimit(.minutes(5)))
struct SeededRandomTests {
    @Test func theSameSeedGivesTheSameNumbers() {
        let (one, same, other) = (SeededRandom(seed: 1), SeededRandom(seed: 1), SeededRandom(seed: 2))
        let numbers = (0..<1_000).map { _ in one.next() }
        #expect(numbers == (0..<1_000).map { _ in same.next() })
        #expect(numbers != (0..<1_000).map { _ in other.next() })
        #expect(numbers.allSatisfy((0..<1).contains) && Set(numbers).count == 1_000)
        #expect(abs(numbers.reduce(0, +) / 1_000 - 0.5) < 0.05)
    }

    @Test func tasksAtATimeShareOneSequence() async {
        let random = SeededRandom(seed: 3)
        let shared = await withTaskGroup(of: [Double].self) { group in
            for _ in 0..<8 { group.addTask { (0..<100).map { _ in random.next() } } }
            return await group.reduce(into: Set()) { $0.formUnion($1) }
        }
        let alone = SeededRandom(seed: 3)
        #expect(shared == Set((0..<800).map { _ in alone.next() }))
    }

    /// The reference values of SplitMix64 for the seed 1234567.
    @Test func theGeneratorIsSplitMix64() {
        var generator = SeededGenerator(seed: 1_234_567)
        #expect((0..<3).map { _ in generator.next() } == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
