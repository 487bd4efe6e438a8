#if Auth
import Errand
import ErrandTesting
import Foundation
import Testing

/// What a request gets from a cache while no token can be refreshed.
@Suite(.timeLimit(.minutes(5))) struct StoredResponseTests {
    private static func tokens(
        _ token: AccessToken, failing error: any Error = TransportError(.notConnected, phase: .connect, request: nil, delivery: .notSent)
    ) -> TokenSource { TokenSource(token, account: "joe") { _ in throw error } }

    private static let fresh = AccessToken("1", expiresAt: .distantFuture)
    private static let expired = AccessToken("1", expiresAt: .distantPast)

    private static func stub() -> StubTransport {
        StubTransport(
            Stub(.get, "/a").responds(.data(Data("hello".utf8), headers: [.cacheControl: "max-age=60"]), repeatingLast: true))
    }

    @Test func anExpiredTokenStillGetsFreshEntries() async throws {
        let (stub, cache) = (Self.stub(), MemoryCacheStore())
        let request = try Request(.get, url: "https://a.example/a")
        _ = try await stub.cache(in: cache).authenticate(.bearer(Self.tokens(Self.fresh))).send(request).body.collect()
        let offline = stub.cache(in: cache).authenticate(.bearer(Self.tokens(Self.expired)))
        let response = try await offline.send(request)
        #expect(response.metadata.cacheStatus?.isHit == true && response.metadata.cacheStatus?.isStale == false)
        #expect(response.request.headers[.cacheControl] == nil)
        #expect(try await response.body.collect() == Data("hello".utf8))
        #expect(stub.requests.count == 1)
    }

    @Test func withoutAnEntryTheErrorOfTheRefreshIsThrown() async throws {
        let stub = Self.stub()
        let request = try Request(.get, url: "https://a.example/a")
        for stack in [stub.cache(in: .memory), HTTPStack(stub)] {
            let error = await #expect(throws: AuthenticationError.self) {
                try await stack.authenticate(.bearer(Self.tokens(Self.expired))).send(request)
            }
            #expect(error?.code == .refreshFailed)
        }
        #expect(stub.requests.isEmpty, "no request leaves the stack without credentials")
    }

    @Test func anotherAccountAndARefusedRefreshGetNothing() async throws {
        let (stub, cache) = (Self.stub(), MemoryCacheStore())
        let request = try Request(.get, url: "https://a.example/a")
        _ = try await stub.cache(in: cache).authenticate(.bearer(Self.tokens(Self.fresh))).send(request).body.collect()
        let other = TokenSource(Self.expired, account: "ann") { _ in
            throw TransportError(.notConnected, phase: .connect, request: nil, delivery: .notSent)
        }
        await #expect(throws: AuthenticationError.self) { try await stub.cache(in: cache).authenticate(.bearer(other)).send(request) }
        struct Refused: Error {}
        let refused = Self.tokens(Self.expired, failing: Refused())
        await #expect(throws: AuthenticationError.self) { try await stub.cache(in: cache).authenticate(.bearer(refused)).send(request) }
        #expect(stub.requests.count == 1)
    }

    @Test func signingOutRemovesTheEntriesOfTheAccount() async throws {
        let (stub, cache) = (Self.stub(), MemoryCacheStore())
        let tokens = Self.tokens(Self.fresh)
        let request = try Request(.get, url: "https://a.example/a")
        _ = try await stub.cache(in: cache).authenticate(.bearer(tokens)).send(request).body.collect()
        #expect(cache.usage.entries == 1)
        try await tokens.signOut(clearing: [cache])
        #expect(cache.usage.entries == 0)
    }
}
#endif
