import ErrandCore
import Testing

@testable import ErrandCache

@Suite(.timeLimit(.minutes(5))) struct CacheGenerationsTests {
    private static let account = CredentialIdentity(scheme: "s", account: "one")
    /// The keys of one account, of another account, of a volatile account, of another URL and of another origin.
    private static let keys = [
        key(), key(identity: account), key(identity: CredentialIdentity(scheme: "s", account: "one", "token")),
        key(identity: CredentialIdentity(scheme: "s", account: "two")), key(identity: CredentialIdentity(scheme: "basic", "joe")),
        key("https://api.example/other"), key("https://other.example/items"),
    ]

    private static func key(_ url: String = sampleURL, identity: CredentialIdentity? = nil) -> CacheKey {
        do {
            return CacheKey(url: try HTTPURL(url), partition: identity.map { .account($0) } ?? .none)
        } catch {
            preconditionFailure("url must be valid (is \(url))")
        }
    }

    private func isCurrent(_ generation: CacheGeneration, _ generations: CacheGenerations, groups: [String] = []) -> [Bool] {
        Self.keys.map { generations.isCurrent(generation, for: $0, groups: groups) }
    }

    @Test func aRemovalAppliesOnlyToItsKeys() throws {
        let origin = try HTTPURL(sampleURL).origin
        let removals: [((inout CacheGenerations) -> Void, [Bool])] = [
            ({ $0.forget(Self.account) }, [true, false, false, true, true, true, true]),
            ({ $0.forget(CredentialIdentity(scheme: "basic", "joe")) }, [true, true, true, true, false, true, true]),
            ({ $0.remove(urls: [sampleURL, "x"]) }, [false, false, false, false, false, true, true]),
            ({ $0.remove(origin) }, [false, false, false, false, false, false, true]),
            ({ $0.remove(groups: ["g"], of: origin) }, [true, true, true, true, true, true, true]),
            ({ $0.empty() }, [false, false, false, false, false, false, false]),
        ]
        for (remove, expected) in removals {
            var generations = CacheGenerations()
            let before = generations.current
            #expect(isCurrent(before, generations) == Array(repeating: true, count: Self.keys.count))
            remove(&generations)
            #expect(isCurrent(before, generations) == expected)
            #expect(isCurrent(generations.current, generations) == Array(repeating: true, count: Self.keys.count), "a later request")
        }
    }

    @Test func aGroupBelongsToItsOrigin() throws {
        var generations = CacheGenerations()
        let before = generations.current
        generations.remove(groups: ["g", "h"], of: try HTTPURL(sampleURL).origin)
        #expect(isCurrent(before, generations, groups: ["x", "h"]) == [false, false, false, false, false, false, true])
        #expect(isCurrent(before, generations, groups: ["G"]) == Array(repeating: true, count: Self.keys.count))
    }

    /// The response to a POST removes the URL that it belongs to, and may be stored nevertheless. A sign-out still applies.
    @Test func theOwnRemovalsOfAResponseDoNotCount() {
        var generations = CacheGenerations()
        let before = generations.current
        generations.remove(urls: [sampleURL])
        let after = before.after(ownRemovals: generations.current)
        #expect(isCurrent(after, generations) == Array(repeating: true, count: Self.keys.count))
        generations.remove(urls: ["https://api.example/other"])
        #expect(isCurrent(after, generations) == [true, true, true, true, true, false, true])
        generations.forget(Self.account)
        #expect(isCurrent(after, generations) == [true, false, false, true, true, false, true])
        generations.empty()
        #expect(isCurrent(after, generations) == Array(repeating: false, count: Self.keys.count))
    }

    @Test func aRemovalThatWasForgottenAppliesToAll() {
        var generations = CacheGenerations()
        let first = generations.current
        generations.forget(Self.account)
        let second = generations.current
        for number in 0..<CacheLimits.removals { generations.remove(urls: ["\(number)"]) }
        // The table has lost the removal of the account.
        #expect(isCurrent(first, generations) == Array(repeating: false, count: Self.keys.count))
        #expect(isCurrent(second, generations) == Array(repeating: true, count: Self.keys.count))
        generations.remove(urls: ["x"])
        #expect(isCurrent(second, generations) == Array(repeating: false, count: Self.keys.count))
    }
}
