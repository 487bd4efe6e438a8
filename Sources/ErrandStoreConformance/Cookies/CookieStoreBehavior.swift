#if Auth
public import ErrandAuth
public import ErrandBehaviors
internal import ErrandCore
internal import Testing

/// A rule that every cookie store must follow, with its check.
///
/// ```swift
/// @Test(arguments: CookieStoreBehavior.all)
/// func conforms(to behavior: CookieStoreBehavior) async throws { try await behavior.check { MyCookieStore() } }
/// ```
///
/// If several stores can open the same place, such as a file, also check ``shared``. The closure then opens the same place at each call.
/// The place must be empty before the first call:
///
/// ```swift
/// @Test(arguments: CookieStoreBehavior.all + CookieStoreBehavior.shared)
/// func conformsInAFile(to behavior: CookieStoreBehavior) async throws {
///     let file = URL.temporaryDirectory.appending(path: UUID().uuidString)
///     defer { try? FileManager.default.removeItem(at: file) }
///     try await behavior.check { MyCookieStore(file) }
/// }
/// ```
///
/// The clock of the store must show the current date, because cookies expire. A check waits for the store without a timeout. Give the
/// suite the trait `.timeLimit(.minutes(1))`.
public struct CookieStoreBehavior: ConformanceBehavior {
    typealias Make = @Sendable () async throws -> any CookieStore

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
    public func check(_ make: @Sendable () async throws -> any CookieStore) async throws { try await run(make) }

