import ErrandFormats
import ErrandRedaction
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)))
struct JSONRedactionTests {
    private func isSensitive(_ name: String) -> Bool { ["token", "secret", "pässword"].contains(name.lowercased()) }

    private func redacted(_ text: String) -> String { redacted(Array(text.utf8)) }

    private func redacted(_ bytes: [UInt8]) -> String {
        let edits = JSONRedaction(bytes, placeholder: "X", isSensitive: isSensitive).edits
        return String(decoding: edits.applied(to: bytes), as: UTF8.self)
    }

    @Test(
        arguments: [
            (#"{"a":1}"#, #"{"a":1}"#), (#"{"token":"abc"}"#, #"{"token":"X"}"#),
            ("{ \"Token\" :\n\t\"abc\" , \"b\":[1, 2 ] }", "{ \"Token\" :\n\t\"X\" , \"b\":[1, 2 ] }"),
            (#"{"t\u006fken":"abc"}"#, #"{"t\u006fken":"X"}"#), (#"{"p\u00e4ssword":"abc"}"#, #"{"p\u00e4ssword":"X"}"#),
            (#"{"token":"a\"b\\"}"#, #"{"token":"X"}"#), (#"{"token":123.5e7,"n":1}"#, #"{"token":0,"n":1}"#),
            (#"{"token":null,"secret":true,"a":{"token":""}}"#, #"{"token":null,"secret":true,"a":{"token":""}}"#),
            (#"{"token":{"a":"b","c":[{"d":"e"}]},"z":"z"}"#, #"{"token":{},"z":"z"}"#),
            (#"{"secret":["a","b"],"z":"z"}"#, #"{"secret":[],"z":"z"}"#),
            (#"[{"a":{"token":"1"}},{"token":"2"},"token"]"#, #"[{"a":{"token":"X"}},{"token":"X"},"token"]"#),
            // A sign is not a hexadecimal digit, so the name is not `token`.
            (#"{"t\u+06fken":"abc"}"#, #"{"t\u+06fken":"abc"}"#),
            (#"{"token":"1","token":"2"}"#, #"{"token":"X","token":"X"}"#), (#""token""#, #""token""#), ("", ""), ("7", "7"),
            ("\u{FEFF}{\"token\":\"a\"}", "\u{FEFF}{\"token\":\"X\"}"), (#"{"ä":"😀","token":"😀"}"#, #"{"ä":"😀","token":"X"}"#),
        ] as [(String, String)])
    func onlyValuesOfSensitiveNamesAreReplaced(_ text: String, _ expected: String) {
        #expect(redacted(text) == expected)
    }

    @Test(
        arguments: [
            (#"{"a":1,"token":"abc"#, #"{"a":1,"token":"X""#), (#"{"token":{"a":"b"#, #"{"token":"X""#),
            (#"{"token":abc}"#, #"{"token":"X""#),
            (#"{"a":1,"tok"#, #"{"a":1,"X""#), (#"{"a":1 "token":"abc"}"#, #"{"a":1"X""#), ("token=abc", "\"X\""),
            ("plain text", "\"X\""), (#"{"a":1, "#, #"{"a":1, "#), (#"{"a":1,"b":"#, #"{"a":1,"b":"#),
            (#"{"a":1} {"token":"b"}"#, #"{"a":1} {"token":"X"}"#), (#""token": "abc","#, "\"X\""), (#"{"a":"\"#, #"{"a":"X""#),
            ("{'token': 'abc'}", "{\"X\""), (#"{"a":1,token:"abc"}"#, #"{"a":1,"X""#), (#"{"a":truX,"token":1}"#, #"{"a":"X""#),
            (#"{"a":1,"token":"b"c","d":1}"#, #"{"a":1,"token":"X""#), (#"{"a":{"token":1x}}"#, #"{"a":{"token":"X""#),
            (#"{"token":{"a":1}b}"#, #"{"token":"X""#), (#"{"token":"b","c"}"#, #"{"token":"X""#), (#"{"token":truex}"#, #"{"token":"X""#),
            (#"{"token":"b","c":d}"#, #"{"token":"X","c":"X""#), (#"{"a":{"token":"b"} c}"#, #"{"a":{"token":"X"}"X""#),
        ] as [(String, String)])
    func invalidJSONIsReplacedFromItsFirstFault(_ text: String, _ expected: String) {
        #expect(redacted(text) == expected)
        #expect(JSONRedaction(Array(text.utf8), placeholder: "X", isSensitive: isSensitive).isValid == false)
    }

    @Test func secretsInDeepNestingAreReplaced() {
        let deep = String(repeating: "[", count: 100_000) + #"{"token":"abc"}"#
        #expect(!redacted(deep).contains("abc"))
        #expect(!redacted(String(repeating: "[", count: 257) + #"{"token":"abc"}"#).contains("abc"))
        #expect(
            redacted(String(repeating: #"[{"a":"#, count: 100) + #"{"token":"abc"}"# + String(repeating: "}]", count: 100)).contains(
                #"{"token":"X"}}]"#))
        let deepest = String(repeating: "[", count: 256) + "1" + String(repeating: "]", count: 256)
        #expect(JSONRedaction(Array(deepest.utf8), placeholder: "X", isSensitive: isSensitive).isValid)
    }

    @Test func noTextTrapsOrKeepsItsSecret() {
        let whole = Array(#"{"a":[1,{"token":"s3cr\u0065t","b":"\\\""}],"secret":{"x":["s3cret"]},"token":12345}"#.utf8)
        for end in 0...whole.count {
            let text = redacted(Array(whole[..<end]))
            #expect(!text.contains("s3cr") && !text.contains("12345"), "\(text)")
            for byte in UInt8(0)...127 {
                var changed = whole
                if end < changed.count { changed[end] = byte }
                _ = redacted(changed)
            }
        }
    }

    @Test func theReplacedValuesAreListed() {
        let redaction = JSONRedaction(
            Array(#"{"token":"a\u0062","secret":{"x":["c",12]},"d":"e"}"#.utf8), placeholder: "X", isSensitive: isSensitive)
        #expect(redaction.values == ["ab", "c", "12"])
    }

    @Test func otherStringsCanBeRewritten() {
        let redaction = JSONRedaction(
            Array(#"{"next":"http:\/\/a?token=b","token":"http://x"}"#.utf8), placeholder: "X", isSensitive: isSensitive,
            rewrite: { $0.hasPrefix("http") ? "<\"\n>" : nil })
        let text = String(
            decoding: redaction.edits.applied(to: Array(#"{"next":"http:\/\/a?token=b","token":"http://x"}"#.utf8)), as: UTF8.self)
        #expect(text == #"{"next":"<\"\n>","token":"X"}"#)
    }

    @Test func namesCanBeRewritten() {
        let bytes = Array(#"{"http:\/\/u:p@a":1,"token":{"http://b":2}}"#.utf8)
        let redaction = JSONRedaction(
            bytes, placeholder: "X", isSensitive: isSensitive, rewrite: { $0.hasPrefix("http") ? "U" : nil })
        #expect(String(decoding: redaction.edits.applied(to: bytes), as: UTF8.self) == #"{"U":1,"token":{}}"#)
    }

    struct Text: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: @Sendable (Int) -> String

        init(_ name: String, _ text: @escaping @Sendable (Int) -> String) { (testDescription, self.text) = (name, text) }
    }

    private static let texts = [
        Text("an array") { "[" + String(repeating: "\"a\",", count: $0) + "1]" },
        Text("secrets") { "[" + String(repeating: "{\"token\":[1,{}]},", count: $0) + "1]" },
        Text("arrays in arrays") { String(repeating: "[", count: $0) },
        Text("objects in arrays") { String(repeating: "[{\"a\":", count: $0) },
        Text("secrets in secrets") { String(repeating: "{\"token\":[", count: $0) },
        Text("an endless secret") { "{\"token\":[" + String(repeating: "[1],", count: $0) },
        Text("not JSON") { String(repeating: "a: ", count: $0) },
        Text("several texts") { String(repeating: "{\"a\":1}", count: $0) },
    ]

    @Test(arguments: texts) func eightTimesTheBytesTakeAboutEightTimesAsLong(_ text: Text) {
        let growth = growth(of: 4_000, making: text.text) { _ = redacted($0) }
        #expect(growth < 30, "quadratic work grows 64 times")
    }

    @Test(arguments: texts) func noTextNeedsALargeStack(_ text: Text) async {
        let bytes = Array(text.text(100_000).utf8)
        let isDone = await onSmallStack {
            _ = JSONRedaction(bytes, placeholder: "X", isSensitive: { $0 == "token" })
            return true
        }
        #expect(isDone)
    }
}
