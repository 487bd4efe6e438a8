import ErrandCore
import Foundation
import Testing

@testable import ErrandFormats

/// Texts that are made to break readers of JSON: RFC 8259 says which are JSON. Each is read as a value, by way of `Codable`, and
/// byte by byte cut off.
@Suite(.timeLimit(.minutes(5))) struct JSONHostileTests {
    static let accepted: [String] = [
        "[]", "[[]   ]", "[\"\"]", "[1]", "[1 ]", " [1]", "[1,null,null,null,2]", "[2] ", "[123]", "[0e+1]", "[0e1]", "[ 4]", "[-0]",
        "[-0.0]",
        "[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]", "[1e+2]", "[123.456789]",
        "[9007199254740993]",
        "[18446744073709551616]", "[0.1000000000000000055511151231257827]", "[1e-400]", "[-1e-99999]",
        "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"a\":\"b\"}", "{\"a\":\"b\",\"a\":\"c\"}", "{}", "{\"\":0}", "{\"foo\\u0000bar\": 42}",
        "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }", "{\"a\":[]}", "{\n\"a\": \"b\"\n}", "\t[\r\n]\n",
        "[\"\\u0060\\u012a\\u12AB\"]", "[\"\\uD801\\udc37\"]", "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
        "[\"\\\\u0000\"]", "[\"\\\"\"]", "[\"a/*b*/c/*d//e\"]", "[\"\\\\a\"]", "[\"\\\\n\"]", "[\"\\u0012\"]", "[\"\\uFFFF\"]", "[\"asd\"]",
        "[ \"asd\"]", "[\"\\uDBFF\\uDFFF\"]", "[\"new\\u00A0line\"]", "[\"\u{10FFFF}\"]", "[\"\u{FFFF}\"]", "[\"\\u0000\"]",
        "[\"\\u002c\"]",
        "[\"π\"]", "[\"\u{1BFFF}\"]", "[\"asd \"]", "\" \"", "[\"\\uD834\\uDd1e\"]", "[\"\\u0821\"]", "[\"\u{2028}\u{2029}\"]",
        "[\"\\uA66D\"]", "[\"€𝄞\"]", "[\"\u{7F}\"]", "[\"a\u{7F}a\"]", "false", "42", "-0.1", "null", "\"asd\"", "true", "\"\"", "[true]",
    ]

    static let refused: [String] = [
        "[1 true]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x", "[3[4]]", "[:", "[1:2]",
        "[,]",
        "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[\"\u{0B}a\"\\f]", "[*]", "[\"\"", "[1,\n1\n,1", "[{}", "[fals]", "[nul]",
        "[tru]",
        "123\u{0}", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]", "[0.1.2]", "[0.3e+]", "[0.3e]",
        "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]",
        "[9.e+]",
        "[Inf]", "[NaN]", "[\u{FF11}]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[0e+-1]", "[-123.123foo]", "[123\u{E5}]", "[-Infinity]",
        "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1.]", "[.123]", "[1.2a-3]", "[1.8011670033376514H-308]", "[012]",
        "[1e400]", "[-1e400]", "[\"x\", truth]", "{[: \"x\"}\n", "{\"x\", null}", "{\"x\"::\"b\"}", "{🇨🇭}", "{\"a\":\"a\" 123}",
        "{key: 'value'}",
        "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{9999E9999:1}", "{null:null,null:null}", "{\"id\":0,,,,,}",
        "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}/**//", "{\"a\":\"b\"}//", "{\"a\":\"b\"}/",
        "{\"a\":\"b\",,\"c\":\"d\"}",
        "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#", " ", "[\"\\uD800\\\"]", "[\"\\uD800\\u\"]",
        "[\"\\uD800\\u1\"]", "[\"\\uD800\\u1x\"]", "[\"\\uD800\"]", "[\"\\uDC00\\uD800\"]", "[\"\\uD800\\n\"]", "[\u{E9}]", "[\"\\x00\"]",
        "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\🌀\"]", "[\"\\\"]", "[\"\\u00A\"]", "[\"\\uD834\\uDd\"]", "[\"\\uD800\\uD800\\x\"]", "[\"\\a\"]",
        "[\"\\uqqqq\"]", "[\\u0020\"asd\"]", "[\\n]", "\"", "['single quote']", "abc", "[\"\\", "[\"a\u{0}a\"]", "[\"new\nline\"]",
        "[\"\t\"]",
        "\"\\UA66D\"", "\"\"x", "[\u{2060}]", "\u{FEFF}", "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]", "a\u{E5}", "[True]", "1]",
        "{\"x\": true,",
        "[][]", "]", "\u{FEFF}{}}", "{\"\":", "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"", "['", "[,", "{", "{]", "{,", "{[", "{\"a",
        "{'a'",
        "[\"\\{[\"\\{[\"\\{[\"\\{", "\u{E9}", "*", "{\"a\":\"b\"}#{}", "[\\u000A\"\"]", "[1", "[ false, nul", "{\"asd\":\"asd\"", "\u{E5}",
        "[\u{C}]", "[\u{A0}]", "\u{85}[]", "[1]\u{0}", "\u{0}", "\u{2028}[]",
    ]

    /// What is no UTF-8.
    static let bytes: [[UInt8]] = [
        [0x22, 0xFF, 0x22], [0x22, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xE0, 0x80, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xF8, 0x88, 0x80, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22], [0x5B, 0xE5, 0x5D],
        [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00], [0x00, 0x5B, 0x00, 0x5D], [0x5B, 0x00, 0x5D, 0x00],
        [0x7B, 0x22, 0xB9, 0x22, 0x3A, 0x30, 0x7D],
        [0xEF, 0xBB], [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF, 0x31], [0x31, 0xE5], [0x22, 0x5C, 0x75, 0x30, 0x30, 0x41, 0x22],
    ]

    @Test func validJSONIsReadByEveryReader() throws {
        for text in Self.accepted {
            let value = try JSONValue(parsing: text.utf8)
            #expect(try JSONValue(parsing: "\(value)".utf8) == value, "\(text)")
            if !text.contains("e-400"), !text.contains("e-99999") {
                #expect(try JSONCoding.standard.decode(JSONValue.self, from: Data(text.utf8)) == value, "\(text)")
            }
        }
    }

    @Test func invalidJSONIsRefused() {
        for text in Self.refused { #expect(throws: JSONParsingError.self, "\(text)") { try JSONValue(parsing: text.utf8) } }
        for bytes in Self.bytes { #expect(throws: JSONParsingError.self, "\(bytes)") { try JSONValue(parsing: bytes) } }
    }

    /// Each text, cut off and with each byte left out: an error or a value, and never an end of the process.
    @Test func noPartOfATextTraps() {
        for text in Self.accepted + Self.refused {
            let bytes = Array(text.utf8)
            for end in bytes.indices {
                _ = try? JSONValue(parsing: bytes[..<end])
                _ = try? JSONValue(parsing: bytes[..<end] + bytes[(end + 1)...])
            }
        }
    }

    /// Depth, length and repetition.
    @Test func largeTextsAreReadOrRefused() throws {
        let count = 100_000
        for unit in ["[", "{\"a\":", "[{\"\":"] {
            #expect(throws: JSONParsingError.self) { try JSONValue(parsing: String(repeating: unit, count: count).utf8) }
        }
        func times(_ text: String, _ separator: String = ",") -> String {
            Array(repeating: text, count: count).joined(separator: separator)
        }
        #expect(try JSONValue(parsing: "[\(times("[]"))]".utf8).arrayValue?.count == count)
        #expect(try JSONValue(parsing: "{\(times("\"a\":1"))}".utf8) == ["a": 1])
        #expect(try JSONValue(parsing: "\"\(times("\\u0061", ""))\"".utf8).stringValue?.utf8.count == count)
        #expect(try JSONValue(parsing: "1\(String(repeating: "0", count: 200))e-200".utf8).doubleValue == 1)
        _ = try? JSONValue(parsing: "1\(times("0", ""))e-\(count)".utf8)
        #expect(try JSONValue(parsing: "0.\(String(repeating: "1", count: 1022))".utf8).numberValue != nil)
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: "0.\(String(repeating: "1", count: 1023))".utf8) }
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: "1e\(times("9", ""))".utf8) }
        #expect(try JSONValue(parsing: (times(" ", "") + "1" + times("\n", "")).utf8) == 1)
    }
}
