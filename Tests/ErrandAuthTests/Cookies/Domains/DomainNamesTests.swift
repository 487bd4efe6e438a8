#if Auth
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandAuth

/// The numbers of domain names, and the walk over the domains of a host.
@Suite(.timeLimit(.minutes(5))) struct DomainNamesTests {
    private func names(_ all: [String]) -> DomainNames {
        var names = DomainNames()
        for name in all { _ = names.add(name) }
        return names
    }

    @Test(arguments: [
        ("www.a.example", ["a.example"], "www.a.example"), ("x.www.a.example", ["a.example", "www.a.example"], nil),
        ("a.example", [], "a.example"), ("b.example", [], nil), ("ba.example", [], nil), ("example", [], "example"),
        ("localhost", [], nil), ("a.example.", ["example."], nil), (".a.example", ["a.example"], nil), ("", [], nil), (".", [], nil),
        ("b.a.example.", ["example.", "a.example."], nil),
    ])
    func theNamesOfAHostAreFound(_ host: String, _ parents: [String], _ name: String?) {
        let names = names(["example", "a.example", "www.a.example", "example."] + (host.hasPrefix("b.") ? ["a.example."] : []))
        let found = names.matches(including: host)
        #expect(found.parents.map { names[$0] } == parents && found.host.map { names[$0] } == name)
        #expect(found.isEmpty == (parents.isEmpty && name == nil))
    }

    /// Random changes, compared with a dictionary. The number of names exceeds the number of buckets several times.
    @Test(arguments: 1...10) func namesAreFoundUntilTheyAreRemoved(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var (names, expected): (DomainNames, [String: Int]) = (DomainNames(), [:])
        for _ in 0..<2_000 {
            let name = "h\(Int.random(in: 0..<400, using: &random)).a.example"
            if let index = expected[name] {
                names.remove(index)
                expected[name] = nil
            } else {
                let index = names.add(name)
                #expect(!expected.values.contains(index))
                expected[name] = index
            }
        }
        for number in 0..<400 {
            let name = "h\(number).a.example"
            #expect(names.index(of: name) == expected[name] && names.matches(including: name).host == expected[name])
        }
    }

    /// The time of a search does not depend on the number of names, even if the names differ only in the order of their octets.
    @Test func similarNamesDoNotShareABucket() {
        let growth = growth(of: 256) { count in
            names((0..<count).map { number in (0..<16).map { number >> $0 & 1 == 0 ? "ab" : "ba" }.joined() + ".example" })
        } _: { names in
            for number in 0..<200 { _ = names.matches(including: "www.h\(number).example") }
            for index in 0..<200 { _ = names.index(of: names[index]) }
        }
        #expect(growth < 4, "8 times the names take \(growth) times as long")
    }
}
#endif
