#if Auth
public import ErrandAuth
public import ErrandBehaviors
internal import ErrandCore
internal import Synchronization
internal import Testing

/// A rule that every token store must follow, with its check.
///
/// ```swift
/// @Test(arguments: TokenStoreBehavior.all)
/// func conforms(to behavior: TokenStoreBehavior) async throws { try await behavior.check { MyTokenStore() } }
/// ```
///
/// If several stores can open the same place, such as a file, also check ``shared``. The closure then opens the same place at each call.
/// The place must be empty before the first call:
///
/// ```swift
/// @Test(arguments: TokenStoreBehavior.all + TokenStoreBehavior.shared)
/// func conformsInAFile(to behavior: TokenStoreBehavior) async throws {
///     let file = URL.temporaryDirectory.appending(path: UUID().uuidString)
///     defer { try? FileManager.default.removeItem(at: file) }
///     try await behavior.check { MyTokenStore(file) }
/// }
/// ```
///
/// A check waits for the store without a timeout. Give the suite the trait `.timeLimit(.minutes(1))`.
public struct TokenStoreBehavior: ConformanceBehavior {
    typealias Make = @Sendable () async throws -> any TokenStore

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
    public func check(_ make: @Sendable () async throws -> any TokenStore) async throws { try await run(make) }

    /// The behaviors of every store.
    public static let all: [TokenStoreBehavior] = [
        TokenStoreBehavior("EmptyAtFirst", "A new store is empty, and an empty store can be emptied.") { make in
            let store = try await make()
            #expect(try await store.load() == nil)
            try await store.remove()
            #expect(try await store.load() == nil)
        },
        TokenStoreBehavior("KeepsTheWholeToken", "A loaded token has all parts of the saved token, octet by octet.") { make in
            let store = try await make()
            for token in [whole, AccessToken("a"), AccessToken("\"\\/\u{7F}\n\u{E9}", refreshToken: "e\u{301} ")] {
                try await store.save(token)
                let found = try #require(try await store.load())
                #expect(found == token)
                #expect(found.value.utf8.elementsEqual(token.value.utf8))
                #expect((found.refreshToken ?? "").utf8.elementsEqual((token.refreshToken ?? "").utf8))
            }
        },
        TokenStoreBehavior("KeepsTheSignIn", "A loaded token has the identifier of its sign-in.") { make in
            let store = try await make()
            var token = whole
            for signInID in ["one", "two", nil] {
                token.signInID = signInID
                try await store.save(token)
                #expect(try await store.load()?.signInID == signInID)
            }
        },
        TokenStoreBehavior("Replaces", "A token replaces all parts of the earlier token.") { make in
            let store = try await make()
            try await store.save(whole)
            try await store.save(AccessToken("b"))
            #expect(try await store.load() == AccessToken("b"))
        },
        TokenStoreBehavior("Removes", "After the removal of its token, the store is empty, and can keep another token.") { make in
            let store = try await make()
            try await store.save(whole)
            try await store.remove()
            #expect(try await store.load() == nil)
            try await store.save(AccessToken("b"))
            #expect(try await store.load() == AccessToken("b"))
        },
        TokenStoreBehavior("KeepsTokensWhole", "While tokens are replaced, each loaded token is one of the saved tokens.") { make in
            let store = try await make()
            try await store.save(numbered(0))
            let torn = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    for number in 1...50 { try await store.save(numbered(number)) }
                    return 0
                }
                for _ in 0..<2 {
                    group.addTask {
                        var torn = 0
                        for _ in 0..<50 {
                            let token = try await store.load()
                            if token.flatMap({ Int($0.value) }).map(numbered) != token || token == nil { torn += 1 }
                        }
                        return torn
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(torn == 0, "\(torn) of 100 loaded tokens are missing, or mix two tokens")
            #expect(try await store.load() == numbered(50))
        },
        TokenStoreBehavior("ChangesAsAWhole", "In a cancelled task, a token is saved as a whole, or the save throws an error.") { make in
            let store = try await make()
            try await store.save(numbered(1))
            let saving = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.save(numbered(2))
            }
            let isSaved = (try? await saving.value) != nil
            let found = try await store.load()
            #expect(found == numbered(2) || !isSaved && found == numbered(1))
        },
        TokenStoreBehavior("PreparesForATokenOnly", "Preparing to save a token changes no token, even if no save follows.") { make in
            let store = try await make()
            for token in [nil, whole] {
                if let token { try await store.save(token) }
                try await store.exclusively {
                    try await store.prepareToSave()
                    #expect(try await store.load() == token)
                }
                #expect(try await store.load() == token)
            }
        },
        TokenStoreBehavior("RefreshesUnderLocks", "During a refresh under both locks, the store saves the new token.") { make in
            let store = try await make()
            try await store.save(numbered(1))
            let runs = Runs()
            try await store.exclusively {
                runs.begin()
                try await store.prepareToSave()
                try await store.atomically {
                    #expect(try await store.load() == numbered(1))
                    try await store.save(numbered(2))
                }
            }
            #expect(runs.total == 1)
            #expect(try await store.load() == numbered(2))
        },
        TokenStoreBehavior("PassesErrorsOn", "An error of work under a lock is thrown, and the lock is released.") { make in
            let store = try await make()
            for _ in 0..<2 {
                await #expect(throws: Refused.self) { try await store.exclusively { throw Refused() } }
                await #expect(throws: Refused.self) { try await store.atomically { throw Refused() } }
            }
            try await store.exclusively {}
            try await store.atomically {}
        },
    ]

