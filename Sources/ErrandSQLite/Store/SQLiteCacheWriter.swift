#if SQLite
internal import ErrandCache
internal import ErrandCore
internal import Synchronization

/// The writer of one entry on the disk.
///
/// A body of at most 64 KiB stays in memory until it is published, and then becomes a part of the database. A longer body is written to a
/// file while the body arrives. If the bodies in memory have more than 2 MiB together, a short body is written to a file too.
final class SQLiteCacheWriter: CacheWriter {
    /// The key of the entry, and the generation of the look-up before its request.
    struct Key: Sendable {
        let stored: StoredKey
        let generation: CacheGeneration
    }

    private struct State {
        var buffer = Data()
        var file: BodyFile?
        var writtenBytes: Int64 = 0
        /// The bytes that the database has reserved for the file.
        var reservedBytes: Int64 = 0
        var hasEnded = false
    }

    /// The smallest number of bytes that one step reserves for a file of unknown length: 1 MiB. A step is smaller only if the limit of the
    /// entry is near.
    private static let stepBytes: Int64 = 1024 * 1024

    private let store: SQLiteCacheStore
    private let key: Key
    private let number: Int64
    private let overheadBytes: Int64
    private let expectedBytes: Int64?
    private let state = Mutex(State())

    init(_ store: SQLiteCacheStore, _ key: Key, overheadBytes: Int64, expectedBytes: Int64?) {
        (self.store, self.key, self.overheadBytes, self.expectedBytes) = (store, key, overheadBytes, expectedBytes)
        number = store.register(key)
    }

    deinit { discard() }

    func write(_ chunk: Data) async throws {
        enum Step { case buffered, file(BodyFile, more: Int64), newFile(Data) }
        let isExpectedInline = expectedBytes ?? 0 <= Int64(SQLiteCacheStore.inlineBodyLimitBytes)
        let step = try state.withLock { state throws -> Step in
            guard !state.hasEnded, store.isOpen(number) else { throw CacheStatus.Refusal.removed }
            let total = state.writtenBytes + Int64(chunk.count)
            guard BodyFrames.fit(contentBytes: total, overheadBytes: overheadBytes, within: store.limits.entryBytes) else {
                throw CacheStatus.Refusal.tooLarge
            }
            state.writtenBytes = total
            if let file = state.file { return .file(file, more: total + overheadBytes - state.reservedBytes) }
            if isExpectedInline, total <= Int64(SQLiteCacheStore.inlineBodyLimitBytes), store.buffered.reserve(chunk.count) {
                state.buffer.append(chunk)
                return .buffered
            }
            return .newFile(state.buffer)
        }
        switch step {
        case .buffered: return
        case .file(let file, let more):
            if more > 0 { try await reserve(more) }
            try await append(chunk, to: file)
        case .newFile(let buffer):
            let file = try await BlockingWork.run { [store, key, number] in
                try BodyFile(
                    number: number, key: key.stored.key, in: store.home.bodies, sealing: store.sealing, calls: store.home.calls)
            }
            let isKept = state.withLock { state in
                if state.hasEnded { return false }
                (state.file, state.buffer) = (file, Data())
                return true
            }
            guard isKept else {
                Self.cleanUp(store, number, file, reservedBytes: 0)
                throw CacheStatus.Refusal.removed
            }
            store.buffered.release(buffer.count)
            try await reserve(overheadBytes + max(Int64(buffer.count + chunk.count), expectedBytes ?? 0))
            if !buffer.isEmpty { try await append(buffer, to: file) }
            try await append(chunk, to: file)
        }
    }

    private func append(_ chunk: Data, to file: BodyFile) async throws { try await BlockingWork.run { try file.append(chunk) } }

    /// Reserves more bytes for the file.
    private func reserve(_ bytes: Int64) async throws {
        let (reserved, written) = state.withLock { ($0.reservedBytes, $0.writtenBytes) }
        // Bytes are reserved in large steps, because each step writes to the database.
        let isExpected = expectedBytes.map { $0 >= written } ?? false
        let wanted = isExpected ? bytes : min(store.limits.entryBytes - reserved, max(bytes, Self.stepBytes))
        let granted = try await store.reserve(number, wanted: wanted, bytes: bytes)
        guard let granted else { throw CacheStatus.Refusal.noRoom }
        let hasEnded = state.withLock { state in
            state.reservedBytes += granted
            return state.hasEnded
        }
        if hasEnded {
            // The writer was discarded before the bytes were reserved.
            store.writer.begin { [number] in try $0.endWrite(number) }
            throw CacheStatus.Refusal.removed
        }
    }

    func publish(_ head: CacheEntry.Head, replacing replaced: [CacheEntry.ID]) async throws -> CacheEntry.ID {
        let ended = state.withLock { state -> State? in
            guard !state.hasEnded else { return nil }
            defer { (state.hasEnded, state.file, state.buffer) = (true, nil, Data()) }
            return state
        }
        guard let ended else { throw CacheStatus.Refusal.removed }
        defer {
            store.unregister(number)
            if ended.file == nil { store.buffered.release(ended.buffer.count) }
        }
        do {
            guard head.extent.storedBytes == ended.writtenBytes else { throw CacheStatus.Refusal.incompleteBody }
            let id = try await store.publish(
                head, replacing: replaced, key: key, number: number, body: ended.buffer, file: ended.file)
            ended.file?.close()
            return id
        } catch {
            Self.cleanUp(store, number, ended.file, reservedBytes: ended.reservedBytes)
            throw error
        }
    }

    func discard() {
        let ended = state.withLock { state -> State? in
            guard !state.hasEnded else { return nil }
            defer { (state.hasEnded, state.file, state.buffer) = (true, nil, Data()) }
            return state
        }
        guard let ended else { return }
        store.unregister(number)
        if ended.file == nil { store.buffered.release(ended.buffer.count) }
        Self.cleanUp(store, number, ended.file, reservedBytes: ended.reservedBytes)
    }

    /// Removes a file without an entry, and its reserved bytes, in the background.
    private static func cleanUp(_ store: SQLiteCacheStore, _ number: Int64, _ file: BodyFile?, reservedBytes: Int64) {
        guard let file else { return }
        store.writer.cleanUp { [home = store.home] in
            home.removeFiles([number])
            file.close()
        } then: { tables in
            try tables.endWrite(number)
        }
    }
}
#endif
