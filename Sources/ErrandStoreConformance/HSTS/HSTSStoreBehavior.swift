#if Auth
public import ErrandAuth
public import ErrandBehaviors
internal import ErrandCore
internal import Testing

/// A rule that every store of the hosts that demand `https` must follow, with its check.
///
/// ```swift
/// @Test(arguments: HSTSStoreBehavior.all)
/// func conforms(to behavior: HSTSStoreBehavior) async throws { try await behavior.check { MyHSTSStore() } }
/// ```
///
/// If several stores can open the same place, such as a file, also check ``shared``. The closure then opens the same place at each call.
/// The place must be empty before the first call:
///
/// ```swift
/// @Test(arguments: HSTSStoreBehavior.all + HSTSStoreBehavior.shared)
/// func conformsInAFile(to behavior: HSTSStoreBehavior) async throws {
///     let file = URL.temporaryDirectory.appending(path: UUID().uuidString)
///     defer { try? FileManager.default.removeItem(at: file) }
///     try await behavior.check { MyHSTSStore(file) }
/// }
/// ```
///
/// The clock of the store must show the current date, because hosts expire. A check waits for the store without a timeout. Give the
/// suite the trait `.timeLimit(.minutes(1))`.
public struct HSTSStoreBehavior: ConformanceBehavior {
    typealias Make = @Sendable () async throws -> any HSTSStore

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
    /// - Parameter make: returns an empty store. For the behaviors of ``shared``, the closure is called several times, and returns another
    ///   store of the same place at each call. For all other behaviors, the closure is called once.
    /// - Throws: the errors of `make`, and the errors of the store.
    public func check(_ make: @Sendable () async throws -> any HSTSStore) async throws { try await run(make) }

