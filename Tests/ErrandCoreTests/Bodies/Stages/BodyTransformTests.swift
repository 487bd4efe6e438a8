import Errand
import ErrandTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

/// Doubles the bytes of each pair. The last byte of an odd number of bytes is an error.
private struct PairTransform: BodyTransform {
    var made = 0
    var watched: Watched<Int>?

    mutating func next(_ input: inout Data) -> Data? {
        guard input.count >= 2 else { return nil }
        let pair = Data(input.prefix(2))
        input = Data(input.dropFirst(2))
        made += 1
        return Data(pair.flatMap { [$0, $0] })
    }

    mutating func finish(_ input: inout Data) throws -> Data? {
        if !input.isEmpty { throw TestError() }
        return nil
    }
}

/// Returns a fixed number of bytes in pieces, for every input.
private struct ExpandingTransform: BodyTransform {
    var left: Int
    let pieceBytes: Int

    mutating func next(_ input: inout Data) -> Data? {
        if input.isEmpty { return nil }
        guard left > 0 else {
            input = Data()
            return nil
        }
        let piece = Data(count: min(left, pieceBytes))
        left -= piece.count
        return piece
    }
}

/// Adds a byte before each chunk and a byte after the body.
private struct FramingTransform: BodyTransform {
    private var isEnded = false

    mutating func next(_ input: inout Data) -> Data? {
        defer { input = Data() }
        return input.isEmpty ? nil : Data("<".utf8) + input
    }

    mutating func finish(_ input: inout Data) -> Data? {
        defer { isEnded = true }
        return isEnded ? nil : Data(">".utf8)
    }
}

/// Consumes all input, and returns no chunks or empty chunks.
private struct SwallowingTransform: BodyTransform {
    let returnsEmpty: Bool

    mutating func next(_ input: inout Data) -> Data? {
        if !returnsEmpty { input = Data() }
        return returnsEmpty ? Data() : nil
    }

    mutating func finish(_ input: inout Data) -> Data? { returnsEmpty ? Data() : nil }
}

/// Records the events of an observer as texts.
extension RecordingList<String> {
    fileprivate func note(_ event: BodyEvent) {
        let text =
            switch event {
            case .opened(let offset): "opened \(offset)"
            case .chunk(let chunk): String(decoding: chunk, as: UTF8.self)
            case .end(.failed(let error), _): "failed \(type(of: error))"
            case .end(let end, let trailers): "\(end)" + (trailers.map { " \($0.count) trailers" } ?? "")
            }
        record(text)
    }
}

