import Errand
import TestSupport
import Testing

@testable import ErrandCore

/// Values from forms.
@Suite(.timeLimit(.minutes(5))) struct FormDecodingTests {
    private enum Sort: String, Codable { case byName = "by name" }

    private struct Filter: Codable, Equatable {
        var q = "a b&c=ä"
        var page = 2
        var isOpen = true
        var ratio = Float(0.5)
        var large = UInt64.max
        var price = Decimal(string: "12.50")
        var since: Date? = Date(timeIntervalSince1970: 1_700_000_000)
        var until: Date?
        var sort: Sort? = .byName
        var tags = ["x", "y, z"]
        var numbers: [Int]? = [1, 2]
        var site = URL(string: "https://a.example/x?y=1")
        var bytes = Data([0xFB, 0xFF])
    }

    private func decode<Value: Decodable>(_ text: String, coding: JSONCoding = .standard) throws -> Value {
        try FormURLEncoded.decode(from: Data(text.utf8), coding: coding)
    }

    @Test(
        arguments: [
            .standard, JSONCoding(dates: .secondsSince1970, keys: .snakeCase), JSONCoding(dates: .millisecondsSince1970),
        ] as [JSONCoding])
    func anEncodedFormIsDecoded(coding: JSONCoding) throws {
        let filter = Filter()
        let text = try FormURLEncoded.encode(filter, coding: coding)
        #expect(try decode(text, coding: coding) == filter, "\(text)")
    }

    @Test func missingAndEmptyValuesAreNil() throws {
        struct Token: Decodable, Equatable {
            var accessToken: String
            var expiresIn: Int?
            var scope: [String]?
            var note: String?
        }
        let coding = JSONCoding(keys: .snakeCase)
        #expect(try decode("access_token=a%2Bb+c&expires_in=&note", coding: coding) == Token(accessToken: "a+b c"))
        #expect(
            try decode("access_token=&scope=r&scope=w&expires_in=60&more=1&note=x&&", coding: coding)
                == Token(accessToken: "", expiresIn: 60, scope: ["r", "w"], note: "x"))
    }

    @Test func aFormMayBeOptionalOrWrapped() throws {
        struct Value: Decodable, Equatable { var page: Int }
        struct Wrapper: Decodable, Equatable {
            var value: Value
            init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
        }
        #expect(try decode("page=2") as Value? == Value(page: 2))
        #expect(try (decode("page=2") as Wrapper).value == Value(page: 2))
        #expect(throws: DecodingError.self) { try decode("page=2") as String }
        #expect(throws: DecodingError.self) { try decode("page=2") as Date? }
    }

    @Test func dictionariesHaveAMemberForEachName() throws {
        #expect(try decode("a=1&b=&user_name=x", coding: JSONCoding(keys: .snakeCase)) == ["a": "1", "b": "", "user_name": "x"])
        #expect(try decode("a=1&a=2&b=3") == ["a": [1, 2], "b": [3]])
        #expect(try decode("") == [String: String]())
        #expect(try decode("a=1&b=true") == ["a": JSONValue.string("1"), "b": "true"])
    }

    @Test(
        arguments: [
            ("page=", "page"), ("page=1.5", "page"), ("page=99999999999999999999", "page"), ("page=%20s3cret", "page"),
            ("page=1&page=2", "page"),
            ("isOpen=yes", "isOpen"), ("ratio=inf", "ratio"), ("float=1e39", "float"), ("ratio=0x1p3", "ratio"), ("at=s3cret", "at"),
            ("sort=s3cret", "sort"),
            ("list=1&list=s3cret", "list"),
            ("inner=s3cret", "inner"), ("bytes=s3cret!", "bytes"),
        ])
    func theErrorOfAnUnfitValueNamesItsPlace(text: String, place: String) {
        struct Inner: Decodable { var x: Int }
        struct Value: Decodable {
            var page: Int?
            var isOpen: Bool?
            var ratio: Double?
            var at: Date?
            var sort: Sort?
            var list: [Int]?
            var inner: Inner?
            var bytes: Data?
            var float: Float?

            enum CodingKeys: CodingKey { case page, isOpen, ratio, at, sort, list, inner, bytes, float }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                page = container.contains(.page) ? try container.decode(Int.self, forKey: .page) : nil
                isOpen = try container.decodeIfPresent(Bool.self, forKey: .isOpen)
                ratio = try container.decodeIfPresent(Double.self, forKey: .ratio)
                at = try container.decodeIfPresent(Date.self, forKey: .at)
                sort = try container.decodeIfPresent(Sort.self, forKey: .sort)
                list = try container.decodeIfPresent([Int].self, forKey: .list)
                inner = try container.decodeIfPresent(Inner.self, forKey: .inner)
                bytes = try container.decodeIfPresent(Data.self, forKey: .bytes)
                float = try container.decodeIfPresent(Float.self, forKey: .float)
            }
        }
        let error = #expect(throws: DecodingError.self) { try decode(text) as Value }
        switch error {
        case .typeMismatch(_, let context), .dataCorrupted(let context):
            #expect(context.codingPath.first?.stringValue == place)
        default: Issue.record("\(String(describing: error))")
        }
        // The standard library's own error of an enumeration has the text; the library's errors show nothing of it.
        if place != "sort" { #expect(!String(reflecting: error).contains("s3cret")) }
    }

    /// A type that reads any value, an array first.
    private indirect enum Anything: Decodable, Equatable {
        case list([Anything])
        case text(String)
        init(from decoder: any Decoder) throws {
            if var list = try? decoder.unkeyedContainer() {
                var elements: [Anything] = []
                while !list.isAtEnd { elements.append(try list.decode(Anything.self)) }
                self = .list(elements)
            } else {
                self = .text(try decoder.singleValueContainer().decode(String.self))
            }
        }
    }

    @Test func aRecursiveTypeIsReadOnce() throws {
        #expect(try decode("a=1&a=2&b=3") == ["a": Anything.list([.text("1"), .text("2")]), "b": .list([.text("3")])])
    }

    @Test func anInvalidFormIsAnError() {
        struct Value: Decodable { var page: Int }
        #expect(throws: DecodingError.self) { try decode("p=1") as Value }
        #expect(throws: DecodingError.self) { try decode("page=1") as Int }
        #expect(throws: DecodingError.self) { try decode("page=1") as [Int] }
        #expect(throws: DecodingError.self) { try FormURLEncoded.decode(Value.self, from: Data([0x70, 0xFF])) }
        #expect(throws: DecodingError.self) { try decode(String(repeating: "\u{301}", count: 129) + "=1&page=1") as Value }
        for value in [String(repeating: "\u{301}", count: 129), String(repeating: "%CC%81", count: 129)] {
            let error = #expect(throws: DecodingError.self) { try decode("x=\(value)&page=1") as Value }
            #expect(error.map { "\($0)".contains("combining marks") } == true)
            #expect(throws: DecodingError.self) { try decode("x=\(value)") as [String: Bool] }
        }
        let few = String(repeating: "\u{301}", count: 128)
        #expect(throws: Never.self) { try decode("x=\(few)&page=1") as Value }
        let most = String(repeating: "a=1&", count: FormURLEncoded.memberLimit - 1)
        #expect(throws: Never.self) { try decode(most + "page=1") as Value }
        #expect(throws: DecodingError.self) { try decode(most + "page=1&") as Value }
    }
}
