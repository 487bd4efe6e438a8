import HTTPTypes
import Testing

@testable import ErrandFormats

/// draft-ietf-httpbis-no-vary-search.
@Suite(.timeLimit(.minutes(5))) struct NoVarySearchTests {
    private static func field(_ lines: [String]) -> NoVarySearch {
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .known("No-Vary-Search"), value: line)) }
        return NoVarySearch(fields)
    }

    private static func areEquivalent(_ field: NoVarySearch, _ one: String?, _ other: String?) -> Bool {
        switch (field.normalForm(of: one?[...]), field.normalForm(of: other?[...])) {
        case (nil, nil): one == other
        case (let one?, let other?): Array(one.utf8) == Array(other.utf8)
        default: false
        }
    }

    // MARK: The field

    /// Fields, and the parameters among `a`, `b` and `x` whose values select the response. The last member is whether the order of the
    /// names does.
    private static let valid: [([String], String, Bool)] = [
        (["params"], "", true), (["params=?1"], "", true), (["params, except=()"], "", true),
        (["params=(\"a\")"], "bx", true), (["params=(\"a\" \"x\")"], "b", true), (["params=(\"x\" \"a\" \"a\")"], "b", true),
        (["params, except=(\"x\")"], "x", true), (["except=(\"x\"), params"], "x", true),
        (["key-order"], "abx", false), (["key-order=?1"], "abx", false),
        (["key-order, params=(\"a\")"], "bx", false), (["params, key-order, except=(\"x\")"], "x", false),
        (["key-order=?0, params"], "", true), (["params=?0, key-order"], "abx", false),
        // Two lines are one list, and the last member of a key counts.
        (["params", "except=(\"a\")"], "a", true), (["params=(\"a\"), params=(\"b\")"], "ax", true),
        // Unknown keys and parameters are ignored.
        (["params, later=(1 2), other=\"x\""], "", true), (["params;q=1"], "", true), (["params=(\"a\";q=1);r"], "bx", true),
        // A name is in the form of a query.
        (["params=(\"%61\")"], "bx", true),
    ]

    @Test(arguments: valid) func aValidFieldNamesParameters(_ lines: [String], _ selecting: String, _ dependsOnOrder: Bool) {
        let field = Self.field(lines)
        #expect(field != .standard)
        for name in ["a", "b", "x"] {
            let other = ["a", "b", "x"].map { $0 == name ? "\($0)=2" : "\($0)=1" }.joined(separator: "&")
            #expect(Self.areEquivalent(field, "a=1&b=1&x=1", other) != selecting.contains(name), "\(name)")
        }
        let hasOrder = selecting.count > 1
        #expect(Self.areEquivalent(field, "a=1&b=1&x=1", "x=1&b=1&a=1") == (!hasOrder || !dependsOnOrder))
    }

    /// Fields that have the meaning of a missing field.
    private static let standard: [[String]] = [
        [], [""], ["unknown-key"], ["key-order=\"not a boolean\""], ["key-order=1"], ["key-order=()"], ["params=\"neither\""],
        ["params=1"], ["params=(not-a-string)"], ["params=(\"a\" 1)"], ["params=(\"a\"), except=(\"x\")"], ["params=(), except=()"],
        ["params=?0, except=(\"x\")"], ["params, except=(not-a-string)"], ["params, except=\"not an inner list\""],
        ["params, except=?1"], ["except=(\"x\")"], ["except=()"], ["params=?0"], ["params=()"], ["key-order=?0"],
        // Not a dictionary: the whole field is invalid.
        ["params,"], ["params=(\"a\""], ["params=\"a"], ["Params"], ["params=(\"\u{E9}\")"], ["(\"a\")"], ["params", "?1"],
        ["params key-order"],
        // Too many names, or too many bytes.
        ["params=(" + (0...NoVarySearch.namesLimit).map { "\"n\($0)\"" }.joined(separator: " ") + ")"],
        ["params=(\"" + String(repeating: "a", count: FieldLimits.valueBytes) + "\")"],
    ]

    @Test(arguments: standard) func anInvalidFieldIsAMissingField(_ lines: [String]) {
        let field = Self.field(lines)
        #expect(field == .standard)
        #expect(field.normalForm(of: "a=1") == nil && field.normalForm(of: nil) == nil)
    }

    @Test func theLargestNumberOfNamesIsRead() {
        let names = (1...NoVarySearch.namesLimit).map { "\"n\($0)\"" }.joined(separator: " ")
        #expect(Self.areEquivalent(Self.field(["params=(\(names))"]), "n64=1&a=2", "a=2&n1=3"))
    }

    // MARK: Queries

    /// Two queries, and whether they are equivalent with `key-order`.
    private static let queries: [(String?, String?, Bool)] = [
        (nil, "", true), (nil, "&", true), ("a=x", "%61=%78", true), ("a=\u{E9}", "a=%C3%A9", true), ("a=%f6", "a=%ef%bf%bd", true),
        ("a=x&&&&", "a=x", true), ("a=", "a", true), ("a=%20", "a=+", true), ("a= &", "a=+", true), ("=x", "%", false), ("=x", "=x&", true),
        ("a=1&b=2", "b=2&a=1", true), ("a=1&a=2", "a=2&a=1", false), ("b=1&a=1&a=2", "a=1&b=1&a=2", true), ("a=1", "a=2", false),
        ("a=1", "A=1", false), ("a=1", "a=1&b", false), ("a=1=2", "a=1%3D2", true), ("a%3D1=2", "a=1%3D2", false), ("a%26b", "a&b", false),
        // An escape that is not complete is text.
        ("a=%", "a=%25", true), ("a=%4", "a=%254", true), ("a=%zz", "a=%25zz", true), ("a=%2%30", "a=%2520", true),
        // Canonically equivalent texts are different octets.
        ("a=\u{E9}", "a=e\u{301}", false), ("\u{E9}=1", "e\u{301}=1", false), ("a=\u{FEFF}", "a=", false),
        ("a&\u{301}b", "\u{301}b&a", true),
    ]

    @Test(arguments: queries) func queriesAreComparedByTheirParameters(_ one: String?, _ other: String?, _ areEquivalent: Bool) {
        #expect(Self.areEquivalent(Self.field(["key-order"]), one, other) == areEquivalent)
    }

    @Test func namesInTheFieldHaveTheFormOfQueries() {
        let field = Self.field(["params=(\"%C3%A9+%E6%B0%97\")"])
        for query in ["\u{E9} \u{6C17}=1", "\u{E9}+\u{6C17}=2", "%C3%A9%20\u{6C17}=3", "%C3%A9+%E6%B0%97=4", "%c3%a9+%e6%b0%97"] {
            #expect(Self.areEquivalent(field, query, nil), "\(query)")
        }
        #expect(!Self.areEquivalent(field, "e\u{301}+\u{6C17}=1", nil))
    }

    @Test func differentFieldsHaveDifferentForms() {
        let fields = [
            ["params"], ["params=(\"a\")"], ["params, except=(\"a\")"], ["key-order"], ["key-order, params"], ["params=(\"a&b\")"],
        ]
        let forms = fields.map { Self.field($0).normalForm(of: "c=1") }
        #expect(Set(forms).count == fields.count && !forms.contains(nil))
        #expect(Self.field(["params=(\"a&b\")"]).normalForm(of: "") != Self.field(["params=(\"a\" \"b\")"]).normalForm(of: ""))
    }

    // MARK: The algorithm of the draft

    /// Compares two queries by the steps of section 6, without normal forms.
    private static func areEquivalentBySteps(
        _ one: String, _ other: String, ignored: Set<String>?, selecting: Set<String>?, dependsOnOrder: Bool
    ) -> Bool {
        func pairs(_ query: String) -> [[String]] {
            let items = query.split(separator: "&").map { item -> [String] in
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                return [parts[0], parts.count == 2 ? parts[1] : ""]
            }
            let kept = items.filter { pair in ignored.map { !$0.contains(pair[0]) } ?? selecting?.contains(pair[0]) ?? true }
            guard !dependsOnOrder else { return kept }
            return Set(kept.map { $0[0] }).sorted().flatMap { name in kept.filter { $0[0] == name } }
        }
        return pairs(one) == pairs(other)
    }

    @Test func randomQueriesAreComparedAsTheStepsSay() {
        var random = Random(state: 9)
        var equivalent = 0
        for _ in 0..<20_000 {
            func names() -> Set<String> { Set((0..<random.next(3)).map { _ in ["a", "b", "c", ""][random.next(4)] }) }
            func query() -> String {
                (0..<random.next(5)).map { _ in ["a", "b", "c", ""][random.next(4)] + ["", "=", "=1", "=2"][random.next(4)] }
                    .joined(separator: "&")
            }
            let (isOnly, dependsOnOrder, chosen) = (random.next(2) == 0, random.next(2) == 0, names())
            let list = chosen.map { "\"\($0)\"" }.joined(separator: " ")
            let field = Self.field([(isOnly ? "params, except=(\(list))" : "params=(\(list))") + (dependsOnOrder ? "" : ", key-order")])
            let (one, other) = (query(), query())
            guard field != .standard else { continue }
            let expected = Self.areEquivalentBySteps(
                one, other, ignored: isOnly ? nil : chosen, selecting: isOnly ? chosen : nil, dependsOnOrder: dependsOnOrder)
            if expected { equivalent += 1 }
            #expect(Self.areEquivalent(field, one, other) == expected, "\(field): \(one) and \(other)")
        }
        #expect(equivalent > 1000)
    }
}

/// Random numbers that are the same in each run.
private struct Random {
    var state: UInt64

    mutating func next(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }
}
