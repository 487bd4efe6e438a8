import HTTPTypes
import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct CacheControlTests {
    private static let most = CacheControl.longestSeconds

    @Test(
        arguments: [
            // RFC 9111, section 1.2.2: digits; a number above 2^31 counts as 2^31.
            ("max-age=0", 0), ("max-age=3600", 3600), ("max-age=003600", 3600), ("max-age=2147483647", 2_147_483_647),
            ("max-age=2147483648", most), ("max-age=2147483649", most), ("max-age=99999999999999999999", most),
            ("max-age=" + String(repeating: "9", count: 5000), most),
            // Section 5.2: names ignore case, and an argument may be a token or a quoted string.
            ("MaX-aGe=60", 60), ("max-age=\"60\"", 60), ("max-age=\"6\\0\"", 60), (" \t, ,max-age=60,,", 60),
            ("foo=1, max-age=60 ,bar", 60),
            // Section 4.2.1: an invalid lifetime makes the response stale.
            ("max-age", 0), ("max-age=", 0), ("max-age=\"\"", 0), ("max-age=-1", 0), ("max-age=-3600", 0), ("max-age=+60", 0),
            ("max-age=1.5", 0), ("max-age=3600.0", 0), ("max-age='3600'", 0), ("max-age=a3600", 0), ("max-age=3600a", 0),
            ("max-age=1e3", 0),
            ("max-age=0x10", 0), ("max-age =60", 0), ("max-age= 60", 0), ("max-age=60 s", 0), ("max-age=60;foo", 0), ("max-age:60", 0),
            ("max-age=\"60", 0), ("max-age=٦٠", 0), ("max-age==60", 0), ("max-age=\"60\"0", 0),
            // Section 4.2.1: several lifetimes. Equal numbers are one number.
            ("max-age=60, max-age=60", 60), ("max-age=1800, max-age=1", 0), ("max-age=1, max-age=1800", 0), ("max-age=60, max-age", 0),
            ("max-age=60, max-age=x, max-age=60", 0), ("max-age=1, max-age=2, max-age=2", 0),
            // A quoted string of another directive.
            ("x=\"max-age=3600\"", nil), ("x=\"max-age=3600\", max-age=1", 1), ("max-age=1, x=\"max-age=3600\"", 1),
            ("x=\"\\\"max-age=3600\"", nil), ("xmax-age=1", nil), ("max-age-x=1", nil), ("", nil), ("x", nil), (",,", nil),
        ] as [(String, Int64?)])
    func theLifetimeIsRead(_ value: String, _ expected: Int64?) {
        #expect(CacheControl([value]).maxAge == expected)
        // `s-maxage` follows the same rules.
        let shared = value.lowercased().split(separator: "max-age", omittingEmptySubsequences: false).joined(separator: "s-maxage")
        if !value.contains("xmax") { #expect(CacheControl([shared]).sharedMaxAge == expected) }
    }

    @Test(
        arguments: [
            (["max-age=60", "max-age=60"], 60), (["max-age=1800", "max-age=1"], 0), (["s-maxage=3600", "max-age=1"], 1),
            (["max-age=60", ""], 60), (["public", "max-age=60"], 60), (["x=\"", "max-age=60"], 0),
        ] as [([String], Int64)])
    func severalFieldsAreOneList(_ values: [String], _ expected: Int64) { #expect(CacheControl(values).maxAge == expected) }

    @Test(
        arguments: [
            ("no-store", .noStore), ("nO-StOrE", .noStore), ("no-store=1", .noStore), ("no-store=\"x\"", .noStore), ("no-store;", .noStore),
            ("no-store; max-age=1", .noStore), ("max-age=1; no-store", .noStore), ("no-store foo", .noStore), ("x=\"a, no-store", .noStore),
            ("no-cache", .noCache), ("No-CaChE", .noCache), ("no-cache=", .noCache), ("no-cache=\"\"", .noCache),
            ("no-cache=\" , \"", .noCache),
            ("no-cache=\"a b\"", .noCache), ("no-cache=\"a, é\"", .noCache), ("no-cache=\"a\", no-cache", .noCache),
            ("private", .private), ("private=\"a b\"", .private), ("public", .public), ("must-revalidate", .mustRevalidate),
            ("must-revalidate=x", .mustRevalidate), ("proxy-revalidate", .proxyRevalidate), ("must-understand", .mustUnderstand),
            ("immutable", .immutable), ("only-if-cached", .onlyIfCached), ("no-transform", .noTransform),
        ] as [(String, CacheControl.Directive)])
    func aDirectiveIsRead(_ value: String, _ directive: CacheControl.Directive) {
        #expect(CacheControl([value]).contains(directive))
        #expect(!CacheControl([value]).isEmpty)
    }

    @Test(
        arguments: [
            ("x=\"no-store\"", .noStore), ("no-stored", .noStore), ("no_store", .noStore), ("no-cache=a", .noCache),
            ("no-cache=\"a, B\"", .noCache), ("private=\"x\"", .private),
            // A directive that permits something counts only in its exact form.
            ("public=1", .public), ("public=\"x\"", .public), ("public x", .public), ("immutable=1", .immutable),
            ("must-understand=1", .mustUnderstand), ("", .noStore), ("x=\"a, public", .noStore),
        ] as [(String, CacheControl.Directive)])
    func anotherDirectiveIsNotRead(_ value: String, _ directive: CacheControl.Directive) {
        #expect(!CacheControl([value]).contains(directive))
    }

    @Test(
        arguments: [
            ("no-cache=\"a\"", ["a"], []), ("no-cache=\"a, B ,,a\"", ["a", "B"], []), ("no-cache=Set-Cookie", ["Set-Cookie"], []),
            ("private=\"x\", no-cache=\"y\"", ["y"], ["x"]), ("no-cache=\"a\", no-cache=\"b\"", ["a", "b"], []), ("no-cache", [], []),
            ("no-cache=\"a, A\"", ["a"], []),
        ] as [(String, [String], [String])])
    func fieldNamesAreRead(_ value: String, _ noCache: [String], _ isPrivate: [String]) {
        let control = CacheControl([value])
        #expect(control.noCacheFields.map(\.rawName) == noCache && control.privateFields.map(\.rawName) == isPrivate)
    }

    @Test func tooManyFieldNamesAreAllFields() {
        func names(_ count: Int) -> String { "no-cache=\"" + (0..<count).map { "f\($0)" }.joined(separator: ",") + "\"" }
        #expect(CacheControl([names(64)]).noCacheFields.count == 64 && !CacheControl([names(64)]).contains(.noCache))
        #expect(CacheControl([names(65)]).contains(.noCache))
    }

    @Test(
        arguments: [
            ("min-fresh=5", 5), ("min-fresh=5, min-fresh=9, min-fresh=7", 9), ("min-fresh", most), ("min-fresh=x", most),
            ("min-fresh=-1", most), ("x", nil),
        ] as [(String, Int64?)])
    func theLargestMinFreshCounts(_ value: String, _ expected: Int64?) { #expect(CacheControl([value]).minFresh == expected) }

    @Test(
        arguments: [
            ("max-stale", .any), ("max-stale=5", .seconds(5)), ("max-stale, max-stale=5", .seconds(5)),
            ("max-stale=5, max-stale", .seconds(5)),
            ("max-stale=9, max-stale=5", .seconds(5)), ("max-stale=x", .seconds(0)), ("max-stale=", .seconds(0)), ("x", nil),
            ("max-stale x", .seconds(0)),
        ] as [(String, CacheControl.Staleness?)])
    func theSmallestMaxStaleCounts(_ value: String, _ expected: CacheControl.Staleness?) {
        #expect(CacheControl([value]).maxStale == expected)
    }

    @Test(
        arguments: [
            ("=5", 5), ("=\"5\"", 5), ("=9, *=5", 5), ("=5, *=9", 5), ("", 0), ("=", 0), ("=x", 0), ("=-5", 0), ("=5, *=x", 0),
        ] as [(String, Int64)])
    func theSmallestPermissionForStaleResponsesCounts(_ form: String, _ expected: Int64) {
        func value(_ name: String) -> String { name + form.split(separator: "*", omittingEmptySubsequences: false).joined(separator: name) }
        #expect(CacheControl([value("stale-while-revalidate")]).staleWhileRevalidate == expected)
        #expect(CacheControl([value("stale-if-error")]).staleIfError == expected)
    }

    @Test func missingFieldsHaveNoDirectives() {
        #expect(CacheControl(HTTPFields()).isEmpty && CacheControl([""]).isEmpty && CacheControl([", ,"]).isEmpty)
        #expect(CacheControl(HTTPFields([HTTPField(name: .cacheControl, value: "no-store")])).contains(.noStore))
        #expect(!CacheControl(["extension"]).isEmpty)
    }

    @Test func aThousandDirectivesAreRead() {
        let many = (0..<1000).map { "x\($0)=\($0)" }.joined(separator: ", ")
        let control = CacheControl([many + ", max-age=60, no-store"])
        #expect(control.maxAge == 60 && control.contains(.noStore))
        #expect(CacheControl([Array(repeating: "max-age=60", count: 1000).joined(separator: ",")]).maxAge == 60)
    }
}
