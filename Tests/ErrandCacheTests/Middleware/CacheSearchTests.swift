import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import func TestSupport.eventually

@testable import ErrandCache

/// Responses with `No-Vary-Search` in the middleware.
@Suite(.timeLimit(.minutes(5))) struct CacheSearchTests {
    private static func policy(_ scope: CachePolicy.Scope = .private) -> CachePolicy {
        var policy = CachePolicy(scope: scope)
        policy.usesNoVarySearch = true
        return policy
    }

    private static func url(_ query: String, path: String = "/feed") -> String { "https://api.example\(path)?\(query)" }

    /// A cache over an origin whose body is the number of the request.
    private func makeCache(
        _ kind: StoreKind, _ policy: CachePolicy = policy(), _ lines: @escaping @Sendable (Int) -> [String] = { _ in [field] }
    ) -> CachedOrigin {
        CachedOrigin(in: kind.store, policy: policy) { request, number in
            reply(to: request, ["Cache-Control: max-age=60"] + lines(number), source: ScriptedBodySource(["\(number)"]))
        }
    }

    private static let field = "No-Vary-Search: key-order, params=(\"session\")"

    /// Sends a request, and waits for the writes to the store.
    private func get(_ cache: CachedOrigin, _ request: Request) async throws -> (String, CacheStatus?) {
        let result = try await cache.get(request)
        await eventually { cache.isIdle }
        return result
    }

    @Test(arguments: StoreKind.allCases) func anotherSessionIsAHit(_ kind: StoreKind) async throws {
        for scope in [CachePolicy.Scope.private, .shared] {
            let cache = makeCache(kind, Self.policy(scope))
            #expect(try await get(cache, request(url: Self.url("q=a&page=1&session=1"))).1?.isStored == true)
            for query in ["q=a&page=1&session=1", "session=2&page=1&q=a", "page=1&q=%61", "session&q=a&&page=1"] {
                let (text, status) = try await get(cache, request(url: Self.url(query)))
                #expect(text == "1" && status?.isHit == true, "\(query)")
            }
            #expect(try await get(cache, request(url: Self.url("q=b&page=1&session=1"))).1?.isMiss == true)
            #expect(try await get(cache, request(url: Self.url("q=a&page=1", path: "/news"))).1?.isMiss == true)
            // All of these are stored, and one pointer for each path.
            #expect(try await get(cache, request(url: Self.url("page=1&q=b"))).0 == "2")
            #expect(try await get(cache, request(url: Self.url("page=1&q=a&session=3"))).0 == "1")
            #expect(try await cache.store.usage.entries == 5 && cache.origin.count == 3)
        }
    }

    @Test func withoutTheSettingTheWholeQueryCounts() async throws {
        let cache = makeCache(.memory, .standard)
        _ = try await get(cache, request(url: Self.url("session=1")))
        #expect(try await get(cache, request(url: Self.url("session=2"))).1?.isMiss == true)
        #expect(try await get(cache, request(url: Self.url("session=1"))).1?.isHit == true)
        #expect(try await cache.store.usage.entries == 2)
    }

    @Test(arguments: StoreKind.allCases) func headAndRangesComeFromAnEquivalentURL(_ kind: StoreKind) async throws {
        let cache = makeCache(kind)
        _ = try await get(cache, request(url: Self.url("session=1")))
        let head = try await cache.send(request(method: .head, url: Self.url("session=2")))
        #expect(head.metadata.cacheStatus?.isHit == true && head.body.bufferedData?.isEmpty == true)
        let part = try await cache.send(request("Range: bytes=0-0", url: Self.url("session=3")))
        #expect(part.status == .partialContent && cache.origin.count == 1)
    }

    @Test(arguments: StoreKind.allCases) func variantsStaySeparate(_ kind: StoreKind) async throws {
        let cache = makeCache(kind) { _ in [Self.field, "Vary: Foo"] }
        #expect(try await get(cache, request("Foo: 1", url: Self.url("session=1"))).0 == "1")
        #expect(try await get(cache, request("Foo: 2", url: Self.url("session=2"))).0 == "2")
        #expect(try await get(cache, request("Foo: 1", url: Self.url("session=3"))).0 == "1")
        #expect(try await get(cache, request("Foo: 2", url: Self.url("session=3"))).0 == "2")
    }

    @Test(arguments: StoreKind.allCases) func accountsStaySeparate(_ kind: StoreKind) async throws {
        let cache = makeCache(kind)
        let identities = ["a", "b"].map { CredentialIdentity(scheme: "s", account: $0) }
        for identity in identities { _ = try await get(cache, request(url: Self.url("session=1"), identity: identity)) }
        #expect(try await get(cache, request(url: Self.url("session=2"))).0 == "3")
        #expect(try await get(cache, request(url: Self.url("session=2"), identity: identities[0])).0 == "1")
        #expect(try await get(cache, request(url: Self.url("session=2"), identity: identities[1])).0 == "2")
        try await cache.store.forget(identities[0])
        #expect(try await get(cache, request(url: Self.url("session=2"), identity: identities[0])).0 == "4")
        #expect(try await get(cache, request(url: Self.url("session=2"), identity: identities[1])).0 == "2")
    }

    @Test(arguments: StoreKind.allCases) func anUnsafeRequestInvalidatesEquivalentURLs(_ kind: StoreKind) async throws {
        let cache = makeCache(kind)
        _ = try await get(cache, request(url: Self.url("session=1&q=a")))
        _ = try await get(cache, request(url: Self.url("session=1", path: "/other")))
        _ = try await get(cache, request(method: .put, url: Self.url("session=7&q=a")))
        #expect(try await get(cache, request(url: Self.url("session=2&q=a"))).1?.isMiss == true)
        #expect(try await get(cache, request(url: Self.url("session=2", path: "/other"))).1?.isHit == true)
    }

    @Test(arguments: StoreKind.allCases) func theLatestFieldCounts(_ kind: StoreKind) async throws {
        let cache = makeCache(kind) { number in
            switch number {
            case 1: [Self.field]
            case 2: ["No-Vary-Search: params, except=(\"q\")"]
            default: []
            }
        }
        _ = try await get(cache, request(url: Self.url("session=1&q=a")))
        #expect(try await get(cache, request(url: Self.url("session=1&q=b"))).0 == "2")
        #expect(try await get(cache, request(url: Self.url("other=1&q=b"))).0 == "2")
        // The response with the earlier field is not found, and not mixed up with others.
        #expect(try await get(cache, request(url: Self.url("session=2&q=a"))).0 == "3")
        #expect(try await get(cache, request(url: Self.url("session=2&q=a"))).1?.isHit == true)
        #expect(try await get(cache, request(url: Self.url("session=3&q=a"))).0 == "4")
    }

    @Test(arguments: StoreKind.allCases) func aConfirmationWithAnotherFieldRemovesTheEntry(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store, policy: Self.policy()) { request, number in
            number == 2
                ? reply(
                    to: request, "Cache-Control: max-age=60", "ETag: \"1\"", "No-Vary-Search: params=(\"other\")", status: 304, body: [])
                : reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", Self.field, body: ["\(number)"])
        }
        _ = try await get(cache, request(url: Self.url("session=1")))
        cache.time.advance(by: .seconds(61))
        // The confirmed response would be found by another key. The request is sent again, without the condition.
        #expect(try await get(cache, request(url: Self.url("session=2"))).0 == "3")
        #expect(cache.origin.sent.map { $0.headers[.ifNoneMatch] } == [nil, "\"1\"", nil])
        #expect(try await get(cache, request(url: Self.url("session=3"))).0 == "3" && cache.origin.count == 3)
    }

    @Test(arguments: StoreKind.allCases) func aConfirmationFreshensAllEquivalentURLs(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store, policy: Self.policy()) { request, number in
            number == 1
                ? reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", Self.field)
                : reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", status: 304, body: [])
        }
        _ = try await get(cache, request(url: Self.url("session=1")))
        cache.time.advance(by: .seconds(61))
        #expect(try await get(cache, request(url: Self.url("session=2"))).1?.isRevalidated == true)
        #expect(try await get(cache, request(url: Self.url("session=3"))).1?.isHit == true)
        #expect(cache.origin.count == 2)
    }

    @Test(arguments: StoreKind.allCases) func equivalentURLsHaveOneRevalidation(_ kind: StoreKind) async throws {
        let source = RecordingBodySource()
        let cache = CachedOrigin(in: kind.store, policy: Self.policy()) { request, number in
            number == 1
                ? reply(to: request, "Cache-Control: max-age=60, stale-while-revalidate=60", Self.field)
                : reply(to: request, ["Cache-Control: max-age=60", Self.field], source: source)
        }
        _ = try await get(cache, request(url: Self.url("session=1")))
        cache.time.advance(by: .seconds(61))
        for number in 2...5 { #expect(try await cache.get(request(url: Self.url("session=\(number)"))).1?.isHit == true) }
        await eventually { cache.origin.count == 2 }
        source.finish()
        await eventually { cache.isIdle }
        #expect(cache.origin.count == 2)
    }

    @Test(arguments: StoreKind.allCases) func aStoreIsFilledAndReadByEquivalentURLs(_ kind: StoreKind) async throws {
        let (store, policy) = (kind.store, Self.policy())
        let stored = Response(
            head: response("Cache-Control: max-age=60", Self.field), data: Data("hello".utf8), request: request(url: Self.url("session=1")))
        #expect(try await store.store(stored, for: request(url: Self.url("session=1")), policy: policy))
        #expect(try await store.contains(request(url: Self.url("session=2")), policy: policy))
        #expect(try await !store.contains(request(url: Self.url("q=2")), policy: policy))
        #expect(try await !store.contains(request(url: Self.url("session=2"))))
        let found = try #require(try await store.response(for: request(url: Self.url("session=3")), policy: policy))
        #expect(try await found.body.collect() == Data("hello".utf8))
    }
}
