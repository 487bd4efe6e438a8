public import ErrandBehaviors
public import ErrandCache
internal import ErrandCore

/// A rule that every store of responses must follow, with its check.
///
/// ```swift
/// @Test(arguments: CacheStoreBehavior.all)
/// func conforms(to behavior: CacheStoreBehavior) async throws {
///     try await behavior.check { limits in
///         MyCacheStore(bytes: limits.bytes, entries: limits.entries, entryBytes: limits.entryBytes)
///     }
/// }
/// ```
///
/// If several stores can open the same place, such as a folder or a database, also check ``shared``. The closure then opens the same
/// place at each call. The place must be empty before the first call:
///
/// ```swift
/// @Test(arguments: CacheStoreBehavior.all + CacheStoreBehavior.shared)
/// func conformsInAFolder(to behavior: CacheStoreBehavior) async throws {
///     let folder = URL.temporaryDirectory.appending(path: UUID().uuidString)
///     defer { try? FileManager.default.removeItem(at: folder) }
///     try await behavior.check { limits in
///         MyCacheStore(folder, bytes: limits.bytes, entries: limits.entries, entryBytes: limits.entryBytes)
///     }
/// }
/// ```
///
/// A check waits for the store without a timeout. Give the suite the trait `.timeLimit(.minutes(1))`.
public struct CacheStoreBehavior: ConformanceBehavior {
    /// The limits of a store, which a behavior chooses.
    public struct Limits: Sendable, Hashable {
        /// The largest number of bytes, as ``/ErrandCache/CacheUsage/limitBytes``.
        public let bytes: Int
        /// The largest number of entries, as ``/ErrandCache/CacheUsage/entryLimit``.
        public let entries: Int
        /// The largest number of bytes of one entry, head included.
        public let entryBytes: Int

        init(bytes: Int = 1_000_000, entries: Int = 100, entryBytes: Int = 500_000) {
            (self.bytes, self.entries, self.entryBytes) = (bytes, entries, entryBytes)
        }
    }

    typealias Make = @Sendable (Limits) async throws -> any CacheStore

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
    /// - Parameter make: returns an empty store with these limits. For the behaviors of ``shared``, the closure is called several times,
    ///   and returns another store of the same place at each call. For all other behaviors, the closure is called once.
    /// - Throws: the errors of `make`, and the errors of the store.
    public func check(_ make: @Sendable (Limits) async throws -> any CacheStore) async throws { try await run(make) }

    /// The behaviors of every store.
    public static let all: [CacheStoreBehavior] = reading + writing + removing + late + limits
}
