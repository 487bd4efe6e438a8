internal import ErrandCore

/// The contents of a store in memory: a value without locks.
///
/// Functions that remove entries return these entries, so that the caller releases the bytes outside the lock.
struct MemoryCacheTable: Sendable {
    /// The entries of one key.
    fileprivate struct Bucket: Sendable {
        var entries: [CacheEntry] = []
        /// The bodies of the entries, in the same order.
        var bodies: [Data] = []
        /// The bytes of the entries, heads included, in the same order.
        var bytes: [Int] = []

        func index(of id: CacheEntry.ID) -> Int? { entries.firstIndex { $0.id == id } }
    }

    /// An entry that is being written.
    private struct Unpublished: Sendable {
        let key: CacheKey
        let generation: CacheGeneration
        let headBytes: Int
        /// The reserved bytes, of the head and the body: at least the bytes that the writer holds.
        var reserved: Int
        /// The bytes of the body that were written.
        var written = 0

        /// The bytes that the writer holds in memory. Before the first bytes of the body, the head belongs to the exchange.
        var held: Int { written > 0 ? headBytes + written : 0 }
    }

    /// Removed entries, whose release may take time.
    struct Removed: Sendable {
        fileprivate var buckets: [Bucket] = []

        /// The number of removed entries.
        var count: Int { buckets.reduce(0) { $0 + $1.entries.count } }
    }

    private let limits: CacheStoreLimits
    /// The entries of each key. The functions of this type enforce the limits, because the limits count entries and bytes, not keys.
    private var buckets = BoundedTable<CacheKey, Bucket>(limit: .max)
    private var keys: [CacheEntry.ID: CacheKey] = [:]
    private var keysOfURL: [OctetKey: Set<CacheKey>] = [:]
    private var writers: [Int64: Unpublished] = [:]
    private var lastNumber: Int64 = 0
    private var generations = CacheGenerations()
    /// The bytes of visible entries.
    private(set) var bytes = 0
    /// The bytes that are reserved for unpublished entries.
    private(set) var unpublishedBytes = 0
    /// The bytes of unpublished entries that have arrived.
    private(set) var heldBytes = 0

    init(limits: CacheStoreLimits) { self.limits = limits }

    /// The number of visible entries.
    var count: Int { keys.count }

    // MARK: Reading

    mutating func lookUp(_ key: CacheKey) -> CacheLookup {
        let entries = buckets.updateIfPresent(key) { $0.entries } ?? []
        return CacheLookup(entries: entries, generation: generations.current)
    }

    func body(of id: CacheEntry.ID) -> Data? {
        guard let key = keys[id], let bucket = buckets[key], let index = bucket.index(of: id) else { return nil }
        return bucket.bodies[index]
    }

    func entries(limit: Int) -> [ListedCacheEntry] {
        var listed: [ListedCacheEntry] = []
        for (key, bucket) in buckets.entriesByUse {
            for entry in bucket.entries {
                guard listed.count < limit else { return listed }
                listed.append(
                    ListedCacheEntry(url: key.url, belongsToAccount: key.partition != .none, hasContent: key.content != nil, entry: entry))
            }
        }
        return listed
    }

    // MARK: Writing

    /// Begins an entry. Returns the number of the entry.
    ///
    /// The expected bytes are reserved only among the unpublished entries. A server that announces a long body, and sends nothing, removes
    /// no visible entry.
    ///
    /// - Throws: why the store does not keep the entry.
    mutating func begin(
        _ key: CacheKey, _ head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) throws(CacheStatus.Refusal) -> Int64 {
        let headBytes = Self.headBytes(head, key)
        let expected = max(0, expectedBytes ?? 0)
        guard generations.isCurrent(generation, for: key, groups: head.groups) else { throw .removed }
        guard expected <= limits.entryBytes - Int64(headBytes) else { throw .tooLarge }
        guard limits.entries > 0, reserve(headBytes + Int(expected)) else { throw .noRoom }
        lastNumber += 1
        writers[lastNumber] = Unpublished(
            key: key, generation: generation, headBytes: headBytes, reserved: headBytes + Int(expected))
        return lastNumber
    }

