#if Auth
import Errand
import TestSupport
import Testing

@testable import ErrandAuth

/// The cases of the IETF's working group on cookies, at the jar.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Suites.folder != nil, Comment(rawValue: Suites.missing)))
struct CookieSuiteTests {
    /// The cases that the jar need not pass, with the reason.
    static let excluded = ["DISABLED_CHROMIUM0020": "disabled by the authors of the suite"]

    @Test func theSuiteHasTheKnownCases() throws {
        let vectors = try CookieVector.all()
        #expect(vectors.count == 111 && Set(vectors.map(\.name)).count == 111)
        let excluded = vectors.filter { $0.excluded != nil }.map { ($0.name, $0.excluded ?? "") }
        #expect(Dictionary(uniqueKeysWithValues: excluded) == Self.excluded)
    }

    @Test func theJarSendsTheCookiesOfEachCase() throws {
        for vector in try CookieVector.all() where Self.excluded[vector.name] == nil {
            let date = ManualDate()
            let jar = CookieJar(now: { date.date })
            for field in vector.received { _ = try jar.refusal(field, from: vector.url) }
            let sent = jar.cookies(for: try HTTPURL(vector.nextURL)).map { CookieVector.Pair(name: $0.name, value: $0.value) }
            #expect(sent == vector.expected, "\(vector.name): \(vector.received)")
        }
    }

    @Test func theJarEndsACookieAtEachDate() throws {
        let cases = try CookieDateVector.cases()
        #expect(cases.count > 70)
        for each in cases {
            let jar = CookieJar(now: { ManualDate(each.now.secondsSinceEpoch).date })
            for field in each.received { _ = try jar.refusal(field, from: "http://home.example.org/") }
            let sent = jar.cookies(for: try HTTPURL("http://home.example.org/"))
            #expect(sent.map { CookieVector.Pair(name: $0.name, value: $0.value) } == each.sent, "\(each.name): \(each.received)")
        }
    }
}
#endif
