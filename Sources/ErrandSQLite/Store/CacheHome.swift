#if SQLite
internal import ErrandCache
internal import ErrandCore
internal import ErrandHashing
internal import Synchronization

/// The folder of a store: the database, the files of large bodies, the secret key of the digests, and the lock that a process holds while
/// it opens the store.
///
/// All functions block, except ``digest(_:)`` and the paths.
final class CacheHome: Sendable {
    static let databaseName = "responses.sqlite"
    private static let secretName = "secret"
    private static let bodiesName = "bodies"
    private static let lockName = "lock"
    private static let logSuffixes = ["-wal", "-shm", "-journal"]
    private static let secretBytes = 32
    /// The longest wait for another process that is opening the store.
    private static let lockSeconds = 10

    let folder: StoreFolder
    let bodies: StoreFolder
    let calls: FileCalls
    /// Whether the entries are sealed.
    private let isSealed: Bool
    private let report: @Sendable (SQLiteCacheStore.Event) -> Void
    private let secret = Mutex<[UInt8]?>(nil)
    /// Whether this process has removed the leftovers of other processes.
    private let isClean = Mutex(false)

    init(path: String, isSealed: Bool = false, calls: FileCalls, report: @escaping @Sendable (SQLiteCacheStore.Event) -> Void) {
        folder = StoreFolder(path: path)
        bodies = folder.subfolder(Self.bodiesName)
        (self.isSealed, self.calls, self.report) = (isSealed, calls, report)
    }

    // MARK: The secret key

    /// The error of an operation that needs the secret key, while the key can be neither read nor created.
    struct NoKey: Error, SafelyDescribedError {
        let description = "the folder of the store can't be used"
    }

    /// Returns a keyed digest, with the secret key of the folder; `nil` if the key has not been read.
    func digest(_ octets: [UInt8]) -> [UInt8]? {
        secret.withLock { $0 }.map { KeyedHash.hmacSHA256.code(of: octets, key: $0) }
    }

    /// Reads the secret key. Returns false if the folder has no valid key.
    private func readSecret() throws -> Bool {
        let octets = try PrivateFile.readBlocking(folder.file(Self.secretName), limitBytes: Self.secretBytes)
        guard let octets, octets.count == Self.secretBytes else { return false }
        secret.withLock { $0 = Array(octets) }
        return true
    }

    /// Reads the secret key. If there is no valid key, creates a key. The caller has the lock of the folder.
    private func prepareSecret() throws {
        // A key that can't be read, or that other users can read, is replaced.
        if (try? readSecret()) == true { return }
        let new = randomOctets(Self.secretBytes)
        let options = FileWriteOptions(permissions: 0o600, synchronizesToDisk: true)
        let file = try OutputFile(path: folder.file(Self.secretName), options: options)
        try file.append(Data(new))
        try file.commit()
        secret.withLock { $0 = new }
    }

    /// Creates the folder and the secret key if they are missing, so that ``digest(_:)`` has a key.
    func prepare() throws {
        try checkFiles()
        if (try? readSecret()) == true { return }
        try folder.create()
        let lock = try folder.lock(Self.lockName, seconds: Self.lockSeconds)
        defer { lock.release() }
        try prepareSecret()
    }

    // MARK: The files of others

    /// Returns whether a file of this name in the folder can be a file of the store. The Finder adds `.DS_Store` to any folder.
    private static func isOwn(_ name: String) -> Bool {
        [databaseName, secretName, bodiesName, lockName, ".DS_Store"].contains(name) || logSuffixes.contains { name == databaseName + $0 }
            || OutputFile.isTemporary(name)
    }

    /// Whether the folder has no database, and has files that are not files of a store.
    ///
    /// The store makes its folder private, and empties the folder of its bodies. Therefore, such a folder is not used.
    var hasOtherFiles: Bool { folder.identity(of: Self.databaseName) == nil && folder.names.contains { !Self.isOwn($0) } }

    /// - Throws: `FileWriteError` if the folder has other files.
    private func checkFiles() throws {
        guard hasOtherFiles else { return }
        throw folder.hasOtherFiles(reason: "the folder has other files, and the cache needs a folder of its own")
    }

    // MARK: The database

