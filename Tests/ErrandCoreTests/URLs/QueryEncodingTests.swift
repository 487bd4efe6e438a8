import Errand
import Testing

/// Queries and forms from dictionaries, Foundation's items and `Encodable` values.
@Suite(.timeLimit(.minutes(5))) struct QueryEncodingTests {
    private enum Sort: String, Encodable { case byName = "by name" }

    private struct Filter: Encodable {
        var q = "a b&c"
        var page = 2
        var isOpen = true
        var ratio = Float(0.5)
        var price = Decimal(string: "12.50")
        var since: Date? = Date(timeIntervalSince1970: 1_700_000_000.9)
        var until: Date?
        var sort: Sort? = .byName
        var tags = ["x", "y, z"]
        var none: [Int] = []
        var site = URL(string: "https://a.example/x")
        var bytes = Data("hi".utf8)
    }

    @Test func valuesOfFoundationAreTexts() {
        let query: URLQuery = [
            "ratio": Float(0.5), "price": Decimal(string: "12.50"), "at": Date(timeIntervalSince1970: 1_700_000_000.9), "on": true,
        ]
        #expect(query.encoded == "ratio=0.5&price=12.5&at=2023-11-14T22:13:20Z&on=true")
    }

    @Test func aLiteralAndAnEncodedValueMakeTheSameQuery() throws {
        struct Values: Encodable {
            var at = Date(timeIntervalSince1970: 1_700_000_000.9)
            var price = Decimal(string: "12.50")
            var url = URL(string: "b?c", relativeTo: URL(string: "https://a.example/x"))
            var data = Data([0xFB, 0xFF])
            var ratio = 1e20
        }
        let values = Values()
        let literal: URLQuery = ["at": values.at, "price": values.price, "url": values.url, "data": values.data, "ratio": values.ratio]
        #expect(try URLQuery(encoding: values) == literal)
        #expect(literal["url"] == "https://a.example/b?c" && literal["data"] == "+/8=")
    }

    @Test func aDictionaryIsSortedByName() {
        let values = ["b": "2", "a": "1 +", "c": ""]
        #expect(URLQuery(values).encoded == "a=1%20%2B&b=2&c=")
        #expect(FormURLEncoded.encode(values) == "a=1+%2B&b=2&c=")
        let literal: URLQuery = ["b": "2", "a": "1"]
        #expect(literal.encoded == "b=2&a=1", "a literal keeps its order")
    }

    @Test func foundationsItemsKeepTheirOrder() {
        let items = [URLQueryItem(name: "b", value: "2 3"), URLQueryItem(name: "flag", value: nil), URLQueryItem(name: "b", value: "")]
        #expect(URLQuery(queryItems: items).encoded == "b=2%203&flag&b=")
    }

    @Test func aStructureIsEncodedInItsOrderWithoutNil() throws {
        let query = try URLQuery(encoding: Filter())
        #expect(
            query.encoded
                == "q=a%20b%26c&page=2&isOpen=true&ratio=0.5&price=12.5&since=2023-11-14T22:13:20Z&sort=by%20name&tags=x&tags=y,%20z"
                + "&site=https://a.example/x&bytes=aGk%3D")
        #expect(try FormURLEncoded.encode(["at": Date(timeIntervalSince1970: 0)]) == "at=1970-01-01T00%3A00%3A00Z")
    }

    @Test(arguments: [
        (URLQuery.ArrayStyle.repeated, "ids=1&ids=2&names=a,b"), (.brackets, "ids%5B%5D=1&ids%5B%5D=2&names%5B%5D=a,b"),
        (.commas, "ids=1,2&names=a%2Cb"),
    ])
    func arraysAreWrittenInTheChosenStyle(_ style: URLQuery.ArrayStyle, _ expected: String) throws {
        struct Lists: Encodable { var ids = [1, 2], names = ["a,b"], none: [Int] = [] }
        #expect(try URLQuery(encoding: Lists(), arrays: style).encoded == expected)
        var query = URLQuery()
        query.append("ids", [1, 2], style: style)
        query.append("names", ["a,b"], style: style)
        query.append("none", [Int](), style: style)
        #expect(query.encoded == expected)
    }

    @Test func formsHaveTheArrayStyles() throws {
        let lists = ["ids": [1, 2]]
        #expect(try FormURLEncoded.encode(lists) == "ids=1&ids=2")
        #expect(try FormURLEncoded.encode(lists, arrays: .brackets) == "ids%5B%5D=1&ids%5B%5D=2")
        #expect(try FormURLEncoded.encode(lists, arrays: .commas) == "ids=1%2C2")
    }

    @Test func dictionariesOfAnyValueAreSortedByName() throws {
        #expect(try URLQuery(encoding: ["b": 2, "a": nil, "c": 3] as [String: Int?]).encoded == "b=2&c=3")
        #expect(
            try URLQuery(encoding: Dictionary(uniqueKeysWithValues: (0..<9).map { ("k\($0)", $0) })).items.map(\.value)
                == (0..<9).map { "\($0)" })
    }

    private struct Optionals: Encodable {
        var on = true
        var note: String?
        var count: Int? = nil
        var list: [Bool?] = [false, nil]
        var nested: Base?
    }

    @Test func boolsAndNilsAreWrittenInTheChosenStyle() throws {
        #expect(try FormURLEncoded.encode(Optionals()) == "on=true&list=false")
        #expect(try FormURLEncoded.encode(Optionals(note: "x", count: 1), bools: .numbers) == "on=1&note=x&count=1&list=0")
        #expect(try FormURLEncoded.encode(Optionals(), nils: .empty) == "on=true&note=&count=&list=false&list=&nested=")
        #expect(
            try FormURLEncoded.encode(Optionals(), arrays: .commas, bools: .numbers, nils: .null)
                == "on=1&note=null&count=null&list=0%2Cnull&nested=null")
        #expect(try FormURLEncoded.encode(["b": nil, "a": true] as [String: Bool?], bools: .numbers, nils: .empty) == "a=1&b=")
        #expect(throws: EncodingError.self) { try FormURLEncoded.encode(Optional<Int>.none, nils: .empty) }
    }

    private enum Field: String, CodingKey, CodingKeyRepresentable, Encodable { case userName, aB, cD, eF, gH, iJ, kL, mN }
    /// Writes its dictionary in the place of itself.
    private struct Wrapped: Encodable {
        let all: [String: Int]
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(all)
        }
    }
    /// Has its dictionary write its members for it.
    private struct Delegating: Encodable {
        let all: [String: Int]
        func encode(to encoder: any Encoder) throws { try all.encode(to: encoder) }
    }

    @Test func nestedDictionariesAreSortedAndNamedAsInJSON() throws {
        let names = ["aB", "cD", "eF", "gH", "iJ", "kL", "mN", "userName"]
        let all = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
        let fields = Dictionary(uniqueKeysWithValues: all.compactMap { name, number in Field(rawValue: name).map { ($0, number) } })
        #expect(fields.count == all.count)
        let lists = Dictionary(uniqueKeysWithValues: fields.map { ($0, [$1, $1]) })
        let values: [any Encodable] = [all, Wrapped(all: all), Optional(all), Delegating(all: all), fields]
        for coding in [JSONCoding.standard, JSONCoding(keys: .snakeCase)] {
            for value in values {
                let written = try JSONValue(parsing: coding.encode(value)).objectValue?.keys.sorted() ?? []
                let numbers = written.map { name in names.firstIndex { $0 == name || $0.inSnakeCase == name } ?? -1 }
                let expected = zip(written, numbers).map { "\($0)=\($1)" }
                #expect(try FormURLEncoded.encode(value, coding: coding) == expected.joined(separator: "&"), "\(type(of: value))")
                #expect(try URLQuery(encoding: value, coding: coding).encoded == expected.joined(separator: "&"))
            }
        }
        #expect(
            try FormURLEncoded.encode(lists) == names.enumerated().map { "\($1)=\($0)&\($1)=\($0)" }.joined(separator: "&"))
        #expect(try FormURLEncoded.encode([3: "c", 1: "a", 2: "b"]) == "1=a&2=b&3=c")
        #expect(throws: EncodingError.self) { try FormURLEncoded.encode(["outer": all]) }
    }

    private struct Nested: Encodable {
        struct Owner: Encodable { var password = "hunter2" }
        var owner = Owner()
    }
    private struct Lists: Encodable { var lists = [["hunter2"]] }
    private struct Objects: Encodable { var objects = [Nested.Owner()] }
    private struct ByHand: Encodable {
        enum Key: CodingKey { case outer, inner }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            var nested = container.nestedContainer(keyedBy: Key.self, forKey: .outer)
            try nested.encode("hunter2", forKey: .inner)
        }
    }
    private class Base: Encodable { var id = 1 }

    @Test(
        arguments: [
            (Nested(), "'owner' is nested"), (Lists(), "the array has no name"), (Objects(), "'objects.0' is nested"),
            (ByHand(), "'outer' is nested"),
            ("hunter2", "has no name"), (["hunter2"], "the array has no name"), (7, "has no name"),
        ] as [(any Encodable & Sendable, String)])
    func anUnencodableQueryValueIsAnErrorWithoutTheValue(_ value: any Encodable & Sendable, _ expected: String) {
        let error = #expect(throws: EncodingError.self) { try URLQuery(encoding: value) }
        #expect(error.map { "\($0)".contains(expected) && !"\($0)".contains("hunter2") } == true, "\(String(describing: error))")
        #expect(throws: EncodingError.self) { try FormURLEncoded.encode(value) }
    }

    @Test func aClassIsEncodedLikeAStructure() throws { #expect(try URLQuery(encoding: Base()).encoded == "id=1") }
}

extension String {
    fileprivate var inSnakeCase: String { map { $0.isUppercase ? "_" + $0.lowercased() : String($0) }.joined() }
}
