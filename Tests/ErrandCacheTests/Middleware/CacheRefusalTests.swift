import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import func TestSupport.eventually

@testable import ErrandCache

/// Servers that refuse conditions, stores that fail, and stacks with two caches.
@Suite(.timeLimit(.minutes(5))) struct CacheRefusalTests {
    // MARK: Refused conditions

    @Test(arguments: StoreKind.allCases, [400, 431]) func aRefusedConditionIsLeftOut(_ kind: StoreKind, _ status: Int) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            let bytes = request.headers.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
            return bytes > 1000
                ? reply(to: request, status: status, body: ["too long"])
                : reply(to: request, "Cache-Control: max-age=60", "ETag: \"\(String(repeating: "a", count: 2000))\"", body: ["\(number)"])
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        let response = try await cache.send(request())
        #expect(response.status == .ok && response.request.headers[.ifNoneMatch] == nil)
        #expect(try await response.body.collect() == Data("3".utf8))
        #expect(cache.origin.sent.map { $0.headers.contains(.ifNoneMatch) } == [false, true, false])
        await eventually { cache.isIdle }
        #expect(try await cache.get(request()).1?.isHit == true)
    }

    @Test(arguments: [400, 431, 414, 403]) func aRefusalIsRepeatedAtMostOnce(_ status: Int) async throws {
        let cache = CachedOrigin { request, number in
            number == 1 ? reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"") : reply(to: request, status: status)
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        #expect(try await cache.send(request()).status.code == status)
        #expect(cache.origin.count == (status == 400 || status == 431 ? 3 : 2))
        // Without a condition of the cache, nothing is repeated.
        #expect(try await cache.send(request("If-None-Match: \"x\"")).status.code == status)
        #expect(cache.origin.count == (status == 400 || status == 431 ? 4 : 3))
    }

    // MARK: Pauses

    @Test func onlyRepeatedFailuresMakeALongPause() async throws {
        let store = TestStore()
        let cache = CachedOrigin(in: store) { request, _ in reply(to: request, "Cache-Control: max-age=1") }
        store.fail([.lookUp])
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            let calls = store.calls(.lookUp)
            _ = try await cache.get(request())
            #expect(store.calls(.lookUp) == calls + 1)
            #expect(cache.events.decisions.contains { $0.contains("is not used for \(pause) s") })
            cache.time.advance(by: .milliseconds(pause * 1_000 - 100))
            _ = try await cache.get(request())
            #expect(store.calls(.lookUp) == calls + 1, "the store is not used for \(pause) s")
            cache.time.advance(by: .milliseconds(100))
        }
        store.fail([])
        _ = try await cache.get(request())
        store.fail([.lookUp])
        let count = cache.events.decisions.count
        _ = try await cache.get(request())
        #expect(cache.events.decisions.dropFirst(count).contains { $0.contains("is not used for 1 s") }, "a success begins anew")
    }

    // MARK: Two caches

    @Test func twoCachesWorkAsOne() async throws {
        let inner = MemoryCacheStore(), outer = MemoryCacheStore(), time = ManualClock()
        let origin = TestOrigin { request, number in
            request.headers[.ifNoneMatch] == nil
                ? reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", "X: \(number)")
                : reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", "X: \(number)", status: 304, body: [])
        }
        func layer(_ store: MemoryCacheStore) -> CacheMiddleware {
            CacheMiddleware(in: store, policy: .standard, clock: ManualClock(), instant: { time.instant })
        }
        let stack = origin.wrapped(by: layer(inner)).wrapped(by: layer(outer))
        func get() async throws -> String {
            let response = try await stack.send(request("Accept: a/b"))
            #expect(response.status == .ok && response.request.headers.count == 1 && response.request.headers[.accept] == "a/b")
            #expect(try await response.body.collect() == Data("hello".utf8))
            return response.metadata.cacheStatus?.description ?? ""
        }
        #expect(try await get() == "fwd=uri-miss; fwd-status=200; ttl=60; stored")
        #expect(inner.usage.entries == 1 && outer.usage.entries == 1)
        time.advance(by: .seconds(10))
        #expect(try await get() == "hit; ttl=50" && origin.count == 1)
        try await outer.removeAll()
        time.advance(by: .seconds(10))
        #expect(try await get() == "hit; ttl=40; stored", "the inner cache has answered, and the outer cache has stored the response")
        #expect(origin.count == 1)
        time.advance(by: .seconds(100))
        // The outer cache asks the inner cache for a confirmation, and the inner cache asks the server.
        #expect(try await get() == "fwd=stale; fwd-status=304; ttl=60; stored" && origin.count == 2)
        #expect(origin.sent[1].headers[.ifNoneMatch] == "\"1\"")
        try await inner.removeAll()
        #expect(try await get() == "hit; ttl=60" && origin.count == 2)
    }

    // MARK: By hand

    @Test func aRelativeURLIsAnError() async throws {
        let store = MemoryCacheStore(), relative = try Request(.get, "/items")
        let response = Response(head: response("Cache-Control: max-age=60"), data: Data("x".utf8), request: relative)
        await #expect(throws: InvalidURLError.self) { try await store.contains(relative) }
        await #expect(throws: InvalidURLError.self) { try await store.response(for: relative) }
        await #expect(throws: InvalidURLError.self) { try await store.store(response, for: relative) }
        #expect(try await store.removeAll(urls: ["/items"]) == 0)
    }
}
