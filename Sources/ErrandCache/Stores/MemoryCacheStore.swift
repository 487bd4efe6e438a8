public import ErrandCore
internal import Synchronization

/// A store in memory. The entries disappear when the store is released, or when the process ends.
///
/// ```swift
/// let store = MemoryCacheStore(bytes: 50_000_000)
/// let stack = HTTPStack.default.cache(in: store)
/// print(store.usage)                              // 12 of 1000 entries, 45213 of 50000000 bytes
/// ```
///
/// If there is no room, the entries of the least recently used URLs are removed. Operations take constant time on average. The removal of
/// an account, an origin, groups, or all entries takes time in proportion to the number of entries in the store.
public final class MemoryCacheStore: CacheStore, OwnRemovalStore, CustomStringConvertible {
    /// The default limit of all entries: 16 MiB.
    public static let defaultLimitBytes = 16 * 1024 * 1024
    /// The default number of entries: 1,000.
    public static let defaultEntryLimit = 1000

    private let state: Mutex<MemoryCacheTable>
    private let secrets: (UInt64, UInt64) = (.random(in: 0 ... .max), .random(in: 0 ... .max))
    private let limits: CacheStoreLimits
    /// The work of all caches over this store. No bytes wait to be written, because this store never waits.
    public let work = CacheWork()

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - bytes: the largest number of bytes of all entries, heads included, at least 0. The bytes of unpublished entries count as soon as
    ///     they arrive.
    ///     Default: 16 MiB.
    ///   - entries: the largest number of entries, at least 0. Default: 1,000.
    ///   - entryBytes: the largest number of bytes of one entry, at least 0. `nil`, the default: an eighth of `bytes`.
    public init(bytes: Int = defaultLimitBytes, entries: Int = defaultEntryLimit, entryBytes: Int? = nil) {
        limits = CacheStoreLimits(bytes: Int64(bytes), entries: entries, entryBytes: entryBytes.map { Int64($0) })
        state = Mutex(MemoryCacheTable(limits: limits))
    }

    /// The kind and the limit: `memory, 16 MiB`.
    public var label: String { "memory, \(limits.bytes.bytesInWords)" }
    /// True.
    public var isImmediate: Bool { true }
    /// The contents in numbers.
    public var description: String { "memory: \(usage)" }

    /// The number of entries, and their bytes.
    public var usage: CacheUsage {
        state.withLock {
            CacheUsage(entries: $0.count, bytes: Int64($0.bytes), entryLimit: limits.entries, limitBytes: limits.bytes)
        }
    }

    /// The bytes that are reserved for entries that are not visible yet.
    var unpublishedBytes: Int { state.withLock(\.unpublishedBytes) }
    /// The bytes of all entries in memory, visible or not.
    var heldBytes: Int { state.withLock { $0.bytes + $0.heldBytes } }

    // MARK: Reading

    /// Returns the entries of a key, at most 16, and the generation of the store. Never throws.
    public func lookUp(_ key: CacheKey) async throws -> CacheLookup { state.withLock { $0.lookUp(key) } }
    /// Returns the entries of a key, at most 16, and the generation of the store. Never `nil`.
    public func immediateLookUp(_ key: CacheKey) -> CacheLookup? { state.withLock { $0.lookUp(key) } }

    /// Returns the stored bytes of an entry as one chunk; `nil` if the entry was removed, or has fewer bytes. Never throws.
    public func body(of id: CacheEntry.ID, offsets: Range<Int64>) async throws -> (any BodySource)? {
        immediateBody(of: id, offsets: offsets).map { ChunksBodySource([$0]) }
    }

    /// Returns the stored bytes of an entry, without a copy; `nil` if the entry was removed, or has fewer bytes.
    public func immediateBody(of id: CacheEntry.ID, offsets: Range<Int64>) -> Data? {
        guard let body = state.withLock({ $0.body(of: id) }), offsets.upperBound <= Int64(body.count) else { return nil }
        return offsets.lowerBound == 0 && offsets.upperBound == Int64(body.count)
            ? body : body[body.startIndex + Int(offsets.lowerBound)..<body.startIndex + Int(offsets.upperBound)]
    }

    /// Returns at most `limit` entries with their URLs, the most recently used first. Never throws.
    public func entries(limit: Int) async throws -> [ListedCacheEntry] { state.withLock { $0.entries(limit: limit) } }

    // MARK: Writing

