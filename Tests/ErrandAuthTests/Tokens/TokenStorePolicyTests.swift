#if Auth
import Errand
import Foundation
import Testing

@testable import ErrandAuth

@Suite(.timeLimit(.minutes(5))) struct TokenStorePolicyTests {
    private let now = Date(timeIntervalSince1970: 1_000)

    /// A policy whose sign-in `x` the store has.
    private func signedIn() -> TokenStorePolicy {
        var policy = TokenStorePolicy()
        policy.follow(token("0", in: "x"))
        return policy
    }

    private func token(_ name: String, in signInID: String?, hasExpired: Bool = false) -> AccessToken {
        AccessToken(name, expiresAt: hasExpired ? now - 1 : nil, refreshToken: "r" + name).belonging(to: signInID)
    }

    // MARK: Tables

    @Test func aRefreshBeginsWithTheStoredToken() {
        let (own, policy) = (token("0", in: nil), signedIn())
        func start(_ stored: AccessToken?, hasUnsaved: Bool = false) -> TokenStorePolicy.Start {
            policy.beforeRefresh(stored: stored, own: own, isSaved: !hasUnsaved, hasUnsaved: hasUnsaved, at: now)
        }
        #expect(start(token("0", in: "x")) == .refresh(token("0", in: "x")))
        #expect(start(token("1", in: "x")) == .use(token("1", in: "x")))
        #expect(start(token("1", in: "x", hasExpired: true)) == .refresh(token("1", in: "x", hasExpired: true)))
        // The write that follows compares: it may be the token of another account, or none.
        for stored in [token("0", in: "x"), token("1", in: "x"), token("1", in: "y"), nil] {
            #expect(start(stored, hasUnsaved: true) == .save)
        }
        #expect(start(token("1", in: "y")) == .follow(token("1", in: "y")))
        #expect(start(token("0", in: "y")) == .follow(token("0", in: "y")))
        #expect(start(nil) == .follow(nil))
        // The record was saved by an earlier version, or by a store that keeps no identifiers.
        #expect(start(token("0", in: nil)) == .refresh(token("0", in: nil)))
        #expect(start(token("1", in: nil)) == .follow(token("1", in: nil)))
    }

    @Test func aSignInThatIsNotStoredYetReplacesAnyRecord() {
        var policy = TokenStorePolicy()
        policy.signIn(id: "x")
        let own = token("0", in: nil)
        for stored in [nil, token("1", in: "y")] {
            func start(hasUnsaved: Bool) -> TokenStorePolicy.Start {
                policy.beforeRefresh(stored: stored, own: own, isSaved: false, hasUnsaved: hasUnsaved, at: now)
            }
            #expect(start(hasUnsaved: false) == .refresh(own))
            #expect(start(hasUnsaved: true) == .save)
            #expect(policy.outcome(of: .signIn(own), stored: stored) == .save(token("0", in: "x")))
            #expect(policy.outcome(of: .refreshed(own, seen: nil), stored: stored) == .save(token("0", in: "x")))
        }
        let change = policy.signOut()
        #expect(change == .signOut(id: nil))
        #expect(policy.outcome(of: change, stored: token("1", in: "y")) == .remove)
    }

    @Test func anObtainedTokenIsSavedOnlyForItsSignIn() {
        let (policy, new, seen) = (signedIn(), token("2", in: nil), token("0", in: "x"))
        #expect(policy.outcome(of: .refreshed(new, seen: seen), stored: seen) == .save(token("2", in: "x")))
        #expect(policy.outcome(of: .refreshed(new, seen: seen), stored: nil) == .follow(nil))
        #expect(policy.outcome(of: .refreshed(new, seen: seen), stored: token("0", in: "y")) == .follow(token("0", in: "y")))
        var first = TokenStorePolicy()
        let change = first.obtain(new, seen: nil, newID: "z")
        #expect(change == .obtained(new, seen: nil))
        #expect(first.outcome(of: .obtained(new, seen: nil), stored: nil) == .save(token("2", in: "z")))
        #expect(first.outcome(of: .obtained(new, seen: nil), stored: token("1", in: "y")) == .follow(token("1", in: "y")))
        #expect(first.outcome(of: .obtained(new, seen: token("1", in: "y")), stored: token("1", in: "y")) == .save(token("2", in: "z")))
    }

    @Test func aSignOutRemovesNoRecordOfAnotherSignIn() {
        var policy = signedIn()
        let change = policy.signOut()
        #expect(change == .signOut(id: "x") && policy.signIn == nil)
        #expect(policy.outcome(of: .signOut(id: "x"), stored: token("9", in: "x")) == .remove)
        #expect(policy.outcome(of: .signOut(id: "x"), stored: token("9", in: "y")) == .keep)
        #expect(policy.outcome(of: .signOut(id: "x"), stored: nil) == .keep)
        let again = policy.signOut()
        #expect(again == .signOut(id: nil))
    }

    @Test func aRefusalIsFinalOnlyForTheRefusedToken() {
        var (policy, used) = (signedIn(), token("0", in: nil))
        func refusal(_ stored: AccessToken?) -> TokenStorePolicy.Refusal { policy.afterRefusal(of: used, stored: stored, at: now) }
        #expect(refusal(token("0", in: "x")) == .final && refusal(nil) == .final)
        #expect(refusal(token("1", in: "x")) == .use(token("1", in: "x")))
        #expect(refusal(token("1", in: "x", hasExpired: true)) == .tryAgain)
        #expect(refusal(token("1", in: "y")) == .follow(token("1", in: "y")))
        let change = policy.refuse(used)
        #expect(policy.outcome(of: change, stored: token("0", in: "x")) == .remove)
        #expect(policy.outcome(of: change, stored: token("1", in: "x")) == .keep)
        #expect(policy.beforeRefresh(stored: token("0", in: "x"), own: nil, isSaved: false, hasUnsaved: false, at: now) == .refresh(nil))
        used.refreshToken = ""
        #expect(used.refreshToken == nil)
    }

    @Test func aTokenOfAnEarlierVersionHasTheSameIdentifierForAll() {
        let old = token("0", in: nil)
        #expect(TokenStorePolicy.id(of: old) == TokenStorePolicy.id(of: old))
        #expect(TokenStorePolicy.id(of: old) != TokenStorePolicy.id(of: token("1", in: nil)))
        #expect(TokenStorePolicy.newID() != TokenStorePolicy.newID() && TokenStorePolicy.newID().utf8.count == 32)
    }

    // MARK: All interleavings

    /// Each process does two of these, after it has loaded the record of `ann`. Each may die before any step.
    @Test func noInterleavingOfTwoProcessesLosesOrMixesUpTokens() {
        let scripts = TokenProcessModel.Work.allCases.flatMap { first in TokenProcessModel.Work.allCases.map { [first, $0] } }
        var (states, problems) = (0, Set<String>())
        for (index, first) in scripts.enumerated() {
            for second in scripts[index...] {
                let (count, found) = TokenProcessModel(first, second).explored()
                states += count
                problems.formUnion(found.map { "\(first), \(second): \($0)" })
            }
        }
        #expect(problems.isEmpty, "\(problems.sorted().prefix(5).joined(separator: "\n"))")
        #expect(states > 10_000)
    }
}
#endif
