import Testing

@testable import ErrandFormats

@Suite(.timeLimit(.minutes(5))) struct JSONParserTests {
    private func parsed(_ text: String) -> JSONValue? { try? JSONValue(parsing: text.utf8) }

    @Test(
        arguments: [
            ("null", nil), (" true ", true), ("false", false), ("0", 0), ("-0.5e+2", -50), ("1E2", 100), ("123.25", 123.25), ("\"\"", ""),
            ("\"a\\u00e4\\n\\/\\\"\\\\\"", "aä\n/\"\\"), ("\"\\ud83d\\ude00😀\"", "😀😀"), ("[]", []), ("[ ]", []), ("{ }", [:]),
            ("\u{FEFF}[1 , {\"a\" : [true,null]}]", [1, ["a": [true, nil]]]), ("{\"a\":1,\"a\":2}", ["a": 2]),
        ] as [(String, JSONValue)])
    func everyKindOfValueIsRead(_ text: String, _ value: JSONValue) {
        #expect(parsed(text) == value)
    }

    @Test(arguments: [
        "", " ", "tru", "nul", "True", "01", "-", "1.", ".5", "1e", "+1", "1e400", "NaN", "'a'", "\"", "\"a", "\"\\", "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ude00\"", "\"\n\"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"",
        "{\"a\":",
        "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\" 1}", "]", "1 2", "[]]", "{}x",
    ])
    func invalidJSONFails(_ text: String) {
        #expect(parsed(text) == nil)
    }

    @Test func invalidUTF8Fails() {
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
        #expect(throws: JSONParsingError(message: "more text after the value", offset: 2)) { try JSONValue(parsing: "1 x".utf8) }
    }

    @Test func noTextTraps() {
        let whole = Array(#"{"a":[1.5e3,{"b":"\ud83d\ude00\\\""}],"c":{"d":[true,null]},"e":-0}"#.utf8)
        for end in 0...whole.count {
            _ = try? JSONValue(parsing: whole[..<end])
            for byte in UInt8(0)...255 where end < whole.count {
                var changed = whole
                changed[end] = byte
                _ = try? JSONValue(parsing: changed)
            }
        }
    }

    @Test func aTextMayBeTooLong() {
        #expect(throws: JSONParsingError(message: "more than 3 bytes", offset: 3, exceedsLimit: true)) {
            try JSONValue(parsing: "1234".utf8, limitBytes: 3)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: "123".utf8, limitBytes: 3) }
        #expect(throws: Never.self) { try JSONValue(parsing: sequence(first: UInt8(ascii: "1")) { _ in nil }) }
    }
}
