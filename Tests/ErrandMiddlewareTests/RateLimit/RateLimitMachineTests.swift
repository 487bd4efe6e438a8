import Errand
import ErrandFormats
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RateLimitMachineTests {
    enum Step: Sendable {
        /// So many may go at this millisecond, and one more may not.
        case go(Int, at: Int)
        /// So many of them, and one more would.
        case some(Int, at: Int)
        /// Nobody may, for so many milliseconds.
        case wait(Int, RateLimitDecision.Cause, at: Int)
        /// What the server says to the grant with this number; nil to none.
        case says(RateLimitFields, to: Int?, at: Int)
        case available(Int?, at: Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        var limit: RateLimit?
        let steps: [Step]
        var testDescription: String { name }
    }

    private static func left(
        _ remaining: Int, _ reset: Int, limit: Int? = nil, window: Duration? = nil, name: String = ""
    ) -> RateLimitFields {
        RateLimitFields(
            quotas: [.init(name: name, remaining: remaining, reset: .milliseconds(reset), limit: limit, window: window)])
    }
    private static func pause(_ seconds: Int) -> RateLimitFields { RateLimitFields(retryAfter: .seconds(seconds)) }

    static let rows: [Row] = [
        // The app's limit.
        Row(
            name: "a burst, and then one for each part of the window", limit: .perSecond(10, burst: 3),
            steps: [
                .go(3, at: 0), .wait(100, .limit, at: 0), .wait(1, .limit, at: 99), .go(1, at: 100), .wait(100, .limit, at: 100),
                .go(2, at: 300),
            ]),
        Row(
            name: "never more than the number in any window", limit: .perSecond(10, burst: 10),
            steps: [.go(10, at: 500), .wait(1000, .limit, at: 500), .wait(1, .limit, at: 1499), .go(10, at: 1500)]),
        Row(
            name: "a burst after a rest counts with what went before", limit: .perSecond(4, burst: 2),
            steps: [
                .go(2, at: 0), .go(1, at: 250), .go(1, at: 500), .wait(250, .limit, at: 750), .go(2, at: 1000),
                .wait(250, .limit, at: 1000),
                .go(1, at: 1250),
            ]),
        Row(
            name: "the one that is a window old goes by itself", limit: .perSecond(2, burst: 2),
            steps: [
                .some(1, at: 0), .go(1, at: 600), .wait(399, .limit, at: 601), .go(1, at: 1000), .wait(500, .limit, at: 1100),
                .go(1, at: 1600),
            ]),
        Row(name: "one at a time", limit: .perSecond(1), steps: [.go(1, at: 0), .wait(1, .limit, at: 999), .go(1, at: 1000)]),
        Row(
            name: "no rest saves up more than a burst", limit: .perSecond(100, burst: 2),
            steps: [
                .go(2, at: 0), .go(2, at: 3_600_000), .available(0, at: 3_600_000), .available(1, at: 3_600_010),
                .available(2, at: 3_700_000),
            ]),
        Row(name: "without a limit", steps: [.some(1_000, at: 0), .available(nil, at: 0)]),
        // The server's pause.
        Row(
            name: "a pause",
            steps: [
                .some(1, at: 0), .says(pause(3), to: 1, at: 100), .wait(2900, .server, at: 200), .available(0, at: 200), .some(5, at: 3100),
            ]),
        Row(
            name: "of two pauses the longer",
            steps: [.some(2, at: 0), .says(pause(5), to: 2, at: 0), .says(pause(3), to: 1, at: 0), .wait(5000, .server, at: 0)]),
        Row(name: "a pause that nobody asked for", steps: [.says(pause(1), to: nil, at: 0), .wait(1000, .server, at: 0)]),
        Row(
            name: "a pause beyond a day is one of a day",
            steps: [.says(pause(1 << 40), to: nil, at: 0), .wait(86_400_000, .server, at: 0), .some(1, at: 86_400_000)]),
        Row(
            name: "the limit holds behind the pause", limit: .perSecond(10, burst: 1),
            steps: [.go(1, at: 0), .says(pause(1), to: 1, at: 0), .wait(1000, .server, at: 0), .go(1, at: 1000)]),
        Row(
            name: "the limit is what counts when it is longer", limit: RateLimit(1, per: .seconds(60)),
            steps: [.go(1, at: 0), .says(pause(1), to: 1, at: 0), .wait(60_000, .limit, at: 0)]),
        // The server's quotas.
        Row(
            name: "no more than remain, and then nothing is known",
            steps: [
                .some(1, at: 0), .says(left(3, 5000), to: 1, at: 0), .available(3, at: 0), .go(3, at: 10), .wait(4990, .server, at: 10),
                .some(100, at: 5000),
            ]),
        Row(name: "none remain", steps: [.says(left(0, 5000), to: nil, at: 0), .wait(5000, .server, at: 0)]),
        Row(name: "none remain, but the time is up", steps: [.says(left(0, 0), to: nil, at: 0), .some(10, at: 0)]),
        Row(
            name: "those that went since are not counted in it",
            steps: [.some(4, at: 0), .says(left(9, 5000), to: 1, at: 10), .go(6, at: 20)]),
        Row(
            name: "more went since than remained",
            steps: [.some(4, at: 0), .says(left(2, 5000), to: 1, at: 10), .wait(4990, .server, at: 20)]),
        Row(
            name: "the response to an earlier request is out of date",
            steps: [.some(5, at: 0), .says(left(2, 5000), to: 4, at: 10), .says(left(100, 5000), to: 2, at: 20), .go(1, at: 30)]),
        Row(
            name: "the response to a later one counts",
            steps: [.some(5, at: 0), .says(left(2, 5000), to: 4, at: 10), .says(left(7, 5000), to: 5, at: 20), .go(7, at: 30)]),
        Row(
            name: "two quotas hold both",
            steps: [
                .says(left(5, 1000, name: "second"), to: nil, at: 0), .says(left(7, 60_000, name: "minute"), to: nil, at: 0), .go(5, at: 0),
                .wait(1000, .server, at: 0), .go(2, at: 1000), .wait(59_000, .server, at: 1000),
            ]),
        Row(
            name: "where the policy is known, it is full again for one window",
            steps: [
                .says(left(1, 1000, limit: 3, window: .seconds(2)), to: nil, at: 0), .go(1, at: 0), .wait(1000, .server, at: 0),
                .go(3, at: 1000),
                .wait(1000, .server, at: 2000), .go(3, at: 3000),
            ]),
        Row(
            name: "and after a rest nothing is known",
            steps: [.says(left(1, 1000, limit: 3, window: .seconds(2)), to: nil, at: 0), .some(100, at: 3001)]),
        Row(
            name: "a policy of nothing is not one that fills up",
            steps: [.says(left(0, 1000, limit: 0, window: .seconds(2)), to: nil, at: 0), .wait(1000, .server, at: 0), .some(10, at: 1000)]),
        Row(
            name: "what remains is no promise: the limit holds", limit: .perSecond(2),
            steps: [.says(left(100, 5000), to: nil, at: 0), .go(2, at: 0), .wait(1000, .limit, at: 0)]),
        Row(
            name: "a number that was never granted",
            steps: [
                .some(1, at: 0), .says(left(2, 1000), to: 500, at: 0), .go(2, at: 0), .says(left(9, 5000), to: 3, at: 10), .go(9, at: 10),
            ]),
    ]

    @Test(arguments: rows) func theMachineDecidesEachStep(_ row: Row) {
        var machine = RateLimitMachine()
        func isGranted(_ at: Int) -> Bool { if case .granted = machine.take(row.limit, at: .milliseconds(at)) { true } else { false } }
        for (index, step) in row.steps.enumerated() {
            switch step {
            case .go(let count, let at):
                for number in 0..<count { #expect(isGranted(at), "step \(index), grant \(number)") }
                #expect(!isGranted(at), "step \(index), one more")
            case .some(let count, let at):
                for number in 0..<count { #expect(isGranted(at), "step \(index), grant \(number)") }
            case .wait(let wait, let cause, let at):
                let decision = machine.take(row.limit, at: .milliseconds(at))
                #expect(decision == .wait(.milliseconds(wait), cause: cause), "step \(index)")
            case .says(let fields, let number, let at):
                machine.observe(fields, after: number.map(RateLimitGrant.init), at: .milliseconds(at))
            case .available(let count, let at):
                #expect(machine.available(row.limit, at: .milliseconds(at)) == count, "step \(index)")
            }
        }
    }

    /// Random requests, with limits that change. In no window, more requests were granted than the limits allow, and no request waits
    /// without a reason.
    @Test(arguments: [(50, 10), (50, 50), (7, 3), (1, 1), (1000, 1)]) func noWindowHasMoreThanTheLimit(_ count: Int, _ burst: Int) {
        let limit = RateLimit.perSecond(count, burst: burst)
        var machine = RateLimitMachine()
        var random = SeededGenerator(seed: UInt64(count * burst))
        var now = Duration.zero
        var instants: [Duration] = []
        for _ in 0..<20_000 {
            switch machine.take(limit, at: now) {
            case .granted: instants.append(now)
            case .wait(let wait, _):
                // Not a nanosecond earlier.
                let early = machine.take(limit, at: now + wait - .nanoseconds(1))
                guard case .wait = early else {
                    Issue.record("\(early) before its time")
                    return
                }
                now += Bool.random(using: &random) ? wait : wait + .microseconds(Int.random(in: 0..<400_000, using: &random))
                continue
            }
            if Int.random(in: 0..<50, using: &random) == 0 { now += .microseconds(Int.random(in: 0..<3_000_000, using: &random)) }
        }
        #expect(instants.count > 5_000)
        #expect(instants.mostIn(.seconds(1)) <= count)
        #expect(instants.mostIn(.nanoseconds(1)) <= burst)
    }

    /// Requests under a larger limit also count for the smaller limit.
    @Test func aLimitThatChangesForgetsNothing() {
        var machine = RateLimitMachine()
        let (small, large) = (RateLimit.perSecond(2), RateLimit.perSecond(5))
        func isGranted(_ limit: RateLimit, _ at: Int) -> Bool {
            if case .granted = machine.take(limit, at: .milliseconds(at)) { true } else { false }
        }
        #expect(isGranted(small, 0) && isGranted(small, 0) && !isGranted(small, 0))
        #expect(isGranted(large, 300) && isGranted(large, 400) && !isGranted(small, 1100))
        #expect(isGranted(small, 1300) && !isGranted(small, 1310) && isGranted(large, 1310))
        #expect(!isGranted(small, 2200) && isGranted(small, 2310))
        // However far apart they are.
        var other = RateLimitMachine()
        _ = other.take(RateLimit(1, per: .seconds(1 << 40)), at: .zero)
        #expect(other.available(RateLimit(100_000, per: .milliseconds(1)), at: .zero) == 0)
    }

    @Test(
        arguments: [
            (RateLimit.perSecond(50, burst: 10), "50 per second, burst 10"), (.perMinute(3), "3 per minute, burst 3"),
            (.perHour(1), "1 per hour, burst 1"),
        ])
    func aLimitIsDescribed(_ limit: RateLimit, _ text: String) { #expect(limit.description == text) }
}

@Suite(.timeLimit(.minutes(5))) struct MemoryRateLimitStoreTests {
    private let clock = ManualClock()

    @Test func eachKeyHasItsOwnLimit() {
        let store = MemoryRateLimitStore(clock: clock)
        #expect(store.take("a", limit: .perSecond(1)) == .granted(RateLimitGrant(number: 1)))
        #expect(store.take("a", limit: .perSecond(1)) == .wait(.seconds(1), cause: .limit))
        #expect(store.take("b", limit: .perSecond(1)) == .granted(RateLimitGrant(number: 1)))
        #expect(store.available("a", limit: .perSecond(1)) == 0 && store.available("c", limit: .perSecond(1)) == 1)
        clock.advance(by: .seconds(1))
        #expect(store.take("a", limit: .perSecond(1)) == .granted(RateLimitGrant(number: 2)))
    }

    @Test func idleKeysAreDropped() {
        let store = MemoryRateLimitStore(maxKeys: 10, clock: clock)
        store.observe(RateLimitFields(retryAfter: .seconds(3600)), for: "paused", after: nil)
        for number in 0..<500 {
            clock.advance(by: .seconds(2))
            _ = store.take("\(number)", limit: .perSecond(1))
            #expect(store.keyCount <= 11)
        }
        #expect(store.take("paused", limit: nil) == .wait(.seconds(2600), cause: .server), "it is not idle")
    }

    @Test func theOldestKeyIsDroppedWithoutAnIdleKey() {
        let store = MemoryRateLimitStore(maxKeys: 10, clock: clock)
        for number in 0..<11 {
            _ = store.take("\(number)", limit: .perHour(1))
            clock.advance(by: .seconds(1))
        }
        #expect(store.keyCount == 10)
        #expect(store.available("0", limit: .perHour(1)) == 1 && store.available("1", limit: .perHour(1)) == 0)
    }
}
