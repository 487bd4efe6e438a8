#if Auth
import Errand
import Foundation
import Testing
import TestSupport

@testable import ErrandAuth

@Suite struct TokenMachineTests {
    private func machine() -> TokenMachine { TokenMachine(source: 1, policy: .standard, obtainsWithoutToken: false) }
    private func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test func aClockSetBackAllowsRefreshes() {
        var machine = machine()
        let begun = (0..<6).map { _ in machine.begin(at: date(1_000)) }
        #expect(begun == [true, true, true, true, true, false])
        // An hour earlier: those refreshes are not in the last 30 s.
        let earlier = machine.begin(at: date(1_000 - 3_600))
        #expect(earlier)
    }

    /// Such a date says nothing about the end of the token.
    @Test func anAlreadyExpiredTokenIsNotRefreshedAhead() {
        var machine = machine()
        machine.sign(in: AccessToken("old", expiresAt: date(900)), at: date(1_000), random: 0)
        let isTaken = machine.end(
            AccessToken("new", expiresAt: date(910), obtainedAt: date(1_000)), account: machine.account, at: date(1_000), random: 0)
        #expect(isTaken)
        guard case .use(let issued, let turn) = machine.decision(refusing: nil, for: nil, at: date(1_001)) else {
            Issue.record("the token is not used")
            return
        }
        #expect(issued.token.value == "new")
        #expect(turn == nil)
    }

    @Test func aTokenNearItsExpiryIsRefreshedAtMostOnceASecond() {
        var machine = machine()
        machine.sign(in: AccessToken("t", expiresAt: date(1_000), obtainedAt: date(0)), at: date(0), random: 0)
        func isDue(at now: Date) -> Bool {
            guard case .use(_, let turn) = machine.decision(refusing: nil, for: nil, at: now) else { return false }
            return turn != nil
        }
        #expect(isDue(at: date(998)))
        _ = machine.fail(TestError(), isFinal: false, account: machine.account, at: date(998))
        // A quarter of the rest is half a second.
        #expect(!isDue(at: date(998.6)) && isDue(at: date(999)))
        _ = machine.fail(TestError(), isFinal: false, account: machine.account, at: date(999))
        #expect(!isDue(at: date(999.9)))
    }
}
#endif
