import Errand
import Foundation
import Testing

@testable import ErrandCommand

struct JSONColoringTests {
    @Test func numbersAndTextsKeepTheirSpelling() {
        let text = JSONColoring.text(of: Data(#"{"a":1.10,"b":[],"c":["x\"y",{}],"d":12345678901234567890}"#.utf8))
        let plain = text.replacing(#/\u{1b}\[[0-9]+m/#, with: "")
        #expect(plain == "{\n  \"a\": 1.10,\n  \"b\": [],\n  \"c\": [\n    \"x\\\"y\",\n    {}\n  ],\n  \"d\": 12345678901234567890\n}\n")
        #expect(text.contains("\u{1b}[94m\"a\"\u{1b}[0m"))
    }

    @Test func jsonWithoutColorIsIndented() {
        #expect(JSONColoring.text(of: Data(#"{"a":[1,"b"]}"#.utf8), isColored: false) == "{\n  \"a\": [\n    1,\n    \"b\"\n  ]\n}\n")
    }

    @Test func textThatIsNotJSONIsUnchanged() { #expect(JSONColoring.text(of: Data("{oops".utf8)) == "{oops") }

    /// Deep nesting must not make a few bytes of a server into many times as much on the terminal.
    @Test func deepNestingIsIndentedToABound() {
        let data = Data(
            (String(repeating: "[", count: 60) + String(repeating: "1,", count: 20_000) + "1" + String(repeating: "]", count: 60)).utf8)
        let text = JSONColoring.text(of: data)
        let lines: [Substring] = text.split(separator: "\n")
        let indents = lines.map { line in line.prefix { $0 == " " }.count }
        #expect(indents.max() == 32)
        #expect(text.utf8.count < 30 * data.count)
    }

    @Test func textAfterTheLimitIsUnchanged() {
        let data = Data((#"{"first":1,"rest":["# + String(repeating: "1,", count: 10_000) + "2]}").utf8)
        let text = JSONColoring.text(of: data, limitBytes: 1000)
        #expect(text.utf8.count < 1100 + data.count)
        #expect(text.hasSuffix("1,1,2]}\n"))
        #expect(text.replacing(#/\u{1b}\[[0-9]+m|\s/#, with: "") == String(decoding: data, as: UTF8.self))
    }

    /// As some servers send it.
    @Test func aByteOrderMarkIsLeftOut() {
        let data = Data([0xEF, 0xBB, 0xBF]) + Data(#"{"a":1}"#.utf8)
        #expect(JSONColoring.text(of: data, isColored: false) == "{\n  \"a\": 1\n}\n")
        #expect(JSONColoring.shown(data, isColored: false, isForTerminal: false) == Data("{\n  \"a\": 1\n}\n".utf8))
    }

    /// Foundation reads all of them as JSON, and none is what the library reads. Their bytes stay as they are.
    @Test(arguments: [String.Encoding.utf16BigEndian, .utf16LittleEndian, .utf16, .utf32])
    func jsonInOtherEncodingsIsUnchanged(encoding: String.Encoding) throws {
        for text in ["{}", "[1]", #"{"a":[{}]}"#, "]", "}}"] {
            let data = try #require(text.data(using: encoding))
            for mark in [Data(), Data([0xFF, 0xFE]), Data([0xFE, 0xFF]), Data([0xEF, 0xBB, 0xBF])] {
                #expect(JSONColoring.shown(mark + data, isColored: true, isForTerminal: true) == mark + data)
                _ = JSONColoring.text(of: mark + data)
            }
        }
    }

    /// A text that takes long to parse is not parsed.
    @Test func slowNamesAndDeepNestingAreUnchanged() {
        let name = "a" + String(repeating: "\u{300}\u{316}", count: 60_000)
        for text in ["{\"\(name)\":1}", String(repeating: "[", count: 400) + String(repeating: "]", count: 400)] {
            #expect(JSONColoring.shown(Data(text.utf8), isColored: true, isForTerminal: false) == Data(text.utf8))
        }
    }

    @Test func controlCharactersInJSONAreEscaped() {
        let data = Data("{\"a\u{9B}\":\"\u{202E}b\u{7F}\u{200D}\"}".utf8)
        let shown = JSONColoring.shown(data, isColored: false, isForTerminal: true)
        #expect(shown == Data("{\n  \"a\\u009b\": \"\\u202eb\\u007f\u{200D}\"\n}\n".utf8))
        let limited = JSONColoring.shown(data, isColored: false, isForTerminal: true, limitBytes: 0)
        #expect(!String(decoding: limited, as: UTF8.self).unicodeScalars.contains("\u{9B}"))
    }

    /// Whatever the bytes are, nothing traps. Where they are JSON, colors and indentation are all that is added; otherwise they
    /// stay as they are.
    @Test func noBytesTrapAndNoTokenChanges() {
        struct Random: RandomNumberGenerator {
            var state: UInt64
            mutating func next() -> UInt64 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return state ^ (state >> 29)
            }
        }
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\"a\"", "\"\\\"\"", "1", "-0.50", "1e9", "+1", ".5", "5.", "0x1F", "NaN", "Infinity",
            "true", "null",
            "'a'", "a:", "//c\n", "/*c*/", " ", "\n", "\t", "\u{A0}", "\u{2028}", "\u{FEFF}", "\u{301}", "ü", "\u{0}", "{\"a\":1}", "[1,2]",
            "{}", "[]", ",]",
        ]
        var random = Random(state: 42)
        var valid = 0
        for round in 0..<4000 {
            var data = Data()
            for _ in 0..<Int.random(in: 0...(round % 4 == 3 ? 2 : 12), using: &random) {
                switch round % 4 {
                case 0: data.append(UInt8.random(in: 0...255, using: &random))
                default: data += Data((pieces.randomElement(using: &random) ?? "").utf8)
                }
            }
            // Often whole.
            if round % 4 == 3 { data = Data("[1,{\"k\":[".utf8) + data + Data("]},\"x\"]".utf8) }
            if round % 16 == 5 { data = Data([0xEF, 0xBB, 0xBF]) + data }
            let shown = JSONColoring.shown(data, isColored: true, isForTerminal: false)
            guard let value = try? JSONValue(parsing: data) else {
                if shown != data { Issue.record("what is not JSON is changed: \(Array(data))") }
                continue
            }
            valid += 1
            var text = String(decoding: shown, as: UTF8.self)
            for code in ["94", "32", "33", "0"] { text = text.replacing("\u{1b}[\(code)m", with: "") }
            let isSame = tokens(text) == tokens(String(decoding: data, as: UTF8.self))
            if !isSame || (try? JSONValue(parsing: text.utf8)) != value { Issue.record("a token is changed: \(Array(data))") }
        }
        #expect(valid > 100, "\(valid)")
    }

    /// The text without white space outside strings, and without a byte order mark.
    private func tokens(_ text: String) -> [UInt8] {
        var octets: [UInt8] = []
        var (isInString, isEscaped) = (false, false)
        for scalar in text.unicodeScalars where octets.isEmpty ? scalar != "\u{FEFF}" : true {
            if !isInString, " \n\r\t".unicodeScalars.contains(scalar) { continue }
            if scalar == "\"", !isEscaped { isInString.toggle() }
            isEscaped = isInString && scalar == "\\" && !isEscaped
            octets += Array(String(scalar).utf8)
        }
        return octets
    }
}
