#if SQLite
public import ErrandCache
public import ErrandCore
internal import Synchronization

/// A store of responses on the disk, over the system's SQLite. Several processes may use the same folder at the same time.
///
/// ```swift
/// let store = SQLiteCacheStore(inFolder: caches + "/responses", onEvent: { print($0) })
/// let stack = HTTPStack.default.cache(in: store)
/// ```
///
/// - **Place**: a folder with a database. Bodies of more than 64 KiB have files of their own. Only the user who owns the folder can read
///   the folder (mode 0700) and its files (0600). On Apple's platforms, a new folder is excluded from backups.
/// - **Crash**: if the process is killed, each entry is whole or absent. After a loss of power, the newest entries may be missing. Each
///   part of an entry has a checksum: no wrong byte is returned.
/// - **Processes**: a process immediately sees the entries that another process has stored. After a sign-out in one process, no process
///   returns entries of the account.
/// - **Privacy**: the store keeps nothing of a volatile identity. Accounts, and the keys by which entries are found, are on the disk only
///   as digests with a secret key. With ``CacheSealing``, URLs, heads and bodies are encrypted.
/// - **Limits**: 256 MiB, 10,000 entries, and an eighth of the bytes for one entry. The limits hold for all processes together. Heads and
///   unpublished files count. The database needs some more space for its log and its indices, about 6 MiB. If there is no room, the least
///   recently used entries are removed.
/// - **Damage**: an empty database replaces a damaged database, and a database of another version: ``Event/Kind/replaced``. A database with
///   sealed entries is also replaced if this store has no ``CacheSealing``. A database without sealed entries is replaced if this store has
///   a ``CacheSealing``. Therefore, either all stores over one folder must have a ``CacheSealing``, or no store.
///
/// The initializer reads a file of 32 bytes, and creates the folder and this file if they are missing. All other work is done on threads
/// that may block.
public final class SQLiteCacheStore: CacheStore, OwnRemovalStore, CustomStringConvertible {
    /// The default limit of all entries: 256 MiB.
    public static let defaultLimitBytes: Int64 = 256 * 1024 * 1024
    /// The default number of entries: 10,000.
    public static let defaultEntryLimit = 10_000

