#if Auth
import ErrandAuth
import Synchronization

/// A token store with one fault, over a store without faults.
final class FaultyTokenStore: TokenStore {
    enum Fault: CaseIterable {
        case failsIfEmpty, losesScopes, losesTheSignIn, keepsOldParts, keepsRemoved, savesInTwoSteps, losesCancelledSaves
        case savesWhenPrepared, refreshesTwice, hidesErrors, remembers, refreshesWithoutALock, writesWithoutALock, skipsWrites

        /// The name of the behavior that must find the fault.
        var foundBy: String {
            switch self {
            case .failsIfEmpty: "EmptyAtFirst"
            case .losesScopes: "KeepsTheWholeToken"
            case .losesTheSignIn: "KeepsTheSignIn"
            case .keepsOldParts: "Replaces"
            case .keepsRemoved: "Removes"
            case .savesInTwoSteps: "KeepsTokensWhole"
            case .losesCancelledSaves: "ChangesAsAWhole"
            case .savesWhenPrepared: "PreparesForATokenOnly"
            case .refreshesTwice: "RefreshesUnderLocks"
            case .hidesErrors: "PassesErrorsOn"
            case .remembers: "SharesTheToken"
            case .refreshesWithoutALock: "RefreshesOneAfterTheOther"
            case .writesWithoutALock: "LosesNoWrite"
            case .skipsWrites: "WritesDuringARefresh"
            }
        }
    }

    private struct Empty: Error {}

    private let store: any TokenStore
    private let fault: Fault?
    private let remembered = Mutex<AccessToken?>(nil)

    init(_ store: any TokenStore, _ fault: Fault?) { (self.store, self.fault) = (store, fault) }

    func load() async throws -> AccessToken? {
        if fault == .savesInTwoSteps { await Task.yield() }
        if fault == .remembers, let token = remembered.withLock({ $0 }) { return token }
        let token = try await store.load()
        remembered.withLock { $0 = token }
        return token
    }

    func save(_ token: AccessToken) async throws {
        var token = token
        switch fault {
        case .losesScopes: token.scopes = []
        case .losesTheSignIn: token.signInID = nil
        case .keepsOldParts: if token.refreshToken == nil { token.refreshToken = try await store.load()?.refreshToken }
        case .savesInTwoSteps:
            var half = token
            half.refreshToken = try await store.load()?.refreshToken
            try await store.save(half)
            await Task.yield()
        case .losesCancelledSaves: if Task.isCancelled { return }
        default: break
        }
        try await store.save(token)
    }

    func remove() async throws {
        if fault == .failsIfEmpty, try await store.load() == nil { throw Empty() }
        if fault != .keepsRemoved { try await store.remove() }
    }

    func prepareToSave() async throws {
        if fault == .savesWhenPrepared { try await store.save(AccessToken("reserved")) }
        try await store.prepareToSave()
    }

    func exclusively(_ work: @Sendable () async throws -> Void) async throws {
        switch fault {
        case .refreshesWithoutALock: try await work()
        case .hidesErrors: try? await store.exclusively(work)
        case .refreshesTwice:
            try await store.exclusively {
                try await work()
                try await work()
            }
        default: try await store.exclusively(work)
        }
    }

    func atomically(_ work: @Sendable () async throws -> Void) async throws {
        switch fault {
        case .writesWithoutALock: try await work()
        case .skipsWrites: break
        default: try await store.atomically(work)
        }
    }
}
#endif
