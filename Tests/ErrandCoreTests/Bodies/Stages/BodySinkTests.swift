import Errand
import ErrandTesting
import Synchronization
import TestSupport
import Testing

@testable import ErrandCore

/// A body whose bytes are copied, while they are read, to a place that may be slower.
@Suite(.timeLimit(.minutes(5))) struct BodySinkTests {
    /// Notes what it is told. Before each write it waits, if it is slow, until it may go on.
    private final class SlowSink: BodySink {
        let told = RecordingList<String>()
        /// One element for each write that may be made.
        private let turns: AsyncStream<Void>?
        private let failure: (any Error)?
        private let writing = Watched(0)

        init(turns: AsyncStream<Void>? = nil, failure: (any Error)? = nil) { (self.turns, self.failure) = (turns, failure) }

        var writes: Watched<Int> { writing }

        func write(_ chunk: Data) async throws {
            writing.change { $0 += 1 }
            if let turns {
                var isGiven = false
                for await _ in turns {
                    isGiven = true
                    break
                }
                if !isGiven { try Task.checkCancellation() }
            }
            if let failure { throw failure }
            told.record(String(decoding: chunk, as: UTF8.self))
        }

        func finish(trailers: HTTPFields?) async throws {
            told.record("finish" + (trailers.map { " \($0.count)" } ?? ""))
        }

        func abandon(_ end: ExchangeLifetime.Outcome) { told.record("\(end)") }
    }

    private func text(_ body: ResponseBody) async throws -> String { String(decoding: try await body.collect(), as: UTF8.self) }

    @Test func theSinkHasTheBytesBeforeTheReader() async throws {
        let (source, sink) = (ScriptedBodySource(["ab", "cd"], trailers: [.eTag: "x"]), SlowSink())
        var iterator = ResponseBody(source).copied(to: sink).makeAsyncIterator()
        #expect(try await iterator.next() == Data("ab".utf8) && sink.told.all == ["ab"])
        #expect(try await iterator.next() == Data("cd".utf8) && sink.told.all == ["ab", "cd"])
        #expect(try await iterator.next() == nil && sink.told.all == ["ab", "cd", "finish 1"])
        #expect(try await iterator.next() == nil && sink.told.all.count == 3)
    }

    /// The reader waits for the sink, and nothing more is read of the source meanwhile.
    @Test func aSlowSinkHoldsTheSource() async throws {
        let (turns, turn) = AsyncStream<Void>.makeStream()
        let (source, sink) = (ScriptedBodySource((0..<10).map { "\($0)" }), SlowSink(turns: turns))
        let body = ResponseBody(source).copied(to: sink)
        let reading = Task { try await body.collect() }
        for written in 1...10 {
            try await sink.writes.wait { $0 == written }
            #expect(source.unreadCount == 10 - written && sink.told.all.count == written - 1)
            turn.yield()
        }
        #expect(try await reading.value == Data("0123456789".utf8) && sink.told.all.last == "finish")
    }

    @Test func cancellingTheReaderEndsTheWaitOfTheSink() async throws {
        let (turns, turn) = AsyncStream<Void>.makeStream()
        let (source, sink) = (ScriptedBodySource(["ab", "cd"]), SlowSink(turns: turns))
        let body = ResponseBody(source).copied(to: sink)
        let reading = Task { try await body.collect() }
        try await sink.writes.wait { $0 == 1 }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(source.abandonCount == 1 && sink.told.all.count == 1 && sink.told.all[0].hasPrefix("failed"))
        turn.finish()
    }

    @Test func aSinkThatFailsEndsTheBody() async throws {
        let (source, sink) = (ScriptedBodySource(["ab", "cd"]), SlowSink(failure: TestError("full")))
        await #expect(throws: TestError.self) { try await ResponseBody(source).copied(to: sink).collect() }
        #expect(source.abandonCount == 1 && sink.told.all.count == 1 && sink.told.all[0].hasPrefix("failed"))
    }

    @Test func anEarlyEndIsReportedOnce() async throws {
        for ending in [ScriptedBodySource.Ending.failure(TestError()), .end] {
            let (source, sink) = (ScriptedBodySource(["ab"], then: ending), SlowSink())
            let body = ResponseBody(source).copied(to: sink)
            if case .failure = ending {
                await #expect(throws: TestError.self) { try await body.collect() }
                #expect(sink.told.all.count == 2 && sink.told.all[1].hasPrefix("failed"))
            } else {
                body.abandon()
                body.abandon()
                #expect(sink.told.all == ["abandoned"] && source.abandonCount == 1)
            }
        }
        // A body that nobody reads.
        let sink = SlowSink()
        do { _ = ResponseBody(ScriptedBodySource(["ab"])).copied(to: sink) }
        #expect(sink.told.all == ["abandoned"])
    }

    @Test func aBodyHasOneReader() async throws {
        let sink = SlowSink()
        let body = ResponseBody(ScriptedBodySource(["ab"])).copied(to: sink)
        var (first, second) = (body.makeAsyncIterator(), body.makeAsyncIterator())
        await #expect(throws: BodyAlreadyUsedError.self) { try await second.next() }
        #expect(try await first.next() == Data("ab".utf8) && sink.told.all == ["ab"])
    }

    @Test func bytesInMemoryAreCopiedToo() async throws {
        let (sink, seen) = (SlowSink(), RecordingList<String>())
        let body = ResponseBody(Data("abc".utf8)).observed { seen.record("\($0)") }.copied(to: sink)
        #expect(body.expectedLength == 3 && body.bufferedData == nil)
        #expect(try await text(body) == "abc" && sink.told.all == ["abc", "finish"])
        #expect(seen.all == ["chunk of 3 bytes", "end: complete"])
    }

    /// A sink has the bytes of its position: before what is added after it.
    @Test func stagesAreInOrder() async throws {

        let (inner, outer) = (SlowSink(), SlowSink())
        let body = ResponseBody(ScriptedBodySource(["ab"])).copied(to: inner).transformed(by: DoublingTransform()).copied(to: outer)
        #expect(try await text(body) == "abab")
        #expect(inner.told.all == ["ab", "finish"] && outer.told.all == ["abab", "finish"])
    }

    // MARK: The end of a sink

    /// Abandons the body at the end of its bytes.
    private final class AbandoningSink: BodySink {
        let body = Mutex<ResponseBody?>(nil)
        func write(_ chunk: Data) async throws {}
        func finish(trailers: HTTPFields?) async throws { body.withLock { $0.take() }?.abandon() }
        func abandon(_ end: ExchangeLifetime.Outcome) {}
    }

    @Test func anAbandonedSinkIsNotFinished() async throws {
        let (inner, outer) = (AbandoningSink(), SlowSink())
        let body = ResponseBody(ScriptedBodySource(["ab"])).copied(to: inner).copied(to: outer)
        inner.body.withLock { $0 = body }
        await #expect(throws: BodyAlreadyUsedError.self) { try await body.collect() }
        #expect(outer.told.all == ["ab", "abandoned"])
    }

    private final class RecordingBodySink: BodySink {
        let told = RecordingList<String>()
        let failsAt: Int
        let count = Counter()
        init(failsAt: Int = .max) { self.failsAt = failsAt }
        func write(_ chunk: Data) async throws {
            told.record("write")
            await Task.yield()
            if count.add(1) >= failsAt { throw TestError() }
        }
        func finish(trailers: HTTPFields?) async throws {
            told.record("finish")
            await Task.yield()
            if failsAt == 0 { throw TestError() }
        }
        func abandon(_ end: ExchangeLifetime.Outcome) { told.record("abandon") }
    }

    /// "finish: Called once, and not after abandon. abandon: Called once, and not after finish has begun." One of the two always comes.
    @Test func aSinkGetsOneEnd() async throws {
        let problems = RecordingList<String>()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<3_000 {
                group.addTask {
                    let sink = RecordingBodySink(failsAt: [0, 1, 2, .max, .max][number % 5])
                    do {
                        let source = ScriptedBodySource(["a", "b", "c"], then: number % 7 == 0 ? .failure(TestError()) : .end)
                        let body = ResponseBody(source).copied(to: sink)
                        let reading = Task { try await body.collect() }
                        switch number % 4 {
                        case 0: reading.cancel()
                        case 1:
                            await Task.yield()
                            body.abandon()
                        case 2:
                            await Task.yield()
                            await Task.yield()
                            reading.cancel()
                            body.abandon()
                        default: break
                        }
                        _ = try? await reading.value
                    }
                    let ends = sink.told.all.filter { $0 != "write" }
                    if ends.count != 1 { problems.record("\(number % 5) \(number % 7 == 0) \(number % 4): \(sink.told.all)") }
                }
            }
        }
        #expect(Set(problems.all) == [])
    }

    @Test(arguments: ["read", "abandoned", "buffered and read", "dropped", "buffered and dropped"])
    func aSinkOfAUsedBodyIsNotified(how: String) async throws {
        let sink = RecordingBodySink()
        do {
            let isBuffered = how.hasPrefix("buffered")
            let body = isBuffered ? ResponseBody(Data("ab".utf8)) : ResponseBody(ScriptedBodySource(["ab"]))
            if how.hasSuffix("read") { _ = try await body.collect() }
            if how == "abandoned" { body.abandon() }
            let copied = body.copied(to: sink)
            if !how.hasSuffix("dropped") { _ = try? await copied.collect() }
        }
        #expect(sink.told.all.filter { $0 != "write" }.count == 1, "\(sink.told.all)")
    }
}
