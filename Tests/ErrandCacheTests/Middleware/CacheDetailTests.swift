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
        #expect(try status(response).refusal == .noRoom && !status(response).isStored)
        #expect(response.metadata.description.contains("detail=no-room"))
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

    @Test(arguments: [true, false]) func aStoreThatKeepsNoEntryIsNotStored(_ isVolatile: Bool) async throws {
        let store = TestStore()
        store.refuseEntries()
        let cache = cache(in: store)
        let identity = isVolatile ? CredentialIdentity(scheme: "bearer", "secret") : ada
        let response = try await cache.send(request("Authorization: secret", identity: identity))
        #expect(try !status(response).isStored && status(response).refusal == (isVolatile ? .volatileAccount : .storeRefused))
        #expect(try await response.body.collect().count == 5)
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