    /// The behaviors of stores that open the same place, such as a file or an item of a keychain, in one process or in several processes.
    public static let shared: [TokenStoreBehavior] = [
        TokenStoreBehavior("SharesTheToken", "Another store of the same place loads the saved token, and sees its removal.") { make in
            let one = try await make()
            try await one.save(whole)
            let two = try await make()
            #expect(try await two.load() == whole)
            try await two.save(AccessToken("b"))
            #expect(try await one.load() == AccessToken("b"))
            try await one.remove()
            #expect(try await two.load() == nil)
        },
        TokenStoreBehavior("RefreshesOneAfterTheOther", "The refreshes of all stores of the same place run one after the other.") { make in
            let stores = try await three(make)
            let runs = Runs()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores {
                    group.addTask {
                        for _ in 0..<3 {
                            try await store.exclusively {
                                runs.begin()
                                for _ in 0..<20 { await Task.yield() }
                                runs.end()
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(runs.most == 1 && runs.total == 9)
        },
        TokenStoreBehavior("LosesNoWrite", "The writes of all stores of the same place run one after the other.") { make in
            let stores = try await three(make)
            try await stores[0].save(numbered(0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores {
                    group.addTask {
                        for _ in 0..<3 {
                            try await store.atomically {
                                let number = try await store.load().flatMap { Int($0.value) } ?? 0
                                for _ in 0..<20 { await Task.yield() }
                                try await store.save(numbered(number + 1))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await stores[0].load() == numbered(9))
        },
        TokenStoreBehavior("WritesDuringARefresh", "A write does not wait for the refresh of another store of the same place.") { make in
            let (one, two) = (try await make(), try await make())
            try await one.exclusively {
                try await two.atomically { try await two.save(whole) }
                #expect(try await one.load() == whole)
            }
        },
    ]

    /// A token with all parts.
    private static var whole: AccessToken {
        var token = AccessToken(
            "a", expiresAt: Date(timeIntervalSince1970: 2_000_000_000), refreshToken: "r", scopes: ["x", "y"], idToken: "i",
            obtainedAt: Date(timeIntervalSince1970: 1))
        token.signInID = "sign-in"
        return token
    }

    /// A token whose parts have the same number. Each number has a different length.
    private static func numbered(_ number: Int) -> AccessToken {
        AccessToken("\(number)", refreshToken: String(repeating: "r", count: number * 100) + "\(number)")
    }

    private static func three(_ make: Make) async throws -> [any TokenStore] {
        [try await make(), try await make(), try await make()]
    }
}

/// An error that no store knows.
private struct Refused: Error {}

/// Counts runs of work.
private final class Runs: Sendable {
    private let counts = Mutex((now: 0, most: 0, total: 0))

    /// The largest number of runs that were in progress at the same time.
    var most: Int { counts.withLock { $0.most } }
    /// The number of all runs.
    var total: Int { counts.withLock { $0.total } }

    func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) } }
    func end() { counts.withLock { $0.now -= 1 } }
}
#endif
