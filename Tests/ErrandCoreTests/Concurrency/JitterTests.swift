import ErrandCore
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct JitterTests {
    @Test func jitterStaysInItsRange() {
        let random = SeededRandom(seed: 7)
        for (jitter, range) in [(Backoff.Jitter.full, 0.0...1.0), (.equal, 0.5...1.0), (.none, 1.0...1.0)] {
            let shares = (0..<1_000).map { _ in jitter.applied(to: .seconds(1), random: random.next()) / .seconds(1) }
            #expect(shares.allSatisfy { range.contains($0) })
            let middle = (range.lowerBound + range.upperBound) / 2
            #expect(abs(shares.reduce(0, +) / 1_000 - middle) < 0.03, "\(jitter)")
        }
    }
}
