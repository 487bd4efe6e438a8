import ErrandFormats
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONLineSplitterTests {
    private func lines(
        _ pieces: some Sequence<some Sequence<UInt8>>, lineLimitBytes: Int = 100
    ) throws(JSONTextTooLargeError) -> [String] {
        var splitter = JSONLineSplitter(lineLimitBytes: lineLimitBytes)
        var lines: [String] = []
        func add(_ line: JSONLineSplitter.Line) { lines.append("\(line.number) " + String(decoding: line.bytes, as: UTF8.self)) }
        for piece in pieces {
            splitter.append(piece)
            while let line = try splitter.next() { add(line) }
        }
        if let line = try splitter.finish() { add(line) }
        return lines
    }

    @Test(arguments: [
        ("", []), ("\n \n\r\n", []), ("{}\n[1]\n", ["1 {}", "2 [1]"]), ("1\n\n2", ["1 1", "3 2"]), ("1\r\n\r\n2\r\n", ["1 1\r", "3 2\r"]),
        ("\"a\rb\"\n", ["1 \"a\rb\""]), ("1\n2\n ", ["1 1", "2 2"]), ("\u{1E}\n", ["1 \u{1E}"]),
    ])
    func linesAreNumberedAndEmptyOnesDropped(_ text: String, _ expected: [String]) throws {
        var random = SeededGenerator(seed: 3)
        for pieces in Array(text.utf8).divisions(&random) { #expect(try lines(pieces) == expected) }
    }

    @Test(arguments: [("1234\n12345\n", false), ("123456\n", true), ("123456", true), ("1\n      \n", true)])
    func aLineOverTheLimitIsAnErrorAtEverySplit(_ text: String, _ fails: Bool) throws {
        var random = SeededGenerator(seed: 4)
        for pieces in Array(text.utf8).divisions(&random) {
            if fails {
                let error = #expect(throws: JSONTextTooLargeError.self) { try lines(pieces, lineLimitBytes: 5) }
                #expect(error?.limitBytes == 5)
            } else {
                #expect(try lines(pieces, lineLimitBytes: 5).count == 2)
            }
        }
    }

    @Test func aLineOverTheLimitIsAnErrorBeforeItsEnd() throws {
        var splitter = JSONLineSplitter(lineLimitBytes: 5)
        splitter.append("1\n12345".utf8)
        #expect(try splitter.next()?.number == 1)
        #expect(try splitter.next() == nil)
        splitter.append("6".utf8)
        for _ in 1...2 { #expect(throws: JSONTextTooLargeError.self) { try splitter.next() } }
    }
}
