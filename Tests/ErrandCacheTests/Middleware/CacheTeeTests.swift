import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import struct TestSupport.TestError
import class TestSupport.Watched
import func TestSupport.eventually

@testable import ErrandCache

/// How bodies are stored while they are read.
@Suite(.timeLimit(.minutes(5))) struct CacheTeeTests {
    private static let strong = ["Cache-Control: max-age=60", "ETag: \"1\"", "Content-Length: 10"]

    /// Checks that nothing waits and nothing is reserved.
    private func expectNothingHeld(_ store: any CacheStore, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let memory = try #require((store as? TestStore)?.memory ?? store as? MemoryCacheStore)
        await eventually({ store.work.waitingBytes == 0 && memory.unpublishedBytes == 0 }, sourceLocation: sourceLocation)
    }

    // MARK: Torn bodies

    @Test(arguments: StoreKind.allCases) func aTornBodyIsNeverPublished(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            reply(to: request, ["Cache-Control: max-age=60"], source: ScriptedBodySource(["hello"], then: .failure(TestError())))
        }
        await #expect(throws: TestError.self) { try await cache.get(request()) }
        try await expectNothingHeld(cache.store)
        #expect(try await cache.store.usage.entries == 0)
    }

    @Test(arguments: StoreKind.allCases) func aBodyThatIsShorterThanItsLengthIsNotPublishedAsWhole(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            reply(to: request, "Cache-Control: max-age=60", "Content-Length: 10", body: ["hello"])
        }
        _ = try await cache.get(request())
        try await expectNothingHeld(cache.store)
        #expect(try await cache.store.usage.entries == 0)
    }

    @Test(arguments: StoreKind.allCases) func aCutBodyWithAStrongValidatorIsCompletedLater(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            switch number {
            case 1: reply(to: request, Self.strong, source: ScriptedBodySource(["hello"], then: .failure(TestError())))
            default:
                reply(
                    to: request,
                    ["Cache-Control: max-age=60", "ETag: \"1\"", "Content-Range: bytes 5-9/10", "Content-Length: 5"], status: 206,
                    source: ScriptedBodySource(["wo", "rld"]))
            }
        }
        await #expect(throws: TestError.self) { try await cache.get(request()) }
        await eventually { try entryCount(cache.store) == 1 }
        let whole = try await cache.send(request())
        #expect(cache.origin.sent[1].headers[.range] == "bytes=5-" && cache.origin.sent[1].headers[.ifRange] == "\"1\"")
        #expect(whole.status == .ok && whole.headers[.contentRange] == nil && whole.headers[.contentLength] == "10")
        #expect(whole.request.headers[.range] == nil)
        #expect(whole.body.expectedLength == 10)
        #expect(whole.metadata.cacheStatus?.outcome == .forwarded(.partial))
        #expect(try await whole.body.collect() == Data("helloworld".utf8))
        let (text, status) = try await cache.get(request())
        #expect(text == "helloworld" && status?.isHit == true)
        #expect(try await cache.store.usage.entries == 1)
        try await expectNothingHeld(cache.store)
    }

    /// The numbers of a 206 that a server sends after it has cut the first response: `Content-Range` and `Content-Length`.
    @Test(
        arguments: StoreKind.allCases,
        [
            ("5-9/10", "9223372036854775807"), ("5-9/10", "9223372036854775806"), ("5-9/10", "99999999999999999999"), ("5-9/10", "0"),
            ("5-9/10", "6"), ("5-9/9223372036854775807", "5"), ("5-9223372036854775806/9223372036854775807", "9223372036854775802"),
            ("5-9223372036854775805/9223372036854775806", "9223372036854775801"), ("0-0/1", "1"), ("5-9223372036854775807/*", "5"),
        ])
    func noNumberOfAServerIsTrusted(_ kind: StoreKind, _ numbers: (range: String, length: String)) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            switch number {
            case 1: reply(to: request, Self.strong, source: ScriptedBodySource(["hello"], then: .failure(TestError())))
            case 2 where request.headers[.range] != nil:
                reply(
                    to: request,
                    [
                        "Cache-Control: max-age=60", "ETag: \"1\"", "Content-Range: bytes \(numbers.range)",
                        "Content-Length: \(numbers.length)",
                    ],
                    status: 206, source: ScriptedBodySource(["world"]))
            default: reply(to: request, "Cache-Control: no-store", body: ["another"])
            }
        }
        await #expect(throws: TestError.self) { try await cache.get(request()) }
        await eventually { try entryCount(cache.store) == 1 }
        let outcome = try? await cache.get(request()).0
        #expect(outcome == "another", "the 206 does not complete the first response")
        await eventually { cache.isIdle }
        try await expectNothingHeld(cache.store)
    }

    /// A store on the disk also gets the ages, lifetimes and lengths of servers.
    @Test(arguments: StoreKind.allCases, ["9223372036854775807", "9223372036854775806", "2147483648", "0"])
    func noNumberOfAServerOverflows(_ kind: StoreKind, _ number: String) async throws {
        let cache = CachedOrigin(in: kind.store) { request, count in
            let fields = [
                "Cache-Control: max-age=\(number), stale-while-revalidate=\(number), stale-if-error=\(number)", "Age: \(number)",
                "ETag: \"\(count)\"", "Content-Length: \(number)",
            ]
            if request.headers[.range] == "bytes=0-4" {
                return reply(
                    to: request, Array(fields.dropLast()) + ["Content-Range: bytes 0-4/\(number)", "Content-Length: 5"], status: 206,
                    source: ScriptedBodySource(["hello"]))
            }
            return reply(to: request, fields, source: ScriptedBodySource(number == "0" ? [] : ["hello"]))
        }
        for lines in [[], ["Range: bytes=0-4"], ["Range: bytes=3-"], ["Range: bytes=-\(number)"], ["Cache-Control: max-stale=\(number)"]] {
            var asked = request()
            asked.headers = fields(lines)
            _ = try? await cache.get(asked)
            cache.time.advance(by: .seconds(1))
        }
        await eventually { cache.isIdle }
        try await expectNothingHeld(cache.store)
    }

    /// An entry without room says nothing about the store.
    @Test func anEntryWithoutRoomStopsNoOtherEntry() async throws {
        let store = TestStore(MemoryCacheStore(bytes: 100_000, entryBytes: 2000))
        let cache = CachedOrigin(in: store, clock: ContinuousClock()) { request, number in
            reply(to: request, "Cache-Control: max-age=60", body: [String(repeating: "x", count: number == 1 ? 5000 : 5)])
        }
        _ = try await cache.get(request(url: "https://api.example/large"))
        await eventually { cache.isIdle }
        #expect(try await store.usage.entries == 0)
        _ = try await cache.get(request())
        await eventually { cache.isIdle }
        #expect(try await cache.get(request()).1?.isHit == true)
        try await expectNothingHeld(store)
    }

    @Test(arguments: StoreKind.allCases) func aChangedRepresentationIsNotCombined(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            switch number {
            case 1: reply(to: request, Self.strong, source: ScriptedBodySource(["hello"], then: .failure(TestError())))
            case 2:
                reply(
                    to: request, ["ETag: \"2\"", "Content-Range: bytes 5-9/10", "Content-Length: 5"], status: 206,
                    source: ScriptedBodySource(["world"]))
            default: reply(to: request, "Cache-Control: max-age=60", "ETag: \"2\"", body: ["another"])
            }
        }
        await #expect(throws: TestError.self) { try await cache.get(request()) }
        await eventually { try entryCount(cache.store) == 1 }
        #expect(try await cache.get(request()).0 == "another")
        #expect(cache.origin.sent[2].headers[.range] == nil)
    }

    // MARK: Abandoned bodies

    @Test(arguments: StoreKind.allCases) func aBodyThatIsDroppedUnreadIsReleased(_ kind: StoreKind) async throws {
        let source = RecordingBodySource(["hello"])
        let cache = CachedOrigin(in: kind.store) { request, _ in reply(to: request, ["Cache-Control: max-age=60"], source: source) }
        _ = try await cache.send(request())
        #expect(source.abandoned > 0 && source.asked == 0)
        try await expectNothingHeld(cache.store)
        #expect(try await cache.store.usage.entries == 0)
        await eventually { cache.isIdle }
    }

    @Test(arguments: StoreKind.allCases) func aReaderThatLeavesKeepsTheBeginning(_ kind: StoreKind) async throws {
        let source = RecordingBodySource(["hello"])
        let cache = CachedOrigin(in: kind.store) { request, _ in reply(to: request, Self.strong, source: source) }
        let first = try await cache.send(request())
        for try await chunk in first.body {
            #expect(chunk == Data("hello".utf8))
            break
        }
        #expect(source.abandoned > 0)
        await eventually { try entryCount(cache.store) == 1 }
        let entry = try #require(try await cache.store.entries(limit: 1).first?.entry)
        #expect(entry.head.extent == .part(0..<5, completeLength: 10))
        try await expectNothingHeld(cache.store)
    }

    // MARK: Cancellation

    @Test(arguments: [TestStore.Step.lookUp, .writer, .write, .publish])
    func aCancelledCallFreesEverything(_ step: TestStore.Step) async throws {
        let store = TestStore()
        let source = RecordingBodySource(["hello"])
        if step == .lookUp || step == .publish { source.finish() }
        let cache = CachedOrigin(in: store) { request, _ in reply(to: request, ["Cache-Control: max-age=60"], source: source) }
        store.stop(step)
        let call = Task { try await cache.get(request()) }
        await eventually { store.waiting(step) == 1 }
        call.cancel()
        // The entry of a whole body is published nevertheless. All others are given up.
        if step != .publish { await #expect(throws: CancellationError.self) { try await call.value } }
        store.go(step)
        _ = await call.result
        try await expectNothingHeld(store)
        await eventually { cache.isIdle }
        #expect(try await store.usage.entries == (step == .publish ? 1 : 0))
        #expect(step == .lookUp || step == .publish || source.abandoned > 0)
    }

    @Test func aCallThatIsCancelledWhileItIsSentFreesEverything() async throws {
        let store = TestStore(), isSent = Signal()
        let cache = CachedOrigin(in: store) { _, _ in
            isSent.signal()
            try await untilCancelled()
        }
        let call = Task { try await cache.get(request()) }
        try await isSent.wait()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await expectNothingHeld(store)
    }

    // MARK: Slow stores

    @Test func aReaderWaitsForASlowStoreForALimitedTime() async throws {
        let store = TestStore(MemoryCacheStore(bytes: 100_000_000, entryBytes: 50_000_000)), clock = ManualClock()
        store.stop(.write)
        let chunk = Data(count: 128 * 1024)
        let cache = CachedOrigin(in: store, clock: clock) { request, _ in
            reply(to: request, ["Cache-Control: max-age=60"], source: ChunksBodySource(Array(repeating: chunk, count: 64)))
        }
        let call = Task { try await cache.send(request()).body.collect().count }
        await eventually { store.work.waitingBytes == 1024 * 1024 }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(49))
        #expect(cache.events.decisions.last?.hasPrefix("not stored") == false)
        clock.advance(by: .milliseconds(1))
        #expect(try await call.value == 64 * 128 * 1024)
        #expect(cache.events.decisions.last == "not stored: the store is slower than the reader")
        #expect(store.work.peakWaitingBytes == 1024 * 1024)
        store.go(.write)
        try await expectNothingHeld(store)
        #expect(store.memory.usage.entries == 0)
    }

    @Test func theEndOfABodyWaitsForTheStoreForALimitedTime() async throws {
        let store = TestStore(), clock = ManualClock()
        store.stop(.publish)
        let cache = CachedOrigin(in: store, clock: clock) { request, _ in reply(to: request, "Cache-Control: max-age=60") }
        let call = Task { try await cache.get(request()).0 }
        await eventually { store.waiting(.publish) == 1 }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(50))
        #expect(try await call.value == "hello")
        #expect(store.memory.usage.entries == 0)
        store.go(.publish)
        await eventually { store.memory.usage.entries == 1 }
    }

    @Test func aStoreThatIsALittleSlowerGetsTheWholeBody() async throws {
        let store = TestStore(MemoryCacheStore(bytes: 100_000_000, entryBytes: 50_000_000))
        store.stop(.write)
        let chunk = Data((0..<128 * 1024).map { UInt8(truncatingIfNeeded: $0) })
        let cache = CachedOrigin(in: store, clock: ManualClock()) { request, _ in
            reply(to: request, ["Cache-Control: max-age=60"], source: ChunksBodySource(Array(repeating: chunk, count: 128)))
        }
        let call = Task { try await cache.send(request()).body.collect().count }
        await eventually { store.work.waitingBytes == 1024 * 1024 }
        store.go(.write)
        #expect(try await call.value == 128 * 128 * 1024)
        #expect(store.work.peakWaitingBytes <= 1024 * 1024)
        let stored = try await cache.send(request())
        #expect(stored.metadata.cacheStatus?.isHit == true)
        var (count, isSame) = (0, true)
        for try await part in stored.body {
            for byte in part {
                isSame = isSame && byte == UInt8(truncatingIfNeeded: count)
                count += 1
            }
        }
        #expect(isSame && count == 128 * 128 * 1024)
    }

    @Test func oneLargeChunkIsWrittenInPieces() async throws {
        let store = TestStore(MemoryCacheStore(bytes: 100_000_000, entryBytes: 50_000_000))
        let bytes = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        let cache = CachedOrigin(in: store, clock: ManualClock()) { request, _ in
            Response(head: response("Cache-Control: max-age=60"), data: bytes, request: request)
        }
        #expect(try await cache.send(request()).body.collect() == bytes)
        #expect(store.work.peakWaitingBytes <= 1024 * 1024)
        let stored = try await cache.send(request())
        #expect(stored.metadata.cacheStatus?.isHit == true)
        #expect(try await stored.body.collect() == bytes)
    }

    @Test(arguments: StoreKind.allCases) func aThousandMissesAreBounded(_ kind: StoreKind) async throws {
        let memory = MemoryCacheStore(bytes: 64 * 1024 * 1024, entryBytes: 32 * 1024 * 1024)
        let waiting = TestStore(memory)
        waiting.slow(.write, byYields: 10)
        let store: any CacheStore = kind == .memory ? memory : waiting
        let chunk = Data(count: 1024 * 1024)
        let cache = CachedOrigin(in: store) { request, _ in
            reply(to: request, ["Cache-Control: max-age=60"], source: ChunksBodySource(Array(repeating: chunk, count: 16)))
        }
        let peak = Watched(0)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let response = try await cache.send(request(url: "https://api.example/\(number)"))
                    var count = 0
                    for try await chunk in response.body {
                        count += chunk.count
                        peak.change { $0 = max($0, memory.heldBytes) }
                        // Other tests get their turn.
                        await Task.yield()
                    }
                    return count
                }
            }
            for try await count in group { #expect(count == 16 * 1024 * 1024) }
        }
        #expect(store.work.peakWaitingBytes <= 2 * 1024 * 1024, "\(store.work.peakWaitingBytes)")
        #expect(peak.value <= 64 * 1024 * 1024)
        try await expectNothingHeld(store)
    }

    // MARK: Failures of a store

    @Test(arguments: TestStore.Step.allCases) func aFailingStoreFailsNoCall(_ step: TestStore.Step) async throws {
        let store = TestStore()
        let cache = CachedOrigin(in: store) { request, number in
            request.headers[.ifNoneMatch] == nil
                ? reply(to: request, "Cache-Control: max-age=10", "ETag: \"1\"")
                : reply(to: request, "Cache-Control: max-age=10", "ETag: \"1\"", status: 304, body: [])
        }
        _ = try await cache.get(request())
        store.fail([step])
        for method in [HTTPRequest.Method.get, .post, .get] {
            cache.time.advance(by: .seconds(20))
            #expect(try await cache.get(request(method: method)).0 == "hello")
            #expect(try await cache.get(request(url: "https://api.example/other")).0 == "hello")
        }
        let failures = cache.events.decisions.filter { $0.contains("the store could not") }
        #expect(failures.count >= 1, "\(step)")
        let isWrite = [.writer, .write, .publish].contains(step)
        #expect(failures.allSatisfy { $0.contains(isWrite ? "is not written for " : "is not used for ") }, "\(failures)")
        #expect(failures.first?.contains("for 1 s: ") == true, "\(failures)")
        store.fail([])
        cache.time.advance(by: .seconds(100))
        _ = try await cache.get(request(url: "https://api.example/new"))
        #expect(try await cache.get(request(url: "https://api.example/new")).1?.isHit == true, "the store is used again")
        try await expectNothingHeld(store)
    }

    @Test func aStoreThatDoesNotRespondDelaysACallForASecond() async throws {
        let store = TestStore(), clock = ManualClock()
        let cache = CachedOrigin(in: store, clock: clock) { request, _ in reply(to: request, "Cache-Control: max-age=60") }
        store.stop(.lookUp)
        let call = Task { try await cache.get(request()) }
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(1))
        #expect(try await call.value.0 == "hello")
        #expect(cache.events.decisions.contains { $0.contains("did not respond") })
        store.go(.lookUp)
        #expect(try await cache.get(request()).0 == "hello")
        #expect(store.calls(.lookUp) == 1, "the store is not asked again")
    }
}

/// The number of entries of a test store.
private func entryCount(_ store: any CacheStore) throws -> Int {
    try #require((store as? TestStore)?.memory ?? store as? MemoryCacheStore).usage.entries
}
