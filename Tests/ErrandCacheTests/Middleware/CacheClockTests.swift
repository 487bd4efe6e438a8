import ErrandCore
import ErrandMiddleware
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ManualDate

@testable import ErrandCache

/// The clock of a test: the parameter `now` of the layer and of the functions of a store.
@Suite(.timeLimit(.minutes(5))) struct CacheClockTests {
    private static func origin() -> TestOrigin {
        TestOrigin { request, _ in
            request.headers[.ifNoneMatch] == nil
                ? reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"")
                : reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", status: 304, body: [])
        }
    }

    /// Dates in the future, in the past, and before 1970.
    @Test(arguments: [4_000_000_000, 1_000_000_000, 0, -4_000_000_000], StoreKind.allCases)
    func aDateOfTheTestDecidesTheAge(_ seconds: Int64, _ kind: StoreKind) async throws {
        let (origin, date, store) = (Self.origin(), ManualDate(seconds), kind.store)
        // On the manual clock, no limit for a slow store passes on a busy machine.
        func stack(_ store: some CacheStore) -> HTTPStack {
            origin.wrapped(by: CacheMiddleware(in: store, clock: ManualClock(), now: { date.date }))
        }
        let stack = stack(store)
        func get() async throws -> String {
            let response = try await stack.send(request())
            #expect(try await response.body.collect() == Data("hello".utf8))
            await store.finish()
            return response.metadata.cacheStatus?.description ?? ""
        }
        #expect(try await get() == "fwd=uri-miss; fwd-status=200; ttl=60; stored")
        date.move(bySeconds: 59)
        #expect(try await get() == "hit; ttl=1" && origin.count == 1)
        date.move(bySeconds: -30)
        #expect(try await get() == "hit; ttl=31", "the response gets no older than the date says")
        date.move(bySeconds: -100)
        #expect(try await get() == "hit; ttl=60", "the age is never negative")
        date.move(bySeconds: 131)
        #expect(try await get() == "fwd=stale; fwd-status=304; ttl=60; stored" && origin.count == 2)
        #expect(try await get() == "hit; ttl=60" && origin.count == 2)
    }

    @Test(arguments: StoreKind.allCases) func theFunctionsOfAStoreHaveTheClock(_ kind: StoreKind) async throws {
        let (date, store) = (ManualDate(1_900_000_000), kind.store)
        let given = Response(head: response("Cache-Control: max-age=60"), data: Data("hello".utf8), request: request())
        #expect(try await store.store(given, for: request(), now: { date.date }))
        let entry = try #require(try await store.entries(limit: 1).first?.entry)
        #expect(entry.head.responseTime.sinceEpoch == .seconds(1_900_000_000))
        date.move(bySeconds: 20)
        func status() async throws -> CacheStatus? {
            let found = try #require(try await store.response(for: request(), now: { date.date }))
            defer { found.discard() }
            return found.metadata.cacheStatus
        }
        #expect(try await status()?.description == "hit; ttl=40")
        #expect(try await store.contains(request(), now: { date.date }))
        date.move(bySeconds: 60)
        #expect(try await status()?.isStale == true)
        #expect(try await store.response(for: request())?.metadata.cacheStatus?.description != "hit; ttl=40")
    }

    @Test func withoutADateTheSystemsClocksCount() async throws {
        let read = CacheInstant.clock(nil)
        let (first, second) = (read(), read())
        #expect(first.run == CacheInstant.now.run && first.uptime <= second.uptime)
        let fixed = CacheInstant.clock { Date(timeIntervalSince1970: 5) }
        #expect(fixed() == CacheInstant(sinceEpoch: .seconds(5), uptime: .seconds(5), run: 0))
    }
}
