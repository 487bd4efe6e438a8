import Foundation
import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct JSONValueAccessTests {
    private let json: JSONValue = [
        "user": ["name": "Ada", "age": 36.0, "admin": true, "address": nil], "scores": [1.5, "x", [2]], "id": 9_007_199_254_740_993,
    ]

    @Test func membersAndElementsAreReadBySubscripts() {
        #expect(json["user"]["name"].stringValue == "Ada")
        #expect(json["user"]["age"].intValue == 36 && json["user"]["age"].doubleValue == 36)
        #expect(json["user"]["admin"].boolValue == true)
        #expect(json["scores"][0].doubleValue == 1.5 && json["scores"][2][0].intValue == 2)
        #expect(json["scores"].arrayValue?.count == 3 && json["user"].objectValue?.keys.sorted() == ["address", "admin", "age", "name"])
        #expect(json["id"].numberValue == JSONNumber("9007199254740993"))
    }

    @Test func aMissingMemberOrElementIsNull() {
        #expect(json["nobody"].isNull && json["nobody"]["name"][3]["x"] == .null && json["nobody"]["name"].stringValue == nil)
        #expect(json["user"]["address"].isNull && !json["user"]["name"].isNull)
        #expect(json["scores"][3].isNull && json["scores"][-1].isNull && json["scores"]["name"].isNull && json["user"][0].isNull)
    }

    @Test func aValueOfAnotherTypeIsNilAndIsNotConverted() {
        #expect(json["user"]["age"].stringValue == nil && json["user"]["name"].intValue == nil && json["scores"][0].intValue == nil)
        #expect(json["user"].arrayValue == nil && json["scores"].objectValue == nil && json["user"]["name"].boolValue == nil)
        #expect(json["user"]["name"].doubleValue == nil && JSONValue.null.stringValue == nil)
    }

    @Test func aPropertyWhoseMemberIsMissingIsNull() throws {
        struct Envelope: Codable, Equatable {
            var code: Int
            var data: JSONValue
        }
        let read = { (text: String) in try JSONDecoder().decode(Envelope.self, from: Data(text.utf8)) }
        #expect(try read(#"{"code":0}"#).data.isNull && read(#"{"code":0,"data":null}"#).data.isNull)
        #expect(try read(#"{"code":0,"data":{"id":1}}"#).data["id"].intValue == 1)
    }

    @Test func theDescriptionIsJSON() throws {
        #expect("\(json)" == #"{"id":9007199254740993,"scores":[1.5,"x",[2]],"user":{"address":null,"admin":true,"age":36,"name":"Ada"}}"#)
        let text: JSONValue = ["quote\"": "back\\slash / \n\r\t\u{8}\u{C}\u{1} ä 😀"]
        #expect("\(text)" == #"{"quote\"":"back\\slash / \n\r\t\b\f\u0001 ä 😀"}"#)
        for value in [json, text, .null, true, 0.1, "x", [], [:]] {
            #expect(try JSONValue(parsing: "\(value)".utf8) == value)
            #expect(try JSONValue(parsing: String(reflecting: value).utf8) == value)
            #expect(try JSONDecoder().decode(JSONValue.self, from: Data("\(value)".utf8)) == value)
        }
    }

    @Test func theDebugDescriptionIsIndented() {
        #expect(
            String(reflecting: ["b": [1, ["c": nil]], "a": [], "d": [:]] as JSONValue) == """
                {
                  "a": [],
                  "b": [
                    1,
                    {
                      "c": null
                    }
                  ],
                  "d": {}
                }
                """)
    }

    @Test(arguments: ["9007199254740993", "-9007199254740993", "9223372036854775807", "18446744073709551615", "0.1", "12.34", "1e300", "7"])
    func codersOfFoundationKeepDigitsInTheirRange(_ text: String) throws {
        let parsed = try JSONValue(parsing: text.utf8)
        #expect(try JSONDecoder().decode([JSONValue].self, from: Data("[\(text)]".utf8)) == [parsed])
        #expect(try JSONDecoder().decode([JSONValue].self, from: JSONEncoder().encode([parsed])) == [parsed])
    }

    @Test func numbersAreComparedByValueInASubset() {
        #expect((["a": 1] as JSONValue).isSubset(of: ["a": 1.0, "b": 2]))
        #expect(!(["a": 9_007_199_254_740_993] as JSONValue).isSubset(of: ["a": 9_007_199_254_740_992]))
    }

    @Test func membersAreSet() {
        var json: JSONValue = ["user": ["name": "Ada"], "tags": ["a"], "note": "x"]
        json.user.name = "Joe"
        json["user"]["age"] = 36
        json.address.city = "London"
        json.note.text = "y"
        json.tags = nil
        #expect(json == ["user": ["name": "Joe", "age": 36], "tags": nil, "note": ["text": "y"], "address": ["city": "London"]])
    }

    @Test func valuesAreMadeFromVariables() {
        let (name, age, isNew, ratio, id) = ("Ada", 36, true, 0.1, UInt64.max)
        let json: JSONValue = [
            "name": JSONValue(name), "age": JSONValue(age), "isNew": JSONValue(isNew), "ratio": JSONValue(exactly: ratio) ?? nil,
        ]
        #expect("\(json)" == #"{"age":36,"isNew":true,"name":"Ada","ratio":0.1}"#)
        #expect(JSONValue(id).numberValue.flatMap { UInt64(exactly: $0) } == id && JSONValue(exactly: Double.nan) == nil)
        #expect(JSONValue([1, JSONValue(name)]) == [1, "Ada"] && JSONValue(["a": 1]) == ["a": 1])
    }

    @Test func membersAreProperties() {
        let json: JSONValue = ["user": ["name": "Ada", "ids": [1, 2]], "isNull": 7]
        #expect(json.user.name.stringValue == "Ada" && json.user.ids[1].intValue == 2 && json.user.nothing.at.all.isNull)
        #expect(json["isNull"].intValue == 7)
    }
}
