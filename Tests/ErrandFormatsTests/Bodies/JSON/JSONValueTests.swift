import ErrandFormats
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONValueTests {
    @Test(
        arguments: [
            ("null", nil), ("true", true), ("false", false), ("1", 1), ("0", 0), ("-1.5e2", -150), ("\"\"", ""), ("\"true\"", "true"),
            ("\"\\u00e9\\n\"", "é\n"), ("[]", []),
            ("{}", [:]), ("[1,[true,null],{\"a\":{}}]", [1, [true, nil], ["a": [:]]]),
        ] as [(String, JSONValue)])
    func everyKindOfValueIsReadAndWritten(_ json: String, _ value: JSONValue) throws {
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)) == value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
    }

    @Test func theLastOfSeveralMembersWithOneNameCounts() {
        let value: JSONValue = ["a": 1, "b": 2, "a": 3]
        #expect(value == .object(["a": .number(3), "b": .number(2)]))
    }

    @Test(
        arguments: [
            ([:], ["a": 1], true), (["a": 1], ["a": 1, "b": 2], true), (["a": 1], ["a": 2], false), (["a": nil], [:], false),
            (["a": nil], ["a": nil], true),
            (["a": ["b": 1]], ["a": ["b": 1, "c": 2]], true), (["a": ["b": 1]], ["a": 1], false), ([1, 2], [1, 2], true),
            ([1, 2], [2, 1], false),
            ([1], [1, 2], false), ([["a": 1]], [["a": 1, "b": 2]], true), ([], [1], false), (1, 1, true), (1, "1", false), (1, true, false),
            (nil, nil, true),
            ([:], [], false), ("a", "A", false),
        ] as [(JSONValue, JSONValue, Bool)])
    func aSubsetHasAllItsMembersInTheWhole(_ subset: JSONValue, _ whole: JSONValue, _ isSubset: Bool) {
        #expect(subset.isSubset(of: whole) == isSubset)
    }
}