    /// Makes room for the next bytes of an entry. Returns the entries that were removed for this purpose.
    ///
    /// - Throws: why the store does not keep the entry. No entry is removed.
    mutating func reserve(_ count: Int, for number: Int64) throws(CacheStatus.Refusal) -> Removed {
        guard var writer = writers[number] else { throw .removed }
        let heldBefore = writer.held
        writer.written += count
        let more = writer.headBytes + writer.written - writer.reserved
        if more > 0 {
            guard more <= limits.entryBytes - Int64(writer.reserved) else { throw .tooLarge }
            guard reserve(more) else { throw .noRoom }
            writer.reserved += more
        }
        heldBytes += writer.held - heldBefore
        writers[number] = writer
        // The limit for unpublished entries is not above the limit for all bytes, so removing visible entries always makes enough room.
        var removed = Removed()
        while freeBytes < 0, evict(&removed) {}
        return removed
    }

    /// The bytes that neither a visible entry nor the arrived bytes of an unpublished entry take up.
    private var freeBytes: Int64 { limits.bytes - Int64(bytes) - Int64(heldBytes) }

    /// Reserves bytes among the unpublished entries. Returns false if there is no room.
    private mutating func reserve(_ more: Int) -> Bool {
        // Servers announce lengths up to `Int64.max`, so the room is a difference, and not a sum that could overflow.
        guard more <= limits.unpublishedBytes - Int64(unpublishedBytes) else { return false }
        unpublishedBytes += more
        return true
    }

    private mutating func endWriter(_ number: Int64) -> Unpublished? {
        guard let writer = writers.removeValue(forKey: number) else { return nil }
        unpublishedBytes -= writer.reserved
        heldBytes -= writer.held
        return writer
    }

    /// Makes an entry visible. Returns the number of the entry, or why the store does not keep the entry.
    mutating func publish(
        _ head: CacheEntry.Head, _ body: Data, replacing replaced: [CacheEntry.ID], by number: Int64
    ) -> (Result<CacheEntry.ID, CacheStatus.Refusal>, Removed) {
        guard let writer = endWriter(number), generations.isCurrent(writer.generation, for: writer.key, groups: head.groups) else {
            return (.failure(.removed), Removed())
        }
        let key = writer.key
        let size = Self.headBytes(head, key) + body.count
        // The final head may have more bytes than the head at the beginning.
        guard size <= limits.entryBytes else { return (.failure(.tooLarge), Removed()) }
        var replacedIDs = replaced
        if let bucket = buckets[key] {
            replacedIDs += bucket.entries.filter { $0.head.selection == head.selection }.map(\.id)
        }
        var removed = remove(replacedIDs)
        if let kept = buckets[key]?.entries, kept.count >= CacheLimits.variants {
            let oldest = kept.sorted { $0.head.responseTime.sinceEpoch < $1.head.responseTime.sinceEpoch }
            removed.buckets += remove(oldest.prefix(kept.count + 1 - CacheLimits.variants).map(\.id)).buckets
        }
        while count >= limits.entries || size > freeBytes {
            guard evict(&removed) else { return (.failure(.noRoom), removed) }
        }
        lastNumber += 1
        let id = CacheEntry.ID(lastNumber)
        buckets.update(key, default: Bucket()) { bucket in
            bucket.entries.append(CacheEntry(id: id, head: head))
            bucket.bodies.append(body)
            bucket.bytes.append(size)
        }
        keys[id] = key
        keysOfURL[OctetKey(key.url), default: []].insert(key)
        bytes += size
        return (.success(id), removed)
    }

    mutating func discard(_ number: Int64) { _ = endWriter(number) }

    mutating func updateHeads(_ entries: [CacheEntry]) {
        for entry in entries {
            guard let key = keys[entry.id], let old = buckets[key], let index = old.index(of: entry.id) else { continue }
            let size = Self.headBytes(entry.head, key) + old.bodies[index].count
            // If the new head exceeds the limits, its own entry is removed, and other entries stay.
            guard size <= old.bytes[index] || size - old.bytes[index] <= freeBytes else {
                _ = remove([entry.id])
                continue
            }
            bytes += size - old.bytes[index]
            buckets.updateIfPresent(key) { bucket in
                bucket.entries[index] = entry
                bucket.bytes[index] = size
            }
        }
    }

    // MARK: Removing

