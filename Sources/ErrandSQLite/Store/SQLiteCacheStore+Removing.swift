#if SQLite
public import ErrandCache
public import ErrandCore

extension SQLiteCacheStore {
    /// Removes entries.
    public func remove(_ ids: [CacheEntry.ID]) async throws {
        guard !ids.isEmpty else { return }
        try await writer.run { [self] tables in
            home.removeFiles(try tables.database.transaction { try ids.flatMap { try tables.remove($0.rawValue) } })
            try tables.shrinkIfPossible(all: false)
        }
    }

    /// Removes all entries of the URLs, including the entries of other processes. Gives up the writers of these URLs in all processes.
    /// Returns the number of removed entries.
    @discardableResult
    public func removeAll(urls: [String]) async throws -> Int {
        guard !urls.isEmpty else { return 0 }
        return try await carryOut(CacheRemoval(urls: urls)).count
    }

    /// Removes all entries of an origin, including the entries of other processes. Gives up the writers of this origin in all processes.
    public func removeAll(of origin: Origin) async throws { try await carryOut(CacheRemoval(clearedOrigin: origin)) }

    /// Removes the entries of an origin that belong to one of the groups. Reads only the heads of this origin, at most 256 heads at a time.
    public func removeAll(groups: [String], of origin: Origin) async throws {
        guard !groups.isEmpty else { return }
        try await carryOut(CacheRemoval(groups: groups, of: origin))
    }

    package func remove(
        _ removal: CacheRemoval, by key: CacheKey, head: CacheEntry.Head, since generation: CacheGeneration
    ) async throws -> CacheGeneration {
        try await carryOut(removal, by: RemovingResponse(key: key, head: head, generation: generation)).generation ?? generation
    }

    /// A response that removes entries, and is stored afterwards.
    private struct RemovingResponse: Sendable {
        let key: CacheKey
        let head: CacheEntry.Head
        /// The generation that the look-up before the exchange has returned.
        let generation: CacheGeneration
    }

    /// Carries out a removal of URLs, of an origin, and of groups.
    ///
    /// - Parameter response: the response that removes the entries; `nil` if the response is not stored, or no response removes them.
    /// - Returns: the generation with which `response` can be stored, if no other removal applies to `response`, otherwise `nil`; and the
    ///   number of removed entries, without the entries of groups.
    @discardableResult
    private func carryOut(
        _ removal: CacheRemoval, by response: RemovingResponse? = nil
    ) async throws -> (generation: CacheGeneration?, count: Int) {
        try await writer.ensureKey(isCancellable: false)
        let urls = try Set(removal.urls.map { try urlDigest($0) })
        let origin = try removal.clearedOrigin.map { try originDigest($0) }
        let groupOrigin = try removal.groupOrigin.flatMap { removal.groups.isEmpty ? nil : try originDigest($0) }
        let groups = try groupOrigin.map { origin in try removal.groups.map { try groupDigest($0, of: origin) } } ?? []
        // Nothing of a volatile identity is stored, so its generation has no meaning.
        let stored = try response.flatMap { try storedKey($0.key) }
        let places = try response.flatMap { response in try stored.map { try self.places(of: $0, response.head) } } ?? []
        let (changed, count, lastEntry) = try await writer.run { [self] tables in
            let (changed, count, lastEntry, files) = try tables.database.transaction { () -> (CacheGeneration?, Int64, Int64?, [Int64]) in
                let isCurrent = try response.map {
                    try tables.isCurrent($0.generation, partition: stored?.partition, places: places)
                }
                let number = try tables.recordRemoval(of: Array(urls) + groups + [origin].compactMap(\.self))
                giveUp { urls.contains($0.stored.url) || $0.stored.origin == origin }
                let before = try tables.usage.entries
                let files = try urls.flatMap { try tables.removeAll(url: $0) } + (origin.map { try tables.removeAll(origin: $0) } ?? [])
                let count = before - (try tables.usage.entries)
                let changed = isCurrent == true ? response?.generation.after(ownRemovals: CacheGeneration(number)) : nil
                return (changed, count, try groupOrigin.flatMap { try tables.lastEntry(origin: $0) }, files)
            }
            home.removeFiles(files)
            if lastEntry == nil { try tables.shrinkIfPossible(all: false) }
            return (changed, Int(count), lastEntry)
        }
        if let groupOrigin, let lastEntry {
            try await removeEntries(ofGroups: Set(removal.groups.map { Array($0.utf8) }), origin: groupOrigin, upTo: lastEntry)
        }
        return (changed, count)
    }

    /// Removes the entries of an origin that belong to one of the groups.
    ///
    /// - Parameter last: the last entry at the time at which the removal was recorded. Entries that are published later have larger
    ///   numbers. Their requests are newer than the removal.
    private func removeEntries(ofGroups chosen: Set<[UInt8]>, origin digest: [UInt8], upTo last: Int64) async throws {
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
    /// - Throws: `FileWriteError` or `FileReadError` if the folder can't be used; the error of the database if the database can be neither
    ///   changed nor replaced.
    public func forget(_ identity: CredentialIdentity) async throws {
        try await writer.ensureKey(isCancellable: false)
        // Nothing of a volatile identity is stored.
        guard let partition = try identity.canonicalOctets.map({ try partitionDigest($0) }) else { return }
        try await changeForPrivacy { tables in
            try tables.recordRemoval(of: [partition])
            return try tables.removeAll(partition: partition)
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
