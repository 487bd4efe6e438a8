#if SQLite
internal import ErrandCache
internal import ErrandCore

/// The tables of the store in its database. All functions block.
///
/// | Table | Content |
/// |---|---|
/// | `store` | one row: the numbers of removals, the digest that identifies the secret key, and the numbers of entries and bytes |
/// | `forgotten` | the number of the latest removal of each account, URL, origin and group, at most 1,000 rows |
/// | `entries` | the small columns of each entry: keyed digests, sizes, the order of use |
/// | `heads` | the sealed name (the URL) and head of each entry |
/// | `bodies` | the list of parts of each body, and the body itself if it has at most 64 KiB |
/// | `writes` | the bytes that are reserved for the files of unpublished entries |
///
/// Triggers count the entries, and remove the rows of an entry in the other tables.
struct CacheTables {
    static let format: Int64 = 1

    private static let schema = """
        CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL, emptied INTEGER NOT NULL,
            floor INTEGER NOT NULL, secret BLOB NOT NULL, entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
        CREATE TABLE forgotten (partition BLOB PRIMARY KEY, generation INTEGER NOT NULL);
        CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL, url BLOB NOT NULL, origin BLOB NOT NULL,
            partition BLOB, selection BLOB NOT NULL, number INTEGER NOT NULL, is_file INTEGER NOT NULL, responded INTEGER NOT NULL,
            used INTEGER NOT NULL, size INTEGER NOT NULL);
        CREATE INDEX entries_by_key ON entries (key);
        CREATE INDEX entries_by_url ON entries (url);
        CREATE INDEX entries_by_origin ON entries (origin);
        CREATE INDEX entries_by_partition ON entries (partition) WHERE partition IS NOT NULL;
        CREATE INDEX entries_by_use ON entries (used);
        CREATE TABLE heads (id INTEGER PRIMARY KEY, name BLOB NOT NULL, head BLOB NOT NULL);
        CREATE TABLE bodies (id INTEGER PRIMARY KEY, frames BLOB NOT NULL, body BLOB);
        CREATE TABLE writes (number INTEGER PRIMARY KEY, size INTEGER NOT NULL);
        CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
            UPDATE store SET entries = entries + 1, bytes = bytes + new.size;
        END;
        CREATE TRIGGER entry_resized AFTER UPDATE OF size ON entries BEGIN
            UPDATE store SET bytes = bytes + new.size - old.size;
        END;
        CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
            UPDATE store SET entries = entries - 1, bytes = bytes - old.size;
            DELETE FROM heads WHERE id = old.id;
            DELETE FROM bodies WHERE id = old.id;
        END;
        """

    let database: SQLiteDatabase
    /// The identity of the database's file.
    let file: StoreFolder.FileIdentity

    /// Prepares the database of an opened file, and creates the tables in an empty file.
    ///
    /// - Parameters:
    ///   - secret: a digest that identifies the secret key of the digests in the tables.
    ///   - isSealed: whether the entries are sealed.
    /// - Throws: `SQLiteError`, whose ``SQLiteError/isDamage`` is true if the file must be replaced.
    init(_ database: SQLiteDatabase, file: StoreFolder.FileIdentity, secret: [UInt8], isSealed: Bool) throws {
        (self.database, self.file) = (database, file)
        database.keepLogAtClose()
        try database.run("PRAGMA auto_vacuum = INCREMENTAL")
        try database.run("PRAGMA journal_mode = WAL")
        try database.run("PRAGMA synchronous = NORMAL")
        try database.run("PRAGMA journal_size_limit = 1048576")
        try database.run("PRAGMA secure_delete = FAST")
        try database.run("PRAGMA cache_size = -2000")
        try database.run("PRAGMA trusted_schema = OFF")
        if try database.userVersion == 0 { try create(secret: secret, isSealed: isSealed) }
        let version = try database.userVersion
        guard version == Self.format else { throw SQLiteError.unexpectedFormat("the file has format \(version)") }
        let found = try database.rows("SELECT secret FROM store") { $0.octets(0) }
        guard found.count == 1, found[0].elementsEqual(secret) else {
            throw SQLiteError.unexpectedFormat("the file belongs to another secret key")
        }
        guard try database.rows("PRAGMA application_id", read: { $0.integer(0) }) == [isSealed ? Self.sealedID : 0] else {
            throw SQLiteError.unexpectedFormat(isSealed ? "the entries are not encrypted" : "the entries are encrypted")
        }
    }

    /// The application ID of a database with sealed entries. Other databases have the ID 0.
    private static let sealedID: Int64 = 1

