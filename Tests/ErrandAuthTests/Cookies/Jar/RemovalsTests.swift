#if Auth
import ErrandFormats
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct RemovalsTests {
    private func removal(_ use: Int, date: Int? = nil) -> Removals.Removal {
        Removals.Removal(use: UInt64(use), date: HTTPDate(secondsSinceEpoch: Int64(date ?? use)))
    }

    private func removals(ofSites count: Int) -> Removals {
        var removals = Removals()
        for number in 1...count { removals.record(removal(number), ofSite: "s\(number)") }
        return removals
    }

    @Test(arguments: [1, 257, Removals.siteLimit]) func theRemovalsOfSitesAreExact(_ count: Int) {
        let removals = removals(ofSites: count)
        for number in 1...count { #expect(removals.last(ofSite: "s\(number)") == removal(number)) }
        #expect(removals.last(ofSite: "other") == nil)
    }

    @Test func aRemovalThatHasNoRoomCoversAllCookies() {
        let count = Removals.siteLimit + 10
        var removals = removals(ofSites: count)
        for number in 1...10 { #expect(removals.last(ofSite: "s\(number)") == removal(10)) }
        for number in 11...count { #expect(removals.last(ofSite: "s\(number)") == removal(number)) }
        #expect(removals.last(ofSite: "other") == removal(10), "later cookies are not affected")
        removals.record(removal(count + 1), ofSite: nil)
        for site in ["s1", "s\(count)", "other"] { #expect(removals.last(ofSite: site) == removal(count + 1)) }
    }

    /// The clock was wrong at the first removal, or is wrong at the second removal.
    @Test func theLaterDateOfTwoRemovalsCounts() {
        var removals = Removals()
        removals.record(removal(1, date: 900), ofSite: "a")
        removals.record(removal(2, date: 100), ofSite: "a")
        #expect(removals.last(ofSite: "a") == removal(2, date: 900))
        removals.record(removal(3, date: 200), ofSite: nil)
        #expect(removals.last(ofSite: "a") == removal(3, date: 900) && removals.last(ofSite: "b") == removal(3, date: 200))
    }

    /// A date has no fractions of a second. Therefore a later removal may have the same date.
    @Test func laterRemovalsAreNotForgottenWithTheStoredRemovals() {
        var removals = removals(ofSites: 3)
        removals.record(removal(4), ofSite: nil)
        let stored = removals
        removals.record(removal(5, date: 1), ofSite: "s1")
        removals.forget(stored)
        #expect(removals.last(ofSite: "s1") == removal(5, date: 1))
        #expect(removals.last(ofSite: "s2") == nil && removals.last(ofSite: "other") == nil)
        removals.record(removal(6), ofSite: nil)
        removals.forget(stored)
        #expect(removals.last(ofSite: "other") == removal(6))
    }
}
#endif
