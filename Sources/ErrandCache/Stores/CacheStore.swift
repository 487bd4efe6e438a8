public import ErrandCore
internal import ErrandFormats

/// A place in which a cache keeps responses. A store only keeps responses. The cache applies the rules of HTTP.
///
/// ```swift
/// let stack = HTTPStack.default.cache(in: .memory(bytes: 50_000_000))
/// ```
///
/// **Visibility:** an entry becomes visible as a whole when its writer publishes the entry, and never before. The replaced entries
/// disappear at the moment at which the new entry becomes visible. If the process ends at any moment, each entry is whole or absent.
///
/// **Threads:** all functions may be called at the same time by several tasks, and several stacks may share a store. A function that may
/// block does its work on a thread of its own, never on a thread of Swift's tasks. The synchronous functions, whose names have the
/// word "immediate", must not block.
///
/// **Errors:** a function throws if the store can't do its work. After an error, the cache continues without the store, and the call
/// succeeds. A missing entry is not an error.
///
/// **Refusals:** a store that works, but does not keep an entry, throws a ``/ErrandCore/CacheStatus/Refusal``: at the beginning of the
/// entry, during a write, or at the end. The cache then drops only this entry, continues to use the store, and shows the reason in
/// ``/ErrandCore/CacheStatus/refusal``:
///
/// | Reason | When |
/// |---|---|
/// | `.tooLarge` | The entry is larger than the limit for one entry |
/// | `.noRoom` | The store has no room |
/// | `.removed` | A removal since the look-up applies to the entry, or the store has given up the writer: ``CacheGeneration`` |
/// | `.volatileAccount` | The identity of the key is volatile, and the store is not only in memory |
/// | `.storeRefused` | Any other reason |
///
/// **Cancellation:** a cancelled task may get `CancellationError` from ``lookUp(_:)``, ``body(of:offsets:)`` and
/// ``makeWriter(for:head:expectedBytes:since:)``. Updates and removals are carried out even if the task is cancelled.
///
/// **Limits:** a store never exceeds its limits for bytes, entries and the bytes of one entry, not even during a write. If there is no
/// room, the least recently used entries are removed. A look-up counts as a use of all entries that it returns.
///
/// To test your own store, use `CacheStoreBehavior` of the product `ErrandStoreConformance`.
public protocol CacheStore: AccountBoundStore {
    /// The store in words, for the stack's description: `memory, 16 MiB`.
    var label: String { get }

    /// Whether no function waits, so that the functions need no timeout. False by default; true for a store in memory.
    var isImmediate: Bool { get }

    /// The work of all caches over this store. A store creates one object, and always returns this object.
    var work: CacheWork { get }

    /// The number of entries, and their bytes.
    var usage: CacheUsage { get async throws }

    // MARK: Reading

    /// Returns all entries of a key, in any order, and the generation of the store.
    ///
    /// Only a store in memory finds entries of a volatile identity.
    func lookUp(_ key: CacheKey) async throws -> CacheLookup

    /// Returns the entries of a key without waiting; `nil` if the cache must call ``lookUp(_:)``.
    func immediateLookUp(_ key: CacheKey) -> CacheLookup?

    /// Returns the stored bytes of an entry; `nil` if the entry was removed, or its bytes are damaged.
    ///
    /// The source stays valid if the entry is removed while the source is read. If the cache does not read the source to its end, the cache
    /// abandons the source.
    ///
    /// - Parameters:
    ///   - id: the entry.
    ///   - offsets: the offsets in the stored bytes, from 0 to ``CacheExtent/storedBytes``.
    func body(of id: CacheEntry.ID, offsets: Range<Int64>) async throws -> (any BodySource)?

    /// Returns the stored bytes of an entry without waiting; `nil` if the cache must call ``body(of:offsets:)``.
    func immediateBody(of id: CacheEntry.ID, offsets: Range<Int64>) -> Data?

    /// Returns at most `limit` entries with their URLs, the most recently used first.
    func entries(limit: Int) async throws -> [ListedCacheEntry]

    // MARK: Writing

