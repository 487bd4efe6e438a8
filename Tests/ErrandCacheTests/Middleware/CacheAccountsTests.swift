import ErrandCore
import ErrandTesting
import HTTPTypes
import Testing

import func TestSupport.eventually

@testable import ErrandCache

/// Accounts that use one store at the same time, in random order, and sign out in between.
@Suite(.timeLimit(.minutes(5))) struct CacheAccountsTests {
    /// Two accounts with a durable identity, and two with an identity that is valid only in this process.
    private static let accounts = [
        ("alice", CredentialIdentity(scheme: "sample", account: "alice")), ("bob", CredentialIdentity(scheme: "sample", account: "bob")),
        ("carol", CredentialIdentity(scheme: "sample", "carol")), ("dave", CredentialIdentity(scheme: "sample", "dave")),
    ]

    @Test(arguments: StoreKind.allCases) func noAccountGetsTheResponseOfAnother(_ kind: StoreKind) async throws {
        let cache = CachedOrigin(in: kind.store, clock: ContinuousClock()) { request, number in
            // Responses arrive in another order than their requests.
            for _ in 0..<number % 5 { await Task.yield() }
            let vary = number % 3 == 0 ? "Accept-Language" : "Authorization"
            let account = request.headers[.authorization] ?? "nobody"
            return reply(
                to: request, "Cache-Control: max-age=600", "Vary: \(vary)", body: ["\(account) ", "\(request.target?.path ?? "")"])
        }
        let hits = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var (generator, hits) = (SeededGenerator(seed: UInt64(task)), 0)
                    for call in 1...1250 {
                        let (account, identity) = Self.accounts[Int.random(in: 0..<4, using: &generator)]
                        let path = "/\(Int.random(in: 0..<20, using: &generator))"
                        var request = request(url: "https://api.example\(path)")
                        request.headers[.authorization] = account
                        request.options.credentialIdentity = identity
                        let (text, status) = try await cache.get(request)
                        #expect(text == "\(account) \(path)")
                        if status?.isHit == true { hits += 1 }
                        if call % 100 == 0 { try await cache.store.forget(identity) }
                    }
                    return hits
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(hits > 5000)
        await eventually { cache.isIdle }
        for (_, identity) in Self.accounts { try await cache.store.forget(identity) }
        #expect(try await cache.store.usage.entries == 0, "each entry belongs to an account")
    }
}