    private func create(secret: [UInt8], isSealed: Bool) throws {
        try database.transaction {
            // Another process may have created the tables in the meantime.
            guard try database.userVersion == 0 else { return }
            guard try database.rows("SELECT count(*) FROM sqlite_schema", read: { $0.integer(0) }) == [0] else {
                throw SQLiteError.unexpectedFormat("the file has other tables")
            }
            try database.runAll(Self.schema)
            // Numbers of an earlier file must not be used again, because the numbers may belong to another account.
            try database.run(
                "INSERT INTO store VALUES (1, ?1, ?1, ?1, ?2, 0, 0)", .integer(.random(in: 1...1 << 60)), .octets(secret))
            try database.run("INSERT INTO sqlite_sequence VALUES ('entries', ?)", .integer(.random(in: 1...1 << 60)))
            if isSealed { try database.run("PRAGMA application_id = \(Self.sealedID)") }
            try database.run("PRAGMA user_version = 1")
        }
    }

    // MARK: Reading

    struct StoredEntry: Sendable {
        let id: Int64
        let number: Int64
        let head: Data
    }

    /// Returns the number of the latest removal, and the entries of a key, from one state of the database.
    func lookUp(_ key: [UInt8]) throws -> (generation: Int64, entries: [StoredEntry]) {
        let rows = try database.rows(
            """
            SELECT store.last, entries.id, entries.number, heads.head FROM store
                LEFT JOIN entries ON entries.key = ? LEFT JOIN heads ON heads.id = entries.id
            """, .octets(key)
        ) { row in
            let entry = row.isNull(1) ? nil : StoredEntry(id: row.integer(1), number: row.integer(2), head: row.octets(3))
            return (row.integer(0), entry)
        }
        return (rows.first?.0 ?? 0, rows.compactMap(\.1))
    }

    struct StoredBody: Sendable {
        let place: StoredPiece.Place
        let frames: Data
        /// The stored bytes; `nil` if they are in a file.
        let body: Data?
    }

    func body(of id: Int64) throws -> StoredBody? {
        try database.rows(
            """
            SELECT entries.number, entries.key, entries.is_file, bodies.frames, bodies.body FROM entries
                JOIN bodies ON bodies.id = entries.id WHERE entries.id = ?
            """, .integer(id)
        ) { row in
            StoredBody(
                place: .init(number: row.integer(0), key: Array(row.octets(1)), index: 0), frames: row.octets(3),
                body: row.integer(2) == 0 ? row.octets(4) : nil)
        }.first
    }

    var usage: (entries: Int64, bytes: Int64) {
        get throws {
            let rows = try database.rows("SELECT entries, bytes FROM store") { ($0.integer(0), $0.integer(1)) }
            let (entries, bytes) = rows.first ?? (-1, -1)
            // A changed bit in the file is not always found by SQLite. Sums of larger numbers could overflow.
            guard 0...Int64(CacheStoreLimits.largestEntries) ~= entries, 0...CacheStoreLimits.largestBytes ~= bytes else {
                throw SQLiteError.unexpectedFormat("the numbers of entries and bytes are invalid")
            }
            return (entries, bytes)
        }
    }

    func entries(limit: Int) throws -> [(key: [UInt8], entry: StoredEntry, name: Data)] {
        try database.rows(
            """
            SELECT entries.key, entries.id, entries.number, heads.head, heads.name FROM entries
                JOIN heads ON heads.id = entries.id ORDER BY entries.used DESC, entries.id DESC LIMIT ?
            """, .integer(Int64(limit))
        ) { row in
            (Array(row.octets(0)), StoredEntry(id: row.integer(1), number: row.integer(2), head: row.octets(3)), row.octets(4))
        }
    }

    /// Returns the largest ID of an entry of an origin; `nil` if the origin has no entries.
    func lastEntry(origin: [UInt8]) throws -> Int64? {
        try database.rows("SELECT max(id) FROM entries WHERE origin = ?", .octets(origin)) { $0.isNull(0) ? nil : $0.integer(0) }
            .first ?? nil
    }

    /// The index of origins has the IDs of the entries in order, and the join keeps this order.
    static let entriesOfOrigin = """
        SELECT entries.key, entries.id, entries.number, heads.head FROM entries INDEXED BY entries_by_origin
            CROSS JOIN heads ON heads.id = entries.id WHERE entries.origin = ? AND entries.id BETWEEN ? AND ? ORDER BY entries.id LIMIT ?
        """