@Suite(.timeLimit(.minutes(5))) struct BodyTransformTests {
    private func text(_ body: ResponseBody) async throws -> String { String(decoding: try await body.collect(), as: UTF8.self) }

    /// In memory, and as a stream of each piece.
    private func bodies(_ text: String, trailers: HTTPFields? = nil) -> [ResponseBody] {
        [
            ResponseBody(Data(text.utf8), trailers: trailers),
            ResponseBody(ScriptedBodySource(text.map { String($0) }, trailers: trailers), expectedLength: Int64(text.utf8.count)),
            ResponseBody(ScriptedBodySource([text], trailers: trailers)),
        ]
    }

    @Test func theOutputIsTheSameAtEverySplit() async throws {
        let bytes = Array("abcdef".utf8)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let chunks = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                let body = ResponseBody(ScriptedBodySource(chunks: chunks)).transformed(by: PairTransform())
                #expect(try await text(body) == "aabbccddeeff", "split at \(first) and \(second)")
            }
        }
    }

    @Test func trailersAndLengthsAreKept() async throws {
        for body in bodies("abcd", trailers: [.eTag: "x"]) {
            let made = body.transformed(by: PairTransform(), length: 8)
            #expect(made.expectedLength == 8 && made.trailers == nil)
            #expect(try await text(made) == "aabbccdd" && made.trailers == [.eTag: "x"])
        }
        #expect(ResponseBody(ScriptedBodySource(["ab"]), expectedLength: 2).transformed(by: PairTransform()).expectedLength == nil)
        #expect(ResponseBody(ScriptedBodySource(["ab"])).transformed(by: PairTransform(), length: -1).expectedLength == nil)
        #expect(ResponseBody(ScriptedBodySource(["ab"]), expectedLength: 2).observed { _ in }.expectedLength == 2)
    }

    @Test func anObserverGetsTrailersWithTheEnd() async throws {
        for body in bodies("abcd", trailers: [.eTag: "x"]) {
            let seen = RecordingList<String>()
            _ = try await body.observed(seen.note).transformed(by: PairTransform()).collect()
            #expect(seen.all.last == "complete 1 trailers")
        }
    }

    @Test func stagesRunInOrder() async throws {
        for body in bodies("abcd") {
            let (inner, outer) = (RecordingList<String>(), RecordingList<String>())
            let made = body.observed(inner.note).transformed(by: PairTransform()).observed(outer.note).transformed(by: FramingTransform())
            let all = try await text(made)
            #expect(all.replacing("<", with: "") == "aabbccdd>" && all.hasPrefix("<"))
            #expect(inner.all.dropLast().joined() == "abcd" && outer.all.dropLast().joined() == "aabbccdd")
            #expect(inner.all.last == "complete" && outer.all.last == "complete")
        }
    }

    // MARK: In memory

    @Test func bytesInMemoryStayInMemory() async throws {
        let seen = RecordingList<String>()
        let body = ResponseBody(Data("abcd".utf8)).observed(seen.note).transformed(by: PairTransform())
        #expect(body.bufferedData == Data("aabbccdd".utf8) && body.expectedLength == 8)
        #expect(seen.all.isEmpty, "looking is not reading")
        #expect(try await text(body) == "aabbccdd" && seen.all == ["abcd", "complete"])
    }

    @Test func aFailureInMemoryIsThrownToTheReader() async throws {
        let seen = RecordingList<String>()
        let body = ResponseBody(Data("abcde".utf8)).observed(seen.note).transformed(by: PairTransform())
        #expect(body.bufferedData == nil && seen.all.isEmpty)
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next() == Data("aabb".utf8))
        #expect(try await iterator.next() == Data("ccdd".utf8))
        await #expect(throws: TestError()) { try await iterator.next() }
        // The bytes themselves had come to their end.
        #expect(seen.all == ["abcde", "complete"])
        #expect(try await iterator.next() == nil)
    }

    @Test(arguments: [(1024 * 1024, true), (1024 * 1024 + 1, false)])
    func aBodyOverTheMemoryLimitBecomesAStream(_ size: Int, _ isInMemory: Bool) async throws {
        let body = ResponseBody(Data("a".utf8), trailers: [.eTag: "x"]).transformed(
            by: ExpandingTransform(left: size, pieceBytes: 64 * 1024))
        #expect((body.bufferedData != nil) == isInMemory)
        #expect(try await body.collect().count == size && body.trailers == [.eTag: "x"])
    }

    // MARK: Bounds

    @Test(arguments: [1, 64 * 1024, 64 * 1024 + 1, 1_000_000]) func noChunkIsLongerThan64KiB(_ pieceBytes: Int) async throws {
        let size = pieceBytes == 1 ? 10 : 1_000_000
        let source = ScriptedBodySource(["a", "b"])
        var count = 0
        for try await chunk in ResponseBody(source).transformed(by: ExpandingTransform(left: size, pieceBytes: pieceBytes)) {
            #expect(!chunk.isEmpty && chunk.count <= 64 * 1024)
            count += chunk.count
        }
        #expect(count == size)
    }

    @Test func outputIsDeliveredBeforeMoreInputIsRead() async throws {
        let source = ScriptedBodySource(["a", "b"])
        var iterator = ResponseBody(source).transformed(by: ExpandingTransform(left: 30, pieceBytes: 10)).makeAsyncIterator()
        for _ in 0..<3 {
            #expect(try await iterator.next()?.count == 10)
            #expect(source.unreadCount == 1)
        }
        #expect(try await iterator.next() == nil)
    }

    @Test func aTransformThatReturnsNothingEnds() async throws {
        for body in bodies("abc") {
            #expect(try await text(body.transformed(by: SwallowingTransform(returnsEmpty: false))) == "")
        }
    }

    @Test func bytesThatATransformLeavesAreAFailure() async throws {
        for body in bodies("abc") {
            let error = await #expect(throws: UnconsumedInputError.self) {
                try await text(body.transformed(by: SwallowingTransform(returnsEmpty: true)))
            }
            #expect(error?.byteCount == 3)
        }
        // Blocks of four, by a transform without finish(_:).
        for body in bodies("0123456789abc") {
            let error = await #expect(throws: UnconsumedInputError.self) { try await text(body.transformed(by: BlockTransform())) }
            #expect(error?.byteCount == 1)
            #expect(error?.localizedDescription == "The content could not be read to its end.")
        }
        for body in bodies("01234567") { #expect(try await text(body.transformed(by: BlockTransform())) == "01234567") }
        let upload = RequestBody.text("0123456789abc").transformed(by: BlockTransform())
        let source = try await upload.open()
        await #expect(throws: UnconsumedInputError.self) { while try await source.next() != nil {} }
    }

    private struct BlockTransform: BodyTransform {
        mutating func next(_ input: inout Data) -> Data? {
            guard input.count >= 4 else { return nil }
            defer { input = Data(input.dropFirst(4)) }
            return Data(input.prefix(4))
        }
    }

    @Test func anObserverSeesBytesInMemoryInChunks() async throws {
        let sizes = Mutex<[Int]>([])
        let body = RequestBody.data(Data(count: 10_000_000)).observed { event in
            if case .chunk(let chunk) = event { sizes.withLock { $0.append(chunk.count) } }
        }
        let source = try await body.open()
        var sent = 0
        while let chunk = try await source.next() { sent += chunk.count }
        let seen = sizes.withLock { $0 }
        #expect(sent == 10_000_000 && seen.reduce(0, +) == sent && seen.count == 153 && seen.allSatisfy { $0 <= 65_536 })
    }

    @Test func anEventShowsNoContents() {
        let trailers: HTTPFields = [.authorization: "Bearer s3cret"]
        for event in [BodyEvent.chunk(Data("s3cret".utf8)), .end(.complete, trailers: trailers), .opened(at: 7)] {
            var dumped = ""
            dump(event, to: &dumped)
            for text in ["\(event)", String(reflecting: event), dumped] {
                #expect(!text.contains("s3cret") && !text.contains("115"), "\(text)")
            }
        }
        #expect("\(BodyEvent.chunk(Data(count: 1)))" == "chunk of 1 byte" && "\(BodyEvent.opened(at: 7))" == "opened at 7")
        #expect("\(BodyEvent.end(.complete, trailers: trailers))" == "end: complete, trailers Authorization")
    }

    @Test func aResponseBodyCanBeMadeOfASequence() async throws {
        let (sequence, continuation) = AsyncStream.makeStream(of: Data.self)
        for text in ["ab", "", "c"] { continuation.yield(Data(text.utf8)) }
        continuation.finish()
        let body = ResponseBody.stream(sequence, length: 3)
        #expect(body.expectedLength == 3 && ResponseBody.stream(sequence, length: -1).expectedLength == nil)
        #expect(try await text(body) == "abc")
    }

    // MARK: Ends

    @Test func aFailingTransformEndsTheExchangeAsFailed() async throws {
        let seen = RecordingList<String>()
        let source = RecordingFailureSource()
        let body = ResponseBody(source).observed(seen.note).transformed(by: PairTransform())
        await #expect(throws: TestError()) { try await body.collect() }
        #expect(source.failures.value == ["TestError"] && source.abandonments.value == 0)
        #expect(seen.all == ["abc", "complete"])
        // Before the source's own end.
        let early = RecordingFailureSource()
        let earlySeen = RecordingList<String>()
        let refused = ResponseBody(early).observed(earlySeen.note).transformed(by: FailingTransform())
        await #expect(throws: TestError()) { try await refused.collect() }
        #expect(early.failures.value == ["TestError"] && earlySeen.all == ["abc", "failed TestError"])
        await #expect(throws: BodyAlreadyUsedError.self) { try await refused.collect() }
    }

    private struct FailingTransform: BodyTransform {
        mutating func next(_ input: inout Data) throws -> Data? { if input.isEmpty { nil } else { throw TestError() } }
    }

    private final class RecordingFailureSource: BodySource {
        let failures = Watched<[String]>([])
        let abandonments = Watched(0)
        private let rest = Mutex<[Data]>([Data("abc".utf8)])

        func next() async throws -> Data? { rest.withLock { $0.popLast() } }
        func abandon() { abandonments.change { $0 += 1 } }
        func fail(with error: any Error) { failures.change { $0.append("\(type(of: error))") } }
    }

    @Test func aSourceThatFailsIsSeenOnce() async throws {
        let (inner, outer) = (RecordingList<String>(), RecordingList<String>())
        let source = ScriptedBodySource(["ab"], then: .failure(TestError()))
        let body = ResponseBody(source).observed(inner.note).transformed(by: PairTransform()).observed(outer.note)
        await #expect(throws: TestError()) { try await body.collect() }
        #expect(inner.all == ["ab", "failed TestError"] && outer.all == ["aabb", "failed TestError"])
        #expect(source.abandonCount == 1)
    }

    enum Abandonment: CaseIterable { case abandoned, dropped, half, halfAbandoned }

    @Test(arguments: Abandonment.allCases) func anUnfinishedBodyIsReportedAsAbandonedOnce(_ how: Abandonment) async throws {
        for inMemory in [true, false] {
            let seen = RecordingList<String>()
            let source = ScriptedBodySource(["ab", "cd"])
            func use() async throws {
                let base = inMemory ? ResponseBody(Data("abcd".utf8)) : ResponseBody(source)
                let body = base.observed(seen.note).transformed(by: FramingTransform()).observed(seen.note)
                switch how {
                case .abandoned:
                    body.abandon()
                    #expect(seen.all == ["abandoned", "abandoned"], "at once")
                case .dropped: break
                case .half: for try await _ in body { break }
                case .halfAbandoned:
                    var iterator = body.makeAsyncIterator()
                    _ = try await iterator.next()
                    body.abandon()
                    await #expect(throws: BodyAlreadyUsedError.self) { try await iterator.next() }
                }
            }
            try await use()
            #expect(seen.all.filter { $0 == "abandoned" }.count == 2, "\(how), in memory: \(inMemory)")
            #expect(!seen.all.contains("complete"))
            if !inMemory { #expect(source.abandonCount == 1) }
        }
    }

    @Test func cancellingTheReaderIsAFailureForObservers() async throws {
        let seen = RecordingList<String>()
        let source = ScriptedBodySource(["ab"], then: .stall)
        let task = Task { try await ResponseBody(source).observed(seen.note).transformed(by: PairTransform()).collect() }
        await source.reachedEnding.waitIgnoringCancellation()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(seen.all == ["ab", "failed CancellationError"] && source.abandonCount == 1)
    }

    /// An `AsyncStream` ends for a reader that is cancelled, and says nothing of that.
    @Test func aSourceThatEndsOnCancellationIsIncomplete() async throws {
        let (stream, continuation) = AsyncStream<Data>.makeStream()
        continuation.yield(Data("ab".utf8))
        let response = RecordingList<String>()
        let isReading = Signal()
        let body = ResponseBody(SequenceBodySource(stream)).observed {
            response.note($0)
            if case .chunk = $0 { isReading.signal() }
        }.transformed(by: FramingTransform())
        let reading = Task { try await body.collect() }
        await isReading.waitIgnoringCancellation()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(response.all == ["ab", "failed CancellationError"])

        let (upload, yields) = AsyncStream<Data>.makeStream()
        yields.yield(Data("ab".utf8))
        let request = RecordingList<String>()
        let isSending = Signal()
        let sent = RequestBody.stream(upload).observed {
            request.note($0)
            if case .chunk = $0 { isSending.signal() }
        }
        let sending = Task { try await self.read(sent) }
        await isSending.waitIgnoringCancellation()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(request.all == ["opened 0", "ab", "failed CancellationError"])
    }

    @Test func anObserverSeesABodyAbandonedDuringAReadAsIncomplete() async throws {
        let seen = RecordingList<String>()
        let source = ScriptedBodySource(then: .endWhenAbandoned)
        let body = ResponseBody(source).observed(seen.note).transformed(by: FramingTransform())
        // Not even what the transform would add at the end.
        let reading = Task {
            var iterator = body.makeAsyncIterator()
            return try await iterator.next()
        }
        await source.reachedEnding.waitIgnoringCancellation()
        body.abandon()
        await #expect(throws: BodyAlreadyUsedError.self) { try await reading.value }
        #expect(seen.all == ["abandoned"])
    }

    @Test func anObserverSeesChunksThatATransformSwallows() async throws {
        for body in bodies("abc") {
            let seen = RecordingList<String>()
            let swallowed = body.observed(seen.note).transformed(by: SwallowingTransform(returnsEmpty: false))
            #expect(try await text(swallowed) == "")
            #expect(seen.all.dropLast().joined() == "abc" && seen.all.last == "complete")
        }
    }

    /// Its closure gives up the body that it observes.
    @Test func anObserverThatAbandonsTheBodyGetsTheEndNext() async throws {
        for inMemory in [true, false] {
            let seen = RecordingList<String>()
            let body = Mutex<ResponseBody?>(nil)
            let base = inMemory ? ResponseBody(Data("ab".utf8)) : ResponseBody(ScriptedBodySource(["ab", "cd"]))
            let depth = Watched(0)
            let observed = base.observed { event in
                depth.change { $0 += 1 }
                #expect(depth.value == 1, "one at a time")
                seen.note(event)
                if case .chunk = event { body.withLock { $0 }?.abandon() }
                depth.change { $0 -= 1 }
            }
            body.withLock { $0 = observed }
            var iterator = observed.makeAsyncIterator()
            #expect(try await iterator.next() == Data("ab".utf8))
            #expect(seen.all == ["ab", "abandoned"], "in memory: \(inMemory)")
            await #expect(throws: BodyAlreadyUsedError.self) { try await iterator.next() }
            body.withLock { $0 = nil }
        }
    }

    // MARK: One reader

    @Test func theOriginalOfATransformedBodyIsUsedUp() async throws {
        for body in bodies("abcd") {
            let made = body.transformed(by: PairTransform())
            await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
            #expect(try await text(made) == "aabbccdd")
            await #expect(throws: BodyAlreadyUsedError.self) { try await made.collect() }
            // What was read before can't be transformed.
            await #expect(throws: BodyAlreadyUsedError.self) { try await body.transformed(by: PairTransform()).collect() }
            await #expect(throws: BodyAlreadyUsedError.self) { try await body.observed { _ in }.collect() }
        }
    }

    @Test func eachCopyOfATransformStartsFresh() async throws {
        let framed = FramingTransform()
        for body in bodies("ab") + bodies("ab") { #expect(try await text(body.transformed(by: framed)).hasSuffix("b>")) }
    }

    @Test func aStaleCopyOfAnIteratorIsRefused() async throws {
        var first = ResponseBody(ScriptedBodySource(["ab", "cd", "ef"])).transformed(by: PairTransform()).makeAsyncIterator()
        _ = try await first.next()
        var copy = first
        #expect(try await copy.next() == Data("ccdd".utf8))
        await #expect(throws: BodyAlreadyUsedError.self) { try await first.next() }
        #expect(try await copy.next() == Data("eeff".utf8))
        #expect(try await copy.next() == nil)
    }

    @Test func severalTasksReadInSequence() async throws {
        let reader = ResponseBody(ScriptedBodySource(["ab", "cd"])).transformed(by: PairTransform()).makeSharedIterator()
        for expected in ["aabb", "ccdd", nil] {
            let chunk = try await Task { try await reader.next() }.value
            #expect(chunk.map { String(decoding: $0, as: UTF8.self) } == expected)
        }
    }

    @Test func aStaleCopyOfAnIteratorThrowsAtTheEnd() async throws {
        var first = ResponseBody(ScriptedBodySource(["ab"])).transformed(by: PairTransform()).makeAsyncIterator()
        var copy = first
        while try await first.next() != nil {}
        #expect(try await first.next() == nil)
        await #expect(throws: BodyAlreadyUsedError.self) { try await copy.next() }
    }

    @Test func aSecondReaderDoesNotDisturbTheFirst() async throws {
        for body in bodies("abcd") {
            var first = body.makeAsyncIterator()
            await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect(upTo: 1) }
            await #expect(throws: BodyAlreadyUsedError.self) { try await body.prefix(limitBytes: 1) }
            var all = Data()
            while let chunk = try await first.next() { all += chunk }
            #expect(all == Data("abcd".utf8))
        }
    }

    @Test func abandoningABodyAbandonsItsTransformedCopy() async throws {
        let source = ScriptedBodySource(["ab"])
        let response = Response(
            head: HTTPResponse(status: .ok), body: ResponseBody(source), request: .sample(), exchange: ExchangeLifetime())
        let escaped = try await ClosureTransport { _ in response }.withResponse(to: .sample()) { response in
            response.body.observed { _ in }.transformed(by: PairTransform())
        }
        #expect(source.abandonCount == 1)
        await #expect(throws: BodyAlreadyUsedError.self) { try await escaped.collect() }
    }

    // MARK: Limits

    /// Returns output without end and without a read.
    private struct EndlessTransform: BodyTransform {
        mutating func next(_ input: inout Data) -> Data? { Data("x".utf8) }
    }

    @Test func cancellationAndTheDeadlineEndAnEndlessTransform() async throws {
        let reading = Task {
            var count = 0
            for try await _ in ResponseBody(ScriptedBodySource(["a"])).transformed(by: EndlessTransform()) {
                count += 1
                if count == 5 { withUnsafeCurrentTask { $0?.cancel() } }
                if count > 5 { break }
            }
            return count
        }
        await #expect(throws: CancellationError.self) { try await reading.value }
        let clock = ManualClock()
        var request = Request.sample()
        request.deadline = Deadline(after: .seconds(1), clock: clock)
        let source = ScriptedBodySource(["a"])
        var iterator = ResponseBody(source, request: request).transformed(by: EndlessTransform()).makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: TransportError.self) { try await iterator.next() }
        #expect(error?.code == .timedOut && source.abandonCount == 1)
    }

    /// Cuts chunks off its input, and records the largest number of removed bytes that are still in memory.
    private struct CuttingTransform: BodyTransform {
        let longest: Watched<Int>

        mutating func next(_ input: inout Data) -> Data? {
            let start = input.startIndex
            longest.change { $0 = max($0, start) }
            guard input.count > 100 else { return nil }
            let taken = Data(input.prefix(100))
            input = input[(start + 100)...]
            return taken
        }

        mutating func finish(_ input: inout Data) -> Data? {
            input = Data()
            return nil
        }
    }

    @Test func bytesCutOffByATransformAreReleased() async throws {
        let longest = Watched(0)
        let chunks = Array(repeating: [UInt8](repeating: 1, count: 150), count: 1_000)
        let body = ResponseBody(ScriptedBodySource(chunks: chunks)).transformed(by: CuttingTransform(longest: longest))
        #expect(try await body.collect().count > 140_000)
        #expect(longest.value < 1_000)
    }

    // MARK: Requests

    @Test func aRequestBodyIsTransformedForEachSending() async throws {
        let file = RequestBody.stream(length: 4, replay: .seekable) { offset in
            ScriptedBodySource(["abcd".dropFirst(Int(offset)).description])
        }
        let body = file.transformed(by: FramingTransform(), length: 6)
        #expect(body.length == 6 && body.replay == .restartable && body.bufferedData == nil)
        for _ in 0..<2 { #expect(try await self.read(body) == "<abcd>") }
        let once = RequestBody.stream(AsyncStream<Data> { $0.finish() }).transformed(by: FramingTransform())
        #expect(once.replay == .oneShot && once.length == nil)
        #expect(try await self.read(once) == ">")
        await #expect(throws: BodyAlreadyUsedError.self) { try await self.read(once) }
        #expect(!once.canBeSent && !once.observed { _ in }.canBeSent)
        let inMemory = RequestBody.text("abcd").transformed(by: FramingTransform())
        #expect(inMemory.bufferedData == Data("<abcd>".utf8) && inMemory.replay == .seekable)
        await #expect(throws: TestError()) { try await self.read(RequestBody.text("abc").transformed(by: PairTransform())) }
    }

    private func read(_ body: RequestBody, from offset: Int64 = 0) async throws -> String {
        let source = try await body.open(from: offset)
        var all = Data()
        while let chunk = try await source.next() { all += chunk }
        return String(decoding: all, as: UTF8.self)
    }

    @Test func aRequestBodyIsObserved() async throws {
        let seen = RecordingList<String>()
        let body = RequestBody.text("abcd").observed(seen.note)
        #expect(body.length == 4 && body.replay == .seekable)
        #expect(try await read(body) == "abcd")
        #expect(try await read(body, from: 2) == "cd")
        let source = try await body.open()
        source.abandon()
        source.abandon()
        #expect(seen.all == ["opened 0", "abcd", "complete", "opened 2", "cd", "complete", "opened 0", "abandoned"])
        let refused = RecordingList<String>()
        let base = RecordingFailureSource()
        let opened = try await RequestBody.stream { _ in base }.observed(refused.note).open()
        opened.fail(with: TestError())
        #expect(refused.all == ["opened 0", "failed TestError"] && base.failures.value == ["TestError"])
        let failing = RecordingList<String>()
        let broken = RequestBody.stream { _ in ScriptedBodySource(["a"], then: .failure(TestError())) }.observed(failing.note)
        await #expect(throws: TestError()) { try await self.read(broken) }
        #expect(failing.all == ["opened 0", "a", "failed TestError"])
    }
}
