import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResponseBodyTests {
    /// As a stream is, so that what works with a stub works with a large body.
    @Test(arguments: [true, false]) func bytesInMemoryAreReadOnce(_ isCollected: Bool) async throws {
        let body = ResponseBody(Data("hello".utf8), trailers: [.eTag: "x"])
        #expect(body.trailers == nil)
        if isCollected {
            #expect(try await body.collect() == Data("hello".utf8))
        } else {
            #expect(try await body.reduce(into: Data()) { $0 += $1 } == Data("hello".utf8))
        }
        #expect(body.trailers == [.eTag: "x"])
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.prefix(limitBytes: 2) }
        var second = body.makeAsyncIterator()
        await #expect(throws: BodyAlreadyUsedError.self) { try await second.next() }
        body.abandon()
        #expect(body.bufferedData == Data("hello".utf8) && body.expectedLength == 5 && body.trailers == [.eTag: "x"])
        #expect(body.description == "5 bytes" && !dumped(body).contains("hello"))
        let given = ResponseBody(Data("hello".utf8))
        var iterator = given.makeAsyncIterator()
        var copy = iterator
        #expect(try await copy.next() == Data("hello".utf8))
        #expect(try await iterator.next() == nil)
        #expect(try await copy.next() == nil)
        let abandoned = ResponseBody(Data("hello".utf8), trailers: [.eTag: "x"])
        abandoned.abandon()
        await #expect(throws: BodyAlreadyUsedError.self) { try await abandoned.collect() }
        #expect(abandoned.trailers == nil)
        var empty = ResponseBody().makeAsyncIterator()
        #expect(try await empty.next() == nil)
    }

    @Test func aStreamIsReadOnce() async throws {
        let source = ScriptedBodySource(["a", "b"])
        let body = ResponseBody(source)
        #expect(body.bufferedData == nil && body.description == "stream, unknown length")
        #expect(ResponseBody(source, expectedLength: 2).description == "stream, 2 bytes")
        #expect(try await body.collect() == Data("ab".utf8))
        var second = body.makeAsyncIterator()
        await #expect(throws: BodyAlreadyUsedError.self) { try await second.next() }
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
    }

    @Test func theSecondIteratorDoesNotDisturbTheFirst() async throws {
        let source = ScriptedBodySource(["a", "b"])
        let body = ResponseBody(source)
        var first = body.makeAsyncIterator()
        #expect(try await first.next() == Data("a".utf8))
        var second = body.makeAsyncIterator()
        await #expect(throws: BodyAlreadyUsedError.self) { try await second.next() }
        #expect(source.abandonCount == 0)
        var copy = first
        #expect(try await copy.next() == Data("b".utf8))
        #expect(try await first.next() == nil)
        #expect(try await first.next() == nil)
    }

    @Test func breakingOutOfALoopAbandonsTheRest() async throws {
        let source = ScriptedBodySource(["a", "b", "c"])
        let body = ResponseBody(source)
        for try await _ in body { break }
        #expect(source.abandonCount == 1 && source.unreadCount == 2)
        let lines = ScriptedBodySource(["a\n", "b\n"])
        for try await _ in ResponseBody(lines).lines { break }
        #expect(lines.abandonCount == 1)
    }

    @Test func droppingAResponseUnreadAbandonsItsBody() async throws {
        let source = ScriptedBodySource(["a"])
        var response: Response? = Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(source), request: .sample(), exchange: ExchangeLifetime())
        #expect(response?.status == .ok && source.abandonCount == 0)
        response = nil
        #expect(source.abandonCount == 1 && source.unreadCount == 1)
    }

    @Test func abandonmentIsFinalAndReportedOnce() async throws {
        let source = ScriptedBodySource(["a"])
        let body = ResponseBody(source)
        body.abandon()
        body.abandon()
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
        #expect(source.abandonCount == 1)
    }

    @Test func aBodyThatIsAbandonedWhileItIsReadDoesNotPassForWhole() async throws {
        let body = ResponseBody(ScriptedBodySource(["a", "b"]))
        var iterator = body.makeAsyncIterator()
        _ = try await iterator.next()
        body.abandon()
        await #expect(throws: BodyAlreadyUsedError.self) { try await iterator.next() }
        // A source may end when it is abandoned.
        let source = ScriptedBodySource(then: .endWhenAbandoned)
        let late = ResponseBody(source)
        let task = Task { try await late.collect() }
        await source.reachedEnding.waitIgnoringCancellation()
        late.abandon()
        await #expect(throws: BodyAlreadyUsedError.self) { try await task.value }
        #expect(late.trailers == nil)
    }

    @Test func aBodyThatWasReadWholeIsNotAbandoned() async throws {
        let source = ScriptedBodySource(["a"])
        _ = try await ResponseBody(source).collect()
        #expect(source.abandonCount == 0)
    }

    @Test(arguments: [
        (["ab", "cd"], 4, "abcd", true), (["ab", "cd"], 3, "abc", false), (["ab", "cd"], 2, "ab", false), (["ab"], 0, "", false),
        ([], 0, "", true),
        (["ab", "cd", "ef"], 5, "abcde", false), (["abcdef"], 3, "abc", false),
    ])
    func aPrefixSaysWhetherItIsWhole(_ chunks: [String], _ limit: Int, _ expected: String, _ isWhole: Bool) async throws {
        let source = ScriptedBodySource(chunks)
        let streamed = try await ResponseBody(source).prefix(limitBytes: limit)
        #expect(streamed.data == Data(expected.utf8) && streamed.isWhole == isWhole)
        #expect(source.abandonCount == (isWhole ? 0 : 1))
        let buffered = try await ResponseBody(Data(chunks.joined().utf8)).prefix(limitBytes: limit)
        #expect(buffered.data == streamed.data && buffered.isWhole == isWhole)
    }

    @Test(arguments: [nil, 5] as [Int64?])
    func collectingPastTheLimitFailsAndAbandons(_ declared: Int64?) async throws {
        let source = ScriptedBodySource(["abc", "de"])
        let request = Request.sample()
        let error = await #expect(throws: TransportError.self) {
            try await ResponseBody(source, expectedLength: declared, request: request).collect(upTo: 4)
        }
        #expect(error?.code == .bodyTooLarge && error?.phase == .body && error?.delivery == .sent && error?.request?.id == request.id)
        #expect(error?.message == "more than 4 bytes")
        #expect(source.abandonCount == 1)
        #expect(source.unreadCount == (declared == nil ? 0 : 2), "a declared length fails before a byte is read")
        #expect(try await ResponseBody(ScriptedBodySource(["abc", "de"]), expectedLength: declared).collect(upTo: 5).count == 5)
        await #expect(throws: TransportError.self) { try await ResponseBody(Data("abcde".utf8)).collect(upTo: 4) }
    }

    @Test func trailersComeAfterTheEnd() async throws {
        let body = ResponseBody(ScriptedBodySource(["a"], trailers: [.eTag: "x"]))
        var iterator = body.makeAsyncIterator()
        #expect(body.trailers == nil)
        _ = try await iterator.next()
        #expect(body.trailers == nil)
        #expect(try await iterator.next() == nil)
        #expect(body.trailers == [.eTag: "x"])
        let abandoned = ResponseBody(ScriptedBodySource(["a"], trailers: [.eTag: "x"]))
        abandoned.abandon()
        #expect(abandoned.trailers == nil)
    }

    @Test func anErrorMidBodySurfacesOnceAndAbandons() async throws {
        let source = ScriptedBodySource(["a"], then: .failure(TestError()))
        var iterator = ResponseBody(source).makeAsyncIterator()
        #expect(try await iterator.next() == Data("a".utf8))
        await #expect(throws: TestError()) { try await iterator.next() }
        #expect(source.abandonCount == 1)
        #expect(try await iterator.next() == nil)
        await #expect(throws: TestError()) {
            try await ResponseBody(ScriptedBodySource(["a"], then: .failure(TestError()))).collect()
        }
    }

    @Test func cancellingTheReaderAbandons() async throws {
        let source = ScriptedBodySource(["a"], then: .stall)
        let task = Task { try await ResponseBody(source).collect() }
        await source.reachedEnding.waitIgnoringCancellation()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(source.abandonCount == 1)
    }
}

