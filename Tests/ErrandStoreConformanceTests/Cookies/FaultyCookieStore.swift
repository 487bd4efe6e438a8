#if Auth
import ErrandAuth
import ErrandCore
import Synchronization

/// A cookie store with one fault, over a store without faults.
final class FaultyCookieStore: CookieStore {
    enum Fault: CaseIterable {
        case hasACookie, losesSameSite, ignoresCase, removesLast, halvesCancelledChanges, losesConcurrentChanges, returnsOnlyChanges
        case remembers

        /// The names of the behaviors that must find the fault.
        var foundBy: Set<String> {
            switch self {
            case .hasACookie: ["EmptyAtFirst"]
            case .losesSameSite: ["KeepsTheWholeCookie"]
            case .ignoresCase: ["ComparesWholeKeys"]
            case .removesLast: ["RemovesFirst"]
            case .halvesCancelledChanges: ["ChangesAsAWhole"]
            case .losesConcurrentChanges: ["LosesNoChange", "LosesNoSharedChange"]
            case .returnsOnlyChanges: ["MergesByKey", "ServesTwoJars", "ServesSharedJars"]
            case .remembers: ["SharesCookies"]
            }
        }
    }

    private let store: any CookieStore
    private let fault: Fault?
    private let remembered = Mutex<[Cookie]?>(nil)

    init(_ store: any CookieStore, _ fault: Fault?) { (self.store, self.fault) = (store, fault) }

    func load() async throws -> [Cookie] {
        if fault == .remembers, let cookies = remembered.withLock({ $0 }) { return cookies }
        let cookies = try await store.load()
        guard fault == .hasACookie else { return cookies }
        return cookies + [Cookie(name: "other", value: "v", domain: "a.example", created: HTTPDate(secondsSinceEpoch: 0))]
    }

    func apply(changed: [Cookie], removed: [Cookie.Key]) async throws -> [Cookie] {
        var (changed, removed) = (changed, removed)
        switch fault {
        case .losesSameSite: changed = changed.map { $0.copy(sameSite: nil) }
        case .ignoresCase: changed = changed.map { $0.copy(name: $0.name.lowercased(), sameSite: $0.sameSite) }
        case .removesLast:
            _ = try await store.apply(changed: changed, removed: [])
            changed = []
        case .halvesCancelledChanges: if Task.isCancelled { changed = Array(changed.prefix(1)) }
        case .losesConcurrentChanges:
            // Removes the cookies that other tasks have stored meanwhile.
            let before = Set(try await store.load().map(\.key))
            var others: [Cookie.Key] = []
            for _ in 0..<20 where others.isEmpty {
                try? await Task.sleep(for: .milliseconds(2))
                others = try await store.load().map(\.key).filter { !before.contains($0) }
            }
            removed += others
        default: break
        }
        let all = try await store.apply(changed: changed, removed: removed)
        remembered.withLock { $0 = all }
        return fault == .returnsOnlyChanges ? changed : all
    }
}

extension Cookie {
    fileprivate func copy(name: String? = nil, sameSite: SameSite?) -> Cookie {
        Cookie(
            name: name ?? self.name, value: value, domain: domain, isHostOnly: isHostOnly, path: path, expires: expires, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, created: created)
    }
}
#endif
