import ErrandFormats
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct StructuredFieldTests {
    @Test func membersAndParametersAreFoundByName() throws {
        let list = try StructuredList(parsing: #""default";r=50;t=30, ("a" b);x=1.5;y"#)
        #expect(list.members[0].item?.value.stringValue == "default" && list.members[0].parameters["r"]?.integerValue == 50)
        #expect(list.members[1].innerList?.items.map(\.value) == ["a", .token("b")])
        #expect(list.members[1].parameters["x"]?.numberValue == 1.5 && list.members[1].parameters["y"]?.booleanValue == true)
        let dictionary = try StructuredDictionary(parsing: "u=2, i, d=@0, b=:AQI=:")
        #expect(dictionary.map(\.key) == ["u", "i", "d", "b"] && dictionary["i"]?.item?.value == true)
        #expect(dictionary["b"]?.item?.value.byteSequenceValue == [1, 2] && dictionary["d"]?.item?.value == .date(secondsSinceEpoch: 0))
    }

    @Test func builtFieldsAreWritten() throws {
        var list = StructuredList([.item(StructuredItem("default", parameters: ["r": 50, "t": 30]))])
        list.members.append(.innerList(StructuredInnerList([StructuredItem(1), StructuredItem(.token("b"))], parameters: ["y": true])))
        #expect(try list.serialized() == #""default";r=50;t=30, (1 b);y"#)
        var dictionary: StructuredDictionary = ["a": .item(StructuredItem(1)), "b": .item(StructuredItem(true))]
        dictionary["a"] = .item(StructuredItem(2.5))
        #expect(try dictionary.serialized() == "a=2.5, b")
        dictionary["a"] = nil
        #expect(try dictionary.serialized() == "b")
        #expect(try StructuredList().serialized() == nil && StructuredDictionary().serialized() == nil)
    }

    @Test(
        arguments: [
            ("1, 2,", 5), ("1 2", 2), ("\"a\u{7}\"", 2), ("\"a", 2), ("(1 2", 4), ("(1,2)", 2), ("1;A=2", 2), ("1000000000000000", 0),
            ("x, 1.", 5), (":a:", 1), ("?2", 1), ("%\"%FF\"", 3), ("%\"%ff\"", 0), ("@1.5", 1), ("é", 0), ("-", 1),
        ])
    func anErrorHasItsOffset(_ text: String, _ offset: Int) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredList(parsing: text) }
        #expect(error?.offset == offset, "\(error.map { "\($0)" } ?? "")")
    }

    @Test(
        arguments: [
            .integer(1_000_000_000_000_000), .integer(.min), .decimal(1e12), .decimal(.nan), .decimal(-.infinity), .string("é"),
            .string("\n"),
            .token(""), .token("1a"), .token("a b"), .date(secondsSinceEpoch: .max),
        ] as [StructuredBareItem])
    func anUnwritableValueIsRefused(_ value: StructuredBareItem) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredItem(value).serialized() }
        #expect(error?.offset == nil)
        #expect(throws: StructuredFieldError.self) { try StructuredItem(1, parameters: ["k": value]).serialized() }
    }

    @Test(arguments: ["", "A", "1", "é", "a b", "-a"]) func anInvalidKeyIsRefused(_ key: String) {
        #expect(throws: StructuredFieldError.self) { try StructuredItem(1, parameters: [key: 1]).serialized() }
    }

    @Test func bytesOfEveryLengthAreWrittenAndRead() throws {
        for count in 0..<70 {
            let item = StructuredItem(.byteSequence(Array(Data.seeded(count, seed: UInt64(count) + 1))))
            #expect(try StructuredItem(parsing: item.serialized()) == item)
        }
    }

    @Test(arguments: ["=", "==", "a===", "YQ=", "YQ===", "Y=Q=", "YQ==YQ==", "Y Q=", "YQ-_"]) func invalidBase64IsRefused(_ text: String) {
        #expect(throws: StructuredFieldError.self) { try StructuredItem(parsing: ":\(text):") }
    }

    @Test func aLongFieldTakesTimeInProportion() throws {
        let keys = (0..<100_000).map { "k\($0)" }
        let dictionary = try StructuredDictionary(parsing: keys.map { "\($0)=1" }.joined(separator: ", "))
        #expect(dictionary.count == keys.count && dictionary["k99999"]?.item?.value == 1)
        let item = try StructuredItem(parsing: "1;" + keys.joined(separator: ";"))
        #expect(item.parameters.count == keys.count)
        let list = try StructuredList(parsing: "(" + String(repeating: "1 ", count: 200_000) + ")")
        #expect(list.members.first?.innerList?.items.count == 200_000)
    }

    /// Random bytes, and random texts from the characters of fields. There is no crash. If a value is read, its written form gives the same
    /// value.
    @Test(arguments: 1...8) func randomFieldsAreReadOrRefused(_ seed: UInt64) {
        let pieces = [
            "1", "-", ".", "25", "a", "*", "B", "\"", "\\", "\"x\"", "(", ")", " ", "\t", ",", ", ", ";", ";k", "=", ":", ":YQ==:", "?",
            "?1", "@",
            "@7", "%\"", "%c3", "%bc", "%", "/", "é", "\u{0}", "k=", "k",
        ]
        var random = Data.seeded(400_000, seed: seed).makeIterator()
        func next() -> Int { Int(random.next() ?? 0) }
        var readCount = 0
        for round in 0..<6_000 {
            let isText = round % 6 != 0
            let text =
                isText
                ? (0..<(next() % 24)).map { _ in pieces[next() % pieces.count] }.joined()
                : String(decoding: (0..<(next() % 40)).map { _ in UInt8(next()) }, as: UTF8.self)
            if let item = try? StructuredItem(parsing: text) {
                readCount += 1
                #expect((try? StructuredItem(parsing: item.serialized())) == item, "\(text.debugDescription)")
            }
            if let list = try? StructuredList(parsing: text) {
                readCount += 1
                #expect((try? StructuredList(parsing: list.serialized() ?? "")) == list, "\(text.debugDescription)")
            }
            if let dictionary = try? StructuredDictionary(parsing: text) {
                readCount += 1
                #expect((try? StructuredDictionary(parsing: dictionary.serialized() ?? "")) == dictionary, "\(text.debugDescription)")
            }
        }
        #expect(readCount > 500)
    }
}
