#if SQLite
internal import ErrandCache

/// The numbers of the latest removals. A response that was requested before a removal is not stored after this removal.
extension CacheTables {
    /// Returns whether a response may be stored: whether no removal after a look-up applies to the response.
    ///
    /// - Parameters:
    ///   - generation: the generation that the look-up has returned.
    ///   - partition: the digest of the account; `nil` for a response of no account.
    ///   - places: the digests of the URL, the origin and the groups.
    func isCurrent(_ generation: CacheGeneration, partition: [UInt8]?, places: [[UInt8]]) throws -> Bool {
        let numbers = try database.rows("SELECT last, max(emptied, floor) FROM store") { ($0.integer(0), $0.integer(1)) }
        guard let (last, oldest) = numbers.first else { return false }
        if generation.rawValue == last { return true }
        // A larger number belongs to a database that was replaced.
        guard oldest...max(oldest, last) ~= generation.rawValue else { return false }
        if let partition, try number(of: partition) > generation.rawValue { return false }
        return try places.allSatisfy { try number(of: $0) <= generation.removalValue }
    }

    /// Returns the number of the latest removal of an account, a URL, an origin or a group; 0 without a removal.
    private func number(of place: [UInt8]) throws -> Int64 {
        try database.rows("SELECT generation FROM forgotten WHERE partition = ?", .octets(place)) { $0.integer(0) }.first ?? 0
    }

    /// Records the removal of accounts, URLs, origins or groups, which are given by their digests. If the table has too many rows, the
    /// oldest rows are removed, and responses that were requested before these removals are not stored. Returns the number of the removal.
    @discardableResult
    func recordRemoval(of places: [[UInt8]]) throws -> Int64 {
        try database.run("UPDATE store SET last = last + 1")
        for place in places {
            try database.run(
                """
                INSERT INTO forgotten SELECT ?, last FROM store WHERE true
                    ON CONFLICT (partition) DO UPDATE SET generation = excluded.generation
                """, .octets(place))
        }
        try removeExcessRemovals()
        return try database.rows("SELECT last FROM store") { $0.integer(0) }.first ?? 0
    }

    private func removeExcessRemovals() throws {
        let excess = try database.rows("SELECT count(*) FROM forgotten") { $0.integer(0) - Int64(CacheLimits.removals) }.first ?? 0
        guard excess > 0 else { return }
        let removed = try database.rows(
            "SELECT generation FROM forgotten ORDER BY generation LIMIT 1 OFFSET ?", .integer(excess - 1)
        ) { $0.integer(0) }
        guard let number = removed.first else { return }
        try database.run("UPDATE store SET floor = max(floor, ?)", .integer(number))
        try database.run("DELETE FROM forgotten WHERE generation <= ?", .integer(number))
    }

    /// Records the removal of all entries.
    func recordRemovalOfAll() throws {
        try database.run("UPDATE store SET last = last + 1, emptied = last + 1")
        try database.run("DELETE FROM forgotten")
    }
}
#endif