    /// The behaviors of every store.
    public static let all: [HSTSStoreBehavior] = [
        HSTSStoreBehavior("EmptyAtFirst", "A new store is empty, and a change without entries changes nothing.") { make in
            let store = try await make()
            #expect(try await store.load() == [])
            #expect(try await store.apply([]) == [])
            #expect(try await store.load() == [])
        },
        HSTSStoreBehavior("KeepsTheWholeHost", "A host has all its parts.") { make in
            let store = try await make()
            let hosts: Set<HSTSHost> = [
                try host("a.example"), try host("b.example", includesSubdomains: true), try host("xn--mnchen-3ya.example"),
                try HSTSHost("never.example", noted: .now),
                try HSTSHost("whole.example", includesSubdomains: false, noted: HTTPDate.now.advanced(by: .seconds(-7_000_000))),
            ]
            #expect(try await Set(store.apply(Array(hosts))) == hosts)
            #expect(try await Set(store.load()) == hosts)
        },
        HSTSStoreBehavior("MergesByName", "An entry replaces the earlier entry of its host, and other hosts stay.") { make in
            let store = try await make()
            let (a, b, later) = (try host("a.example"), try host("b.example"), try host("a.example", includesSubdomains: true, age: 5))
            #expect(try await Set(store.apply([a, b])) == [a, b])
            #expect(try await Set(store.apply([later])) == [later, b])
            #expect(try await Set(store.load()) == [later, b])
            #expect(try await Set(store.apply([])) == [later, b])
        },
        HSTSStoreBehavior("KeepsTheLaterEntry", "An entry does not replace a later entry of its host.") { make in
            let store = try await make()
            let (old, new) = (try host("a.example", includesSubdomains: true, age: 100), try host("a.example", age: 50))
            #expect(try await store.apply([new]) == [new])
            #expect(try await store.apply([old]) == [new])
            #expect(try await store.load() == [new])
        },
        HSTSStoreBehavior("KeepsRemovals", "The entry of a removed host stays for an hour, so that an earlier entry has no effect.") {
            make in
            let store = try await make()
            let (old, removal) = (try host("a.example", age: 100), try removal(of: "a.example", age: 50))
            _ = try await store.apply([old])
            #expect(try await store.apply([removal]).map(\.isRemoved) == [true])
            #expect(try await store.apply([old]).map(\.isRemoved) == [true])
            #expect(try await store.load() == [removal])
        },
        HSTSStoreBehavior("ChangesAsAWhole", "In a cancelled task, a change is stored as a whole, or the change throws an error.") {
            make in
            let store = try await make()
            let (old, new) = (try host("a.example"), [try host("b.example"), try host("c.example")])
            _ = try await store.apply([old])
            let change = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await store.apply(new)
            }
            let isStored = (try? await change.value) != nil
            let found = try await Set(store.load())
            #expect(found == Set(new + [old]) || !isStored && found == [old])
        },
        HSTSStoreBehavior("LosesNoChange", "Concurrent changes do not disturb each other.") { make in
            let store = try await make()
            try await change([store, store, store, store, store])
        },
        HSTSStoreBehavior("ServesTwoLists", "Two lists with the same store get each other's hosts and removals.") { make in
            let store = try await make()
            try await useLists(store, store)
        },
    ]

    /// The behaviors of stores that open the same place, such as a file or a database, in one process or in several processes.
    public static let shared: [HSTSStoreBehavior] = [
        HSTSStoreBehavior("SharesHosts", "Another store of the place has the stored hosts, and sees later changes.") { make in
            let (a, b, removal) = (try host("a.example"), try host("b.example"), try removal(of: "a.example", age: 5))
            let one = try await make()
            _ = try await one.apply([a])
            let two = try await make()
            #expect(try await two.load() == [a])
            #expect(try await Set(two.apply([b])) == [a, b])
            #expect(try await Set(one.load()) == [a, b])
            #expect(try await Set(one.apply([removal])) == [removal, b])
            #expect(try await Set(two.load()) == [removal, b])
        },
        HSTSStoreBehavior("LosesNoSharedChange", "Concurrent changes of several stores of the place do not disturb each other.") { make in
            var stores: [any HSTSStore] = []
            for _ in 0..<5 { stores.append(try await make()) }
            try await change(stores)
        },
        HSTSStoreBehavior("ServesSharedLists", "Two lists with different stores of the place get each other's hosts and removals.") {
            make in
            try await useLists(try await make(), try await make())
        },
    ]

    /// Returns an entry that was made some seconds ago, and that expires after an hour.
    private static func host(_ name: String, includesSubdomains: Bool = false, age: Int64 = 10) throws -> HSTSHost {
        try HSTSHost(
            name, includesSubdomains: includesSubdomains, expires: HTTPDate.now.advanced(by: .seconds(3_600)),
            noted: HTTPDate.now.advanced(by: .seconds(-age)))
    }

    /// Returns an entry that removed a host some seconds ago.
    private static func removal(of name: String, age: Int64) throws -> HSTSHost {
        let noted = HTTPDate.now.advanced(by: .seconds(-age))
        return try HSTSHost(name, includesSubdomains: false, expires: noted, noted: noted)
    }

    /// Each store adds hosts at the same time as the other stores.
    private static func change(_ stores: [any HSTSStore]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (writer, store) in stores.enumerated() {
                group.addTask {
                    for number in 0..<10 {
                        let added = [try host("a\(number).w\(writer).example"), try host("b\(number).w\(writer).example")]
                        let all = try await store.apply(added)
                        #expect(Set(added).isSubset(of: all))
                    }
                }
            }
            try await group.waitForAll()
        }
        let found = try await stores[0].load()
        let names = stores.indices.flatMap { writer in (0..<10).flatMap { ["a\($0).w\(writer).example", "b\($0).w\(writer).example"] } }
        #expect(Set(found.map(\.name)) == Set(names) && !found.contains(where: \.isRemoved))
    }

    /// Two lists load the hosts, and one list removes the hosts.
    private static func useLists(_ one: any HSTSStore, _ two: any HSTSStore) async throws {
        let (a, b) = (try host("a.example"), try host("b.example", includesSubdomains: true))
        _ = try await one.apply([a])
        _ = try await two.apply([b])
        let (first, second) = (HSTSList(store: one), HSTSList(store: two))
        try await first.load()
        #expect(Set(first.hosts) == [a, b])
        first.removeAll()
        try await first.save()
        #expect(try await one.load().map(\.isRemoved) == [true, true])
        try await second.load()
        #expect(second.hosts == [])
    }
}

extension HTTPDate {
    /// The current second.
    fileprivate static var now: HTTPDate { HTTPDate(Date()) }
}
#endif
