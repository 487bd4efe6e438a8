import ErrandCore
import Testing

@testable import ErrandCache

@Suite(.timeLimit(.minutes(5))) struct CacheGenerationsTests {
    private func partition(_ account: String, _ token: String = "") -> CacheKey.Partition {
        .account(CredentialIdentity(scheme: "s", account: account, token))
    }

    private func forget(_ account: String, in generations: inout CacheGenerations) {
        generations.forget(CredentialIdentity(scheme: "s", account: account))
    }

    @Test func aSignOutChangesTheNumberOfOneAccount() {
        var generations = CacheGenerations()
        let partitions = [partition("one"), partition("one", "token"), partition("two"), .none]
        let before = partitions.map { generations.current(of: $0) }
        forget("one", in: &generations)
        let after = partitions.map { generations.current(of: $0) }
        #expect(zip(before, after).map { $0 != $1 } == [true, true, false, false])
        forget("one", in: &generations)
        #expect(generations.current(of: partitions[0]) != after[0])
    }

    @Test func volatileIdentitiesAreAccountsToo() {
        var generations = CacheGenerations()
        let (one, two) = (CredentialIdentity(scheme: "basic", "one"), CredentialIdentity(scheme: "basic", "two"))
        let before = generations.current(of: .account(one))
        generations.forget(one)
        #expect(generations.current(of: .account(one)) != before && generations.current(of: .account(two)) == before)
    }

    @Test func anEmptiedStoreChangesAllNumbers() {
        var generations = CacheGenerations()
        forget("one", in: &generations)
        let partitions = [partition("one"), partition("two"), .none]
        let before = partitions.map { generations.current(of: $0) }
        generations.empty()
        #expect(zip(before, partitions).allSatisfy { $0 != generations.current(of: $1) })
    }

    @Test func aForgottenAccountNeverGetsAnOldNumber() {
        var generations = CacheGenerations()
        let before = generations.current(of: partition("one"))
        forget("one", in: &generations)
        let after = generations.current(of: partition("one"))
        for number in 0...CacheLimits.forgottenAccounts { forget("\(number)", in: &generations) }
        // The number of the account was evicted, and so the account has a number that is not older.
        #expect(generations.current(of: partition("one")) >= after && after > before)
        #expect(generations.current(of: .none) == 0)
    }
}