    /// Whether an open database is still the database at its path.
    func isCurrent(_ tables: CacheTables) -> Bool { folder.identity(of: Self.databaseName) == tables.file }

    /// Opens the database. A missing or damaged database, a database of another version, and a database whose entries are sealed in another
    /// way than the entries of this store, is replaced by a new database.
    ///
    /// - Throws: `FileWriteError`, `FileReadError`, `SQLiteError`.
    func open() throws -> CacheTables {
        try checkFiles()
        try folder.create()
        try bodies.create(allowsLink: false)
        let lock = try folder.lock(Self.lockName, seconds: Self.lockSeconds)
        defer { lock.release() }
        try prepareSecret()
        do {
            return try openClean()
        } catch let error as SQLiteError where error.isDamage {
            removeDatabase(because: error)
            return try openClean()
        }
    }

    /// Opens the database. The first opening of this process removes the leftovers, and reads tables for this purpose. These tables can be
    /// damaged, too.
    private func openClean() throws -> CacheTables {
        let tables = try openExisting()
        if !isClean.withLock({ $0 }) {
            try removeLeftovers(tables)
            isClean.withLock { $0 = true }
        }
        return tables
    }

    private func openExisting() throws -> CacheTables {
        try folder.createFile(Self.databaseName)
        let database = try SQLiteDatabase(path: folder.file(Self.databaseName))
        guard let file = folder.identity(of: Self.databaseName) else {
            throw FileWriteError.removed(folder.file(Self.databaseName), operation: "open")
        }
        guard let secret = digest(Array("the key of this store".utf8)) else { throw NoKey() }
        return try CacheTables(database, file: file, secret: secret, isSealed: isSealed)
    }

    /// Replaces a damaged database, unless another process has replaced it.
    func replace(_ file: StoreFolder.FileIdentity?, because error: any Error) throws {
        let lock = try folder.lock(Self.lockName, seconds: Self.lockSeconds)
        defer { lock.release() }
        guard file == nil || folder.identity(of: Self.databaseName) == file else { return }
        removeDatabase(because: error)
    }

    private func removeDatabase(because error: any Error) {
        // The log is removed first. A log without its database would be applied to the next database.
        for suffix in Self.logSuffixes + [""] { folder.remove(Self.databaseName + suffix) }
        // The files of open writers have locks, and stay until these writers end.
        for number in bodyNumbers { _ = bodies.removeUnlocked(BodyFile.name(of: number)) { false } }
        report(.init(kind: .replaced, description: "the store was emptied: \(safeDescription(of: error))"))
    }

    /// The numbers of all files of bodies. Other names in the folder are left out. A symbolic link to a folder has no files of the store.
    private var bodyNumbers: [Int64] { bodies.isFolder ? bodies.names.compactMap { BodyFile.number(of: $0) } : [] }

    /// Removes the leftovers of killed processes: files without an entry, and the reserved bytes of these files. The caller has the lock of
    /// the folder.
    private func removeLeftovers(_ tables: CacheTables) throws {
        for name in folder.names where OutputFile.isTemporary(name) { folder.remove(name) }
        let needed = Set(try tables.fileNumbers)
        for number in bodyNumbers where !needed.contains(number) {
            // A writer publishes its entry before it releases the lock of the file.
            _ = bodies.removeUnlocked(BodyFile.name(of: number)) { (try? tables.needsFile(number)) != false }
        }
        try removeDeadWrites(tables)
    }

    /// Releases the bytes that killed processes have reserved.
    func removeDeadWrites(_ tables: CacheTables) throws {
        let dead = try tables.writes.filter { number in
            bodies.removeUnlocked(BodyFile.name(of: number)) { (try? tables.needsFile(number)) != false }
        }
        if !dead.isEmpty { try tables.database.transaction { for number in dead { try tables.endWrite(number) } } }
    }

    /// Removes the files of removed entries.
    func removeFiles(_ numbers: [Int64]) {
        for number in numbers { bodies.remove(BodyFile.name(of: number)) }
    }

    /// Reports an event.
    func reportEvent(_ kind: SQLiteCacheStore.Event.Kind, _ description: String) { report(.init(kind: kind, description: description)) }
}
#endif
