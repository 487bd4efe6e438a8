public import ErrandBehaviors
internal import ErrandCore
public import ErrandMiddleware
internal import Testing

/// A rule that every store of rate limits must follow, with its check.
///
/// ```swift
/// @Test(arguments: RateLimitStoreBehavior.all)
/// func conforms(to behavior: RateLimitStoreBehavior) async throws { try await behavior.check { MyRateLimitStore() } }
/// ```
///
/// If several stores can share their limits, for example in one database, also check ``shared``. The closure then returns a store of the
/// same database at each call. Use another prefix of the keys for each check, because no stored key may be left of an earlier check:
///
/// ```swift
/// @Test(arguments: RateLimitStoreBehavior.all + RateLimitStoreBehavior.shared)
/// func conformsInADatabase(to behavior: RateLimitStoreBehavior) async throws {
///     let prefix = UUID().uuidString
///     try await behavior.check { MyRateLimitStore(prefix: prefix) }
/// }
/// ```
///
/// The clock of the store must measure real time. Most limits of the checks are limits for an hour, so that no check depends on the speed
/// of the store. A check waits for the store without a timeout. Give the suite the trait `.timeLimit(.minutes(1))`.
public struct RateLimitStoreBehavior: ConformanceBehavior {
    typealias Make = @Sendable () async throws -> any RateLimitStore

    /// The unique name of the behavior.
    public let name: String
    /// The rule, as a sentence.
    public let summary: String
    private let run: @Sendable (Make) async throws -> Void

    init(_ name: String, _ summary: String, _ run: @escaping @Sendable (Make) async throws -> Void) {
        (self.name, self.summary, self.run) = (name, summary, run)
    }

    /// Makes a store, uses the store, and records an issue for each violation.
    ///
    /// - Parameter make: returns a store without grants. For the behaviors of ``shared``, the closure is called several times, and returns
    ///   another store of the same place at each call. For all other behaviors, the closure is called once.
    /// - Throws: the errors of `make`, and the errors of the store.
    public func check(_ make: @Sendable () async throws -> any RateLimitStore) async throws { try await run(make) }

    /// The behaviors of every store.
    public static let all: [RateLimitStoreBehavior] = limits + fields

