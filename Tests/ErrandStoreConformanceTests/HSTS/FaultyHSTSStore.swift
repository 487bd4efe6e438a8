#if Auth
import ErrandAuth
import ErrandCore
import Synchronization

/// A store of the hosts that demand `https` with one fault, over a store without faults.
final class FaultyHSTSStore: HSTSStore {
    enum Fault: CaseIterable {
        case hasAHost, losesSubdomains, keepsTheFirst, keepsTheLast, ignoresRemovals, halvesCancelledChanges, losesConcurrentChanges
        case returnsOnlyChanges, remembers

        /// The names of the behaviors that must find the fault.
        var foundBy: Set<String> {
            switch self {
            case .hasAHost: ["EmptyAtFirst"]
            case .losesSubdomains: ["KeepsTheWholeHost"]
            case .keepsTheFirst: ["MergesByName"]
            case .keepsTheLast: ["KeepsTheLaterEntry"]
            case .ignoresRemovals: ["KeepsRemovals", "ServesTwoLists", "ServesSharedLists"]
            case .halvesCancelledChanges: ["ChangesAsAWhole"]
            case .losesConcurrentChanges: ["LosesNoChange", "LosesNoSharedChange"]
            case .returnsOnlyChanges: ["MergesByName"]
            case .remembers: ["SharesHosts"]
            }
        }
    }

    private let store: any HSTSStore
    private let fault: Fault?
    private let remembered = Mutex<[HSTSHost]?>(nil)

    init(_ store: any HSTSStore, _ fault: Fault?) { (self.store, self.fault) = (store, fault) }

    func load() async throws -> [HSTSHost] {
        if fault == .remembers, let hosts = remembered.withLock({ $0 }) { return hosts }
        let hosts = try await store.load()
        return fault == .hasAHost ? hosts + [try HSTSHost("other.example")] : hosts
    }

    func apply(_ notes: [HSTSHost]) async throws -> [HSTSHost] {
        var notes = notes
        switch fault {
        case .losesSubdomains: notes = try notes.map { try $0.copy(includesSubdomains: false) }
        case .keepsTheFirst:
            let known = Set(try await store.load().map(\.name))
            notes = notes.filter { !known.contains($0.name) }
        case .keepsTheLast:
            let latest = try await store.load().map(\.noted).max()
            notes = try notes.map { try $0.copy(noted: max($0.noted, latest ?? $0.noted)) }
        case .ignoresRemovals: notes = notes.filter { !$0.isRemoved }
        case .halvesCancelledChanges:
            if Task.isCancelled { return try await Task { [store, notes] in try await store.apply(Array(notes.prefix(1))) }.value }
        case .losesConcurrentChanges:
            // Removes the hosts that other tasks have stored meanwhile.
            let before = Set(try await store.load().map(\.name))
            var others: [HSTSHost] = []
            for _ in 0..<20 where others.isEmpty {
                try? await Task.sleep(for: .milliseconds(2))
                others = try await store.load().filter { !before.contains($0.name) }
            }
            notes += try others.map { try $0.copy(expires: $0.noted) }
        default: break
        }
        let all = try await store.apply(notes)
        remembered.withLock { $0 = all }
        return fault == .returnsOnlyChanges ? notes : all
    }
}

extension HSTSHost {
    fileprivate func copy(includesSubdomains: Bool? = nil, expires: HTTPDate? = nil, noted: HTTPDate? = nil) throws -> HSTSHost {
        try HSTSHost(
            name, includesSubdomains: includesSubdomains ?? self.includesSubdomains, expires: expires ?? self.expires,
            noted: noted ?? self.noted)
    }
}
#endif
