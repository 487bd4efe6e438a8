import ErrandCore
import ErrandMiddleware
import Synchronization

/// A store of rate limits with one fault, over a store without faults.
final class FaultyRateLimitStore: RateLimitStore {
    enum Fault: CaseIterable {
        case grantsOneMore, ignoresBursts, repeatsNumbers, ignoresCase, limitsAll, neverRefills, takesInTwoSteps, reportsOneMore
        case separatesImmediateLimits, ignoresPauses, keepsTheLastPause, ignoresQuotas, ignoresGrants, ignoresNames, keepsToItself

        /// The names of the behaviors that must find the fault.
        var foundBy: Set<String> {
            switch self {
            case .grantsOneMore: ["BoundsWindows"]
            case .ignoresBursts: ["BoundsBursts"]
            case .repeatsNumbers: ["NumbersGrants"]
            case .ignoresCase: ["KeepsKeysApart"]
            case .limitsAll: ["GrantsWithoutALimit"]
            case .neverRefills: ["GrantsAfterTheWait"]
            case .takesInTwoSteps: ["TakesAtomically", "TakesAtomicallyTogether"]
            case .reportsOneMore: ["ReportsTheRest"]
            case .separatesImmediateLimits: ["SharesImmediateLimits"]
            case .ignoresPauses: ["ObeysPauses"]
            case .keepsTheLastPause: ["KeepsLongerPauses"]
            case .ignoresQuotas: ["ObeysQuotas"]
            case .ignoresGrants: ["CountsLaterGrants", "IgnoresOlderQuotas"]
            case .ignoresNames: ["ReplacesQuotas"]
            case .keepsToItself: ["SharesGrants", "SharesFields", "TakesAtomicallyTogether"]
            }
        }
    }

    private let store: MemoryRateLimitStore
    private let fault: Fault?
    /// The keys that had to wait.
    private let waiting = Mutex<Set<String>>([])

    /// - Parameter place: has the limits of all stores that share them.
    init(_ place: MemoryRateLimitStore, _ fault: Fault?) {
        store = fault == .keepsToItself ? MemoryRateLimitStore() : place
        self.fault = fault
    }

    func take(_ key: String, limit: RateLimit?) async throws -> RateLimitDecision {
        var (key, limit) = (key, limit)
        switch fault {
        case .grantsOneMore: limit = limit.map { RateLimit($0.count + 1, per: $0.window) }
        case .ignoresBursts: limit = limit.map { RateLimit($0.count, per: $0.window) }
        case .ignoresCase: key = key.lowercased()
        case .limitsAll: limit = limit ?? .perHour(10)
        case .takesInTwoSteps:
            let decision = store.wait(key, limit: limit)
            for _ in 0..<20 { await Task.yield() }
            // A second request can pass the check before the first request takes its grant.
            if decision == nil { limit = limit.map { RateLimit(1_000, per: $0.window) } }
        default: break
        }
        if fault == .neverRefills, waiting.withLock({ $0.contains(key) }) { return .wait(.milliseconds(1), cause: .limit) }
        switch store.take(key, limit: limit) {
        case .granted(let grant): return .granted(fault == .repeatsNumbers ? RateLimitGrant(number: 1) : grant)
        case .wait(let duration, let cause):
            waiting.withLock { _ = $0.insert(key) }
            return .wait(duration, cause: cause)
        }
    }

    func observe(_ fields: RateLimitFields, for key: String, after grant: RateLimitGrant?) async throws {
        var (fields, grant) = (fields, grant)
        switch fault {
        case .ignoresPauses: fields.retryAfter = nil
        case .keepsTheLastPause: if fields.retryAfter != nil { store.forget(key) }
        case .ignoresQuotas: fields.quotas = []
        case .ignoresGrants: grant = nil
        case .ignoresNames: fields.quotas = fields.quotas.map { .init(remaining: $0.remaining, reset: $0.reset) }
        default: break
        }
        store.observe(fields, for: key, after: grant)
    }

    func available(_ key: String, limit: RateLimit?) async throws -> Int? {
        store.available(key, limit: limit).map { fault == .reportsOneMore ? $0 + 1 : $0 }
    }

    var immediate: (any ImmediateRateLimits)? { fault == .separatesImmediateLimits ? MemoryRateLimitStore() : store }
}
