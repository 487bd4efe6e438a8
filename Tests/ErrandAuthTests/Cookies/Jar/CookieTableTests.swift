#if Auth
import Errand
import TestSupport
import Testing

@testable import ErrandAuth

/// The limits of a jar, and the order of eviction.
@Suite(.timeLimit(.minutes(5))) struct CookieTableTests {
    private let now = HTTPDate(secondsSinceEpoch: 1_000)

    private func cookie(
        _ name: String, _ domain: String = "www.a.example", value: String = "x", isSecure: Bool = true, expires seconds: Int64? = nil
    ) -> Cookie {
        Cookie(
            name: name, value: value, domain: domain, expires: seconds.map { HTTPDate(secondsSinceEpoch: $0) }, isSecure: isSecure,
            created: now)
    }

    private func names(_ table: CookieTable) -> [String] { table.unexpired(at: now).map(\.name) }

    /// Adds cookies, and returns which of them had room.
    private func fill(_ table: inout CookieTable, _ cookies: [Cookie], at date: HTTPDate? = nil) -> [Bool] {
        cookies.map { table.set($0, at: date ?? now) }
    }

    @Test func aHostHas50Cookies() {
        var table = CookieTable(limits: CookieJar.Limits(), hasStore: false)
        let hasRoom = fill(&table, (1...60).map { cookie("\($0)") } + [cookie("other", "a.example")])
        #expect(hasRoom.allSatisfy(\.self) && names(table) == (11...60).map { "\($0)" } + ["other"])
    }

    @Test func aSiteHas180Cookies() {
        var table = CookieTable(limits: CookieJar.Limits(), hasStore: false)
        let hasRoom = fill(&table, (1...200).map { cookie("\($0)", "h\($0 % 10).a.example") } + [cookie("other", "b.example")])
        #expect(hasRoom.allSatisfy(\.self) && names(table) == (21...200).map { "\($0)" } + ["other"])
    }

    @Test func aJarHas3000Cookies() {
        var table = CookieTable(limits: CookieJar.Limits(), hasStore: false)
        let hasRoom = fill(&table, (1...3_010).map { cookie("\($0)", "h.s\($0 % 1_000).example") })
        #expect(hasRoom.allSatisfy(\.self) && names(table) == (11...3_010).map { "\($0)" } && table.count == 3_000)
        table.removeAll { _ in true }
        #expect(table.count == 0 && table.domains(including: "h.s1.example").isEmpty && table.totalBytes == 0)
    }

    #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test func aPreconditionOfALimitNamesTheValue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CookieJar.Limits(countPerSite: 0)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("countPerSite must be at least 1 (is 0)"))
    }
    #endif

    @Test func aRemovedCookieReturnsOnlyIfAnotherProcessStoresTheCookieAgain() {
        var table = CookieTable(limits: CookieJar.Limits(), hasStore: true)
        let stored = cookie("a", expires: 2_000)
        table.merge([stored], Removals(), at: now)
        let isRemoved = table.remove(stored.key)
        // A write that began before the removal ends after the removal.
        table.merge([stored], Removals(), at: now)
        #expect(isRemoved && names(table) == [])
        let changes = table.takeChanges()
        table.merge([], Removals(), at: now)
        #expect(changes.removed == [stored.key] && names(table) == [])
        table.merge([stored], Removals(), at: now)
        #expect(names(table) == ["a"])
    }

    @Test func theOctetsOfAllCookiesHaveALimit() {
        var table = CookieTable(limits: CookieJar.Limits(totalBytes: 10_000), hasStore: false)
        let value = String(repeating: "v", count: 1_000)
        let hasRoom = fill(&table, (1...20).map { cookie("\($0)", value: value) })
        #expect(hasRoom.allSatisfy(\.self) && table.totalBytes <= 10_000 && names(table) == (12...20).map { "\($0)" })
    }

    @Test func expiredCookiesAreEvictedFirst() {
        var table = CookieTable(limits: CookieJar.Limits(countPerDomain: 3), hasStore: false)
        let first = fill(&table, [cookie("1", isSecure: false), cookie("2", expires: 2_000), cookie("3", expires: 3_000)])
        let second = fill(&table, [cookie("4", expires: 9_000)], at: HTTPDate(secondsSinceEpoch: 2_500))
        #expect(first + second == [true, true, true, true] && names(table) == ["1", "3", "4"])
    }

    @Test func cookiesWithoutSecureAreEvictedBeforeSecureCookies() {
        var table = CookieTable(limits: CookieJar.Limits(countPerDomain: 3), hasStore: false)
        let hasRoom = fill(
            &table,
            [
                cookie("1"), cookie("2", isSecure: false), cookie("3", isSecure: false), cookie("4"), cookie("5"),
                cookie("6", isSecure: false),
            ])
        #expect(hasRoom == [true, true, true, true, true, false] && names(table) == ["1", "4", "5"])
    }

    @Test func theLeastRecentlyUsedCookieIsEvicted() throws {
        var table = CookieTable(limits: CookieJar.Limits(countPerDomain: 3, totalCount: 4), hasStore: false)
        var hasRoom = fill(&table, [cookie("1"), cookie("2"), cookie("3")])
        table.use(try #require(table.index(of: cookie("1").key)))
        hasRoom += fill(&table, [cookie("4")])
        #expect(names(table) == ["1", "3", "4"])
        // The limit of the jar.
        hasRoom += fill(&table, [cookie("5", "b.example")])
        table.use(try #require(table.index(of: cookie("3").key)))
        hasRoom += fill(&table, [cookie("6", "c.example")])
        #expect(names(table) == ["3", "4", "5", "6"] && hasRoom.allSatisfy(\.self))
    }

    @Test func aCookieThatIsReplacedTakesNoSecondPlace() {
        var table = CookieTable(limits: CookieJar.Limits(countPerDomain: 2), hasStore: false)
        let hasRoom = fill(&table, [cookie("1"), cookie("2"), cookie("1", value: "y"), cookie("3")])
        #expect(hasRoom.allSatisfy(\.self) && names(table) == ["1", "3"] && table.count == 2)
    }

    /// Random changes, compared with a list without an index.
    @Test(arguments: 1...20) func aTableFindsTheCookiesOfAList(_ seed: Int) {
        var random = SeededNumbers(seed: UInt64(seed))
        var table = CookieTable(limits: CookieJar.Limits(), hasStore: false)
        var list: [Cookie] = []
        for _ in 0..<200 {
            let domain = ["a.example", "www.a.example", "b.a.example", "b.example"].randomElement(using: &random) ?? ""
            let new = Cookie(
                name: ["x", "y", ""].randomElement(using: &random) ?? "", value: "\(Int.random(in: 0..<1_000, using: &random))",
                domain: domain,
                isHostOnly: Bool.random(using: &random), path: ["/", "/a", "/a/b"].randomElement(using: &random) ?? "",
                isSecure: Bool.random(using: &random), created: now)
            if Int.random(in: 0..<4, using: &random) == 0 {
                table.remove(new.key)
                list.removeAll { $0.key == new.key }
            } else {
                let hasRoom = table.set(new, at: now)
                #expect(hasRoom)
                if let index = list.firstIndex(where: { $0.key == new.key }) { list[index] = new } else { list.append(new) }
            }
        }
        for url in ["https://a.example/a", "http://www.a.example/a/b", "https://x.www.a.example/", "https://b.example/a/bc"] {
            guard let url = try? HTTPURL(url) else { continue }
            let request = CookieRequest(url)
            let expected = list.filter { cookie in
                (cookie.isHostOnly ? cookie.domain == url.host : url.host == cookie.domain || url.host.hasSuffix("." + cookie.domain))
                    && CookiePolicy.isWithin(request.path, path: cookie.path)
                    && CookiePolicy.allows(CookiePolicy.Conditions(cookie), in: request)
            }.enumerated().sorted { ($1.element.path.count, $0.offset) < ($0.element.path.count, $1.offset) }.map(\.element)
            #expect(table.matches(request, at: { now }).map { table[$0] } == expected, "\(url)")
        }
        #expect(table.count == list.count)
    }

    /// The time of a search does not depend on the number of cookies.
    @Test func aSearchReadsTheCookiesOfItsHostAlone() throws {
        let url = try HTTPURL("https://www.a.example/x")
        let growth = growth(of: 300) { count in
            var table = CookieTable(limits: CookieJar.Limits(countPerDomain: .max, countPerSite: .max, totalCount: .max), hasStore: false)
            for number in 0..<count { _ = table.set(cookie("\(number)", "h\(number).a.example"), at: now) }
            _ = table.set(cookie("a", "www.a.example"), at: now)
            return table
        } _: { table in
            for _ in 0..<200 { _ = table.matches(CookieRequest(url), at: { now }) }
        }
        #expect(growth < 3, "8 times the cookies take \(growth) times as long")
    }

    /// The time of a change does not depend on the number of cookies either.
    @Test func aChangeTakesTimeOfItsSiteAlone() {
        let growth = growth(of: 300) { count in
            var table = CookieTable(limits: CookieJar.Limits(totalCount: count), hasStore: false)
            for number in 0..<count { _ = table.set(cookie("\(number)", "h.s\(number).example"), at: now) }
            return table
        } _: { table in
            var table = table
            for number in 0..<1_000 { _ = table.set(cookie("n\(number)", "new.s\(number).example"), at: now) }
        }
        #expect(growth < 4, "8 times the cookies take \(growth) times as long")
    }
}

/// The same numbers for the same seed.
private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        var word = state
        word ^= word >> 33
        word = word &* 0xFF51_AFD7_ED55_8CCD
        return word ^ word >> 33
    }
}
#endif
