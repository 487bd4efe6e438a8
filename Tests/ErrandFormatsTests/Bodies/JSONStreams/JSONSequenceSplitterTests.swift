import ErrandFormats
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONSequenceSplitterTests {
    private func texts(
        _ pieces: some Sequence<some Sequence<UInt8>>, textLimitBytes: Int = 100, isEnded: Bool = true
    ) throws(JSONTextTooLargeError) -> [String] {
        var splitter = JSONSequenceSplitter(textLimitBytes: textLimitBytes)
        var texts: [String] = []
        func add(_ item: JSONSequenceSplitter.Item) {
            texts.append("\(item.number)\(item.isCutOff ? "!" : "") " + String(decoding: item.bytes, as: UTF8.self).filter { $0 != "\n" })
        }
        for piece in pieces {
            splitter.append(piece)
            while let item = try splitter.next() { add(item) }
        }
        if isEnded, let item = try splitter.finish() { add(item) }
        return texts
    }

    @Test(arguments: [
        ("", []), ("\u{1E}\u{1E}\n\u{1E} ", []),
        ("\u{1E}{\"a\":1}\n\u{1E}[2]\n", ["1 {\"a\":1}", "2 [2]"]),
        ("\u{1E}{\n\"a\n]\":\n1\n}\n\u{1E}\"x\\\"\\\\\"\n", ["1 {\"a]\":1}", "2 \"x\\\"\\\\\""]),
        // Cut off: within a value, and where a number or a word has no white space after it.
        ("\u{1E}{\"a\":[\u{1E}3\n\u{1E}12\u{1E}true", ["1! {\"a\":[", "2 3", "3! 12", "4! true"]),
        ("\u{1E}\"abc\u{1E}[]\u{1E}\"d\"\u{1E}null ", ["1! \"abc", "2 []", "3 \"d\"", "4 null "]),
        ("\u{1E}\"a\\\u{1E}1\n", ["1! \"a\\", "2 1"]),
        // More than one text after a separator. The parser of the texts sees each text.
        ("\u{1E}1\n2\n", ["1 1", "2 2"]),
    ])
    func textsEndWithALineFeedOrAreCutOff(_ sequence: String, _ expected: [String]) throws {
        var random = SeededGenerator(seed: 5)
        for pieces in Array(sequence.utf8).divisions(&random) { #expect(try texts(pieces) == expected) }
    }

    @Test func aTextIsDeliveredBeforeTheNextBegins() throws {
        #expect(try texts([Array("\u{1E}{\"a\":1}\n".utf8)], isEnded: false) == ["1 {\"a\":1}"])
        #expect(try texts([Array("\u{1E}{\"a\":\n".utf8)], isEnded: false) == [])
    }

    @Test(arguments: [("\u{1E}1234\n\u{1E}[45]\n", false), ("\u{1E}12345\n", true), ("\u{1E}[     ", true)])
    func aTextOverTheLimitIsAnErrorAtEverySplit(_ sequence: String, _ fails: Bool) throws {
        var random = SeededGenerator(seed: 6)
        for pieces in Array(sequence.utf8).divisions(&random) {
            if fails {
                let error = #expect(throws: JSONTextTooLargeError.self) { try texts(pieces, textLimitBytes: 5) }
                #expect(error?.limitBytes == 5)
            } else {
                #expect(try texts(pieces, textLimitBytes: 5).count == 2)
            }
        }
    }
}
