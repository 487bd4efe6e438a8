import ErrandCore
import Testing

/// The wait before another attempt: the backoff, its jitter and the wait that the server asks for.
@Suite(.timeLimit(.minutes(5))) struct BackoffWaitTests {
    private static let longest = Duration.seconds(Int64(100 * 366 * 86_400))

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var backoff = Backoff.exponential(base: .seconds(1), maxDelay: .seconds(30))
        var attempt = 1
        var jitter = Backoff.Jitter.none
        var plus = Duration.zero
        var retryAfter: Duration?
        var limit = Duration.seconds(60)
        /// `nil` if there must be no wait.
        var expected: Duration?

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "the backoff", expected: .seconds(1)),
        Row(name: "the backoff of a later attempt", attempt: 4, expected: .seconds(8)),
        Row(name: "half of the full jitter", attempt: 4, jitter: .full, expected: .seconds(4)),
        Row(name: "half of the equal jitter", attempt: 4, jitter: .equal, expected: .seconds(6)),
        Row(name: "a time before the backoff", attempt: 4, jitter: .full, plus: .seconds(3), expected: .seconds(7)),
        Row(name: "Retry-After that is longer than the backoff", retryAfter: .seconds(7), expected: .seconds(7)),
        Row(name: "Retry-After that is shorter than the backoff", attempt: 4, retryAfter: .seconds(7), expected: .seconds(8)),
        Row(name: "Retry-After that is also added", plus: .seconds(7), retryAfter: .seconds(7), expected: .seconds(8)),
        Row(name: "Retry-After of zero", retryAfter: .zero, expected: .seconds(1)),
        Row(name: "Retry-After at the limit", retryAfter: .seconds(60), expected: .seconds(60)),
        Row(name: "Retry-After over the limit", retryAfter: .seconds(60) + .nanoseconds(1), expected: nil),
        Row(name: "Retry-After with a limit of zero", retryAfter: .nanoseconds(1), limit: .zero, expected: nil),
        Row(name: "a backoff over the limit", backoff: .constant(.seconds(61)), expected: .seconds(61)),
        Row(name: "no backoff", backoff: .immediate, retryAfter: .seconds(7), expected: .seconds(7)),
        Row(name: "a backoff without end", backoff: .constant(.seconds(Int64.max)), expected: longest),
        Row(name: "a time without end", plus: .seconds(Int64.max), expected: longest),
        Row(name: "Retry-After without end", retryAfter: .seconds(Int64.max), limit: .seconds(Int64.max), expected: longest),
    ]

    @Test(arguments: rows) func theWaitFollowsTheBackoffAndTheServer(_ row: Row) {
        let wait = row.backoff.wait(
            afterAttempt: row.attempt, jitter: row.jitter, plus: row.plus, retryAfter: row.retryAfter, atMost: row.limit, random: 0.5)
        #expect(wait == row.expected)
    }

    @Test func theJitterIsFullByDefault() {
        let waits = (1...100).compactMap { _ in Backoff.constant(.seconds(1)).wait(afterAttempt: 1, retryAfter: nil, atMost: .zero) }
        #expect(waits.count == 100 && Set(waits).count > 50 && waits.allSatisfy { (.zero..<Duration.seconds(1)).contains($0) })
    }

    @Test func withoutAWaitThereIsNoRandomNumber() {
        var calls = 0
        func random() -> Double {
            calls += 1
            return 0
        }
        for (seconds, count) in [(2, 0), (1, 1)] {
            let wait = Backoff.immediate.wait(afterAttempt: 1, retryAfter: .seconds(seconds), atMost: .seconds(1), random: random())
            #expect(wait == (count == 0 ? nil : .seconds(seconds)) && calls == count)
        }
    }
}
