#if SWIFT_NIO
@testable import ErrandNIO
import NIOCore
import Testing

@Suite struct PingWatchTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func after(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }

    @Test func anActiveConnectionGetsNoPing() {
        var watch = PingWatch(every: .seconds(20), from: start)
        expect(watch.check(1, at: after(19)) == .none)
        expect(watch.check(2, at: after(38)) == .none)
        #expect(watch.due == after(58))
    }

    @Test func aSilentConnectionGetsAPingAndIsThenLost() {
        var watch = PingWatch(every: .seconds(20), from: start)
        expect(watch.check(0, at: after(20)) == .ping)
        #expect(watch.due == after(30))
        expect(watch.check(0, at: after(29)) == .none)
        expect(watch.check(0, at: after(30)) == .lost(after: .seconds(10)))
    }

    @Test func everyFrameCountsAsAResponseToThePing() {
        var watch = PingWatch(every: .seconds(5), from: start)
        expect(watch.check(0, at: after(5)) == .ping)
        expect(watch.check(1, at: after(9)) == .none)
        #expect(watch.due == after(14))
        expect(watch.check(1, at: after(14)) == .ping)
        expect(watch.check(1, at: after(19)) == .lost(after: .seconds(5)))
    }
}
#endif
