import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RetryPolicyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var attempt = 1
        var uncounted = 0
        var outcome = RetryPolicy.Outcome.status(503, retryAfter: nil)
        var method = HTTPRequest.Method.get
        var hasKey = false
        var canReplay = true
        var remaining: Duration?
        var hasUsedFreeAttempt = false
        var random = 0.5
        let expected: RetryPolicy.Decision
        var testDescription: String { name }
    }

    private static func after(_ milliseconds: Int, counts: Bool = true) -> RetryPolicy.Decision {
        .retry(after: .milliseconds(milliseconds), countsAsAttempt: counts)
    }

    static let rows: [Row] = [
        // Failures after which the server may have processed the request.
        Row(name: "first backoff, half of 100 ms", expected: after(50)),
        Row(name: "second backoff, half of 200 ms", attempt: 2, expected: after(100)),
        Row(name: "luck: no wait at all", random: 0, expected: after(0)),
        Row(name: "attempts used up", attempt: 3, expected: .stop(.attemptsUsedUp)),
        Row(name: "one of three did not count", attempt: 3, uncounted: 1, expected: after(200)),
        Row(name: "body can't be replayed", canReplay: false, expected: .stop(.bodyCannotBeReplayed)),
        Row(name: "a POST with a response: never again", method: .post, expected: .stop(.notIdempotent)),
        Row(name: "POST with a key", method: .post, hasKey: true, expected: after(50)),
        Row(name: "PUT is idempotent", method: .put, expected: after(50)),
        Row(name: "QUERY is idempotent", method: .query, expected: after(50)),
        Row(name: "PATCH is not", method: .patch, expected: .stop(.notIdempotent)),
        Row(name: "GET that was cut off", outcome: .lost, expected: after(50)),
        Row(name: "POST that was cut off", outcome: .lost, method: .post, expected: .stop(.notIdempotent)),
        Row(name: "POST that was cut off, with a key", outcome: .lost, method: .post, hasKey: true, expected: after(50)),
        // Statuses.
        Row(name: "409 without a key", outcome: .status(409, retryAfter: nil), expected: .stop(.final)),
        Row(name: "409 with a key", outcome: .status(409, retryAfter: nil), method: .post, hasKey: true, expected: after(50)),
        Row(name: "422 with a key", outcome: .status(422, retryAfter: nil), method: .post, hasKey: true, expected: .stop(.final)),
        Row(name: "Retry-After, jitter on top", outcome: .status(503, retryAfter: .seconds(2)), expected: after(2_050)),
        Row(name: "Retry-After at its cap", outcome: .status(503, retryAfter: .seconds(60)), expected: after(60_050)),
        Row(name: "Retry-After over its cap", outcome: .status(503, retryAfter: .seconds(61)), expected: .stop(.retryAfterTooLong)),
        Row(
            name: "Retry-After past the deadline", outcome: .status(503, retryAfter: .seconds(2)), remaining: .seconds(2),
            expected: .stop(.deadlineTooNear)),
        Row(name: "backoff past the deadline", remaining: .milliseconds(50), expected: .stop(.deadlineTooNear)),
        Row(name: "backoff just before the deadline", remaining: .milliseconds(51), expected: after(50)),
        // What never left.
        Row(name: "POST that never left", outcome: .neverSent, method: .post, expected: after(50)),
        Row(name: "never left, attempts used up, no deadline", attempt: 3, outcome: .neverSent, expected: .stop(.attemptsUsedUp)),
        Row(
            name: "never left, attempts used up, a deadline", attempt: 3, outcome: .neverSent, remaining: .seconds(60),
            expected: .stop(.attemptsUsedUp)),
        Row(name: "never left, a deadline", attempt: 2, outcome: .neverSent, remaining: .seconds(60), expected: after(100)),
        Row(
            name: "never left, the deadline is near", outcome: .neverSent, remaining: .milliseconds(50), expected: .stop(.deadlineTooNear)),
        Row(name: "never left, half an opened body", outcome: .neverSent, canReplay: false, expected: .stop(.bodyCannotBeReplayed)),
        // Failures after which the server has certainly not processed the request.
        Row(name: "unprocessed POST, at once", outcome: .unprocessed, method: .post, expected: after(0, counts: false)),
        Row(name: "unprocessed, attempts used up", attempt: 9, outcome: .unprocessed, expected: after(0, counts: false)),
        Row(
            name: "unprocessed POST for the second time", outcome: .unprocessed, method: .post, hasUsedFreeAttempt: true,
            expected: after(50)),
        Row(name: "unprocessed, body can't be replayed", outcome: .unprocessed, canReplay: false, expected: .stop(.bodyCannotBeReplayed)),
        Row(name: "a failure that stays", outcome: .permanent, expected: .stop(.final)),
    ]

    @Test(arguments: rows) func thePolicyDecidesEachSituation(_ row: Row) {
        let decision = RetryPolicy.standard.decide(
            RetryPolicy.Situation(
                attempt: row.attempt, uncounted: row.uncounted, outcome: row.outcome, method: row.method, hasKey: row.hasKey,
                canReplay: row.canReplay, remaining: row.remaining, hasUsedFreeAttempt: row.hasUsedFreeAttempt),
            random: row.random)
        #expect(decision == row.expected)
    }

    @Test(arguments: 100...599) func transientStatusesAreRetried(_ code: Int) {
        let decision = RetryPolicy.standard.decide(
            RetryPolicy.Situation(attempt: 1, outcome: .status(HTTPResponse.Status(code: code), retryAfter: nil), method: .get), random: 0)
        let isRetried = [408, 425, 429, 500, 502, 503, 504].contains(code)
        #expect(decision == (isRetried ? .retry(after: .zero, countsAsAttempt: true) : .stop(.final)))
    }

    @Test func randomNumbersAreDrawnForWaitsOnly() {
        let final = RetryPolicy.Situation(attempt: 1, outcome: .status(200, retryAfter: nil), method: .get)
        func never() -> Double {
            Issue.record("nothing was to be drawn")
            return 0
        }
        #expect(RetryPolicy.standard.decide(final, random: never()) == .stop(.final))
    }

    @Test func descriptionsNameChangedSettings() {
        #expect(RetryPolicy.standard.description == "3 attempts, 100 ms to 20 s")
        #expect(
            RetryPolicy(maxAttempts: 2, backoff: .immediate, jitter: .none, keyedMethods: [.post]).description
                == "2 attempts, immediate, no jitter, keys for POST")
    }
}

