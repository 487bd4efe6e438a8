import Testing

@testable import ErrandCache

@Suite(.timeLimit(.minutes(5))) struct CachePolicyTests {
    @Test(
        arguments: [
            (CachePolicy.standard, "private"), (.shared, "shared"), (.standard.withoutHeuristics, "private, without heuristics"),
            (CachePolicy(heuristic: .init(fraction: 0.2)), "private, own heuristic"),
            (
                CachePolicy(staleIfError: .seconds(60), staleIfUnreachable: .seconds(3600)),
                "private, stale up to 1 min if the server fails, stale up to 1 h if the server can't be reached"
            ),
            (.fresh(for: .seconds(60)), "private, with the app's own decision"),
        ])
    func aPolicyIsDescribed(_ policy: CachePolicy, _ text: String) { #expect("\(policy)" == text) }

    @Test func aPolicySaysHowLongAHeadStaysFresh() {
        let stored = head(["Cache-Control: max-age=60, s-maxage=90"])
        #expect(CachePolicy.standard.remainingLifetime(of: stored, at: instant(10)) == .seconds(50))
        #expect(CachePolicy.standard.remainingLifetime(of: stored, at: instant(70)) == .seconds(-10))
        #expect(CachePolicy.shared.remainingLifetime(of: stored, at: instant(10)) == .seconds(80))
        #expect(CachePolicy.standard.remainingLifetime(of: stored, at: instant(10, wall: -99, run: 2)) == nil)
        let chosen = head(["Cache-Control: max-age=60"], lifetimes: CacheLifetimes(fresh: .seconds(5)))
        #expect(CachePolicy.standard.remainingLifetime(of: chosen, at: instant(1)) == .seconds(4))
        let current = (CacheInstant.now, CacheInstant.now)
        #expect(current.0.run == current.1.run && current.0.uptime <= current.1.uptime)
    }

    @Test func modesMapToThoseOfFoundation() {
        #expect(
            CachePolicy.Mode.allCases.map(\.rawValue) == [
                "standard", "reload", "reloadEverywhere", "revalidate", "storedElseLoad", "storedOnly",
            ])
    }
}
