import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import func TestSupport.eventually

@testable import ErrandCache

/// Requests in the background (`stale-while-revalidate`).
@Suite(.timeLimit(.minutes(5))) struct CacheRevalidationTests {
    private static let fields = ["Cache-Control: max-age=10, stale-while-revalidate=600", "ETag: \"1\""]

    @Test(arguments: StoreKind.allCases) func aStaleEntryIsReturnedAtOnceAndConfirmedOnce(_ kind: StoreKind) async throws {
        let gate = Signal()
        let cache = CachedOrigin(in: kind.store) { request, number in
            if number == 1 { return reply(to: request, Self.fields, source: ScriptedBodySource(["one"])) }
            try await gate.wait()
            return reply(to: request, Self.fields, source: ScriptedBodySource(["two"]))
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        for _ in 0..<5 {
            let (text, status) = try await cache.get(request())
            #expect(text == "one" && status?.isHit == true && status?.isStale == true)
        }
        await eventually { cache.origin.count == 2 }
        let background = cache.origin.sent[1]
        #expect(background.headers[.ifNoneMatch] == "\"1\"")
        #expect(background.options.eventSink == nil, "the call of the reader has ended")
        #expect((background.deadline?.remaining ?? .zero) > .seconds(20) && (background.deadline?.remaining ?? .zero) <= .seconds(30))
        gate.signal()
        await eventually { cache.isIdle }
        let (text, status) = try await cache.get(request())
        #expect(text == "two" && status?.isStale == false)
        #expect(cache.origin.count == 2)
    }

    @Test func aRevalidationEndsWithTheLastStack() async throws {
        let source = RecordingBodySource(["tw"])
        var cache: CachedOrigin? = CachedOrigin { request, number in
            if number == 1 { return reply(to: request, Self.fields, source: ScriptedBodySource(["one"])) }
            return reply(to: request, Self.fields, source: source)
        }
        _ = try await cache?.get(request())
        cache?.time.advance(by: .seconds(100))
        _ = try await cache?.get(request())
        await eventually { source.isBeingRead }
        let work = try #require(cache?.work.revalidations)
        #expect(work.count == 1)
        let start = ContinuousClock.now
        cache = nil
        await eventually { work.count == 0 && source.abandoned > 0 }
        // A busy machine takes longer than the few milliseconds that are needed.
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    /// A program that ends would cancel the request in the background, and a write that has begun.
    @Test(arguments: StoreKind.allCases) func theEndOfAProgramCanWaitForTheWork(_ kind: StoreKind) async throws {
        let gate = Signal(), clock = ManualClock()
        let origin = TestOrigin { request, number in
            if number == 1 { return reply(to: request, Self.fields, source: ScriptedBodySource(["one"])) }
            try await gate.wait()
            return reply(to: request, Self.fields, source: ScriptedBodySource(["two"]))
        }
        let time = ManualClock()
        func middleware(_ store: some CacheStore) -> CacheMiddleware {
            CacheMiddleware(in: store, policy: .standard, instant: { time.instant })
        }
        let store = kind.store
        let stack = origin.wrapped(by: middleware(store))
        await store.finish()
        _ = try await stack.send(request()).body.collect()
        await store.finish()
        time.advance(by: .seconds(100))
        #expect(try await stack.send(request()).metadata.cacheStatus?.isStale == true)
        async let limited: Void = store.finish(within: .seconds(5), clock: clock)
        try await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(5))
        await limited
        #expect(store.work.revalidations.count == 1)
        async let ended: Void = store.finish(clock: clock)
        gate.signal()
        await ended
        #expect(store.work.revalidations.count == 0 && store.work.writes.count == 0)
        let response = try await stack.send(request())
        #expect(try await response.body.collect() == Data("two".utf8) && response.metadata.cacheStatus?.isStale == false)
    }

    @Test func aStackEndsOnlyItsOwnRevalidations() async throws {
        let store = MemoryCacheStore()
        func origin() -> CachedOrigin {
            CachedOrigin(in: store) { request, _ in
                let isFirst = request.headers[.ifNoneMatch] == nil
                return reply(to: request, Self.fields, source: isFirst ? ScriptedBodySource(["one"]) : ScriptedBodySource(then: .stall))
            }
        }
        var caches = [origin(), origin()]
        _ = try await caches[0].get(request())
        for cache in caches {
            cache.time.advance(by: .seconds(100))
            #expect(try await cache.get(request()).0 == "one")
        }
        await eventually { caches.map(\.origin.count) == [2, 1] }
        #expect(store.work.revalidations.count == 2)
        caches.removeFirst()
        await eventually { store.work.revalidations.count == 1 }
        #expect(caches[0].origin.count == 1)
        caches.removeFirst()
        await eventually { store.work.revalidations.count == 0 }
    }

    @Test func aReaderThatIsCancelledDoesNotCancelTheRevalidation() async throws {
        let source = RecordingBodySource()
        let cache = CachedOrigin { request, number in
            number == 1
                ? reply(to: request, Self.fields, source: ScriptedBodySource(["one"])) : reply(to: request, Self.fields, source: source)
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        let call = Task { try await cache.get(request()) }
        _ = try await call.value
        call.cancel()
        await eventually { source.isBeingRead }
        source.write("two")
        source.finish()
        await eventually { cache.isIdle }
        #expect(try await cache.get(request()).0 == "two")
    }

    @Test func aFailedRevalidationIsTriedAgain() async throws {
        let cache = CachedOrigin { request, number in
            if number == 1 { return reply(to: request, Self.fields, source: ScriptedBodySource(["one"])) }
            throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        for count in 2...3 {
            #expect(try await cache.get(request()).0 == "one")
            await eventually { cache.origin.count == count && cache.isIdle }
        }
    }
}