@Suite(.timeLimit(.minutes(5))) struct RetryBudgetTests {
    @Test func tokensAreTakenGivenBackAndGrowWithTime() {
        let clock = ManualClock()
        let budget = RetryBudget(reserve: 3, perSuccess: 0.5, perSecond: 0.25, clock: clock)
        func take(_ count: Int) -> [Bool] { (0..<count).map { _ in budget.withdraw("https://a.example") } }
        #expect(take(4) == [true, true, true, false])
        budget.deposit("https://a.example")
        #expect(take(1) == [false])
        budget.deposit("https://a.example")
        #expect(take(2) == [true, false])
        clock.advance(by: .seconds(4))
        #expect(take(2) == [true, false])
        clock.advance(by: .seconds(1_000))
        #expect(budget.balance(of: "https://a.example") == 3, "never above the reserve")
        #expect(take(4) == [true, true, true, false])
        #expect(budget.balance(of: "https://b.example") == 3, "each origin for itself")
    }

    @Test func successesOfOtherOriginsDoNotRefillASpentBucket() {
        let budget = RetryBudget(perSecond: 0)
        for _ in 0..<5 { #expect(budget.withdraw("https://spent.example")) }
        for number in 0..<3_000 { budget.deposit("https://\(number).example") }
        #expect(!budget.withdraw("https://spent.example"))
        #expect(budget.originCount == 1, "a bucket that is full is not kept")
    }

    @Test func aRefilledBucketIsForgotten() {
        let budget = RetryBudget(reserve: 2, perSuccess: 0.5, perSecond: 0)
        #expect(budget.withdraw("https://a.example") && budget.originCount == 1)
        budget.deposit("https://a.example")
        #expect(budget.originCount == 1 && budget.balance(of: "https://a.example") == 1.5)
        budget.deposit("https://a.example")
        #expect(budget.originCount == 0 && budget.balance(of: "https://a.example") == 2)
    }

    @Test func stateByOriginIsBounded() {
        let budget = RetryBudget(perSecond: 0)
        for number in 0..<5_000 { _ = budget.withdraw("https://\(number).example") }
        #expect(budget.balance(of: "https://4999.example") == 4)
        #expect(budget.balance(of: "https://0.example") == 5, "forgotten")
    }
}
