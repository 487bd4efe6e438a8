import ErrandFormats
import ErrandTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct EventStreamParserTests {
    @Test func anEventIsDeliveredWithItsEmptyLineAndNotBefore() throws {
        var parser = EventStreamParser()
        parser.append("id: 7\nevent: added\ndata: a\ndata: b\n".utf8)
        #expect(try parser.next() == nil)
        #expect(parser.lastEventID == "")
        parser.append("\n".utf8)
        #expect(try parser.next() == .event(ServerSentEvent(data: "a\nb", type: "added", lastEventID: "7")))
        #expect(try parser.next() == nil)
        #expect(parser.lastEventID == "7")
    }

    @Test func aCarriageReturnEndsALineImmediately() throws {
        var parser = EventStreamParser()
        parser.append("data: a\r\r".utf8)
        #expect(try parser.next() == .event(ServerSentEvent(data: "a")))
        parser.append("\n".utf8)
        #expect(try parser.next() == nil)
        parser.append("data: b\r\n\r".utf8)
        #expect(try parser.next() == .event(ServerSentEvent(data: "b")))
    }

    @Test(arguments: [
        ("id: 1\n\n", "1"),  // an event with an ID alone
        ("id: 1\n", ""),  // its empty line is missing
        ("id: 1\ndata: a\n\nid: 2\ndata: b\n", "1"),
        ("id: 1\n\nid\n\n", ""),
        ("id: 1\n\nid: a\0b\n\n", "1"),
        ("id: 1\n\ndata: a\n\n", "1"),
    ])
    func theLastEventIDComesFromTheLastCompleteEvent(_ stream: String, _ id: String) {
        #expect(ParsedStream(stream).lastEventID == id)
    }

    @Test func eventsOfALaterConnectionKeepTheIDOfAnEarlierOne() {
        let parsed = ParsedStream("data: a\n\n", EventStreamParser(lastEventID: "7"))
        #expect(parsed.events == [ServerSentEvent(data: "a", lastEventID: "7")])
        #expect(parsed.lastEventID == "7")
        #expect(ParsedStream("id\n\n", EventStreamParser(lastEventID: "7")).lastEventID == "")
    }

    @Test(arguments: [
        ("retry: 250\n", Duration.milliseconds(250)), ("retry:0\n", .zero), ("retry: 007\n", .milliseconds(7)), ("retry: -1\n", nil),
        ("retry: 1.5\n", nil), ("retry:  5\n", nil), ("retry: ٣\n", nil), ("retry:\n", nil), ("retry\n", nil), ("retry: 5", nil),
        ("retry: 99999999999999999999\n", .milliseconds(Int64.max)), ("retry: 1\nretry: x\n", .milliseconds(1)),
    ])
    func theReconnectionTimeHasOnlyDigits(_ stream: String, _ time: Duration?) {
        #expect(ParsedStream(stream).reconnectionTime == time)
    }

    @Test func commentsAreReportedImmediatelyOrDropped() {
        let stream = ":\n: two\n:three\ndata: a\n:four\n\n"
        let parsed = ParsedStream(stream)
        #expect(parsed.comments == ["", " two", "three", "four"])
        #expect(parsed.items.last == .event(ServerSentEvent(data: "a")))
        #expect(ParsedStream(stream, EventStreamParser()).items == [.event(ServerSentEvent(data: "a"))])
    }

    @Test func invalidUTF8IsReplaced() {
        let stream: [UInt8] = Array("data: a".utf8) + [0xFF, 0xE2, 0x80] + Array("\ndata: ".utf8) + [0xC3, 0x0A, 0x0A]
        #expect(ParsedStream([stream]).events == [ServerSentEvent(data: "a\u{FFFD}\u{FFFD}\n\u{FFFD}")])
    }

    @Test(
        arguments: [
            ("data: 45678\n\n", nil), ("data: 456789012\n\n", 0), ("data: 456789012", 0), ("data: 4\n\ndata: 456789012\n", 1),
            ("data:56\ndata\n\n", nil), ("data:56\ndata:\n\n", 0), ("data:56\n:9012345678\n\n", nil), (":bcdefghijkl\n", 0),
            (":bcdefghijkl", 0),
            ("other: 89012\n", 0), ("id:4\nid:4\nid:4\n\n", 0), ("data\ndata\ndata\n", 0),
        ] as [(String, Int?)])
    func anEventOverTheLimitIsAnErrorAtEverySplit(_ stream: String, _ eventsBefore: Int?) {
        var random = SeededGenerator(seed: 1)
        for pieces in Array(stream.utf8).divisions(&random) {
            let parsed = ParsedStream(pieces, EventStreamParser(eventLimitBytes: 11))
            #expect(parsed.error?.limit == (eventsBefore == nil ? nil : .bytes(11)), "\(pieces.map(\.count))")
            if let eventsBefore { #expect(parsed.events.count == eventsBefore) }
        }
    }

    @Test func aParserThatFailedFailsAgain() {
        var parser = EventStreamParser(eventLimitBytes: 4)
        parser.append("data: too long\n\ndata\n\n".utf8)
        for _ in 1...2 {
            let error = #expect(throws: EventTooLargeError.self) { try parser.next() }
            #expect(error?.description == "an event of the stream is larger than the limit of 4 bytes; eventLimitBytes sets the limit")
            parser.append("\n\ndata\n\n".utf8)
        }
    }

    /// Swift compares such a text in quadratic time. Each text of the stream has the limit of its own.
    @Test(arguments: ["event: ", "id: ", "data: ", ":"])
    func aLongRunOfCombiningMarksIsRefused(field: String) {
        func parsed(_ count: Int) -> ParsedStream {
            ParsedStream(field + "a" + String(repeating: "\u{301}", count: count) + "\ndata: x\n\n")
        }
        let longest = parsed(128)
        #expect(longest.error == nil)
        #expect(longest.events.count == 1)
        let refused = parsed(129)
        #expect(refused.error?.limit == .combiningMarks(128))
        #expect(refused.items == [])
        #expect(refused.error?.description == "an event of the stream has more than 128 combining marks in a row")
        // A line feed ends a run.
        let marks = String(repeating: "\u{301}", count: 100)
        #expect(ParsedStream("data: a\(marks)\ndata: \(marks)\n\n").error == nil)
    }

    @Test func aDescriptionShowsNoPayload() throws {
        #expect(ServerSentEvent(data: "secret", type: "added", lastEventID: "7").description == "added 7 (6 bytes)")
        #expect(ServerSentEvent(data: "x", type: "a\u{202E}b\u{2028}").description == "a\u{FFFD}b\u{FFFD} (1 byte)")
        #expect(ServerSentEvent(data: "x", type: "a\nb").description == "a\u{FFFD}b (1 byte)")
        var parser = EventStreamParser()
        parser.append("data: secret\nid: secret".utf8)
        var lines = JSONLineSplitter()
        lines.append("\"secret\"\n\"secret\"".utf8)
        var texts = JSONSequenceSplitter()
        texts.append("\u{1E}\"secret\"\n\u{1E}\"secret\"".utf8)
        let (line, text) = (try lines.next(), try texts.next())
        var shown = ""
        dump((try parser.next(), parser, line, lines, text, texts, ServerSentEvent(data: "secret")), to: &shown)
        #expect(!shown.contains("secret"))
        #expect(line?.description == "line 1 (8 bytes)" && text?.description == "text 1 (9 bytes)")
        #expect("\(ServerSentEvent(data: "secret").customMirror.children.map(\.value))" == "[\"message (6 bytes)\"]")
    }

    /// 3,000 random streams of the bytes that have a meaning, each divided at random. The results are compared with the algorithm of the
    /// standard.
    @Test func randomStreamsMatchTheStandardAtEverySplit() {
        var random = SeededGenerator(seed: 2)
        let words: [[UInt8]] =
            [
                "data", "event", "id", "retry", ":", " ", "\n", "\r", "\r\n", "\n\n", "a", "12", "\0", "é", "dat", "data:x\n", "id:1\n",
            ].map { Array($0.utf8) } + [[0xEF, 0xBB, 0xBF], [0xEF], [0xE2, 0x80], [0xFF], [0xF0, 0x9F, 0x98]]
        for _ in 0..<3_000 {
            let stream = (0..<Int.random(in: 0..<24, using: &random)).flatMap { _ in words.randomElement(using: &random) ?? [] }
            let plain = PlainEventStream(stream)
            let divisions = stream.divisions(&random)
            for pieces in divisions.suffix(24) + [[stream[...]]] {
                let parsed = ParsedStream(pieces)
                #expect(parsed.items == plain.items, "\(stream) \(pieces.map(\.count))")
                #expect(parsed.lastEventID == plain.lastEventID, "\(stream) \(pieces.map(\.count))")
                #expect(parsed.reconnectionTime == plain.reconnectionTime, "\(stream) \(pieces.map(\.count))")
            }
        }
    }
}