    /// The behaviors of every store.
    public static let all: [CookieStoreBehavior] = [
        CookieStoreBehavior("EmptyAtFirst", "A new store is empty, and a change without cookies changes nothing.") { make in
            let store = try await make()
            #expect(try await store.load() == [])
            #expect(try await store.apply(changed: [], removed: [cookie("a").key]) == [])
            #expect(try await store.load() == [])
        },
        CookieStoreBehavior("KeepsTheWholeCookie", "A loaded cookie has all parts of the stored cookie, octet by octet.") { make in
            let store = try await make()
            let cookies: Set<Cookie> = [
                cookie("plain"), cookie("", "nameless"), cookie("empty", ""), cookie("tab", "a\tb"), cookie("quote", "\"\\/"),
                cookie("\u{E9}", "\u{65}\u{301}", path: "/\u{E9}"), cookie("long", String(repeating: "v", count: 4_000)),
                Cookie(
                    name: "all", value: "b", domain: "example", isHostOnly: false, path: "/p", expires: expiry, isSecure: false,
                    isHTTPOnly: true, sameSite: .lax, created: created),
                Cookie(name: "none", value: "b", domain: "example", expires: expiry, sameSite: Cookie.SameSite.none, created: created),
                Cookie(name: "strict", value: "b", domain: "[::1]", expires: expiry, sameSite: .strict, created: created),
            ]
            #expect(try await Set(store.apply(changed: Array(cookies), removed: [])) == cookies)
            #expect(try await Set(store.load()) == cookies)
        },
        CookieStoreBehavior("MergesByKey", "A cookie replaces the cookie with the same key, and other cookies stay.") { make in
            let store = try await make()
            let (a, b, c, newer) = (cookie("a"), cookie("b"), cookie("c"), cookie("a", "2"))
            #expect(try await Set(store.apply(changed: [a, b], removed: [])) == [a, b])
            #expect(try await Set(store.apply(changed: [c, newer], removed: [b.key, cookie("missing").key])) == [newer, c])
            #expect(try await Set(store.load()) == [newer, c])
            #expect(try await Set(store.apply(changed: [], removed: [])) == [newer, c])
        },
        CookieStoreBehavior("ComparesWholeKeys", "Cookies that differ in one part of the key are different cookies.") { make in
            let store = try await make()
            let first = cookie("a")
            let others = [
                cookie("a", domain: "b.example"), cookie("a", path: "/a"), cookie("A"), cookie("\u{E9}"), cookie("e\u{301}"),
                Cookie(name: "a", value: "v", domain: "a.example", isHostOnly: false, expires: expiry, created: created),
            ]
            #expect(try await Set(store.apply(changed: [first] + others, removed: [])) == Set([first] + others))
            #expect(try await store.apply(changed: [], removed: others.map(\.key)) == [first])
        },
        CookieStoreBehavior("RemovesFirst", "If one change removes and stores a key, the cookie is stored.") { make in
            let store = try await make()
            let (old, new) = (cookie("a"), cookie("a", "2"))
            #expect(try await store.apply(changed: [old], removed: [old.key]) == [old])
            #expect(try await store.apply(changed: [new], removed: [old.key]) == [new])
            #expect(try await store.load() == [new])
        },
        CookieStoreBehavior("ChangesAsAWhole", "In a cancelled task, a change is stored as a whole, or the change throws an error.") {
            make in
            let store = try await make()
            let (old, new) = (cookie("a"), [cookie("b"), cookie("c")])
            _ = try await store.apply(changed: [old], removed: [])
            let change = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await store.apply(changed: new, removed: [old.key])
            }
            let isStored = (try? await change.value) != nil
            let found = try await Set(store.load())
            #expect(found == Set(new) || !isStored && found == [old])
        },
        CookieStoreBehavior("LosesNoChange", "Concurrent changes do not disturb each other.") { make in
            let store = try await make()
            try await change([store, store, store, store, store])
        },
        CookieStoreBehavior("ServesTwoJars", "Two jars with the same store get each other's cookies.") { make in
            let store = try await make()
            try await useJars(store, store)
        },
    ]

    /// The behaviors of stores that open the same place, such as a file or a database, in one process or in several processes.
    public static let shared: [CookieStoreBehavior] = [
        CookieStoreBehavior("SharesCookies", "Another store of the same place has the stored cookies, and sees later changes.") { make in
            let (a, b) = (cookie("a"), cookie("b"))
            let one = try await make()
            _ = try await one.apply(changed: [a], removed: [])
            let two = try await make()
            #expect(try await two.load() == [a])
            #expect(try await Set(two.apply(changed: [b], removed: [])) == [a, b])
            #expect(try await Set(one.load()) == [a, b])
            #expect(try await one.apply(changed: [], removed: [a.key]) == [b])
            #expect(try await two.load() == [b])
        },
        CookieStoreBehavior("LosesNoSharedChange", "Concurrent changes of stores of the same place do not disturb each other.") { make in
            var stores: [any CookieStore] = []
            for _ in 0..<5 { stores.append(try await make()) }
            try await change(stores)
        },
        CookieStoreBehavior("ServesSharedJars", "Two jars with different stores of the same place get each other's cookies.") { make in
            try await useJars(try await make(), try await make())
        },
    ]

    private static let expiry = HTTPDate(secondsSinceEpoch: 4_000_000_000)
    private static let created = HTTPDate(secondsSinceEpoch: 1_700_000_000)

    private static func cookie(_ name: String, _ value: String = "v", domain: String = "a.example", path: String = "/") -> Cookie {
        Cookie(name: name, value: value, domain: domain, path: path, expires: expiry, created: created)
    }

    /// Each store adds cookies, and removes its own cookies, at the same time as the other stores.
    private static func change(_ stores: [any CookieStore]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (writer, store) in stores.enumerated() {
                group.addTask {
                    for number in 0..<10 {
                        let removed = number == 0 ? [] : [cookie("w\(writer)-\(number - 1)-b").key]
                        let added = [cookie("w\(writer)-\(number)-a"), cookie("w\(writer)-\(number)-b")]
                        let all = try await store.apply(changed: added, removed: removed)
                        #expect(Set(added).isSubset(of: all))
                    }
                }
            }
            try await group.waitForAll()
        }
        let expected = stores.indices.flatMap { writer in (0..<10).map { "w\(writer)-\($0)-a" } + ["w\(writer)-9-b"] }
        #expect(try await Set(stores[0].load().map(\.name)) == Set(expected))
    }

    /// Two jars store, share and remove cookies.
    private static func useJars(_ one: any CookieStore, _ two: any CookieStore) async throws {
        let (first, second, later) = (CookieJar(store: one), CookieJar(store: two), CookieJar(store: two))
        try first.set(cookie("a"))
        try first.set(Cookie(name: "session", value: "v", domain: "a.example", created: created))
        try await first.save()
        try second.set(cookie("b"))
        try await second.save()
        #expect(Set(second.cookies.map(\.name)) == ["a", "b"])
        try await later.load()
        #expect(Set(later.cookies.map(\.name)) == ["a", "b"])
        // A removal of all cookies also removes the cookies of other jars, which learn of the removal at their next write.
        first.removeAll()
        try await first.save()
        #expect(try await one.load() == [])
        try second.set(cookie("c"))
        try await second.save()
        #expect(second.cookies.map(\.name) == ["c"])
        #expect(try await two.load().map(\.name) == ["c"])
    }
}
#endif
