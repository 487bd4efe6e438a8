import ErrandFormats
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONCursorTests {
    private func read<Result>(_ text: String, _ body: (inout JSONCursor) -> Result) -> Result {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            return body(&cursor)
        }
    }

    @Test(
        arguments: [
            (#""""#, 1..<1), (#""a b"x"#, 1..<4), (#""a\"b""#, 1..<5), (#""\\""#, 1..<3),
            ("\"ä\n\"", 1..<4),
        ] as [(String, Range<Int>)])
    func aStringEndsAtItsQuotationMark(_ text: String, _ range: Range<Int>) {
        read(text) { cursor in
            let string = cursor.string()
            #expect(string == range)
            #expect(cursor.position == range.upperBound + 1)
        }
    }

    @Test(arguments: ["", "a", "\"", "\"abc", #""a\"#, #""a\""#]) func aTruncatedStringIsNotRead(_ text: String) {
        read(text) { cursor in
            let string = cursor.string()
            #expect(string == nil)
            #expect(text.isEmpty || text == "a" || cursor.next == nil, "the cursor is at the end")
        }
    }

    @Test func whiteSpaceAndAByteOrderMarkAreSkipped() {
        read("\u{FEFF} \t\r\n{\u{B}") { cursor in
            cursor.skipByteOrderMark()
            cursor.skipSpace()
            let taken = (cursor.take("["), cursor.take("{"))
            #expect(taken == (false, true))
            cursor.skipSpace()
            #expect(cursor.next == 0x0B, "a vertical tab is not white space of JSON")
        }
        read("1") { cursor in
            cursor.skipByteOrderMark()
            let isTaken = cursor.take("1")
            #expect(isTaken && cursor.next == nil)
        }
    }

    @Test func onlyAWholeByteOrderMarkIsRemoved() {
        #expect(Array(([0xEF, 0xBB, 0xBF, 1] as [UInt8]).withoutByteOrderMark) == [1])
        for bytes in [[], [0xEF, 0xBB], [1, 0xEF, 0xBB, 0xBF], [0xEF, 0xBB, 0xBE, 1]] as [[UInt8]] {
            #expect(!bytes.hasByteOrderMark && Array(bytes.withoutByteOrderMark) == bytes)
        }
    }

    @Test func eachByteHasItsRoleInAString() {
        var state = JSONStringState()
        let roles = #"{"a\"\\":1,"b"#.utf8.map { state.read($0) }
        let string: [JSONStringState.Role] = [.start, .text, .text, .text, .text, .text, .end]
        #expect(roles == [.outside] + string + [.outside, .outside, .outside, .start, .text])
        #expect(state.isInString)
    }
}
