import ErrandCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct BackoffTests {
    static let backoffs: [(Backoff, [Double])] = [
        (.immediate, [0, 0, 0, 0]), (.constant(.seconds(2)), [2, 2, 2, 2]),
        (.exponential(), [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 20, 20]),
        (.exponential(base: .seconds(1), factor: 3, maxDelay: .seconds(10)), [1, 3, 9, 10]),
        (.exponential(base: .zero), [0, 0, 0]), (.exponential(base: .seconds(1), factor: 1), [1, 1, 1]),
        (.fibonacci(unit: .seconds(1), maxDelay: .seconds(10)), [1, 1, 2, 3, 5, 8, 10, 10]),
        (.custom("half seconds") { .milliseconds($0 * 500) }, [0.5, 1, 1.5]), (.custom("negative") { _ in .seconds(-1) }, [0, 0]),
    ]

    @Test(arguments: backoffs) func eachBackoffGrowsAsDeclared(_ backoff: Backoff, _ seconds: [Double]) {
        for (index, expected) in seconds.enumerated() {
            let wait = backoff.delay(afterAttempt: index + 1) / .seconds(1)
            #expect(abs(wait - expected) < 1e-9, "\(backoff), attempt \(index + 1): \(wait)")
        }
    }

    @Test func backoffsKeepTheirCap() {
        for attempt in [64, 65, 1_000, Int(Int32.max), .max] {
            #expect(Backoff.exponential().delay(afterAttempt: attempt) == .seconds(20))
            #expect(Backoff.fibonacci().delay(afterAttempt: attempt) == .seconds(20))
        }
    }

    @Test func hugeDurationsAreCappedAndDoNotOverflow() {
        let huge = Duration.seconds(Int64.max)
        for attempt in [1, 45, 64, .max] {
            #expect(Backoff.fibonacci(unit: huge, maxDelay: .seconds(20)).delay(afterAttempt: attempt) == .seconds(20))
            #expect(Backoff.exponential(base: huge, factor: 1e300, maxDelay: .seconds(20)).delay(afterAttempt: attempt) == .seconds(20))
        }
    }
}
