#if Auth
import Errand
import Foundation
import Testing

@testable import ErrandAuth

@Suite struct TokenMachineTests {
    private struct Broken: Error {}

    private func machine() -> TokenMachine { TokenMachine(source: 1, policy: .standard, obtainsWithoutToken: false) }
    private func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test func aClockThatIsSetBackLocksNothing() {
        var machine = machine()
        let begun = (0..<6).map { _ in machine.begin(at: date(1_000)) }
        #expect(begun == [true, true, true, true, true, false])
        // An hour earlier: those refreshes are not in the last 30 s.
        let earlier = machine.begin(at: date(1_000 - 3_600))
        #expect(earlier)
    }

    @Test func inTheLastSecondsATokenIsRefreshedOnceASecondAtMost() {
        var machine = machine()
        machine.sign(in: AccessToken("t", expiresAt: date(1_000), obtainedAt: date(0)), at: date(0), random: 0)
        func isDue(at now: Date) -> Bool {
            guard case .use(_, let turn) = machine.decision(refusing: nil, for: nil, at: now) else { return false }
            return turn != nil
        }
        #expect(isDue(at: date(998)))
        _ = machine.fail(Broken(), isFinal: false, account: machine.account, at: date(998))
        // A quarter of the rest is half a second.
        #expect(!isDue(at: date(998.6)) && isDue(at: date(999)))
        _ = machine.fail(Broken(), isFinal: false, account: machine.account, at: date(999))
        #expect(!isDue(at: date(999.9)))
    }
}
#endif
