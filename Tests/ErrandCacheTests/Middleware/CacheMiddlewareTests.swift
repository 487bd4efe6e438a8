import ErrandCore
import ErrandMiddleware
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ClosureTransport
import class TestSupport.ScriptedBodySource
import struct TestSupport.TestError
import func TestSupport.eventually

@testable import ErrandCache

/// The stores over which the middleware must behave in the same way.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case memory, waiting

    var testDescription: String { rawValue }
    var store: any CacheStore { self == .memory ? MemoryCacheStore() : TestStore() }
}

@Suite(.timeLimit(.minutes(5))) struct CacheMiddlewareTests {
    // MARK: Hits and misses

    @Test(arguments: StoreKind.allCases) func aSecondRequestIsAHit(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", body: ["hel", "lo"])
        }
        let first = try await cache.send(request())
        #expect(first.metadata.cacheStatus?.description == "fwd=uri-miss; fwd-status=200; ttl=60; stored")
        #expect(try await first.body.collect() == Data("hello".utf8))
        cache.time.advance(by: .seconds(5))
        let second = try await cache.send(request())
        #expect(second.metadata.cacheStatus?.description == "hit; ttl=55")
        #expect(second.headers[.age] == "5" && second.headers[.eTag] == "\"1\"")
        #expect(try await second.body.collect() == Data("hello".utf8))
        #expect(second.exchange.outcome?.isComplete == true)
        #expect(cache.origin.count == 1)
        #expect(cache.events.decisions == ["fwd=uri-miss", "fwd=uri-miss; fwd-status=200; ttl=60; stored", "hit; ttl=55"])
    }

    @Test(arguments: StoreKind.allCases) func aBodyInMemoryIsStoredAtOnce(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            Response(head: response("Cache-Control: max-age=60"), data: Data("hello".utf8), request: request)
        }
        let first = try await cache.send(request())
        #expect(first.body.bufferedData == Data("hello".utf8))
        first.discard()
        #expect(try await cache.get(request()).0 == "hello")
        #expect(cache.origin.count == 1)
    }

    @Test(arguments: StoreKind.allCases) func theOptionSwitchesTheCacheOff(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in reply(to: request, "Cache-Control: max-age=60") }
        _ = try await cache.get(request(), .off)
        #expect(try await cache.get(request(), .off).1 == nil)
        #expect(cache.origin.count == 2)
        #expect(try await cache.store.usage.entries == 0)
        _ = try await cache.get(request())
        #expect(try await cache.get(request()).1?.isHit == true)
        _ = try await cache.get(request(method: .post), .off)
        #expect(try await cache.get(request()).1?.isHit == false, "an unsafe request invalidates, even past the cache")
    }

    @Test func aRequestForHEADIsAHitOfGET() async throws {
        let cache = CachedOrigin { request, _ in reply(to: request, "Cache-Control: max-age=60", "Content-Length: 5") }
        _ = try await cache.get(request())
        let head = try await cache.send(request(method: .head))
        #expect(head.headers[.contentLength] == "5" && head.metadata.cacheStatus?.isHit == true)
        #expect(try await head.body.collect().isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func aRangeComesFromAWholeEntry(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            reply(to: request, "Cache-Control: max-age=60", body: ["hel", "lo"])
        }
        _ = try await cache.get(request())
        let part = try await cache.send(request("Range: bytes=1-2"))
        #expect(part.status == .partialContent && part.headers[.contentRange] == "bytes 1-2/5")
        #expect(try await part.body.collect() == Data("el".utf8))
        #expect(part.body.expectedLength == 2)
    }

    // MARK: Validation

    @Test(arguments: StoreKind.allCases) func aStaleEntryIsConfirmed(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            number == 1
                ? reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", "X: old")
                : reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", "X: new", status: 304, body: [])
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        let response = try await cache.send(request("Accept: text/html"))
        #expect(cache.origin.sent[1].headers[.ifNoneMatch] == "\"1\"")
        #expect(response.status == .ok && response.headers[.custom("X")] == "new")
        #expect(response.request.headers[.ifNoneMatch] == nil && response.request.headers[.accept] == "text/html")
        #expect(response.metadata.cacheStatus?.isRevalidated == true)
        #expect(try await response.body.collect() == Data("hello".utf8))
        #expect(try await cache.get(request()).1?.isHit == true, "the entry is fresh again")
    }

    @Test(arguments: StoreKind.allCases) func aChangedResponseReplacesTheEntry(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            reply(to: request, "Cache-Control: max-age=60", "ETag: \"\(number)\"", body: ["body \(number)"])
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        #expect(try await cache.get(request()).0 == "body 2")
        #expect(try await cache.get(request()).0 == "body 2")
        #expect(try await cache.store.usage.entries == 1)
    }

    @Test func anEntryThatDisappearsDuringItsValidationIsLoadedAgain() async throws {
        let store = MemoryCacheStore()
        let cache = CachedOrigin(in: store) { request, number in
            if number == 2 { try await store.removeAll() }
            return request.headers[.ifNoneMatch] == nil
                ? reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", body: ["body \(number)"])
                : reply(to: request, "ETag: \"1\"", status: 304, body: [])
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        let (text, status) = try await cache.get(request())
        #expect(text == "body 3" && status?.isMiss == true)
        #expect(cache.origin.sent.map { $0.headers[.ifNoneMatch] } == [nil, "\"1\"", nil])
        #expect(cache.origin.sent[2].options.resendCount == 1)
    }

    @Test func theErrorOfAValidationHasTheCallersFields() async throws {
        let cache = CachedOrigin { request, number in
            if number == 1 { return reply(to: request, "Cache-Control: max-age=1, must-revalidate", "ETag: \"1\"") }
            throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        let error = await #expect(throws: TransportError.self) { try await cache.get(request()) }
        #expect(error?.request?.headers[.ifNoneMatch] == nil && error?.code == .connectionLost)
    }

    // MARK: Modes

    @Test func theModesAreThoseOfURLSession() async throws {
        let cache = CachedOrigin { request, number in
            reply(to: request, "Cache-Control: max-age=60", "ETag: \"\(number)\"", body: ["body \(number)"])
        }
        #expect(try await cache.get(request(), .use(.storedElseLoad)).0 == "body 1")
        #expect(try await cache.get(request(), .use(.reload)).0 == "body 2")
        #expect(cache.origin.sent[1].headers[.ifNoneMatch] == nil)
        #expect(try await cache.get(request(), .use(.reloadEverywhere)).0 == "body 3")
        #expect(cache.origin.sent[2].headers[.cacheControl] == "no-cache")
        #expect(try await cache.get(request(), .use(.revalidate)).0 == "body 4")
        #expect(cache.origin.sent[3].headers[.ifNoneMatch] == "\"3\"")
        cache.time.advance(by: .seconds(1000))
        let (text, status) = try await cache.get(request(), .use(.storedElseLoad))
        #expect(text == "body 4" && status?.isStale == true)
        #expect(try await cache.get(request(), .use(.storedOnly)).0 == "body 4")
        let missing = try await cache.send(request(url: "https://api.example/other"), .use(.storedOnly))
        #expect(missing.status == .gatewayTimeout && missing.metadata.cacheStatus?.isMiss == true)
        #expect(cache.origin.count == 4)
    }

    @Test func onlyIfCachedIsA504ThatSaysWhy() async throws {
        let cache = CachedOrigin { request, _ in reply(to: request) }
        let strict = cache.stack.validateStatus()
        let error = await #expect(throws: StatusError.self) { try await strict.send(request("Cache-Control: only-if-cached")) }
        #expect(error?.description.contains("no response is stored for the URL") == true, "\(String(describing: error))")
        #expect(cache.origin.count == 0)
    }

    @Test func aModeIsPartOfTheIdentityOfARequest() {
        var one = request()
        one.options.cache = .use(.reload)
        #expect(one.options.identity != request().options.identity)
    }

    @Test func anOptionRequiresACache() async throws {
        let stack = HTTPStack(ClosureTransport { reply(to: $0) })
        await #expect(throws: UnsupportedOptionError.self) {
            var one = request()
            one.options.cache = .use(.reload)
            return try await stack.send(one)
        }
    }

    // MARK: Invalidation

    @Test(arguments: StoreKind.allCases) func anUnsafeRequestInvalidates(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in reply(to: request, "Cache-Control: max-age=60") }
        _ = try await cache.get(request())
        #expect(try await cache.get(request(method: .post)).1?.description == "fwd=method; fwd-status=200; detail=method")
        #expect(try await cache.store.usage.entries == 0)
    }

    @Test func clearSiteDataRemovesAllEntriesOfTheOrigin() async throws {
        let cache = CachedOrigin { request, number in
            number < 4
                ? reply(to: request, "Cache-Control: max-age=60")
                : reply(to: request, "Cache-Control: max-age=60", "Clear-Site-Data: \"cookies\", \"cache\"")
        }
        for url in ["https://api.example/a", "https://api.example/b", "https://other.example/"] {
            _ = try await cache.get(request(url: url))
        }
        _ = try await cache.get(request(url: "https://api.example/logout"))
        #expect(try await cache.store.entries(limit: 9).map(\.url) == ["https://api.example/logout", "https://other.example/"])
    }

    @Test(arguments: StoreKind.allCases) func aGroupIsInvalidated(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            request.method == .post
                ? reply(to: request, "Cache-Group-Invalidation: \"news\"")
                : reply(to: request, "Cache-Control: max-age=60", "Cache-Groups: \"\(number == 2 ? "weather" : "news")\"")
        }
        for url in ["https://api.example/a", "https://api.example/b", "https://other.example/"] {
            _ = try await cache.get(request(url: url))
        }
        _ = try await cache.get(request(method: .post))
        #expect(try await cache.store.entries(limit: 9).map(\.url) == ["https://other.example/", "https://api.example/b"])
    }

    // MARK: Accounts

    @Test(arguments: StoreKind.allCases) func accountsHaveTheirOwnEntries(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, _ in
            reply(to: request, "Cache-Control: max-age=60", body: [request.headers[.authorization] ?? "none"])
        }
        let one = CredentialIdentity(scheme: "bearer", account: "one"), two = CredentialIdentity(scheme: "bearer", account: "two")
        for _ in 0..<2 {
            #expect(try await cache.get(request("Authorization: one", identity: one)).0 == "one")
            #expect(try await cache.get(request("Authorization: two", identity: two)).0 == "two")
            #expect(try await cache.get(request()).0 == "none")
        }
        #expect(cache.origin.count == 3)
        try await cache.store.forget(one)
        _ = try await cache.get(request("Authorization: one", identity: one))
        _ = try await cache.get(request("Authorization: two", identity: two))
        #expect(cache.origin.count == 4)
    }

    @Test func credentialsOfNobodyAreNotStored() async throws {
        let cache = CachedOrigin { request, _ in reply(to: request, "Cache-Control: max-age=60") }
        _ = try await cache.get(request("Authorization: secret"))
        #expect(try await cache.get(request("Authorization: secret")).1?.outcome == .forwarded(.bypass))
        #expect(try await cache.store.usage.entries == 0)
    }

    @Test(arguments: StoreKind.allCases) func aResponseThatArrivesAfterTheSignOutIsNotStored(_ kind: StoreKind) async throws {
        let identity = CredentialIdentity(scheme: "bearer", account: "one")
        let store = kind.store
        let cache = CachedOrigin(in: store) { request, number in
            if number == 1 { try await store.forget(identity) }
            return reply(to: request, "Cache-Control: max-age=60")
        }
        _ = try await cache.get(request(identity: identity))
        #expect(try await store.usage.entries == 0)
        let response = try await cache.send(request(identity: identity))
        try await store.forget(identity)
        _ = try await response.body.collect()
        #expect(try await store.usage.entries == 0, "the sign-out came during the body")
    }

    // MARK: Failures of the server

    @Test(arguments: StoreKind.allCases) func aStaleEntryReplacesAFailure(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store) { request, number in
            if number == 1 { return reply(to: request, "Cache-Control: max-age=1, stale-if-error=600") }
            if number == 2 { return reply(to: request, status: 503, body: ["down"]) }
            throw TransportError(.connectionLost, phase: .response, request: request, delivery: .sent)
        }
        _ = try await cache.get(request())
        cache.time.advance(by: .seconds(100))
        for _ in 0..<2 {
            let (text, status) = try await cache.get(request())
            #expect(text == "hello" && status?.isFallback == true && status?.isStale == true)
        }
        cache.time.advance(by: .seconds(1000))
        await #expect(throws: TransportError.self) { try await cache.get(request()) }
    }

    // MARK: Shared and decoded responses

    @Test func aSharedResponseIsNotWritten() async throws {
        let cache = CachedOrigin { request, _ in
            var response = reply(to: request, "Cache-Control: max-age=60")
            response.metadata.coalescedInto = request.id
            return response
        }
        let (_, status) = try await cache.get(request())
        #expect(status?.isCollapsed == true && status?.isStored == false)
        #expect(try await cache.store.usage.entries == 0)
    }

    @Test func onlyTheCallThatMadeTheExchangeWrites() async throws {
        let store = TestStore(), arrival = Signal(), gate = Signal()
        let origin = TestOrigin { request, number in
            if number == 1 {
                arrival.signal()
                try await gate.wait()
            }
            return reply(to: request, "Cache-Control: max-age=60")
        }
        let stack = origin.coalesce().wrapped(by: CacheMiddleware(in: store, clock: ManualClock()))
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<10 { group.addTask { try await stack.send(request()).body.collect() } }
            await eventually { store.calls(.lookUp) == 10 && arrival.hasCome }
            gate.signal()
            for try await data in group { #expect(data == Data("hello".utf8)) }
        }
        // A call may come too late to share the first exchange.
        #expect(store.calls(.writer) == origin.count && origin.count < 10)
        #expect(store.memory.usage.entries == 1)
    }

    @Test func bytesThatTheTransportHasDecodedAreNotMixedWithOthers() async throws {
        let store = MemoryCacheStore()
        @Sendable func decoded(_ request: Request) -> Response {
            var response = reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"")
            response.metadata.contentCoding = "gzip"
            return response
        }
        let unaware = CachedOrigin(in: store) { request, _ in decoded(request) }
        _ = try await unaware.get(request())
        #expect(store.usage.entries == 0)
        let aware = CachedOrigin(in: store, decodes: true) { request, _ in decoded(request) }
        _ = try await aware.get(request())
        #expect(try await aware.get(request()).1?.isHit == true)
        #expect(try await unaware.get(request()).1?.isHit == true, "bytes without a coding serve every stack")
        let part = try await aware.get(request("Range: bytes=0-1"))
        #expect(part.1?.isHit == false, "the range is one of the encoded bytes")
    }

    @Test func encodedBytesServeOnlyAStackThatDecodesThem() async throws {
        let store = MemoryCacheStore()
        let plain = CachedOrigin(in: store) { request, _ in
            reply(to: request, "Cache-Control: max-age=60", "Content-Encoding: gzip", "ETag: \"1\"", body: ["zip"])
        }
        _ = try await plain.get(request())
        let decoding = CachedOrigin(in: store, decodes: true) { request, _ in
            reply(to: request, "Cache-Control: no-store", "ETag: \"1\"", body: ["text"])
        }
        let (text, status) = try await decoding.get(request())
        #expect(text == "text" && status?.isHit == false && decoding.origin.sent[0].headers[.ifNoneMatch] == nil)
        #expect(try await plain.get(request()).1?.isHit == true)
    }

    @Test func aTransportThatDecodesGetsNoRestOfABody() async throws {
        let store = MemoryCacheStore()
        let plain = CachedOrigin(in: store) { request, _ in
            reply(
                to: request, ["Cache-Control: max-age=60", "ETag: \"1\"", "Content-Length: 10"],
                source: ScriptedBodySource(["hello"], then: .failure(TestError())))
        }
        await #expect(throws: TestError.self) { try await plain.get(request()) }
        let decoding = CachedOrigin(in: store, decodes: true) { request, _ in
            reply(to: request, "Cache-Control: max-age=60", "ETag: \"1\"", body: ["helloworld"])
        }
        #expect(try await decoding.get(request()).0 == "helloworld")
        #expect(decoding.origin.sent.count == 1 && decoding.origin.sent[0].headers[.range] == nil)
    }

    // MARK: Observers

    @Test func anObserverSeesTheEndOfAHit() async throws {
        let cache = CachedOrigin { request, _ in reply(to: request, "Cache-Control: max-age=60") }
        _ = try await cache.get(request())
        let profiled = cache.stack.profile()
        let response = try await profiled.send(request())
        #expect(response.metadata.cacheStatus?.isHit == true)
        #expect(response.metadata.timings?.exchanges.isEmpty == true)
        let sink = RecordingEventSink()
        _ = try await cache.stack.events(to: sink).send(request()).body.collect()
        #expect(sink.kinds == [.callStart, .cacheDecision, .callEnd])
    }

    @Test func theLabelNamesTheStoreAndThePolicy() {
        let stack = TestOrigin { request, _ in reply(to: request) }.cache(in: .memory(bytes: 5000), policy: .shared)
        #expect(stack.description.contains("cache(in: memory, 5000 bytes, shared)"))
        #expect(stack.contains(.cache))
    }

    // MARK: Without a request

    @Test func aStoreCanBeFilledAndAsked() async throws {
        let store = MemoryCacheStore()
        #expect(try await store.contains(request()) == false)
        let seed = Response(
            head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), data: Data("seed".utf8), request: request())
        #expect(try await store.store(seed, for: request()))
        #expect(try await store.contains(request()))
        let found = try #require(try await store.response(for: request()))
        #expect(try await found.body.collect() == Data("seed".utf8))
        #expect(found.metadata.cacheStatus?.isHit == true)
        let stack = TestOrigin { _, _ in throw CancellationError() }.cache(in: store)
        #expect(try await stack.send(request()).body.collect() == Data("seed".utf8))
        let origin = TestOrigin { _, _ in throw CancellationError() }
        let decoding = origin.wrapped(by: CacheMiddleware(in: store, transportDecodes: true))
        #expect(try await decoding.send(request()).body.collect() == Data("seed".utf8), "a stack over URLSession")
        var decoded = Response(
            head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), data: Data("text".utf8),
            request: request(url: "https://api.example/decoded"))
        decoded.metadata.contentCoding = "gzip"
        #expect(try await store.store(decoded, for: decoded.request))
        #expect(try await store.contains(decoded.request))
        #expect(try await !store.contains(request("Range: bytes=0-1", url: "https://api.example/decoded")), "no range of decoded bytes")
        let secret = Response(head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "no-store"]), request: request())
        #expect(try await store.store(secret, for: request()) == false)
        #expect(try await store.response(for: request(identity: CredentialIdentity(scheme: "s", "x"))) == nil)
    }
}
