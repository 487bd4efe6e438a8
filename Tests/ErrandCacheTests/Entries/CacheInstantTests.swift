import ErrandCore
import Testing

@testable import ErrandCache

@Suite(.timeLimit(.minutes(5))) struct CacheInstantTests {
    @Test func anInstantHasTwoClocks() {
        #expect(instant(10).elapsed(since: instant(4)) == .seconds(6))
        #expect(instant(10, wall: -99).elapsed(since: instant(4)) == .seconds(6))
        #expect(instant(10, run: 2).elapsed(since: instant(4)) == .seconds(6))
        #expect(instant(10, wall: -99, run: 2).elapsed(since: instant(4)) == nil)
        #expect(instant(4).elapsed(since: instant(10)) == .zero)
        #expect(instant(0.999).date == beginning)
        #expect(CacheInstant(sinceEpoch: .milliseconds(-1), uptime: .zero, run: 0).date == HTTPDate(secondsSinceEpoch: -1))
    }
}