    /// Returns the first entries of an origin with IDs in a range, ordered by their IDs.
    ///
    /// - Parameters:
    ///   - ids: the range of IDs.
    ///   - limit: the largest number of returned entries.
    func entries(origin: [UInt8], ids: ClosedRange<Int64>, limit: Int) throws -> [(key: [UInt8], entry: StoredEntry)] {
        try database.rows(
            Self.entriesOfOrigin, .octets(origin), .integer(ids.lowerBound), .integer(ids.upperBound), .integer(Int64(limit))
        ) { row in
            (Array(row.octets(0)), StoredEntry(id: row.integer(1), number: row.integer(2), head: row.octets(3)))
        }
    }

    /// Returns whether the file with this number belongs to an entry.
    func needsFile(_ number: Int64) throws -> Bool {
        try !database.rows("SELECT 1 FROM entries WHERE number = ? AND is_file = 1", .integer(number)) { _ in true }.isEmpty
    }

    /// The numbers of all files of entries.
    var fileNumbers: [Int64] {
        get throws { try database.rows("SELECT number FROM entries WHERE is_file = 1") { $0.integer(0) } }
    }

    // MARK: Changing

    // The functions of this section are called in a transaction of the database. Functions that remove entries return the numbers of the
    // entries' files. The caller removes these files after the database has committed the transaction.

    /// Moves entries to the end of the order of use.
    func use(_ ids: [Int64]) throws {
        guard !ids.isEmpty else { return }
        var last = try database.rows("SELECT max(used) FROM entries") { $0.integer(0) }.first ?? 0
        for id in ids {
            last &+= 1
            try database.run("UPDATE entries SET used = ? WHERE id = ?", .integer(last), .integer(id))
        }
    }

    private func removed(_ condition: String, _ value: SQLiteDatabase.Value) throws -> [Int64] {
        try database.rows("DELETE FROM entries WHERE \(condition) RETURNING iif(is_file, number, NULL)", value) { row in
            row.isNull(0) ? nil : row.integer(0)
        }.compactMap { $0 }
    }

    func remove(_ id: Int64) throws -> [Int64] { try removed("id = ?", .integer(id)) }
    func removeAll(url: [UInt8]) throws -> [Int64] { try removed("url = ?", .octets(url)) }
    func removeAll(origin: [UInt8]) throws -> [Int64] { try removed("origin = ?", .octets(origin)) }
    func removeAll(partition: [UInt8]) throws -> [Int64] { try removed("partition = ?", .octets(partition)) }
    func removeAll() throws -> [Int64] { try removed("? IS NULL", .null) }

    /// Removes the entries of a key that a new entry replaces: entries with the same selection, and the oldest entries beyond `kept`.
    func removeReplaced(key: [UInt8], selection: [UInt8], kept: Int) throws -> [Int64] {
        let equal = try database.rows(
            "DELETE FROM entries WHERE key = ? AND selection = ? RETURNING iif(is_file, number, NULL)", .octets(key), .octets(selection)
        ) { $0.isNull(0) ? nil : $0.integer(0) }
        let oldest = try database.rows(
            """
            DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE key = ? ORDER BY responded DESC, id DESC LIMIT -1 OFFSET ?)
                RETURNING iif(is_file, number, NULL)
            """, .octets(key), .integer(Int64(kept))
        ) { $0.isNull(0) ? nil : $0.integer(0) }
        return (equal + oldest).compactMap { $0 }
    }

    /// The reserved bytes of all unpublished entries.
    private var unpublishedBytes: Int64 {
        get throws {
            let sum = try database.rows("SELECT total(size) FROM writes") { $0.integer(0) }.first ?? 0
            guard 0...CacheStoreLimits.largestBytes ~= sum else { throw SQLiteError.unexpectedFormat("the reserved bytes are invalid") }
            return sum
        }
    }

    /// Removes the least recently used entries until there is room. Returns `nil` if there is no room even without entries.
    func makeRoom(bytes: Int64, entries: Int64, _ limits: CacheStoreLimits) throws -> [Int64]? {
        var files: [Int64] = []
        let unpublished = try unpublishedBytes
        guard unpublished + bytes <= limits.bytes, entries <= Int64(limits.entries) else { return nil }
        var last: Int64?
        while true {
            let used = try usage
            // If the number of entries is wrong, the loop must end.
            if let last, used.entries >= last { throw SQLiteError.unexpectedFormat("the number of entries is wrong") }
            last = used.entries
            if used.entries + entries <= Int64(limits.entries), used.bytes + unpublished + bytes <= limits.bytes { return files }
            guard used.entries > 0 else { return nil }
            files += try removed("id = (SELECT id FROM entries ORDER BY used, id LIMIT ?)", .integer(1))
        }
    }