    /// Begins a new entry. Nothing of the entry is visible before ``CacheWriter/publish(_:replacing:)``.
    ///
    /// - Parameters:
    ///   - key: the key of the entry.
    ///   - head: the head, whose extent may still change.
    ///   - expectedBytes: the number of bytes of the body; `nil` if the number is not known.
    ///   - generation: the generation that the look-up before the exchange has returned.
    /// - Throws: a ``/ErrandCore/CacheStatus/Refusal`` if the store does not keep the entry; any other error if the store fails.
    func makeWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) async throws -> any CacheWriter

    /// Begins a new entry without waiting, like ``makeWriter(for:head:expectedBytes:since:)``; `nil` if the cache must call that function.
    /// Only a store whose writers never wait implements this function.
    ///
    /// - Throws: why the store does not keep the entry.
    func makeImmediateWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) throws(CacheStatus.Refusal) -> (any ImmediateCacheWriter)?

    /// Replaces the heads of entries by the heads of `entries`. The bodies, the keys and the numbers stay. Missing entries are ignored.
    func updateHeads(_ entries: [CacheEntry]) async throws

    // MARK: Removing

    /// Removes entries. Missing entries are ignored.
    func remove(_ ids: [CacheEntry.ID]) async throws

    /// Removes all entries of the URLs, for all accounts and all contents of QUERY requests. Gives up the unpublished writers of these
    /// URLs.
    ///
    /// - Parameter urls: the URLs, as ``CacheKey/url``. URLs are compared octet by octet. No entry has a relative URL, so a relative URL
    ///   removes nothing.
    /// - Returns: the number of removed entries.
    @discardableResult
    func removeAll(urls: [String]) async throws -> Int

    /// Removes all entries of an origin, for all accounts. Gives up the unpublished writers of this origin.
    func removeAll(of origin: Origin) async throws

    /// Removes the entries of an origin that belong to one of the groups, for all accounts ([RFC
    /// 9875](https://www.rfc-editor.org/rfc/rfc9875), ``CacheEntry/Head/groups``). If the entry of an unpublished writer belongs to one of
    /// the groups, and was requested before the removal, ``CacheWriter/publish(_:replacing:)`` then throws `.removed`.
    func removeAll(groups: [String], of origin: Origin) async throws

    /// Removes all entries. Gives up all unpublished writers.
    func removeAll() async throws

    // MARK: Secrets

    /// Returns a digest of at least 16 octets, computed with a secret key of the store. The same octets have the same digest as long as the
    /// store has entries. `nil`: the store has no secret key, and responses that depend on secret fields are not stored.
    ///
    /// This function must not block.
    func digest(_ octets: [UInt8]) -> [UInt8]?
}

extension CacheStore {
    /// False.
    public var isImmediate: Bool { false }

    /// `nil`: the cache must call ``lookUp(_:)``.
    public func immediateLookUp(_ key: CacheKey) -> CacheLookup? { nil }

    /// `nil`: the cache must call ``body(of:offsets:)``.
    public func immediateBody(of id: CacheEntry.ID, offsets: Range<Int64>) -> Data? { nil }

    /// `nil`: the cache must call ``makeWriter(for:head:expectedBytes:since:)``.
    public func makeImmediateWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) throws(CacheStatus.Refusal) -> (any ImmediateCacheWriter)? { nil }
}

/// The writer of one entry. The functions are called one after the other, except ``discard()``. If the store gives up a writer, the writer
/// can't publish its entry.
public protocol CacheWriter: Sendable {
    /// Adds bytes to the end of the body. The bytes need not be durable before ``publish(_:replacing:)``.
    ///
    /// - Throws: a ``/ErrandCore/CacheStatus/Refusal`` if the entry has become too large, has no room, or was given up; any other error if
    ///   the store fails. After an error, the cache calls ``discard()``.
    func write(_ chunk: Data) async throws

    /// Makes the entry visible, and in the same step removes these entries:
    /// - `replaced`
    /// - the entries of the key with the same ``CacheEntry/Head/selection``
    /// - the oldest entries of the key, by ``CacheEntry/Head/responseTime``, if the key has more than 16 entries
    /// - the least recently used entries of the store, if there is no room
    ///
    /// The cache calls this function once, and not after ``discard()``. Even if the task is cancelled, the entry is published.
    ///
    /// - Parameters:
    ///   - head: the head. The ``CacheExtent/storedBytes`` of its extent is the number of written bytes.
    ///   - replaced: the entries that the entry replaces.
    /// - Returns: the number of the entry.
    /// - Throws: a ``/ErrandCore/CacheStatus/Refusal`` if the entry is too large, has no room, or was given up; any other error if the
    ///   store fails. After an error, the entry is absent, and the replaced entries may be present.
    func publish(_ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID]) async throws -> CacheEntry.ID

    /// Removes the written bytes. This function must not block. The cache may call this function at any time, even during another call, and
    /// more than once. After ``publish(_:replacing:)`` has returned, this function does nothing. Releasing the writer has the same effect.
    func discard()
}

/// The writer of one entry in memory, whose functions never wait. The rules of ``CacheWriter`` apply.
public protocol ImmediateCacheWriter: Sendable {
    /// Adds bytes to the end of the body.
    ///
    /// - Throws: why the store does not keep the entry. After an error, the cache calls ``discard()``.
    func write(_ chunk: Data) throws(CacheStatus.Refusal)

    /// Makes the entry visible, as ``CacheWriter/publish(_:replacing:)`` says, and returns the number of the entry.
    ///
    /// - Throws: why the store does not keep the entry.
    func publish(_ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID]) throws(CacheStatus.Refusal) -> CacheEntry.ID

    /// Removes the written bytes.
    func discard()
}
