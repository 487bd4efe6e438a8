import HTTPTypes
import Testing

@testable import ErrandFormats

/// The fields `Age`, `Expires` and `Vary`.
@Suite(.timeLimit(.minutes(5))) struct CachingFieldsTests {
    private static func fields(_ name: HTTPField.Name, _ values: [String]) -> HTTPFields {
        HTTPFields(values.map { HTTPField(name: name, value: $0) })
    }

    /// RFC 9111, sections 1.2.2 and 5.1.
    @Test(
        arguments: [
            ([], nil), (["0"], 0), (["7200"], 7200), (["0007"], 7), (["2147483647"], 2_147_483_647), (["2147483648"], 1 << 31),
            (["99999999999999999999"], 1 << 31), (["abc"], nil), (["-1"], nil), (["7200.0"], nil), (["7200;foo=bar"], nil), ([""], nil),
            (["0, 7200"], 0), (["7200,0"], 7200), (["0", "7200"], 0), (["7200", "0"], 7200), (["x, 5"], nil), (["x", "5"], nil),
            (["\"5\""], nil),
        ] as [([String], Int64?)])
    func theFirstAgeCounts(_ values: [String], _ expected: Int64?) { #expect(AgeField.seconds(Self.fields(.age, values)) == expected) }

    /// RFC 9111, section 5.3, and RFC 9110, section 5.6.7.
    @Test(
        arguments: [
            ([], .missing), (["Thu, 18 Aug 2050 02:01:18 GMT"], .date), (["THU, 18 AUG 2050 02:01:18 GMT"], .date),
            (["thu, 18 aug 2050 02:01:18 gmt"], .date), (["Thursday, 18-Aug-50 02:01:18 GMT"], .date),
            (["Thu Aug 18 02:01:18 2050"], .date),
            (["Thu, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 GMT"], .date), (["0"], .invalid), (["-1"], .invalid),
            ([""], .invalid), (["Thu, 18 Aug 2050 02:01:18 UTC"], .invalid), (["Thu, 18 Aug 2050 02:01:18 AEST"], .invalid),
            (["Thu, 18 Aug 2050 02:01:18"], .invalid), (["Thu, 18 Aug 50 02:01:18 GMT"], .invalid),
            (["Thu 18 Aug 2050 02:01:18 GMT"], .invalid),
            (["Thu, 18  Aug  2050 02:01:18 GMT"], .invalid), (["Thu, 18-Aug-2050 02:01:18 GMT"], .invalid),
            (["Thu, 18 Aug 2050 02.01.18 GMT"], .invalid), (["Thu, 18 Aug 2050 2:01:18 GMT"], .invalid),
            (["Thu, 31 Feb 2050 02:01:18 GMT"], .invalid), (["Thu, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:19 GMT"], .invalid),
            (["Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT"], .invalid),
        ] as [([String], Read)])
    func onlyAnExactDateIsAnExpiry(_ values: [String], _ expected: Read) {
        let date = HTTPDate(secondsSinceEpoch: 2_544_400_878)
        let expires = ExpiresField(Self.fields(.expires, values), now: HTTPDate(secondsSinceEpoch: 1_900_000_000))
        let wanted: ExpiresField =
            switch expected {
            case .missing: .missing
            case .invalid: .invalid
            case .date: .date(date)
            }
        #expect(expires == wanted)
    }

    enum Read: Sendable { case missing, invalid, date }

    /// RFC 9110, section 12.5.5.
    @Test(
        arguments: [
            ([], []), (["Foo"], ["Foo"]), (["Foo, Bar", "Baz"], ["Foo", "Bar", "Baz"]), (["foo,FOO, Foo"], ["foo"]), ([" , "], []),
            ([""], []), (["*"], nil), (["*, *"], nil), (["*", "*"], nil), ([", *"], nil), (["", "*"], nil), (["*, Foo"], nil),
            (["Foo, *"], nil),
            (["Foo Bar"], nil), (["Fo\u{F6}"], nil), (["\"Foo\""], nil), (["a:b"], nil),
        ] as [([String], [String]?)])
    func namesAreRead(_ values: [String], _ expected: [String]?) {
        let names: [String]? =
            if case .names(let names) = VaryField(Self.fields(.vary, values)) { names.map(\.rawName) } else { nil }
        #expect(names == expected)
    }

    @Test func moreThan16NamesAreAnyName() {
        func vary(_ count: Int) -> VaryField {
            VaryField(Self.fields(.vary, [(0..<count).map { "f\($0)" }.joined(separator: ", ")]))
        }
        if case .names(let names) = vary(16) { #expect(names.count == 16) } else { Issue.record("16 names are allowed") }
        #expect(vary(17) == .any)
        #expect(VaryField(Self.fields(.vary, [String(repeating: "a", count: 300)])) == .any)
    }
}