    /// Reserves room for the file of an entry that is being written. Returns `nil` if there is no room.
    func reserve(_ number: Int64, bytes: Int64, _ limits: CacheStoreLimits) throws -> [Int64]? {
        let unpublished = try unpublishedBytes
        guard unpublished + bytes <= limits.unpublishedBytes, let files = try makeRoom(bytes: bytes, entries: 0, limits) else { return nil }
        try database.run(
            "INSERT INTO writes VALUES (?1, ?2) ON CONFLICT (number) DO UPDATE SET size = size + ?2", .integer(number), .integer(bytes))
        return files
    }

    func endWrite(_ number: Int64) throws { try database.run("DELETE FROM writes WHERE number = ?", .integer(number)) }

    var writes: [Int64] { get throws { try database.rows("SELECT number FROM writes") { $0.integer(0) } } }

    struct NewEntry: Sendable {
        let key: StoredKey
        let selection: [UInt8]
        let number: Int64
        let responded: Int64
        let name: Data
        let head: Data
        let frames: Data
        /// The stored bytes; `nil` if they are in a file.
        let body: Data?
        let bodyBytes: Int64

        /// The bytes that count for the limits.
        var bytes: Int64 { Int64(name.count + head.count + frames.count + CacheLimits.entryOverheadBytes) + bodyBytes }
    }

    func insert(_ entry: NewEntry) throws -> Int64 {
        let last = try database.rows("SELECT max(used) FROM entries") { $0.integer(0) }.first ?? 0
        try database.run(
            """
            INSERT INTO entries (key, url, origin, partition, selection, number, is_file, responded, used, size)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .octets(entry.key.key), .octets(entry.key.url), .octets(entry.key.origin), .octets(entry.key.partition),
            .octets(entry.selection), .integer(entry.number), .integer(entry.body == nil ? 1 : 0), .integer(entry.responded),
            .integer(last &+ 1), .integer(entry.bytes))
        let id = database.lastInsertedRow
        try database.run("INSERT INTO heads VALUES (?, ?, ?)", .integer(id), .octets(entry.name), .octets(entry.head))
        try database.run(
            "INSERT INTO bodies VALUES (?, ?, ?)", .integer(id), .octets(entry.frames), entry.body.map { .octets($0) } ?? .null)
        return id
    }

    /// Returns the place of an entry's head, and the sizes of the head and of the whole entry; `nil` if the entry is missing.
    func headPlace(of id: Int64) throws -> (place: StoredPiece.Place, headBytes: Int64, size: Int64)? {
        try database.rows(
            """
            SELECT entries.number, entries.key, length(heads.head), entries.size FROM entries
                JOIN heads ON heads.id = entries.id WHERE entries.id = ?
            """, .integer(id)
        ) { row in
            let place = StoredPiece.Place(number: row.integer(0), key: Array(row.octets(1)), index: StoredPiece.Place.headIndex)
            return (place: place, headBytes: row.integer(2), size: min(max(0, row.integer(3)), CacheStoreLimits.largestBytes))
        }.first
    }

    func update(_ id: Int64, head: Data, selection: [UInt8], responded: Int64, size: Int64) throws {
        try database.run("UPDATE heads SET head = ? WHERE id = ?", .octets(head), .integer(id))
        try database.run(
            "UPDATE entries SET selection = ?, responded = ?, size = ? WHERE id = ?", .octets(selection), .integer(responded),
            .integer(size), .integer(id))
    }

    // MARK: Space

    /// Returns pages to the file system if many pages of the file are free. Call this function outside a transaction of the database.
    func shrink(all: Bool) throws {
        let free = try database.rows("PRAGMA freelist_count") { $0.integer(0) }.first ?? 0
        if all {
            // The removed bytes leave the log, too, unless another connection uses the log.
            try database.run("PRAGMA incremental_vacuum")
            database.setBusyTimeout(milliseconds: 200)
            defer { database.setBusyTimeout() }
            try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        } else if free > 1024 {
            try database.run("PRAGMA incremental_vacuum(256)")
        }
    }

    /// Returns pages to the file system. Throws an error only if the file is damaged.
    func shrinkIfPossible(all: Bool) throws {
        do { try shrink(all: all) } catch let error as SQLiteError where !error.isDamage {}
    }

    /// Carries out a removal for privacy: removed bytes are overwritten, and the removal survives a loss of power.
    func durably(_ work: () throws -> [Int64]) throws -> [Int64] {
        try database.run("PRAGMA secure_delete = ON")
        try database.run("PRAGMA synchronous = FULL")
        defer {
            _ = try? database.run("PRAGMA secure_delete = FAST")
            _ = try? database.run("PRAGMA synchronous = NORMAL")
        }
        let files = try database.transaction(work)
        try shrinkIfPossible(all: true)
        return files
    }
}
#endif
