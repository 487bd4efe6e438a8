import Errand
import ErrandConformance
import Synchronization
import Testing

/// Middleware and typed calls under cancellation at every point, over a stub.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct TortureTests {
    private struct User: Codable, Equatable, Sendable { let id: Int }

    /// The stub of the current run. Each run begins with a new stub.
    private final class Stubs: Sendable {
        private let latest = Mutex<StubTransport?>(nil)

        func make(_ stubs: Stub...) -> StubTransport {
            let stub = StubTransport()
            for each in stubs { stub.add(each) }
            stub.add(Stub(.get, "/next").responds(.stream([Data("next".utf8)])))
            latest.withLock { $0 = stub }
            return stub
        }

        /// No body is open, and the next request succeeds.
        func check(_ run: TortureRun<some Sendable>) async throws {
            guard let stub = latest.withLock({ $0 }) else { return #expect(run.jobNumber == 1, "\(run)") }
            #expect(stub.openBodyCount == 0, "\(run)")
            let next = try await stub.wrapped(by: RedirectMiddleware()).send(Request(.get, url: "https://a.example/next"))
            #expect(try await next.body.collect() == Data("next".utf8), "\(run)")
            #expect(stub.openBodyCount == 0, "\(run)")
        }
    }

    private let stubs = Stubs()

    @Test func aRetryInItsBackoffIsCancelledAtEveryPoint() async throws {
        let clock = ManualClock()
        let random = SeededRandom(seed: 5)
        let report = try await CancellationTorture().run { [stubs] in
            let stub = stubs.make(
                Stub(.get, "/").responds(
                    .status(503, text: "busy"), .stream([Data("bu".utf8), Data("sy".utf8)], status: 503), .status(200)))
            let stack = stub.retry(
                RetryPolicy(backoff: .exponential(base: .seconds(60), maxDelay: .seconds(600))), clock: clock, random: random.next)
            return try await clock.advancingToSleepers {
                try await stack.send(Request(.get, url: "https://a.example/"))
            }
        } accepts: {
            $0.status == 200 && $0.metadata.attempts.count == 2
        } check: { run in
            #expect(clock.sleeperCount == 0, "\(run)")
            try await stubs.check(run)
        }
        #expect(report.cancelled > 20, "\(report)")
    }

    /// With a deadline on the same clock, which never comes first.
    @Test func aRetryUnderATimeoutIsCancelledAtEveryPoint() async throws {
        let clock = ManualClock()
        let report = try await CancellationTorture().run { [stubs] in
            let stub = stubs.make(Stub(.get, "/").responds(.status(503), .stream([Data("a".utf8), Data("b".utf8)])))
            let stack = stub.retry(RetryPolicy(backoff: .exponential(base: .seconds(1))), clock: clock, random: { 0.5 }).timeout(
                .seconds(86_400))
            return try await clock.advancingToSleepers {
                try await stack.send(Request(.get, url: "https://a.example/")).body.collect()
            }
        } accepts: {
            $0 == Data("ab".utf8)
        } check: { run in
            #expect(clock.sleeperCount == 0, "\(run)")
            try await stubs.check(run)
        }
        #expect(report.cancelled > 20, "\(report)")
    }

    @Test func aRedirectIsCancelledAtEveryPoint() async throws {
        let report = try await CancellationTorture().run { [stubs] in
            let stub = stubs.make(
                Stub(.post, "/from").responds(.stream([Data("moved".utf8)], status: 303, headers: [.location: "/to"])),
                Stub(.get, "/to").responds(.stream([Data("there".utf8)])))
            let request = try Request(.post, url: "https://a.example/from", body: .text("body"))
            return try await stub.redirect().send(request).body.collect()
        } accepts: {
            $0 == Data("there".utf8)
        } check: { run in
            try await stubs.check(run)
        }
        #expect(report.cancelled > 0, "\(report)")
    }

    @Test func aPartlyReadBodyIsCancelledAtEveryPoint() async throws {
        let chunks = (0..<10).map { Data("chunk \($0)".utf8) }
        let report = try await CancellationTorture().run { [stubs] in
            let stub = stubs.make(Stub(.get, "/").responds(.stream(chunks)))
            return try await stub.timeout(.seconds(60)).withResponse(to: Request(.get, url: "https://a.example/")) { response in
                var read: [Data] = []
                for try await chunk in response.body {
                    read.append(chunk)
                    await Task.yield()
                    if read.count == 5 { break }
                }
                return read
            }
        } accepts: {
            $0 == Array(chunks.prefix(5))
        } check: { run in
            try await stubs.check(run)
        }
        #expect(report.cancelled > 10, "\(report)")
    }

    @Test func aTypedCallIsCancelledAtEveryPoint() async throws {
        let json = Data(#"{"id": 7}"#.utf8)
        let report = try await CancellationTorture().run { [stubs] in
            let stub = stubs.make(
                Stub(.get, "/users/7").responds(.stream([json.prefix(4), json.dropFirst(4)], headers: [.contentType: "application/json"])))
            let client = APIClient(stub.redirect().retry().timeout(.seconds(30)).server("https://a.example"))
            return try await client.value(Endpoint<User>.get("/users/7"))
        } accepts: {
            $0 == User(id: 7)
        } check: { run in
            try await stubs.check(run)
        }
        #expect(report.cancelled > 0, "\(report)")
    }

    /// A refused status. The body is read for the failure, and the call is cancelled during this read.
    @Test func aFailedTypedCallIsCancelledAtEveryPoint() async throws {
        let report = try await CancellationTorture().run { [stubs] in
            let stub = stubs.make(Stub().responds(.stream([Data("no ".utf8), Data("such thing".utf8)], status: 404)))
            let client = APIClient(stub.timeout(.seconds(30)).server("https://a.example"))
            do {
                _ = try await client.value(Endpoint<User>.get("/users/7"))
                return 0
            } catch let failure as StatusError {
                return failure.status.code
            }
        } accepts: {
            $0 == 404
        }
        #expect(report.cancelled > 0, "\(report)")
    }

    /// The work belongs to no caller. A cancelled caller leaves, and the work ends when the last caller leaves.
    @Test func callersOfASingleFlightAreCancelledAtEveryPoint() async throws {
        let flight = SingleFlight<String, Int>()
        let report = try await CancellationTorture().run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        try await flight.run("key") {
                            for _ in 0..<3 { await Task.yield() }
                            try Task.checkCancellation()
                            return 7
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
        } accepts: {
            $0 == 21
        } check: { run in
            #expect(flight.count == 0, "\(run)")
            let next = try await flight.run("key") { 5 }
            #expect(next == 5, "\(run)")
        }
        #expect(report.cancelled > 0, "\(report)")
    }
}
