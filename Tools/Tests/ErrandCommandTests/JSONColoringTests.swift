import Foundation
import Testing

@testable import ErrandCommand

struct JSONColoringTests {
    @Test func keepsNumbersAndTextsAsTheyCame() {
        let text = JSONColoring.text(of: Data(#"{"a":1.10,"b":[],"c":["x\"y",{}],"d":12345678901234567890}"#.utf8))
        let plain = text.replacing(#/\u{1b}\[[0-9]+m/#, with: "")
        #expect(plain == "{\n  \"a\": 1.10,\n  \"b\": [],\n  \"c\": [\n    \"x\\\"y\",\n    {}\n  ],\n  \"d\": 12345678901234567890\n}\n")
        #expect(text.contains("\u{1b}[34m\"a\"\u{1b}[0m"))
    }

    @Test func leavesWhatIsNoJSONAsItIs() { #expect(JSONColoring.text(of: Data("{oops".utf8)) == "{oops") }
}
