import ErrandCore
import ErrandMiddleware
import ErrandTesting
import HTTPTypes
import Testing

import class TestSupport.ScriptedBodySource
import func TestSupport.eventually

@testable import ErrandCache

/// What users see: why a response is not stored, failures of the store, and responses that the cache makes.
@Suite(.timeLimit(.minutes(5))) struct CacheDetailTests {
    private static let fresh = "Cache-Control: max-age=60"
    private let ada = CredentialIdentity(scheme: "bearer", account: "ada")

    private func cache(in store: some CacheStore, _ lines: String..., body: [String] = ["hello"]) -> CachedOrigin {
        CachedOrigin(in: store, clock: ContinuousClock()) { request, _ in
            reply(to: request, [Self.fresh] + lines, source: ScriptedBodySource(body))
        }
    }

    private func status(_ response: Response) throws -> CacheStatus { try #require(response.metadata.cacheStatus) }

    // MARK: Storage

    @Test func aResponseThatIsTooLargeIsRefusedAtItsHead() async throws {
        let cache = cache(in: MemoryCacheStore(bytes: 16_000), "Content-Length: 3000")
        let response = try await cache.send(request())
        #expect(try status(response).description == "fwd=uri-miss; fwd-status=200; ttl=60; detail=too-large")
        #expect(cache.events.decisions.contains("not stored: \(CacheStatus.Refusal.tooLarge)"))
        response.discard()
    }

    @Test func aBodyThatGrowsTooLargeChangesTheStatus() async throws {
        let cache = cache(in: MemoryCacheStore(bytes: 16_000), body: [String](repeating: String(repeating: "x", count: 1000), count: 4))
        let response = try await cache.send(request())
        #expect(try status(response).isStored)
        _ = try await response.body.collect()
        #expect(try status(response).refusal == .tooLarge && !status(response).isStored)
        #expect(response.metadata.description.contains("detail=too-large"))
    }

    @Test(arguments: StoreKind.allCases) func aBodyThatIsNotReadIsNotStored(_ kind: StoreKind) async throws {
        for (tag, isStored) in [("W/\"1\"", false), ("\"1\"", true)] {
            let cache = cache(in: kind.store, "ETag: \(tag)", "Content-Length: 10", body: ["01234", "56789"])
            let response = try await cache.send(request())
            var iterator = response.body.makeAsyncIterator()
            _ = try await iterator.next()
            response.discard()
            await eventually { cache.isIdle }
            #expect(try status(response).isStored == isStored && status(response).refusal == (isStored ? nil : .incompleteBody))
        }
    }

    private static let refusals: [CacheStatus.Refusal] = [.tooLarge, .noRoom, .removed, .volatileAccount, .storeRefused]

    /// The reason of an app's own store is shown at each step, and the store is used for the next response.
    @Test(arguments: refusals, [TestStore.Step.writer, .write, .publish])
    func theReasonOfAStoreIsInTheStatus(_ refusal: CacheStatus.Refusal, _ step: TestStore.Step) async throws {
        let store = TestStore()
        let cache = cache(in: store)
        store.refuse(refusal, at: step)
        let response = try await cache.send(request())
        if step != .writer { #expect(try status(response).isStored) }
        #expect(try await response.body.collect().count == 5)
        await eventually { cache.isIdle }
        #expect(try status(response).description == "fwd=uri-miss; fwd-status=200; ttl=60; detail=\(refusal.rawValue)")
        store.refuse(nil)
        let next = try await cache.send(request())
        _ = try await next.body.collect()
        await eventually { cache.isIdle }
        #expect(try status(next).isStored && store.memory.usage.entries == 1)
        #expect(response.metadata.warnings.isEmpty && next.metadata.warnings.isEmpty)
    }

    /// Two bodies arrive at the same time, and have no room together.
    @Test(arguments: [true, false]) func aMemoryStoreWithoutRoomSaysSo(_ isAnnounced: Bool) async throws {
        let store = MemoryCacheStore(bytes: 10_000, entryBytes: 6000)
        let cache = CachedOrigin(in: store) { request, number in
            let length = isAnnounced ? ["Content-Length: 4000"] : []
            return reply(to: request, [Self.fresh] + length, source: ScriptedBodySource([String(repeating: "x", count: 4000)]))
        }
        let first = try await cache.send(request())
        var iterator = first.body.makeAsyncIterator()
        _ = try await iterator.next()
        let second = try await cache.send(request(url: sampleURL + "/2"))
        #expect(try status(second).isStored == !isAnnounced)
        _ = try await second.body.collect()
        #expect(try status(second).description == "fwd=uri-miss; fwd-status=200; ttl=60; detail=no-room")
        while try await iterator.next() != nil {}
        #expect(try status(first).isStored && store.usage.entries == 1)
    }

    @Test(arguments: StoreKind.allCases) func aRemovalDuringTheBodyIsAReason(_ kind: StoreKind) async throws {
        let source = ScriptedBodySource(["he", "llo"])
        let cache = CachedOrigin(in: kind.store) { request, _ in reply(to: request, [Self.fresh], source: source) }
        let response = try await cache.send(request())
        var iterator = response.body.makeAsyncIterator()
        _ = try await iterator.next()
        try await cache.store.removeAll(urls: [sampleURL])
        while try await iterator.next() != nil {}
        await eventually { cache.isIdle }
        #expect(try status(response).refusal == .removed)
        #expect(try await cache.store.usage.entries == 0)
    }

    @Test func aFailureOfTheStoreIsInTheStatus() async throws {
        let store = TestStore()
        let cache = cache(in: store)
        store.fail([.writer])
        #expect(try await status(cache.send(request())).description == "fwd=uri-miss; fwd-status=200; ttl=60; detail=store-failed")
        // The pause after the failure.
        store.fail([])
        #expect(try await status(cache.send(request())).refusal == .storeFailed)
        cache.time.advance(by: .seconds(10))
        store.fail([.publish])
        let response = try await cache.send(request())
        #expect(try status(response).isStored)
        _ = try await response.body.collect()
        await eventually { cache.isIdle }
        #expect(try status(response).refusal == .storeFailed && !status(response).isStored)
    }

    @Test func theStatusOfTwoCachesIsTrue() async throws {
        let (inner, outer) = (MemoryCacheStore(), TestStore())
        outer.fail([.publish])
        let origin = TestOrigin { request, _ in reply(to: request, Self.fresh) }
        let stack = origin.cache(in: inner).cache(in: outer)
        let response = try await stack.send(request())
        _ = try await response.body.collect()
        await eventually { outer.work.writes.count == 0 }
        #expect(try status(response).isStored && status(response).refusal == nil && inner.usage.entries == 1)
    }

    @Test func aSharedExchangeIsAReason() async throws {
        let cache = CachedOrigin { request, _ in
            var response = reply(to: request, Self.fresh)
            response.metadata.coalescedInto = request.id
            return response
        }
        #expect(try await status(cache.send(request())).description.hasSuffix("collapsed; detail=shared-exchange"))
    }

    // MARK: Warnings

    @Test func eachKindOfFailureIsOneWarning() async throws {
        let store = TestStore()
        let cache = cache(in: store)
        store.fail([.lookUp])
        var warnings: [String] = []
        for round in 0..<6 {
            if round == 3 { store.fail([.writer]) }
            let response = try await cache.send(request(url: sampleURL + "?token=hidden"))
            _ = try await response.body.collect()
            warnings += response.metadata.warnings
            cache.time.advance(by: .seconds(100))
        }
        #expect(warnings.count == 2, "\(warnings)")
        #expect(warnings.first?.hasPrefix("the cache's store (test) could not find entries: ") == true)
        #expect(warnings.last?.hasPrefix("the cache's store (test) could not write an entry: ") == true)
        #expect(!warnings.joined().contains("hidden"))
    }

    /// The path of a file is no part of a kind, because each body can have a file of its own.
    @Test func anErrorWithAnotherCodeIsAnotherKind() async throws {
        let store = TestStore()
        let cache = cache(in: store)
        var counts: [Int] = []
        for (path, code) in [("/a/1", 28), ("/a/2", 28), ("/a/3", 5), ("/a/4", 28)] as [(String, Int32)] {
            store.fail([.publish], with: FileWriteError(path: path, operation: "write", code: code))
            _ = try await cache.get(request())
            await eventually { cache.isIdle }
            cache.time.advance(by: .seconds(100))
            store.fail([])
            // The next response has the warning of the failure.
            let response = try await cache.send(request(url: sampleURL + path))
            _ = try await response.body.collect()
            await eventually { cache.isIdle }
            counts.append(response.metadata.warnings.count)
            try await store.removeAll()
            cache.time.advance(by: .seconds(100))
        }
        #expect(counts == [1, 0, 1, 0])
    }

    @Test func theWarningsThatWaitHaveALimit() {
        let work = CacheWork()
        for number in 0..<100 { work.warn("\(number)", kind: "\(number)") }
        #expect(work.takeWarnings()?.count == CacheLimits.warnings && work.takeWarnings() == nil)
        work.warn("again", kind: "0")
        #expect(work.takeWarnings() == nil)
        work.warn("new", kind: "99")
        #expect(work.takeWarnings() == ["new"], "a dropped warning can come later")
    }

    @Test func aWarningOfARetriedResponseReachesTheCaller() async throws {
        let store = TestStore()
        store.fail([.lookUp])
        let cache = CachedOrigin(in: store, clock: ContinuousClock()) { request, number in
            reply(to: request, Self.fresh, status: number == 1 ? 503 : 200)
        }
        let stack = cache.stack.retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)), budget: nil)
        let response = try await stack.send(request())
        #expect(response.status == .ok && cache.origin.count == 2)
        #expect(response.metadata.warnings.count == 1, "\(response.metadata.warnings)")
        #expect(try await stack.send(request()).metadata.warnings.isEmpty)
    }

    // MARK: Only stored responses

    @Test(arguments: [false, true]) func aResponseOfTheCacheSaysThatNothingWasSent(_ isByMode: Bool) async throws {
        let cache = cache(in: MemoryCacheStore())
        let strict = cache.stack.validateStatus().retry()
        var asked = isByMode ? request() : request("Cache-Control: only-if-cached")
        if isByMode { asked.options.cache = .use(.storedOnly) }
        let error = try #require(await #expect(throws: StatusError.self) { try await strict.send(asked) })
        #expect(error.delivery == .notSent && error.status == .gatewayTimeout && cache.origin.count == 0)
        #expect(error.failureNumber == .notStored && error.errorDescription == "This content is not stored on this device.")
        #expect(!error.isTransient && !error.isServerError)
        #expect(error.failureReason?.hasPrefix("The request allows only a stored response") == true, "\(error.failureReason ?? "")")
        let reason = "the request allows only a stored response, and no response is stored for the URL"
        #expect(error.description == "GET \(sampleURL): nothing was sent (status 504); \(reason)")
    }

    @Test func aRequestWithUnknownCredentialsIsNotSentEither() async throws {
        let cache = cache(in: MemoryCacheStore())
        let response = try await cache.send(request("Authorization: x"), .use(.storedOnly))
        #expect(response.status == .gatewayTimeout && cache.origin.count == 0)
        #expect(try status(response) == CacheStatus(.unavailable(.bypass)) && status(response).isMiss)
    }

    // MARK: Observers

    @Test func theProfileShowsTheStatusOnce() async throws {
        let cache = cache(in: MemoryCacheStore())
        _ = try await cache.get(request())
        let stack = cache.stack.retry().profile()
        let response = try await stack.send(request())
        let profile = try #require(response.metadata.profile?.description)
        #expect(profile.contains("200, hit; ttl=60\n") && profile.ranges(of: "hit").count == 1, "\(profile)")
        #expect(profile.contains("0 requests"), "\(profile)")
    }

    @Test func theProfileShowsTheFinalStatus() async throws {
        let store = TestStore()
        store.fail([.publish])
        let cache = cache(in: store)
        let response = try await cache.stack.retry().profile().send(request())
        let profile = try #require(response.metadata.profile)
        #expect(profile.description.contains("200, fwd=uri-miss; fwd-status=200; ttl=60; stored\n"), "\(profile)")
        _ = try await response.body.collect()
        await eventually { cache.isIdle }
        #expect(profile.description.contains("200, fwd=uri-miss; fwd-status=200; ttl=60; detail=store-failed\n"), "\(profile)")
        #expect(profile.description.ranges(of: "fwd=").count == 1)
    }

    // MARK: Credentials of other layers

    /// A layer outside the cache: the cache sees the field, and does not know the account.
    @Test func aFieldOutsideTheCacheReachesNoOtherUser() async throws {
        let store = MemoryCacheStore()
        for policy in [CachePolicy.standard, .shared] {
            let origin = TestOrigin { request, _ in reply(to: request, Self.fresh, body: [request.headers[.authorization] ?? "nobody"]) }
            for user in ["ada", "bob"] {
                let stack = origin.cache(in: store, policy: policy).transformRequest { $0.headers[.authorization] = user }
                let response = try await stack.send(request())
                #expect(try status(response).refusal == (policy.scope == .shared ? .credentials : .noAccount))
                #expect(try await response.body.collect() == Data(user.utf8))
            }
            #expect(store.usage.entries == 0 && origin.count == 2)
        }
    }

    /// A layer inside the cache: the cache sees the field only in the request of the response.
    @Test func aFieldInsideTheCacheReachesNoOtherUser() async throws {
        let store = MemoryCacheStore()
        for policy in [CachePolicy.standard, .shared] {
            let origin = TestOrigin { request, _ in reply(to: request, Self.fresh, body: [request.headers[.authorization] ?? "nobody"]) }
            for user in ["ada", "bob"] {
                let stack = origin.transformRequest { $0.headers[.authorization] = user }.cache(in: store, policy: policy)
                let response = try await stack.send(request())
                #expect(try status(response).refusal == (policy.scope == .shared ? .credentials : .noAccount))
                #expect(try await response.body.collect() == Data(user.utf8))
            }
            #expect(store.usage.entries == 0 && origin.count == 2)
        }
    }

    /// The credentials of a layer inside the cache are a query item, an identity, or a field of an API key.
    @Test(arguments: [CachePolicy.Scope.private, .shared], ["query", "identity", "key"])
    func innerCredentialsOfEachKindReachNoOtherUser(_ scope: CachePolicy.Scope, _ kind: String) async throws {
        let (store, policy) = (MemoryCacheStore(), scope == .shared ? CachePolicy.shared : .standard)
        for user in ["ada", "bob"] {
            let origin = TestOrigin { request, _ in reply(to: request, Self.fresh, body: [user]) }
            let stack = origin.transformRequest { sent in
                switch kind {
                case "query": sent = try Request(.get, url: sampleURL + "?api_key=\(user)-secret")
                case "identity": sent.options.credentialIdentity = CredentialIdentity(scheme: "s", user)
                default:
                    sent.headers[.custom("X-Api-Key")] = user
                    sent.options.credentialIdentity = CredentialIdentity(scheme: "s", user)
                }
            }
            let response = try await stack.cache(in: store, policy: policy).send(request())
            #expect(try status(response).refusal == (scope == .shared ? .credentials : .noAccount))
            #expect(try await response.body.collect() == Data(user.utf8))
        }
        #expect(store.usage.entries == 0)
    }

    /// A follower of a shared exchange does not know the credentials that an inner layer has added for the leader.
    @Test func aFollowerStoresNothing() async throws {
        let (store, arrival, gate) = (MemoryCacheStore(), Signal(), Signal())
        let origin = TestOrigin { request, _ in
            arrival.signal()
            try await gate.wait()
            return reply(to: request, Self.fresh, body: ["ada"])
        }
        let stack = origin.transformRequest { $0.headers[.authorization] = "ada" }.coalesce().cache(in: store)
        async let first = stack.send(request())
        async let second = stack.send(request())
        try await arrival.wait()
        for _ in 0..<100 { await Task.yield() }
        gate.signal()
        for response in [try await first, try await second] {
            #expect(try status(response).refusal != nil)
            _ = try await response.body.collect()
        }
        #expect(store.usage.entries == 0 && origin.count == 1)
    }

    @Test func aRelativeRequestForAStoredResponseIsNotSent() async throws {
        let cache = CachedOrigin { request, _ in reply(to: request, Self.fresh) }
        var asked = try Request(.get, "/items")
        asked.options.cache = .use(.storedOnly)
        let response = try await cache.stack.send(asked)
        #expect(response.status == .gatewayTimeout && cache.origin.count == 0)
    }

    @Test func aResponseWithInnerCredentialsIsNotStoredByHand() async throws {
        let store = MemoryCacheStore()
        var sent = request()
        sent.headers[.authorization] = "ada"
        let response = Response(head: response("Cache-Control: max-age=60"), data: Data("ada".utf8), request: sent)
        #expect(try await store.store(response, for: request()) == false && store.usage.entries == 0)
    }

    @Test func aFieldInsideTheCacheIsStoredIfTheRulesPermit() async throws {
        func send(_ policy: CachePolicy, _ control: String, identity: CredentialIdentity? = nil) async throws -> CacheStatus {
            let origin = TestOrigin { request, _ in reply(to: request, "Cache-Control: \(control)") }
            let stack = origin.transformRequest { $0.headers[.authorization] = "x" }.cache(in: .memory, policy: policy)
            return try await status(stack.send(request(identity: identity)))
        }
        #expect(try await send(.shared, "max-age=60, public").isStored)
        #expect(try await send(.shared, "s-maxage=60").isStored)
        #expect(try await send(.standard, "max-age=60, public").refusal == .noAccount)
        #expect(try await send(.standard, "max-age=60", identity: ada).isStored)
    }

    /// The stored response has no account. A confirmation with credentials must not change it.
    @Test func aConfirmationWithInnerCredentialsChangesNothing() async throws {
        let (store, time) = (MemoryCacheStore(), ManualClock())
        let origin = TestOrigin { request, _ in
            request.headers[.authorization] == nil
                ? reply(to: request, Self.fresh, "ETag: \"1\"")
                : reply(to: request, Self.fresh, "ETag: \"1\"", "X-User: ada", status: 304, body: [])
        }
        func stack(_ user: String?) -> HTTPStack {
            origin.transformRequest { $0.headers[.authorization] = user }
                .wrapped(by: CacheMiddleware(in: store, policy: .standard, instant: { time.instant }))
        }
        _ = try await stack(nil).send(request()).body.collect()
        time.advance(by: .seconds(100))
        #expect(try await stack("ada").send(request()).body.collect() == Data("hello".utf8))
        #expect(try await store.entries(limit: 9).first?.entry.head.response.headerFields[.custom("X-User")] == nil)
    }
}