    static let limits: [RateLimitStoreBehavior] = [
        RateLimitStoreBehavior("BoundsWindows", "A window has no more grants than the limit.") { make in
            let store = try await make()
            for _ in 0..<3 { #expect(try await store.take("a", limit: .perHour(3)).isGranted) }
            try await expectWait(store.take("a", limit: .perHour(3)), .limit)
            try await expectWait(store.take("a", limit: .perHour(3)), .limit)
        },
        RateLimitStoreBehavior("BoundsBursts", "A burst has no more grants than the limit allows.") { make in
            let store = try await make()
            for _ in 0..<2 { #expect(try await store.take("a", limit: .perHour(10, burst: 2)).isGranted) }
            try await expectWait(store.take("a", limit: .perHour(10, burst: 2)), .limit)
        },
        RateLimitStoreBehavior("NumbersGrants", "The grants of a key have the numbers 1, 2, 3, and so on.") { make in
            let store = try await make()
            for number in 1...3 {
                #expect(try await store.take("a", limit: .perHour(10)) == .granted(RateLimitGrant(number: number)))
            }
            #expect(try await store.take("b", limit: .perHour(10)) == .granted(RateLimitGrant(number: 1)))
            #expect(try await store.take("a", limit: nil) == .granted(RateLimitGrant(number: 4)))
        },
        RateLimitStoreBehavior("KeepsKeysApart", "Each key has its own grants.") { make in
            let store = try await make()
            for key in ["", "a", "A", "a ", "https://a.example", "https://a.example:8443"] {
                #expect(try await store.take(key, limit: .perHour(1)).isGranted, "\(key)")
            }
        },
        RateLimitStoreBehavior("GrantsWithoutALimit", "Without a limit, and without fields of the server, each request gets a grant.") {
            make in
            let store = try await make()
            for _ in 0..<100 { #expect(try await store.take("a", limit: nil).isGranted) }
        },
        RateLimitStoreBehavior("GrantsAfterTheWait", "After the stated wait, a request gets a grant.") { make in
            let (store, limit) = (try await make(), RateLimit(1, per: .milliseconds(20)))
            #expect(try await store.take("a", limit: limit).isGranted)
            // The clock of a database may be slower than the clock of this process.
            for _ in 0..<10 {
                guard case .wait(let duration, _) = try await store.take("a", limit: limit) else { return }
                try await Task.sleep(for: duration)
            }
            Issue.record("no grant after ten waits")
        },
        RateLimitStoreBehavior("TakesAtomically", "Concurrent requests get no more grants than the limit, with different numbers.") {
            make in
            let store = try await make()
            try await takeAtOnce([store, store, store, store, store])
        },
        RateLimitStoreBehavior("ReportsTheRest", "The number of available requests is the rest of the limit, or is not reported.") { make in
            let store = try await make()
            for taken in 0...3 {
                if let rest = try await store.available("a", limit: .perHour(3)) { #expect(rest == 3 - taken) }
                _ = try await store.take("a", limit: .perHour(3))
            }
        },
        RateLimitStoreBehavior("SharesImmediateLimits", "The immediate limits of a store have the state of the store.") { make in
            let store = try await make()
            guard let immediate = store.immediate else { return }
            #expect(try await store.take("a", limit: .perHour(2)).isGranted)
            #expect(immediate.wait("a", limit: .perHour(2)) == nil)
            #expect(immediate.take("a", limit: .perHour(2)) == .granted(RateLimitGrant(number: 2)))
            #expect(immediate.wait("a", limit: .perHour(2))?.cause == .limit)
            try await expectWait(store.take("a", limit: .perHour(2)), .limit)
            immediate.observe(RateLimitFields(retryAfter: .seconds(60)), for: "b", after: nil)
            try await expectWait(store.take("b", limit: nil), .server)
        },
    ]

    static let fields: [RateLimitStoreBehavior] = [
        RateLimitStoreBehavior("ObeysPauses", "A pause of the server lets the requests of its key wait.") { make in
            let store = try await make()
            try await store.observe(RateLimitFields(retryAfter: .seconds(600)), for: "a", after: nil)
            try await expectWait(store.take("a", limit: nil), .server, atMost: .seconds(600))
            try await expectWait(store.take("a", limit: .perHour(5)), .server, atMost: .seconds(600))
            #expect(try await store.take("b", limit: nil).isGranted)
        },
        RateLimitStoreBehavior("KeepsLongerPauses", "A shorter pause does not end a longer pause.") { make in
            let store = try await make()
            try await store.observe(RateLimitFields(retryAfter: .seconds(600)), for: "a", after: nil)
            try await store.observe(RateLimitFields(retryAfter: .milliseconds(1)), for: "a", after: nil)
            try await expectWait(store.take("a", limit: nil), .server, atLeast: .seconds(60), atMost: .seconds(600))
        },
        RateLimitStoreBehavior("ObeysQuotas", "A quota of the server bounds the requests of its key.") { make in
            let store = try await make()
            let grant = try await store.take("a", limit: nil).grant
            try await store.observe(quota(remaining: 2), for: "a", after: grant)
            for _ in 0..<2 { #expect(try await store.take("a", limit: nil).isGranted) }
            try await expectWait(store.take("a", limit: nil), .server)
            #expect(try await store.take("b", limit: nil).isGranted)
        },
        RateLimitStoreBehavior("CountsLaterGrants", "A quota is reduced by the grants after the grant of its response.") { make in
            let store = try await make()
            let grant = try await store.take("a", limit: nil).grant
            for _ in 0..<2 { _ = try await store.take("a", limit: nil) }
            try await store.observe(quota(remaining: 3), for: "a", after: grant)
            #expect(try await store.take("a", limit: nil).isGranted)
            try await expectWait(store.take("a", limit: nil), .server)
        },
        RateLimitStoreBehavior("IgnoresOlderQuotas", "A quota is ignored if the response to a later grant is known.") { make in
            let store = try await make()
            let (first, second) = (try await store.take("a", limit: nil).grant, try await store.take("a", limit: nil).grant)
            try await store.observe(quota(remaining: 5), for: "a", after: second)
            try await store.observe(quota(remaining: 0), for: "a", after: first)
            #expect(try await store.take("a", limit: nil).isGranted)
        },
        RateLimitStoreBehavior("ReplacesQuotas", "A quota replaces the quota of the same name, and other quotas stay.") { make in
            let store = try await make()
            try await store.observe(quota("x", remaining: 0), for: "a", after: nil)
            try await expectWait(store.take("a", limit: nil), .server)
            try await store.observe(quota("x", remaining: 5), for: "a", after: nil)
            #expect(try await store.take("a", limit: nil).isGranted)
            try await store.observe(quota("y", remaining: 0), for: "a", after: nil)
            try await store.observe(quota("x", remaining: 5), for: "a", after: nil)
            try await expectWait(store.take("a", limit: nil), .server)
        },
    ]

    /// The behaviors of stores that share their limits, for example in one database, in one process or in several processes.
    public static let shared: [RateLimitStoreBehavior] = [
        RateLimitStoreBehavior("SharesGrants", "The grants of all stores of the same place count.") { make in
            let (one, two) = (try await make(), try await make())
            #expect(try await one.take("a", limit: .perHour(2)) == .granted(RateLimitGrant(number: 1)))
            #expect(try await two.take("a", limit: .perHour(2)) == .granted(RateLimitGrant(number: 2)))
            for store in [one, two] { try await expectWait(store.take("a", limit: .perHour(2)), .limit) }
        },
        RateLimitStoreBehavior("SharesFields", "The fields of the server apply to all stores of the same place.") { make in
            let (one, two) = (try await make(), try await make())
            try await one.observe(RateLimitFields(retryAfter: .seconds(600)), for: "a", after: nil)
            try await two.observe(quota(remaining: 0), for: "b", after: nil)
            for store in [one, two] {
                for key in ["a", "b"] { try await expectWait(store.take(key, limit: nil), .server) }
            }
        },
        RateLimitStoreBehavior("TakesAtomicallyTogether", "Concurrent requests of several stores get no more grants than the limit.") {
            make in
            var stores: [any RateLimitStore] = []
            for _ in 0..<5 { stores.append(try await make()) }
            try await takeAtOnce(stores)
        },
    ]

    private static func quota(_ name: String = "", remaining: Int) -> RateLimitFields {
        RateLimitFields(quotas: [RateLimitFields.Quota(name: name, remaining: remaining, reset: .seconds(3_600))])
    }

    /// Records an issue unless a request must wait for this cause.
    private static func expectWait(
        _ decision: RateLimitDecision, _ cause: RateLimitDecision.Cause, atLeast: Duration = .zero, atMost: Duration = .seconds(3_600),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .wait(let duration, let found) = decision else {
            Issue.record("a request got a grant, but must wait", sourceLocation: sourceLocation)
            return
        }
        #expect(found == cause, sourceLocation: sourceLocation)
        #expect(duration > atLeast && duration <= atMost, sourceLocation: sourceLocation)
    }

    /// Each store takes ten times at the same time as the other stores, and there is a limit of 20.
    private static func takeAtOnce(_ stores: [any RateLimitStore]) async throws {
        let numbers = try await withThrowingTaskGroup(of: Int?.self, returning: [Int].self) { group in
            for store in stores {
                for _ in 0..<10 { group.addTask { try await store.take("a", limit: .perHour(20)).grant?.number } }
            }
            return try await group.reduce(into: []) { if let number = $1 { $0.append(number) } }
        }
        #expect(numbers.sorted() == Array(1...20))
    }
}

extension RateLimitDecision {
    fileprivate var grant: RateLimitGrant? {
        if case .granted(let grant) = self { grant } else { nil }
    }
    fileprivate var isGranted: Bool { grant != nil }
}
