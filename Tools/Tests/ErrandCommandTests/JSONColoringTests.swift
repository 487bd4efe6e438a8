import Foundation
import Testing

@testable import ErrandCommand

struct JSONColoringTests {
    @Test func keepsNumbersAndTextsAsTheyCame() {
        let text = JSONColoring.text(of: Data(#"{"a":1.10,"b":[],"c":["x\"y",{}],"d":12345678901234567890}"#.utf8))
        let plain = text.replacing(#/\u{1b}\[[0-9]+m/#, with: "")
        #expect(plain == "{\n  \"a\": 1.10,\n  \"b\": [],\n  \"c\": [\n    \"x\\\"y\",\n    {}\n  ],\n  \"d\": 12345678901234567890\n}\n")
        #expect(text.contains("\u{1b}[94m\"a\"\u{1b}[0m"))
    }

    @Test func withoutColorItIsIndentedAllTheSame() {
        #expect(JSONColoring.text(of: Data(#"{"a":[1,"b"]}"#.utf8), isColored: false) == "{\n  \"a\": [\n    1,\n    \"b\"\n  ]\n}\n")
    }

    @Test func textThatIsNotJSONStaysAsItIs() { #expect(JSONColoring.text(of: Data("{oops".utf8)) == "{oops") }

    /// Deep nesting must not make a few bytes of a server into many times as much on the terminal.
    @Test func deepNestingIsIndentedToABound() {
        let data = Data(
            (String(repeating: "[", count: 400) + String(repeating: "1,", count: 20_000) + "1" + String(repeating: "]", count: 400)).utf8)
        let text = JSONColoring.text(of: data)
        let lines: [Substring] = text.split(separator: "\n")
        let indents = lines.map { line in line.prefix { $0 == " " }.count }
        #expect(indents.max() == 32)
        #expect(text.utf8.count < 30 * data.count)
    }

    @Test func aLongTextStaysAsItCameAfterTheLimit() {
        let data = Data((#"{"first":1,"rest":["# + String(repeating: "1,", count: 10_000) + "2]}").utf8)
        let text = JSONColoring.text(of: data, limitBytes: 1000)
        #expect(text.utf8.count < 1100 + data.count)
        #expect(text.hasSuffix("1,1,2]}\n"))
        #expect(text.replacing(#/\u{1b}\[[0-9]+m|\s/#, with: "") == String(decoding: data, as: UTF8.self))
    }
}
