import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

/// What hedging does for a server of which one response in fifty is slow by chance.
@Suite(.timeLimit(.minutes(5))) struct HedgeSimulationTests {
    /// The latencies of 20,000 calls, a hundred a second, and how many requests they made.
    private static func latencies(seed: UInt64, hedged: Bool) -> (sorted: [Duration], requests: Int) {
        let simulation = Simulation()
        let random = SeededRandom(seed: seed)
        let server = PacedSender(simulation.clock) { _ in
            PacedSender.Pace(time: random.next() < 0.02 ? .seconds(1) : .milliseconds(8 + 4 * random.next()))
        }
        var stack = HTTPStack(server)
        if hedged { stack = stack.hedge(clock: simulation.clock) }
        let sender = stack
        let taken = Mutex<[Duration]>([])
        for _ in 0..<20_000 {
            simulation.run(until: simulation.elapsed + .milliseconds(20 * random.next()))
            let began = simulation.elapsed
            simulation.begin {
                try await sender.send(try request()).body.abandon()
                taken.withLock { $0.append(simulation.elapsed - began) }
            }
        }
        simulation.run()
        return (taken.withLock { $0.sorted() }, server.seen.received)
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func hedgingQuartersThe99thPercentileForFivePercentMoreRequests(seed: UInt64) {
        let plain = Self.latencies(seed: seed, hedged: false)
        let hedged = Self.latencies(seed: seed, hedged: true)
        #expect(plain.sorted.count == 20_000 && hedged.sorted.count == 20_000 && plain.requests == 20_000)
        let cut = plain.sorted[19_800] / hedged.sorted[19_800]
        let extra = Double(hedged.requests) / 20_000 - 1
        #expect(cut >= 4, "\(cut)")
        #expect(extra <= 0.05, "\(extra)")
    }
}
