import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// What retries do to a server, and what they never do, under seeded chance.
@Suite(.timeLimit(.minutes(5))) struct RetrySimulationTests {
    /// Fails from the first to the second minute, and counts the requests of each second.
    private final class FailingMinuteSender: HTTPSender {
        private let perSecond = Mutex([Int: Int]())
        private let clock: ManualClock
        private let start: ManualClock.Instant

        init(clock: ManualClock) { (self.clock, start) = (clock, clock.now) }

        func send(_ request: Request) async throws -> Response {
            let second = Int(start.duration(to: clock.now) / .seconds(1))
            perSecond.withLock { $0[second, default: 0] += 1 }
            let status: HTTPResponse.Status = (60..<120).contains(second) ? .serviceUnavailable : .ok
            return Response(head: HTTPResponse(status: status), request: request)
        }

        func count(_ seconds: Range<Int>) -> Int { perSecond.withLock { counts in seconds.reduce(0) { $0 + (counts[$1] ?? 0) } } }
    }

    /// Two hundred clients call once a second for three minutes; the server fails during the second one.
    @Test(arguments: [true, false], [1, 2] as [UInt64])
    func anOverloadedServerGetsLittleMoreThanItsNormalLoad(shareOneBudget: Bool, seed: UInt64) async throws {
        let simulation = Simulation()
        let clock = simulation.clock
        let server = FailingMinuteSender(clock: clock)
        let random = SeededRandom(seed: seed)
        let shared = RetryBudget(clock: clock)
        var clients: [(stack: HTTPStack, next: Duration)] = (0..<200).map { _ in
            let budget = shareOneBudget ? shared : RetryBudget(clock: clock)
            let stack = HTTPStack(server).retry(budget: budget, clock: clock, random: { random.next() })
            return (stack, .milliseconds(Int(random.next() * 1_000)))
        }
        while let next = clients.map(\.next).min(), next < .seconds(180) {
            simulation.run(until: next)
            for index in clients.indices where clients[index].next == next {
                clients[index].next += .seconds(1)  // however long the last call took
                let stack = clients[index].stack
                simulation.begin { _ = try await stack.send(try request()) }
            }
        }
        simulation.run()
        let (normal, trouble) = (server.count(0..<60), server.count(60..<120))
        #expect(normal == 12_000)
        let ratio = Double(trouble) / Double(normal)
        #expect(ratio > 1.0 && ratio <= 1.2, "\(trouble) requests in the bad minute, \(normal) in a good one: \(ratio)")
    }

    /// Fails or responds at random, and records the keys of the requests that would have reached a server.
    private final class RandomOutcomeSender: HTTPSender {
        let received = Mutex<[String?]>([])
        private let generator: Mutex<SeededGenerator>

        init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

        func send(_ request: Request) async throws -> Response {
            let number = generator.withLock { Int.random(in: 0..<16, using: &$0) }
            func failure(_ code: TransportError.Code, _ sent: Delivery) -> TransportError {
                TransportError(code, phase: .send, request: request, delivery: sent)
            }
            switch number {
            case 0: throw failure(.cannotConnect, .notSent)
            case 1: throw failure(.timedOut, .notSent)
            case 2: throw failure(.connectionLost, .notSent)
            case 3: throw failure(.connectionLost, .notSent)
            case 4: throw failure(.cannotFindHost, .notSent)
            default: break
            }
            let key = HTTPField.Name("Idempotency-Key").flatMap { request.head.headerFields[$0] }
            received.withLock { $0.append(key) }
            switch number {
            case 5: throw failure(.connectionLost, .unknown)
            case 6: throw failure(.timedOut, .unknown)
            case 7: throw failure(.connectionLost, .sent)
            case 8: throw failure(.invalidResponse, .sent)
            case 9: throw CancellationError()
            default:
                let codes = [408, 425, 429, 500, 502, 503, 504, 409, 200]
                let code = generator.withLock { codes.randomElement(using: &$0) ?? 200 }
                let fields: HTTPFields = code == 429 ? [.retryAfter: "1"] : HTTPFields()
                return Response(head: HTTPResponse(status: .init(code: code), headerFields: fields), request: request)
            }
        }
    }

    @Test func aPOSTWithoutAKeyIsNeverReceivedTwiceInTenThousandScripts() async throws {
        var resent = 0
        for seed in 0..<10_000 as Range<UInt64> {
            let server = RandomOutcomeSender(seed: seed)
            let clock = ManualClock()
            let random = SeededRandom(seed: seed)
            let policy = RetryPolicy(maxAttempts: 2 + Int(seed % 9), backoff: seed % 2 == 0 ? .immediate : .exponential())
            let stack = HTTPStack(server).retry(policy, budget: nil, clock: clock, random: { random.next() })
            let hasKey = seed % 4 == 0
            var call = try request(.post, body: .text("once"))
            if hasKey { call.options.idempotencyKey = .attached }
            if seed % 3 == 0 { call.deadline = Deadline(after: .seconds(30), clock: clock) }
            let sent = call
            let task = Task { try? await stack.send(sent) }
            _ = await clock.advancingToSleepers { await task.value }
            let received = server.received.withLock { $0 }
            if hasKey {
                #expect(received.allSatisfy { $0 != nil } && Set(received).count <= 1)
                if received.count > 1 { resent += 1 }
            } else {
                #expect(received.count <= 1, "script \(seed)")
            }
        }
        #expect(resent > 500, "with a key it is sent again")
    }
}
