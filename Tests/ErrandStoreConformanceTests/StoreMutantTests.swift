import ErrandCache
import ErrandMiddleware
import ErrandStoreConformance
import TestSupport
import Testing

#if Auth
import ErrandAuth
#endif

/// The suites for stores against stores with one fault each: each behavior must find its faults.
@Suite(.timeLimit(.minutes(5))) struct StoreMutantTests {
    /// A store of responses without a fault, and the same store as a shared place.
    private static func check(_ behavior: CacheStoreBehavior, _ fault: FaultyCacheStore.Fault?) async throws {
        let place = CacheStoreBehavior.shared.contains { $0.name == behavior.name } ? FaultyCacheStore.Place() : nil
        try await behavior.check { FaultyCacheStore($0, at: place, fault) }
    }

    @Test(arguments: CacheStoreBehavior.all + CacheStoreBehavior.shared)
    func eachBehaviorOfCacheStoresFindsItsFault(_ behavior: CacheStoreBehavior) async throws {
        try await Self.check(behavior, nil)
        let faults = FaultyCacheStore.Fault.allCases.filter { $0.foundBy.contains(behavior.name) }
        #expect(!faults.isEmpty, "\(behavior.name) has no fault")
        for fault in faults { await withKnownIssue("\(fault)") { try await Self.check(behavior, fault) } }
    }

    @Test func namesAreUnique() {
        let names = (CacheStoreBehavior.all + CacheStoreBehavior.shared).map(\.name)
        #expect(Set(names).count == names.count)
        #expect(FaultyCacheStore.Fault.allCases.flatMap(\.foundBy).allSatisfy(names.contains))
    }

    @Test func behaviorsCanBeLeftOut() throws {
        let behaviors = CacheStoreBehavior.all(excluding: ["BoundsVariants": "this store keeps all variants"])
        #expect(behaviors.count == CacheStoreBehavior.all.count - 1 && !behaviors.contains { $0.name == "BoundsVariants" })
        let first = try #require(behaviors.first)
        #expect(first.description == "\(first.name): \(first.summary)" && first.testDescription == first.name)
    }

    /// Each store of a check has the limits of the same place.
    private static func check(_ behavior: RateLimitStoreBehavior, _ fault: FaultyRateLimitStore.Fault?) async throws {
        let place = MemoryRateLimitStore()
        try await behavior.check { FaultyRateLimitStore(place, fault) }
    }

    @Test(arguments: RateLimitStoreBehavior.all + RateLimitStoreBehavior.shared)
    func eachBehaviorOfRateLimitStoresFindsItsFault(_ behavior: RateLimitStoreBehavior) async throws {
        try await Self.check(behavior, nil)
        let faults = FaultyRateLimitStore.Fault.allCases.filter { $0.foundBy.contains(behavior.name) }
        #expect(!faults.isEmpty, "\(behavior.name) has no fault")
        for fault in faults { await withKnownIssue("\(fault)") { try await Self.check(behavior, fault) } }
    }

    @Test func namesOfRateLimitsAreUnique() {
        let names = (RateLimitStoreBehavior.all + RateLimitStoreBehavior.shared).map(\.name)
        #expect(Set(names).count == names.count)
        #expect(FaultyRateLimitStore.Fault.allCases.flatMap(\.foundBy).allSatisfy(names.contains))
    }

    #if Auth
    private static func check(_ behavior: TokenStoreBehavior, _ fault: FaultyTokenStore.Fault?) async throws {
        guard TokenStoreBehavior.shared.contains(where: { $0.name == behavior.name }) else {
            return try await behavior.check { FaultyTokenStore(MemoryTokenStore(), fault) }
        }
        let folder = try TestFolder("tokens")
        try await behavior.check { FaultyTokenStore(FileTokenStore(atPath: folder.file("token.json")), fault) }
    }

    @Test(arguments: TokenStoreBehavior.all + TokenStoreBehavior.shared)
    func eachBehaviorOfTokenStoresFindsItsFault(_ behavior: TokenStoreBehavior) async throws {
        try await Self.check(behavior, nil)
        let faults = FaultyTokenStore.Fault.allCases.filter { $0.foundBy == behavior.name }
        #expect(!faults.isEmpty, "\(behavior.name) has no fault")
        for fault in faults { await withKnownIssue("\(fault)") { try await Self.check(behavior, fault) } }
    }

    private static func check(_ behavior: CookieStoreBehavior, _ fault: FaultyCookieStore.Fault?) async throws {
        guard CookieStoreBehavior.shared.contains(where: { $0.name == behavior.name }) else {
            return try await behavior.check { FaultyCookieStore(MemoryCookieStore(), fault) }
        }
        let folder = try TestFolder("cookies")
        try await behavior.check { FaultyCookieStore(FileCookieStore(atPath: folder.file("cookies.json")), fault) }
    }

    @Test(arguments: CookieStoreBehavior.all + CookieStoreBehavior.shared)
    func eachBehaviorOfCookieStoresFindsItsFault(_ behavior: CookieStoreBehavior) async throws {
        try await Self.check(behavior, nil)
        let faults = FaultyCookieStore.Fault.allCases.filter { $0.foundBy.contains(behavior.name) }
        #expect(!faults.isEmpty, "\(behavior.name) has no fault")
        for fault in faults { await withKnownIssue("\(fault)") { try await Self.check(behavior, fault) } }
    }

    /// The library has no such store in memory.
    private static func check(_ behavior: HSTSStoreBehavior, _ fault: FaultyHSTSStore.Fault?) async throws {
        let folder = try TestFolder("hsts")
        try await behavior.check { FaultyHSTSStore(FileHSTSStore(atPath: folder.file("hsts.txt")), fault) }
    }

    @Test(arguments: HSTSStoreBehavior.all + HSTSStoreBehavior.shared)
    func eachBehaviorOfHSTSStoresFindsItsFault(_ behavior: HSTSStoreBehavior) async throws {
        try await Self.check(behavior, nil)
        let faults = FaultyHSTSStore.Fault.allCases.filter { $0.foundBy.contains(behavior.name) }
        #expect(!faults.isEmpty, "\(behavior.name) has no fault")
        for fault in faults { await withKnownIssue("\(fault)") { try await Self.check(behavior, fault) } }
    }

    @Test func namesOfTokensCookiesAndHostsAreUnique() {
        let tokens = (TokenStoreBehavior.all + TokenStoreBehavior.shared).map(\.name)
        #expect(Set(tokens).count == tokens.count)
        #expect(FaultyTokenStore.Fault.allCases.map(\.foundBy).allSatisfy(tokens.contains))
        let cookies = (CookieStoreBehavior.all + CookieStoreBehavior.shared).map(\.name)
        #expect(Set(cookies).count == cookies.count)
        #expect(FaultyCookieStore.Fault.allCases.flatMap(\.foundBy).allSatisfy(cookies.contains))
        let hosts = (HSTSStoreBehavior.all + HSTSStoreBehavior.shared).map(\.name)
        #expect(Set(hosts).count == hosts.count)
        #expect(FaultyHSTSStore.Fault.allCases.flatMap(\.foundBy).allSatisfy(hosts.contains))
    }
    #endif
}
