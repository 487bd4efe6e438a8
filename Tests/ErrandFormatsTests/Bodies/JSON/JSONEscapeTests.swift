import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONEscapeTests {
    private func read(_ text: String, at start: Int = 0) -> JSONEscape? {
        Array(text.utf8).withUnsafeBufferPointer { JSONEscape(in: $0, at: start) }
    }

    @Test(
        arguments: [
            (#"\""#, "\"", 2), (#"\\"#, "\\", 2), (#"\/"#, "/", 2), (#"\b"#, "\u{08}", 2), (#"\f"#, "\u{0C}", 2), (#"\n"#, "\n", 2),
            (#"\r"#, "\r", 2), (#"\t"#, "\t", 2), (#"\u0041x"#, "A", 6), (#"\u00e9"#, "é", 6), (#"\u00E9"#, "é", 6), (#"\u0000"#, "\0", 6),
            (#"\uD83D\uDE00x"#, "😀", 12),
        ] as [(String, Unicode.Scalar, Int)])
    func anEscapeRepresentsACharacter(_ text: String, _ scalar: Unicode.Scalar, _ end: Int) {
        #expect(read(text)?.scalar == scalar)
        #expect(read(text)?.end == end)
        #expect(read("ab" + text, at: 2)?.end == end + 2)
        #expect(read(text).map { Array($0.octets) } == Array(String(Character(scalar)).utf8))
    }

    @Test(arguments: [#"\uD83D"#, #"\uDE00"#, #"\uD83Dx"#, #"\uD83D\n"#, #"\uD83D\u0041"#, #"\uD83D\uD83D"#, #"\uD83D\uDE0"#])
    func anUnpairedSurrogateIsNoCharacter(_ text: String) throws {
        let escape = try #require(read(text))
        #expect(escape.scalar == nil && escape.end == 6)
        #expect(Array(escape.octets) == Array("\u{FFFD}".utf8))
    }

    @Test(arguments: ["", "\\", "a", #"\x"#, #"\'"#, #"\u"#, #"\u004"#, #"\u004g"#, #"\u+041"#, #"\u-041"#, #"\u 041"#, #"\U0041"#])
    func anyOtherTextIsNotAnEscape(_ text: String) { #expect(read(text) == nil) }
}