    /// An event of a store that needs no action of the app.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        /// The kind of an event.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// An empty database has replaced the database. The old database was damaged, had another version, or had sealed entries
            /// although the store has no ``CacheSealing``, or the reverse.
            case replaced
            /// A damaged entry was removed.
            case damagedEntry
        }

        /// The kind of the event.
        public let kind: Kind
        /// The event in words, without URLs and secrets.
        public let description: String
    }

    /// The largest body in the database: 64 KiB.
    static let inlineBodyLimitBytes = 64 * 1024

    let limits: CacheStoreLimits
    let sealing: CacheSealing?
    /// Whether the app's closure has sealed octets at least once.
    private let hasSealed = Atomic(false)
    let home: CacheHome
    private let reader: CacheConnection
    let writer: CacheConnection
    /// The work of all caches over this store in this process.
    public let work = CacheWork()

    let uses = Mutex(Uses())
    private let openWriters = Mutex<[Int64: SQLiteCacheWriter.Key]>([:])
    /// The bytes of all unpublished bodies in memory.
    let buffered = ByteAllowance()

    /// Creates a store in a folder.
    ///
    /// - Parameters:
    ///   - folder: the path of the folder. Use a separate folder for the store, and put no other files into this folder. Only the user who
    ///     owns the folder can read it. A missing folder is created. If the folder has files, but not the database of a store, all
    ///     functions throw `FileWriteError`, see ``hasOtherFiles(inFolder:)``.
    ///   - bytes: the largest number of bytes of all entries, at least 0. Default: 256 MiB.
    ///   - entries: the largest number of entries, at least 0. Default: 10,000.
    ///   - entryBytes: the largest number of bytes of one entry, at least 0. `nil`, the default: an eighth of `bytes`.
    ///   - sealing: the closures that encrypt and decrypt the bytes on the disk; `nil`, the default: nothing is encrypted. Entries that
    ///     were encrypted with another key are treated as missing. If `sealing` is not `nil`, and the folder has entries that are not
    ///     encrypted, the store is emptied: ``Event/Kind/replaced``. The same happens if `sealing` is `nil`, and the folder has encrypted
    ///     entries.
    ///   - onEvent: a closure that is called after an event, on a thread that may block.
    public convenience init(
        inFolder folder: String, bytes: Int64 = defaultLimitBytes, entries: Int = defaultEntryLimit, entryBytes: Int64? = nil,
        sealing: CacheSealing? = nil, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.init(
            inFolder: folder, bytes: bytes, entries: entries, entryBytes: entryBytes, sealing: sealing, calls: .system, onEvent: onEvent)
    }

    /// - Parameter calls: the system's calls for the files of bodies.
    init(
        inFolder folder: String, bytes: Int64 = defaultLimitBytes, entries: Int = defaultEntryLimit, entryBytes: Int64? = nil,
        sealing: CacheSealing? = nil, calls: FileCalls, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        precondition(!folder.isEmpty, "folder must not be empty")
        limits = CacheStoreLimits(bytes: bytes, entries: entries, entryBytes: entryBytes)
        self.sealing = sealing
        home = CacheHome(path: folder, isSealed: sealing != nil, calls: calls, report: onEvent)
        reader = CacheConnection(home, label: "errand.cache.reads")
        writer = CacheConnection(home, label: "errand.cache.writes")
        // Without the key, every operation fails until the folder can be used.
        try? home.prepare()
    }

    /// Returns whether a folder has a store. Unlike the initializer, this function does not create a missing folder.
    ///
    /// - Parameter folder: the path of the folder.
    public static func exists(inFolder folder: String) -> Bool {
        !folder.isEmpty && StoreFolder(path: folder).identity(of: CacheHome.databaseName) != nil
    }

    /// Returns whether a folder has files, and has no store. A store does not use such a folder: all functions of the store throw
    /// `FileWriteError`, and the files and the permissions of the folder stay as they are.
    ///
    /// - Parameter folder: the path of the folder.
    public static func hasOtherFiles(inFolder folder: String) -> Bool {
        !folder.isEmpty && CacheHome(path: folder, calls: .system, report: { _ in }).hasOtherFiles
    }

    /// The kind and the limit: `disk, 256 MiB`.
    public var label: String { "disk, \(limits.bytes.bytesInWords)" }

    /// The limit in words: `disk, 256 MiB`.
    public var description: String { label }

    /// The number of entries of all processes, and their bytes.
    public var usage: CacheUsage {
        get async throws {
            let (entries, bytes) = try await reader.runUntilCancelled { try $0.usage }
            return CacheUsage(entries: Int(entries), bytes: bytes, entryLimit: limits.entries, limitBytes: limits.bytes)
        }
    }

    // MARK: Reading

    /// Returns the entries of a key. An entry that can't be decrypted is left out; a damaged entry is left out and removed.
    public func lookUp(_ key: CacheKey) async throws -> CacheLookup {
        try await reader.ensureKey(isCancellable: true)
        guard let (digest, _) = try keyDigest(key) else {
            // Nothing of a volatile identity is stored, so its generation has no meaning.
            return CacheLookup(entries: [], generation: CacheGeneration(0))
        }
        let (generation, entries) = try await reader.runUntilCancelled { [self] tables in
            let (generation, stored) = try tables.lookUp(digest)
            return (generation, stored.compactMap { decoded($0, key: digest) })
        }
        use(entries.map(\.id.rawValue))
        return CacheLookup(entries: entries, generation: CacheGeneration(generation))
    }

    /// Returns an entry; `nil` if it is damaged, or can't be decrypted.
    func decoded(_ stored: CacheTables.StoredEntry, key: [UInt8]) -> CacheEntry? {
        let place = StoredPiece.Place(number: stored.number, key: key, index: StoredPiece.Place.headIndex)
        do {
            guard let piece = StoredPiece(combined: stored.head) else { throw StoredPiece.Damaged() }
            let head = try CacheEntry.Head(encoded: try piece.content(at: place, sealing: sealing))
            return CacheEntry(id: CacheEntry.ID(stored.id), head: head)
        } catch {
            if error is StoredPiece.Damaged { removeDamaged(stored.id) }
            return nil
        }
    }

    /// Returns the stored bytes of an entry; `nil` if the entry was removed or damaged, or can't be decrypted.
    public func body(of id: CacheEntry.ID, offsets: Range<Int64>) async throws -> (any BodySource)? {
        try await reader.runUntilCancelled { [self] tables -> (any BodySource)? in
            guard let stored = try tables.body(of: id.rawValue) else { return nil }
            do {
                let frames = try BodyFrames(encoded: stored.frames)
                guard let body = stored.body else {
                    return try StoredBodySource(
                        path: home.bodies.file(BodyFile.name(of: stored.place.number)), frames: frames, place: stored.place,
                        offsets: offsets, sealing: sealing, calls: home.calls, damaged: { [weak self] in self?.removeDamaged(id.rawValue) })
                }
                var content = Data()
                if let frame = frames.frames.first {
                    guard frames.frames.count == 1, body.count == frame.storedBytes else { throw StoredPiece.Damaged() }
                    content = try StoredPiece(stored: body, checksum: frame.checksum).content(at: stored.place, sealing: sealing)
                    guard content.count == frame.contentBytes else { throw StoredPiece.Damaged() }
                }
                guard offsets.upperBound <= Int64(content.count) else { throw StoredPiece.Damaged() }
                let isWhole = offsets == 0..<Int64(content.count)
                return ChunksBodySource([isWhole ? content : Data(content[Int(offsets.lowerBound)..<Int(offsets.upperBound)])])
            } catch is StoredPiece.Damaged {
                removeDamaged(id.rawValue)
            } catch let error as FileReadError {
                // The file was removed with its entry, or was lost when the device lost power.
                guard error.isMissingFile else { throw error }
                removeDamaged(id.rawValue)
            } catch {
                // The bytes can't be decrypted.
            }
            return nil
        }
    }

    private func removeDamaged(_ id: Int64) {
        writer.begin { [self] tables in
            guard try tables.headPlace(of: id) != nil else { return }
            home.removeFiles(try tables.database.transaction { try tables.remove(id) })
            home.reportEvent(.damagedEntry, "a damaged entry was removed")
        }
    }

    /// Returns at most `limit` entries with their URLs, the most recently used first.
    public func entries(limit: Int) async throws -> [ListedCacheEntry] {
        try await writer.run { [self] tables in
            try tables.database.transaction { try flushUses(tables) }
            return try tables.entries(limit: max(0, limit)).compactMap { key, stored, name in
                guard let entry = decoded(stored, key: key), let name = StoredPiece(combined: name) else { return nil }
                let place = StoredPiece.Place(number: stored.number, key: key, index: StoredPiece.Place.nameIndex)
                guard let content = try? name.content(at: place, sealing: sealing), let name = try? StoredName(content) else { return nil }
                return ListedCacheEntry(url: name.url, belongsToAccount: name.belongsToAccount, hasContent: name.hasContent, entry: entry)
            }
        }
    }

    // MARK: Writing

    /// Returns the digests of a response's URL, origin and groups. A removal of any of these digests applies to the response.
    func places(of key: StoredKey, _ head: CacheEntry.Head) throws -> [[UInt8]] {
        try [key.url, key.origin] + head.groups.map { try groupDigest($0, of: key.origin) }
    }

    /// Begins an entry.
    ///
    /// - Throws: `.volatileAccount`, `.removed`, `.tooLarge`, or `.noRoom` if the store keeps no entries; the errors of the files, of the
    ///   database, and of ``CacheSealing``; `CancellationError`.
    public func makeWriter(
        for key: CacheKey, head: CacheEntry.Head, expectedBytes: Int64?, since generation: CacheGeneration
    ) async throws -> any CacheWriter {
        try await reader.ensureKey(isCancellable: true)
        guard let stored = try storedKey(key) else { throw CacheStatus.Refusal.volatileAccount }
        let places = try places(of: stored, head)
        try await reader.runUntilCancelled { [self] tables in
            guard try tables.isCurrent(generation, partition: stored.partition, places: places) else {
                throw CacheStatus.Refusal.removed
            }
            // If nothing can be sealed, the cache must know before the body is read.
            if let sealing, !hasSealed.load(ordering: .relaxed) {
                _ = try sealing.seal(Data())
                hasSealed.store(true, ordering: .relaxed)
            }
        }
        // The bytes of the entry beside its body.
        let overhead = Int64(head.encoded.count + stored.name.encoded.count + 8 + CacheLimits.entryOverheadBytes)
        guard CacheLimits.allowsHead(head.response.headerFields),
            BodyFrames.fit(contentBytes: expectedBytes ?? 0, overheadBytes: overhead, within: limits.entryBytes)
        else { throw CacheStatus.Refusal.tooLarge }
        guard limits.entries > 0 else { throw CacheStatus.Refusal.noRoom }
        return SQLiteCacheWriter(
            self, .init(stored: stored, generation: generation), overheadBytes: overhead, expectedBytes: expectedBytes)
    }

    /// Publishes an entry whose body is in memory or in a file.
    ///
    /// - Throws: a `CacheStatus.Refusal`; the errors of the files, of the database, and of ``CacheSealing``.
    func publish(
        _ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID], key: SQLiteCacheWriter.Key, number: Int64, body: Data, file: BodyFile?
    ) async throws -> CacheEntry.ID {
        let limits = limits
        let places = try places(of: key.stored, head)
        return try await writer.run { [self] tables in
            guard CacheLimits.allowsHead(head.response.headerFields) else { throw CacheStatus.Refusal.tooLarge }
            func place(_ index: Int32) -> StoredPiece.Place { .init(number: number, key: key.stored.key, index: index) }
            var (frames, stored) = (try file?.finish() ?? BodyFrames(), file == nil ? Data() : nil)
            if file == nil, !body.isEmpty {
                let piece = try StoredPiece(body, at: place(0), sealing: sealing)
                frames.frames = [.init(contentBytes: body.count, storedBytes: piece.stored.count, checksum: piece.checksum)]
                stored = piece.stored
            }
            let entry = CacheTables.NewEntry(
                key: key.stored, selection: try selectionDigest(head.selection), number: number, responded: head.responseTime.microseconds,
                name: try StoredPiece(key.stored.name.encoded, at: place(StoredPiece.Place.nameIndex), sealing: sealing).combined,
                head: try StoredPiece(head.encoded, at: place(StoredPiece.Place.headIndex), sealing: sealing).combined,
                frames: frames.encoded, body: stored, bodyBytes: frames.storedBytes)
            // Sealed pieces and the final head may have more bytes than the writer has counted.
            guard entry.bytes <= limits.entryBytes else { throw CacheStatus.Refusal.tooLarge }
            // If there is no room, the replaced entries are still removed, because they are out of date.
            let (id, files) = try tables.database.transaction { () -> (Result<Int64, CacheStatus.Refusal>, [Int64]) in
                let isCurrent = try tables.isCurrent(key.generation, partition: key.stored.partition, places: places)
                guard isCurrent, openWriters.withLock({ $0[number] }) != nil else { return (.failure(.removed), []) }
                try flushUses(tables)
                var files: [Int64] = []
                for id in replaced { files += try tables.remove(id.rawValue) }
                files += try tables.removeReplaced(key: key.stored.key, selection: entry.selection, kept: CacheLimits.variants - 1)
                if file != nil { try tables.endWrite(number) }
                guard let evicted = try tables.makeRoom(bytes: entry.bytes, entries: 1, limits) else {
                    return (.failure(.noRoom), files)
                }
                return (.success(try tables.insert(entry)), files + evicted)
            }
            home.removeFiles(files)
            try tables.shrinkIfPossible(all: false)
            return CacheEntry.ID(try id.get())
        }
    }

    /// Reserves bytes for the file of an unpublished entry. Returns the number of reserved bytes; `nil` if there is no room.
    ///
    /// - Parameter wanted: the preferred number of bytes. If there is no room for these bytes, `bytes` are reserved.
    func reserve(_ number: Int64, wanted: Int64, bytes: Int64) async throws -> Int64? {
        let limits = limits
        return try await writer.run { [self] tables in
            for (attempt, amount) in [wanted, bytes, bytes].enumerated() {
                // A killed process may have reserved the room.
                if attempt == 2 { try home.removeDeadWrites(tables) }
                let files = try tables.database.transaction { () -> [Int64]? in
                    try flushUses(tables)
                    return try tables.reserve(number, bytes: amount, limits)
                }
                guard let files else { continue }
                home.removeFiles(files)
                return amount
            }
            return nil
        }
    }

    /// Replaces the heads of entries.
    public func updateHeads(_ entries: [CacheEntry]) async throws {
        guard !entries.isEmpty else { return }
        let limits = limits
        try await writer.run { [self] tables in
            let files = try tables.database.transaction { () -> [Int64] in
                var files: [Int64] = []
                for entry in entries {
                    let id = entry.id.rawValue
                    guard let old = try tables.headPlace(of: id) else { continue }
                    let head = try StoredPiece(entry.head.encoded, at: old.place, sealing: sealing).combined
                    let growth = Int64(head.count) - old.headBytes
                    // If the new head exceeds the limits, its own entry is removed, and other entries stay.
                    let usage = try tables.usage
                    let isAllowed = CacheLimits.allowsHead(entry.head.response.headerFields)
                    guard isAllowed, growth <= 0 || usage.bytes + growth <= limits.bytes else {
                        files += try tables.remove(id)
                        continue
                    }
                    try tables.update(
                        id, head: head, selection: try selectionDigest(entry.head.selection),
                        responded: entry.head.responseTime.microseconds, size: old.size + growth)
                }
                return files
            }
            home.removeFiles(files)
        }
    }

    // MARK: Open writers

    /// Gives up the writers with chosen keys.
    func giveUp(_ isChosen: (SQLiteCacheWriter.Key) -> Bool) {
        openWriters.withLock { writers in
            for (number, key) in writers where isChosen(key) { writers[number] = nil }
        }
    }

    func register(_ key: SQLiteCacheWriter.Key) -> Int64 {
        let number = Int64.random(in: .min ... .max)
        openWriters.withLock { $0[number] = key }
        return number
    }

    func unregister(_ number: Int64) { openWriters.withLock { $0[number] = nil } }

    /// Whether the writer can still publish its entry.
    func isOpen(_ number: Int64) -> Bool { openWriters.withLock { $0[number] != nil } }
}

extension CacheStore where Self == SQLiteCacheStore {
    /// Returns a new store on the disk: `stack.cache(in: .disk(inFolder: folder))`.
    ///
    /// - Parameters:
    ///   - folder: the path of the folder. Use a folder of its own for the store: put no other files into the folder. Only the user who
    ///     owns the folder can read it.
    ///   - bytes: the largest number of bytes of all entries, at least 0. Default: 256 MiB.
    ///   - entries: the largest number of entries, at least 0. Default: 10,000.
    public static func disk(
        inFolder folder: String, bytes: Int64 = SQLiteCacheStore.defaultLimitBytes, entries: Int = SQLiteCacheStore.defaultEntryLimit
    ) -> SQLiteCacheStore {
        SQLiteCacheStore(inFolder: folder, bytes: bytes, entries: entries)
    }
}
#endif
