#if SQLite
public import ErrandCache
public import ErrandCore

extension SQLiteCacheStore {
    /// Removes entries.
    public func remove(_ ids: [CacheEntry.ID]) async throws {
        guard !ids.isEmpty else { return }
        try await change { tables in try ids.flatMap { try tables.remove($0.rawValue) } }
    }

    /// Removes all entries of the URLs, including the entries of other processes. Gives up the writers of these URLs in all processes.
    /// Returns the number of removed entries.
    @discardableResult
    public func removeAll(urls: [String]) async throws -> Int {
        guard !urls.isEmpty else { return 0 }
        try await writer.ensureKey(isCancellable: false)
        let digests = try Set(urls.map { try urlDigest($0) })
        return try await change { [self] tables in
            try tables.recordRemoval(of: Array(digests))
            giveUp { digests.contains($0.stored.url) }
            return try digests.flatMap { try tables.removeAll(url: $0) }
        }
    }

    /// Removes all entries of an origin, including the entries of other processes. Gives up the writers of this origin in all processes.
    public func removeAll(of origin: Origin) async throws {
        try await writer.ensureKey(isCancellable: false)
        let digest = try originDigest(origin)
        try await change { [self] tables in
            try tables.recordRemoval(of: [digest])
            giveUp { $0.stored.origin == digest }
            return try tables.removeAll(origin: digest)
        }
    }

    /// Removes the entries of an origin that belong to one of the groups. Reads only the heads of this origin, at most 256 heads at a time.
    public func removeAll(groups: [String], of origin: Origin) async throws {
        guard !groups.isEmpty else { return }
        try await writer.ensureKey(isCancellable: false)
        let (chosen, digest) = (Set(groups.map { Array($0.utf8) }), try originDigest(origin))
        let places = try groups.map { try groupDigest($0, of: digest) }
        let lastEntry = try await writer.run { tables in
            try tables.database.transaction {
                try tables.recordRemoval(of: places)
                return try tables.lastEntry(origin: digest)
            }
        }
        try await removeEntries(ofGroups: chosen, origin: digest, upTo: lastEntry)
    }

    /// Removes the entries of an origin that belong to one of the groups.
    ///
    /// - Parameter last: the last entry at the time at which the removal was recorded. Entries that are published later have larger
    ///   numbers. Their requests are newer than the removal.
    private func removeEntries(ofGroups chosen: Set<[UInt8]>, origin digest: [UInt8], upTo last: Int64?) async throws {
        guard let last else { return }
        var next: Int64? = .min
        while let first = next {
            // Other operations can run between two pages of heads.
            next = try await writer.run { [self] tables in
                let page = try tables.entries(origin: digest, ids: first...last, limit: Self.groupPageEntries)
                let ids = page.compactMap { key, stored -> Int64? in
                    guard let entry = decoded(stored, key: key) else { return nil }
                    return entry.head.groups.contains { chosen.contains(Array($0.utf8)) } ? stored.id : nil
                }
                if !ids.isEmpty { home.removeFiles(try tables.database.transaction { try ids.flatMap { try tables.remove($0) } }) }
                guard page.count == Self.groupPageEntries, let id = page.last?.entry.id, id < last else { return nil }
                return id + 1
            }
        }
        try await writer.run { try $0.shrinkIfPossible(all: false) }
    }

    package func remove(
        _ removal: CacheRemoval, by key: CacheKey, head: CacheEntry.Head, since generation: CacheGeneration
    ) async throws -> CacheGeneration {
        try await writer.ensureKey(isCancellable: false)
        let origin = try removal.clearedOrigin.map { try originDigest($0) }
        let (groupOrigin, chosen) = (try originDigest(removal.groupOrigin), Set(removal.groups.map { Array($0.utf8) }))
        let groups = try removal.groups.map { try groupDigest($0, of: groupOrigin) }
        let urls = try Set(removal.urls.map { try urlDigest($0) })
        // Nothing of a volatile identity is stored, so its generation has no meaning.
        let stored = try storedKey(key)
        let places = try stored.map { try self.places(of: $0, head) } ?? []
        let (changed, lastEntry, files) = try await writer.run { [self] tables in
            try tables.database.transaction { () -> (CacheGeneration, Int64?, [Int64]) in
                let isCurrent = try tables.isCurrent(generation, partition: stored?.partition, places: places)
                let number = try tables.recordRemoval(of: Array(urls) + groups + (origin.map { [$0] } ?? []))
                giveUp { urls.contains($0.stored.url) || $0.stored.origin == origin }
                let files = try urls.flatMap { try tables.removeAll(url: $0) } + (origin.map { try tables.removeAll(origin: $0) } ?? [])
                let changed = isCurrent ? generation.after(ownRemovals: CacheGeneration(number)) : generation
                return (changed, try chosen.isEmpty ? nil : tables.lastEntry(origin: groupOrigin), files)
            }
        }
        home.removeFiles(files)
        try await removeEntries(ofGroups: chosen, origin: groupOrigin, upTo: lastEntry)
        if lastEntry == nil { try await writer.run { try $0.shrinkIfPossible(all: false) } }
        return changed
    }

    /// The largest number of heads in memory while groups are removed.
    static let groupPageEntries = 256

    /// Removes all entries, including the entries of other processes. Gives up all unpublished writers in all processes.
    public func removeAll() async throws {
        try await changeForPrivacy { tables in
            try tables.recordRemovalOfAll()
            return try tables.removeAll()
        }
    }

    /// Removes all entries of an account, and gives up its writers in all processes. Other accounts keep their entries and their writers.
    /// If the database can't be changed, for example on a full disk, all entries of all accounts are removed.
    ///
    /// - Throws: `FileWriteError` or `FileReadError` if the folder can't be used.
    public func forget(_ identity: CredentialIdentity) async throws {
        try await writer.ensureKey(isCancellable: false)
        // Nothing of a volatile identity is stored.
        guard let partition = try identity.canonicalOctets.map({ try partitionDigest($0) }) else { return }
        try await changeForPrivacy { tables in
            try tables.recordRemoval(of: [partition])
            return try tables.removeAll(partition: partition)
        }
    }

    /// Carries out a removal. The files of the removed entries are removed after the removal is visible. Returns the number of removed
    /// entries.
    @discardableResult
    private func change(_ removal: @escaping @Sendable (CacheTables) throws -> [Int64]) async throws -> Int {
        try await writer.run { [self] tables in
            let (files, count) = try tables.database.transaction { () -> ([Int64], Int64) in
                let before = try tables.usage.entries
                let files = try removal(tables)
                return (files, before - (try tables.usage.entries))
            }
            home.removeFiles(files)
            try tables.shrinkIfPossible(all: false)
            return Int(count)
        }
    }

    /// Carries out a removal that must succeed: if the database can't be changed, for example on a full disk, all entries are removed.
    private func changeForPrivacy(_ removal: @escaping @Sendable (CacheTables) throws -> [Int64]) async throws {
        do {
            try await writer.run { [self] tables in home.removeFiles(try tables.durably { try removal(tables) }) }
        } catch let error as SQLiteError {
            try await writer.startOver(because: error)
        }
    }
}
#endif
