import ErrandCore
import HTTPTypes
import Testing

@testable import ErrandCache

/// RFC 9111, section 4.2: freshness, age, and stale responses.
@Suite(.timeLimit(.minutes(5))) struct FreshnessRuleTests {
    private static let most: Int64 = 1 << 31

    @Test(
        arguments: [
            // Section 4.2.1: the order of the statements.
            (["Cache-Control: max-age=60"], 60), (["Expires: \(date(90))"], 90),
            (["Cache-Control: max-age=60", "Expires: \(date(90))"], 60),
            (["Cache-Control: max-age=60", "Expires: 0"], 60), (["Cache-Control: max-age=60", "Expires: \(date(-90))"], 60),
            (["Cache-Control: s-maxage=600, max-age=60"], 60), (["Cache-Control: s-maxage=600"], 0), (["Cache-Control: public"], 0),
            ([], 0),
            // Section 4.2.1: duplicate and conflicting statements.
            (["Cache-Control: max-age=60, max-age=60"], 60), (["Cache-Control: max-age=600, max-age=1"], 0),
            (["Cache-Control: max-age=600", "Cache-Control: max-age=1"], 0),
            (["Expires: \(date(90))", "Expires: \(date(90))"], 90), (["Expires: \(date(90))", "Expires: \(date(91))"], 0),
            // Section 1.2.2: numbers.
            (["Cache-Control: max-age=-1", "Expires: \(date(90))"], 0), (["Cache-Control: max-age=1.5", "Expires: \(date(90))"], 0),
            (["Cache-Control: max-age=\"60\""], 60), (["Cache-Control: max-age=99999999999999999999"], most),
            (["Cache-Control: max-age='60'"], 0), (["Cache-Control: max-age", "Expires: \(date(90))"], 0),
            // Section 5.3: an invalid date is in the past.
            (["Expires: 0"], 0), (["Expires: -1"], 0), (["Expires: tomorrow"], 0), (["Expires: Thu, 18 Aug 2050 02:01:18 UTC"], 0),
            (["Expires: Thu 18 Aug 2050 02:01:18 GMT"], 0), (["Expires: \(date(-90))"], 0), (["Expires: \(date(0))"], 0),
            // Section 4.2.1: Expires is relative to Date.
            (["Date: \(date(-30))", "Expires: \(date(90))"], 120), (["Date: \(date(30))", "Expires: \(date(90))"], 60),
            (["Date: foo", "Expires: \(date(90))"], 90), (["Date: \(date(30))", "Date: \(date(40))", "Expires: \(date(90))"], 60),
            (["Expires: Sun, 21 Nov 2286 04:46:39 GMT"], 8_101_442_799),
            // Section 4.2.2: a tenth of the time since the last modification, at most 24 hours.
            (["Last-Modified: \(date(-1000))"], 100), (["Last-Modified: \(date(-5))"], 0),
            (["Last-Modified: \(date(-10_000_000))"], 86_400),
            (["Last-Modified: \(date(1000))"], 0), (["Last-Modified: foo"], 0),
            (["Date: \(date(-500))", "Last-Modified: \(date(-1000))"], 50),
            (["Cache-Control: max-age=1", "Last-Modified: \(date(-1000))"], 1),
            (["Cache-Control: max-age=x", "Last-Modified: \(date(-1000))"], 0),
            (["Expires: 0", "Last-Modified: \(date(-1000))"], 0),
            (["Last-Modified: \(date(-1000))", "Last-Modified: \(date(-900))"], 0),
            // Section 5.4.
            (["Pragma: no-cache", "Last-Modified: \(date(-1000))"], 0), (["Pragma: x", "Last-Modified: \(date(-1000))"], 100),
            (["Pragma: no-cache", "Cache-Control: x", "Last-Modified: \(date(-1000))"], 100),
            (["Pragma: no-cache", "Cache-Control: max-age=60"], 60),
        ] as [([String], Int64)])
    func theLifetimeOfAPrivateCacheIs(_ lines: [String], _ expected: Int64) {
        #expect(FreshnessRule(policy: .standard).lifetime(of: head(lines)) == .seconds(expected))
    }

    @Test(
        arguments: [
            (["Cache-Control: s-maxage=600, max-age=60"], 600), (["Cache-Control: s-maxage=1, max-age=60"], 1),
            (["Cache-Control: max-age=60", "Cache-Control: s-maxage=1"], 1), (["Cache-Control: s-maxage=x, max-age=60"], 0),
            (["Cache-Control: max-age=60"], 60), (["Cache-Control: s-maxage=600", "Expires: \(date(5))"], 600),
        ] as [([String], Int64)])
    func theLifetimeOfASharedCacheIs(_ lines: [String], _ expected: Int64) {
        #expect(FreshnessRule(policy: .shared).lifetime(of: head(lines)) == .seconds(expected))
    }

    @Test(
        arguments: [
            (200, true), (203, true), (204, true), (300, true), (301, true), (308, true), (404, true), (405, true), (410, true),
            (414, true),
            (501, true), (201, false), (202, false), (302, false), (403, false), (502, false), (503, false), (504, false), (599, false),
        ])
    func theStatusPermitsAHeuristic(_ status: Int, _ isPermitted: Bool) {
        let lines = ["Last-Modified: \(date(-1000))"]
        let rule = FreshnessRule(policy: .standard)
        #expect(rule.lifetime(of: head(lines, status: status)) == (isPermitted ? .seconds(100) : .zero))
        #expect(rule.lifetime(of: head(lines + ["Cache-Control: public"], status: status)) == .seconds(100))
        #expect(FreshnessRule(policy: .standard.withoutHeuristics).lifetime(of: head(lines, status: status)) == .zero)
    }

    @Test func theHeuristicIsASetting() {
        let lines = ["Last-Modified: \(date(-1000))"]
        let policy = CachePolicy(heuristic: .init(fraction: 0.5, limit: .seconds(300)))
        #expect(FreshnessRule(policy: policy).lifetime(of: head(lines)) == .seconds(300))
        #expect(FreshnessRule(policy: CachePolicy(heuristic: .init(fraction: 0))).lifetime(of: head(lines)) == .zero)
    }

    /// Section 4.2.3. The response arrives at second 0, and its age is taken at second 10.
    @Test(
        arguments: [
            ([], 0, 10), (["Date: \(date(0))"], 0, 10), (["Date: \(date(-100))"], 0, 110), (["Age: 50"], 0, 60),
            (["Age: 50", "Date: \(date(-20))"], 0, 60), (["Age: 20", "Date: \(date(-50))"], 0, 60), (["Age: 50"], 2, 62), ([], 2, 12),
            (["Date: \(date(-2))"], 2, 12),
            // Section 5.1 and section 1.2.2.
            (["Age: 1, 2"], 0, 11), (["Age: 7200", "Age: 0"], 0, 7210), (["Age: -5"], 0, 10), (["Age: 1.5"], 0, 10), (["Age: abc"], 0, 10),
            (["Age: 99999999999999999999"], 0, most + 10),
            // A date in the future, and an invalid date.
            (["Date: \(date(3600))"], 0, 10), (["Date: foo"], 0, 10), (["Date: \(date(3600))", "Age: 5"], 0, 15),
            (["Date: Thu, 01 Jan 1970 00:00:00 GMT"], 0, beginning.secondsSinceEpoch + 10),
        ] as [([String], Double, Int64)])
    func theAgeIs(_ lines: [String], _ delay: Double, _ expected: Int64) {
        let head = head(lines, requestTime: instant(-delay))
        #expect(head.times.age(at: instant(10)) == .seconds(expected))
    }

    /// The wall clock was set while the response was stored. The run is the same: only the second clock counts.
    @Test(arguments: [-3600.0, 31_536_000, 0]) func aSetClockDoesNotChangeTheAge(_ wall: Double) {
        #expect(head(["Age: 5"]).times.age(at: instant(10, wall: wall)) == .seconds(15))
    }

    /// Another run of the process knows only the wall clock.
    @Test(arguments: [(-3600.0, nil), (31_536_000, 31_536_015), (0, 15)] as [(Double, Int64?)])
    func anotherRunUsesTheWallClock(_ wall: Double, _ expected: Int64?) {
        let head = head(["Age: 5", "Cache-Control: max-age=60"])
        let now = instant(10, wall: wall, run: 2)
        #expect(head.times.age(at: now) == expected.map { .seconds($0) })
        if expected == nil {
            #expect(FreshnessRule(policy: .standard).use(head, for: read(request()), at: now) == .afterValidation(.stale))
            #expect(
                FreshnessRule(policy: .standard).use(head, for: read(request("Cache-Control: max-stale")), at: now)
                    == .afterValidation(.stale))
        }
    }

    /// Section 5.2.1. The response is 100 seconds old.
    @Test(
        arguments: [
            ("max-age=200", "", .now(isFresh: true)), ("max-age=100", "", .afterValidation(.stale)),
            ("max-age=101", "", .now(isFresh: true)),
            ("max-age=50", "", .afterValidation(.stale)), ("", "", .afterValidation(.stale)),
            // Section 5.2.1.1: max-age.
            ("max-age=200", "max-age=100", .now(isFresh: true)), ("max-age=200", "max-age=99", .afterValidation(.request)),
            ("max-age=200", "max-age=0", .afterValidation(.request)), ("max-age=200", "max-age=x", .afterValidation(.request)),
            ("max-age=50", "max-age=500", .afterValidation(.stale)), ("max-age=50", "max-age=500, max-stale", .now(isFresh: false)),
            // Section 5.2.1.2: max-stale.
            ("max-age=50", "max-stale", .now(isFresh: false)), ("max-age=50", "max-stale=50", .now(isFresh: false)),
            ("max-age=50", "max-stale=49", .afterValidation(.stale)), ("max-age=50", "max-stale=x", .afterValidation(.stale)),
            ("max-age=50, must-revalidate", "max-stale", .afterValidation(.stale)),
            ("max-age=50, no-cache", "max-stale", .afterValidation(.stale)),
            ("max-age=50, proxy-revalidate", "max-stale", .now(isFresh: false)), ("s-maxage=50", "max-stale", .now(isFresh: false)),
            // Section 5.2.1.3: min-fresh.
            ("max-age=200", "min-fresh=100", .now(isFresh: true)), ("max-age=200", "min-fresh=101", .afterValidation(.request)),
            ("max-age=200", "min-fresh=x", .afterValidation(.request)), ("max-age=50", "min-fresh=1, max-stale", .afterValidation(.stale)),
            // Section 5.2.1.4: no-cache.
            ("max-age=200", "no-cache", .afterValidation(.request)), ("max-age=200, immutable", "no-cache", .afterValidation(.request)),
            ("max-age=50", "no-cache, max-stale", .afterValidation(.request)),
            // Section 5.2.2.4: no-cache of the response.
            ("max-age=200, no-cache", "", .afterValidation(.stale)), ("max-age=200, no-cache=\"x\"", "", .now(isFresh: true)),
            ("max-age=200, no-cache=\"cache-control\"", "", .afterValidation(.stale)),
            // RFC 5861, section 3.
            ("max-age=50, stale-while-revalidate=50", "", .duringRevalidation),
            ("max-age=50, stale-while-revalidate=49", "", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90, must-revalidate", "", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90, no-cache", "", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90", "max-age=500", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90", "min-fresh=1", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90", "only-if-cached", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90", "no-cache", .afterValidation(.request)),
            ("max-age=50, stale-while-revalidate=x", "", .afterValidation(.stale)),
            ("max-age=50, stale-while-revalidate=90", "max-stale", .now(isFresh: false)),
            ("max-age=200, stale-while-revalidate=90", "", .now(isFresh: true)),
        ] as [(String, String, FreshnessRule.Use)])
    func aRequestUsesAResponse(_ stored: String, _ sent: String, _ expected: FreshnessRule.Use) {
        let head = head(stored.isEmpty ? [] : ["Cache-Control: \(stored)"])
        let request = sent.isEmpty ? request() : request("Cache-Control: \(sent)")
        #expect(FreshnessRule(policy: .standard).use(head, for: read(request), at: instant(100)) == expected)
    }

    /// Sections 5.2.1.1 and 4.2: a new response, and the instants before and after the limits.
    @Test(
        arguments: [
            ("max-age=60", "max-age=0", 0, .afterValidation(.request)), ("max-age=60", "", 0, .now(isFresh: true)),
            ("max-age=60", "", 59.999, .now(isFresh: true)), ("max-age=60", "", 60, .afterValidation(.stale)),
            ("max-age=60", "", 60.001, .afterValidation(.stale)), ("max-age=60", "max-age=10", 10, .now(isFresh: true)),
            ("max-age=60", "max-age=10", 10.001, .afterValidation(.request)), ("max-age=60", "min-fresh=10", 50, .now(isFresh: true)),
            ("max-age=60", "min-fresh=10", 50.001, .afterValidation(.request)), ("max-age=60", "max-stale=5", 65, .now(isFresh: false)),
            ("max-age=60", "max-stale=5", 65.001, .afterValidation(.stale)),
            ("max-age=60, stale-while-revalidate=5", "", 65, .duringRevalidation),
            ("max-age=60, stale-while-revalidate=5", "", 65.001, .afterValidation(.stale)),
            ("max-age=0", "max-age=0", 0, .afterValidation(.stale)),
        ] as [(String, String, Double, FreshnessRule.Use)])
    func thousandthsOfASecondCount(_ stored: String, _ sent: String, _ age: Double, _ expected: FreshnessRule.Use) {
        let request = sent.isEmpty ? request() : request("Cache-Control: \(sent)")
        let use = FreshnessRule(policy: .standard).use(head(["Cache-Control: \(stored)"]), for: read(request), at: instant(age))
        #expect(use == expected)
    }

    @Test func theAgeHasThousandths() {
        let head = head(["Age: 5"], requestTime: instant(-0.25))
        #expect(head.times.age(at: instant(1.5)) == .milliseconds(6750))
        #expect(head.times.age(at: instant(1.5, run: 2)) == .milliseconds(6750), "another run")
    }

    @Test(arguments: ["proxy-revalidate", "s-maxage=50"]) func aSharedCacheHasFurtherLimits(_ directive: String) {
        let head = head(["Cache-Control: max-age=50, \(directive)"])
        let request = read(request("Cache-Control: max-stale"), scope: .shared)
        #expect(FreshnessRule(policy: .shared).use(head, for: request, at: instant(100)) == .afterValidation(.stale))
    }

    /// Each mode with a fresh response, a stale response, and a response that must be validated.
    @Test(
        arguments: [
            (.standard, .now(isFresh: true), .afterValidation(.stale), .afterValidation(.stale)),
            (.reload, .afterValidation(.request), .afterValidation(.request), .afterValidation(.request)),
            (.reloadEverywhere, .afterValidation(.request), .afterValidation(.request), .afterValidation(.request)),
            (.revalidate, .afterValidation(.request), .afterValidation(.stale), .afterValidation(.stale)),
            (.storedElseLoad, .now(isFresh: true), .now(isFresh: false), .now(isFresh: true)),
            (.storedOnly, .now(isFresh: true), .now(isFresh: false), .now(isFresh: true)),
        ] as [(CachePolicy.Mode, FreshnessRule.Use, FreshnessRule.Use, FreshnessRule.Use)])
    func aModeUsesAResponse(
        _ mode: CachePolicy.Mode, _ fresh: FreshnessRule.Use, _ stale: FreshnessRule.Use, _ validated: FreshnessRule.Use
    ) {
        for (stored, expected) in [("max-age=200", fresh), ("max-age=50, must-revalidate", stale), ("max-age=200, no-cache", validated)] {
            let use = FreshnessRule(policy: .standard).use(
                head(["Cache-Control: \(stored)"]), for: read(request(), mode: mode), at: instant(100))
            #expect(use == expected)
        }
    }

    /// RFC 8246.
    @Test(
        arguments: [
            ("max-age=200, immutable", "", .now(isFresh: true)), ("max-age=50, immutable", "", .afterValidation(.stale)),
            ("max-age=200, immutable", "no-cache", .afterValidation(.request)),
            ("max-age=200, immutable", "max-age=0", .afterValidation(.request)),
            ("max-age=200, immutable=1", "", .afterValidation(.request)),
            ("max-age=200, immutable, no-cache", "", .afterValidation(.stale)),
        ] as [(String, String, FreshnessRule.Use)])
    func anImmutableResponseIsNotRevalidated(_ stored: String, _ sent: String, _ expected: FreshnessRule.Use) {
        let request = read(sent.isEmpty ? request() : request("Cache-Control: \(sent)"), mode: .revalidate)
        #expect(FreshnessRule(policy: .standard).use(head(["Cache-Control: \(stored)"]), for: request, at: instant(100)) == expected)
    }

    /// RFC 5861, section 4, and RFC 9111, section 4.2.4. The response is stale for 50 seconds.
    @Test(
        arguments: [
            ("", "", nil, nil, false, false), ("stale-if-error=50", "", nil, nil, true, true),
            ("stale-if-error=49", "", nil, nil, false, false),
            ("stale-if-error=x", "", 90, nil, false, false), ("", "stale-if-error=50", nil, nil, true, true),
            ("stale-if-error=9", "stale-if-error=90", nil, nil, false, false), ("", "", 50, nil, true, true),
            ("", "", 49, nil, false, false),
            ("", "", nil, 50, false, true), ("", "", nil, 49, false, false), ("stale-if-error=9", "", nil, 50, false, true),
            ("must-revalidate, stale-if-error=90", "", 90, 90, false, false), ("no-cache, stale-if-error=90", "", 90, 90, false, false),
            ("stale-if-error=90", "max-age=500", nil, nil, false, false), ("stale-if-error=90", "min-fresh=1", nil, 90, false, false),
            ("stale-if-error=90", "max-age=500, stale-if-error=9", nil, nil, true, true),
        ] as [(String, String, Int64?, Int64?, Bool, Bool)])
    func aStaleResponseReplacesAFailure(
        _ stored: String, _ sent: String, _ onError: Int64?, _ onLoss: Int64?, _ replacesError: Bool, _ replacesLoss: Bool
    ) {
        let policy = CachePolicy(staleIfError: onError.map { .seconds($0) }, staleIfUnreachable: onLoss.map { .seconds($0) })
        let head = head(["Cache-Control: max-age=50\(stored.isEmpty ? "" : ", \(stored)")"])
        let request = read(sent.isEmpty ? request() : request("Cache-Control: \(sent)"))
        for (isUnreachable, expected) in [(false, replacesError), (true, replacesLoss)] {
            let rule = FreshnessRule(policy: policy)
            #expect(rule.mayReplaceFailure(head, for: request, isUnreachable: isUnreachable, at: instant(100)) == expected)
        }
    }

    /// The lifetimes that an app has chosen replace the lifetimes of the server.
    @Test func chosenLifetimesComeFirst() {
        let rule = FreshnessRule(policy: .standard)
        let chosen = CacheLifetimes(fresh: .seconds(150), staleWhileRevalidate: .seconds(20), staleIfError: .seconds(30))
        for lines in [["Cache-Control: no-cache"], ["Cache-Control: max-age=1"], ["Cache-Control: max-age=9999"], ["Expires: 0"]] {
            let head = head(lines, lifetimes: chosen)
            #expect(rule.use(head, for: read(request()), at: instant(149)) == .now(isFresh: true))
            #expect(rule.use(head, for: read(request()), at: instant(151)) == .duringRevalidation)
            #expect(rule.use(head, for: read(request()), at: instant(171)) == .afterValidation(.stale))
            #expect(rule.mayReplaceFailure(head, for: read(request()), isUnreachable: false, at: instant(179)))
            #expect(!rule.mayReplaceFailure(head, for: read(request()), isUnreachable: false, at: instant(181)))
        }
        let plain = CacheLifetimes(fresh: .seconds(-1), staleIfError: .seconds(-1))
        #expect(plain.fresh == .zero && plain.staleIfError == .zero)
    }

    @Test(arguments: [("no-cache", CacheStatus.ForwardReason.request), ("x", .uriMiss)]) func pragmaCountsWithoutCacheControl(
        _ pragma: String, _ reason: CacheStatus.ForwardReason
    ) {
        let head = head(["Cache-Control: max-age=200"])
        let rule = FreshnessRule(policy: .standard)
        let isForced = rule.use(head, for: read(request("Pragma: \(pragma)")), at: instant(1)) == .afterValidation(.request)
        #expect(isForced == (reason == .request))
        #expect(rule.use(head, for: read(request("Pragma: \(pragma)", "Cache-Control: x")), at: instant(1)) == .now(isFresh: true))
    }
}