@Suite(.timeLimit(.minutes(5))) struct LineTests {
    private func lines(of chunks: [[UInt8]], upTo limitBytes: Int = 1024) async throws -> [String] {
        try await ResponseBody(ScriptedBodySource(chunks: chunks)).lines(upTo: limitBytes).reduce(into: []) { $0.append($1) }
    }

    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("\n", [""]), ("a\n\nb\n\n", ["a", "", "b", ""]), ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\r", ["a", "b"]),
        ("\r\r\n\n\r\n", ["", "", "", ""]), ("a\n\rb", ["a", "", "b"]), ("é\r\n日本\n😀", ["é", "日本", "😀"]), ("\r\n", [""]),
        ("a\u{2028}b\u{85}c\u{B}d", ["a\u{2028}b\u{85}c\u{B}d"]),
    ])
    func linesAreTheSameAtEverySplit(_ text: String, _ expected: [String]) async throws {
        let bytes = Array(text.utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let chunks = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                #expect(try await lines(of: chunks) == expected, "split at \(first) and \(second)")
            }
        }
        #expect(try await lines(of: bytes.map { [$0] }) == expected, "byte by byte")
        let buffered = try await ResponseBody(Data(bytes)).lines.reduce(into: [String]()) { $0.append($1) }
        #expect(buffered == expected)
    }

    @Test func invalidUTF8IsRepaired() async throws {
        #expect(try await lines(of: [[0x61, 0xFF, 0x0A, 0xC3]]) == ["a\u{FFFD}", "\u{FFFD}"])
        #expect(
            try await lines(of: [[UInt8](repeating: 0xFF, count: 8) + [0x0A]], upTo: 8).first?.count == 8,
            "the limit is on bytes as they came")
    }

    @Test(arguments: [["abcde\n"], ["abcde"], ["abc", "de", "f\n"], ["a\nabcde\n"], ["ab\r", "abcde"]])
    func aLineOverTheLimitFailsAndAbandons(_ chunks: [String]) async throws {
        let source = ScriptedBodySource(chunks, then: .stall)
        let error = await #expect(throws: TransportError.self) {
            for try await line in ResponseBody(source).lines(upTo: 4) { #expect(line.utf8.count <= 4) }
        }
        #expect(error?.code == .bodyTooLarge)
        #expect(source.abandonCount == 1)
        #expect(try await lines(of: [Array("abcd\nabcd\r\nabcd".utf8)], upTo: 4) == ["abcd", "abcd", "abcd"])
    }

    @Test func aLineComesAsSoonAsItEnds() async throws {
        for text in ["a\n", "a\r"] {
            let source = ScriptedBodySource([text], then: .stall)
            var iterator = ResponseBody(source).lines.makeAsyncIterator()
            #expect(try await iterator.next() == "a")
        }
    }

    @Test func anErrorInABodyFollowsTheEarlierLines() async throws {
        var iterator = ResponseBody(ScriptedBodySource(["a\nb"], then: .failure(TestError()))).lines.makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        await #expect(throws: TestError()) { try await iterator.next() }
    }
}