    /// Begins a new entry. No visible entry is removed before bytes of the body arrive.
    ///
    /// - Throws: only `.removed`, `.tooLarge` or `.noRoom`.
    public func makeWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) async throws -> any CacheWriter {
        try begin(key, head, expectedBytes, generation)
    }

    /// Begins a new entry, as ``makeWriter(for:head:expectedBytes:since:)``. Never `nil`.
    ///
    /// - Throws: `.removed`, `.tooLarge` or `.noRoom`.
    public func makeImmediateWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) throws(CacheStatus.Refusal) -> (any ImmediateCacheWriter)? {
        try begin(key, head, expectedBytes, generation)
    }

    private func begin(
        _ key: CacheKey, _ head: CacheEntry.Head, _ expectedBytes: Int64?, _ generation: CacheGeneration
    ) throws(CacheStatus.Refusal) -> MemoryCacheWriter {
        let number = try state.withLock { state throws(CacheStatus.Refusal) in
            try state.begin(key, head, expectedBytes: expectedBytes, since: generation)
        }
        return MemoryCacheWriter(self, number: number)
    }

    /// Replaces the heads of entries. An entry whose head has grown beyond the limits is removed. Missing entries are ignored. Never
    /// throws.
    public func updateHeads(_ entries: [CacheEntry]) async throws { state.withLock { $0.updateHeads(entries) } }

    // MARK: Removing

    // Removed entries are released outside the lock, because the release of a large body takes time.

    /// Removes entries, in constant time for each entry. Missing entries are ignored. Never throws.
    public func remove(_ ids: [CacheEntry.ID]) async throws { _ = state.withLock { $0.remove(ids) } }
    /// Removes all entries of the URLs, and gives up their writers, in constant time for each entry and each writer. Returns the number of
    /// removed entries. Never throws.
    @discardableResult
    public func removeAll(urls: [String]) async throws -> Int {
        let removed = state.withLock { $0.removeAll(urls: urls) }
        return removed.count
    }

    /// Removes all entries of an origin, and gives up its writers. The time is linear in the number of entries in the store. Never throws.
    public func removeAll(of origin: Origin) async throws {
        _ = state.withLock { $0.removeAll(of: origin) }
    }

    /// Removes the entries of an origin that belong to one of the groups. The time is linear in the number of entries in the store. Never
    /// throws.
    public func removeAll(groups: [String], of origin: Origin) async throws {
        _ = state.withLock { $0.removeAll(groups: Set(groups.map { OctetKey($0) }), of: origin) }
    }

    /// Removes all entries of an account, and gives up its writers. The time is linear in the number of entries in the store. Other
    /// accounts keep their entries and their writers. Never throws.
    ///
    /// - Parameter identity: the identity of the account, durable or volatile. If the account has no entries, no entry is removed.
    public func forget(_ identity: CredentialIdentity) async throws {
        _ = state.withLock { $0.forget(identity) }
    }

    package func remove(
        _ removal: CacheRemoval, by key: CacheKey, head: CacheEntry.Head, since generation: CacheGeneration
    ) async throws -> CacheGeneration {
        let (changed, removed) = state.withLock { $0.remove(removal, by: key, groups: head.groups, since: generation) }
        _ = removed
        return changed
    }

    /// Removes all entries, and gives up all writers. The time is linear in the number of entries. Never throws.
    public func removeAll() async throws { _ = state.withLock { $0.removeAll() } }

    // MARK: Secrets

    /// A digest of 16 octets, by the hash function of the standard library with secret keys of the process and of the store.
    public func digest(_ octets: [UInt8]) -> [UInt8]? {
        func half(_ key: UInt64) -> UInt64 {
            var hasher = Hasher()
            hasher.combine(key)
            octets.withUnsafeBytes { hasher.combine(bytes: $0) }
            return UInt64(truncatingIfNeeded: hasher.finalize())
        }
        return half(secrets.0).littleEndianOctets + half(secrets.1).littleEndianOctets
    }

    // MARK: The writers

    fileprivate func reserve(_ bytes: Int, for writer: Int64) throws(CacheStatus.Refusal) {
        _ = try state.withLock { state throws(CacheStatus.Refusal) in try state.reserve(bytes, for: writer) }
    }

    fileprivate func publish(
        _ head: CacheEntry.Head, _ body: Data, replacing replaced: [CacheEntry.ID], by writer: Int64
    ) throws(CacheStatus.Refusal) -> CacheEntry.ID {
        let (id, removed) = state.withLock { $0.publish(head, body, replacing: replaced, by: writer) }
        _ = removed
        return try id.get()
    }

    fileprivate func discard(_ writer: Int64) { state.withLock { $0.discard(writer) } }
}

/// The writer of one entry in memory. Both protocols have the same functions here, because nothing waits.
private final class MemoryCacheWriter: ImmediateCacheWriter, CacheWriter {
    private let store: MemoryCacheStore
    private let number: Int64
    /// The bytes so far; `nil` after the end.
    private let body = Mutex<Data?>(Data())

    init(_ store: MemoryCacheStore, number: Int64) { (self.store, self.number) = (store, number) }

    deinit { discard() }

    func write(_ chunk: Data) throws(CacheStatus.Refusal) {
        try store.reserve(chunk.count, for: number)
        body.withLock { $0?.append(chunk) }
    }

    func publish(_ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID]) throws(CacheStatus.Refusal) -> CacheEntry.ID {
        guard let bytes = body.withLock({ $0.take() }) else { throw .removed }
        return try store.publish(head, bytes, replacing: replaced, by: number)
    }

    func discard() {
        guard let bytes = body.withLock({ $0.take() }) else { return }
        _ = bytes
        store.discard(number)
    }
}

extension CacheStore where Self == MemoryCacheStore {
    /// A new store in memory with the default limits: 16 MiB and 1,000 entries.
    public static var memory: MemoryCacheStore { MemoryCacheStore() }

    /// Returns a new store in memory: `stack.cache(in: .memory(bytes: 50_000_000))`.
    ///
    /// - Parameters:
    ///   - bytes: the largest number of bytes of all entries, at least 0. One entry has at most an eighth of these bytes.
    ///   - entries: the largest number of entries, at least 0. Default: 1,000.
    public static func memory(bytes: Int, entries: Int = MemoryCacheStore.defaultEntryLimit) -> MemoryCacheStore {
        MemoryCacheStore(bytes: bytes, entries: entries)
    }
}