    mutating func remove(_ ids: [CacheEntry.ID]) -> Removed {
        var removed = Removed()
        for id in ids {
            guard let key = keys[id], let index = buckets[key]?.index(of: id) else { continue }
            if buckets[key]?.entries.count == 1 {
                if let bucket = buckets.removeValue(forKey: key) { forgetBucket(bucket, key, &removed) }
                continue
            }
            keys[id] = nil
            buckets.updateIfPresent(key) { bucket in
                bytes -= bucket.bytes.remove(at: index)
                removed.buckets.append(
                    Bucket(entries: [bucket.entries.remove(at: index)], bodies: [bucket.bodies.remove(at: index)], bytes: []))
            }
        }
        return removed
    }

    mutating func removeAll(urls: [String]) -> Removed {
        generations.remove(urls: urls)
        var removed = Removed()
        for url in urls {
            for key in keysOfURL[OctetKey(url)] ?? [] {
                if let bucket = buckets.removeValue(forKey: key) { forgetBucket(bucket, key, &removed) }
            }
            for (number, writer) in writers where writer.key.url.isExactly(url) { discard(number) }
        }
        return removed
    }

    mutating func removeAll(groups: Set<OctetKey>, of origin: Origin) -> Removed {
        generations.remove(groups: groups.map(\.text), of: origin)
        var chosen: [CacheEntry.ID] = []
        for (key, bucket) in buckets.entries where key.origin == origin {
            for entry in bucket.entries where entry.head.groups.contains(where: { groups.contains(OctetKey($0)) }) {
                chosen.append(entry.id)
            }
        }
        return remove(chosen)
    }

    /// Removes the entries of an origin.
    mutating func removeAll(of origin: Origin) -> Removed {
        generations.remove(origin)
        return removeAll { $0.origin == origin }
    }

    /// Carries out the removals of a response. Returns the generation with which the response can be stored.
    mutating func remove(
        _ removal: CacheRemoval, by key: CacheKey, groups: [String], since generation: CacheGeneration
    ) -> (CacheGeneration, Removed) {
        let isCurrent = generations.isCurrent(generation, for: key, groups: groups)
        var removed = Removed()
        if let cleared = removal.clearedOrigin { removed.buckets += removeAll(of: cleared).buckets }
        if let origin = removal.groupOrigin, !removal.groups.isEmpty {
            removed.buckets += removeAll(groups: Set(removal.groups.map { OctetKey($0) }), of: origin).buckets
        }
        if !removal.urls.isEmpty { removed.buckets += removeAll(urls: removal.urls).buckets }
        return (isCurrent ? generation.after(ownRemovals: generations.current) : generation, removed)
    }

    private mutating func removeAll(where isChosen: (CacheKey) -> Bool) -> Removed {
        var removed = Removed()
        for (key, _) in buckets.entries where isChosen(key) {
            if let bucket = buckets.removeValue(forKey: key) { forgetBucket(bucket, key, &removed) }
        }
        for (number, writer) in writers where isChosen(writer.key) { discard(number) }
        return removed
    }

    /// Removes the entries of an account.
    mutating func forget(_ identity: CredentialIdentity) -> Removed {
        generations.forget(identity)
        return removeAll { key in
            guard case .account(let other) = key.partition else { return false }
            return other.isSameAccount(as: identity)
        }
    }

    /// Removes all entries.
    mutating func removeAll() -> Removed {
        generations.empty()
        return removeAll { _ in true }
    }

    /// Removes the entries of the least recently used key. Returns false if there are no entries.
    private mutating func evict(_ removed: inout Removed) -> Bool {
        guard let (key, bucket) = buckets.removeLeastRecentlyUsed() else { return false }
        forgetBucket(bucket, key, &removed)
        return true
    }

    /// Updates the other tables after a bucket was removed.
    private mutating func forgetBucket(_ bucket: Bucket, _ key: CacheKey, _ removed: inout Removed) {
        for entry in bucket.entries { keys[entry.id] = nil }
        for size in bucket.bytes { bytes -= size }
        let url = OctetKey(key.url)
        keysOfURL[url]?.remove(key)
        if keysOfURL[url]?.isEmpty == true { keysOfURL[url] = nil }
        removed.buckets.append(bucket)
    }

    /// The bytes of a head, its key and its place in the tables, as they are counted for the limits.
    private static func headBytes(_ head: CacheEntry.Head, _ key: CacheKey) -> Int {
        StoredFields.bytes(head.response.headerFields) + key.url.utf8.count + CacheLimits.entryOverheadBytes
    }
}
