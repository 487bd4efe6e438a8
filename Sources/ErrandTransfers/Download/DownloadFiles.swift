internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing
internal import Synchronization

/// The files of a download: the partial file `NAME.errand-part`, and its journal `NAME.errand-part.json`, beside the finished file.
///
/// The journal describes only bytes that are on the disk: the partial file is forced to the disk before the journal is written. Each
/// `DownloadFiles` object holds the lock of the partial file for the lifetime of the object.
final class DownloadFiles: Sendable {
    /// The free space that must remain after a download of a known length.
    static let spareBytes: Int64 = 1 << 20
    /// The space for the journal on a full disk: twice its limit, because the folder may grow too.
    static let journalSpaceBytes = Int64(2 * DownloadJournal.limitBytes)

    private struct State {
        var record: DownloadResumption
        /// The number of bytes at the beginning of the partial file that are written, but may not be on the disk.
        var written: Int64
        /// Whether the partial file has its final name. Another download may already write a new partial file.
        var isPublished = false
    }

    let path: String
    private let partPath: String
    private let part: PartialFile
    private let calls: FileCalls
    private let state: Mutex<State>

    private init(path: String, partPath: String, part: PartialFile, calls: FileCalls, record: DownloadResumption) {
        (self.path, self.partPath, self.part, self.calls) = (path, partPath, part, calls)
        state = Mutex(State(record: record, written: record.bytes))
    }

    static func partPath(of path: String) -> String { path + ".errand-part" }
    static func journalPath(of path: String) -> String { partPath(of: path) + ".json" }

    /// Opens the files, and takes the lock.
    ///
    /// - Parameters:
    ///   - path: the path of the finished file.
    ///   - resuming: the description that the app has kept. The description is used if there is no readable journal, and the file name is
    ///     the same.
    ///   - replacesJournal: whether an unreadable journal means that the download starts from the first byte.
    /// - Throws: ``TransferError``; `FileWriteError`; `CancellationError`.
    static func open(
        _ path: String, resuming: DownloadResumption?, replacesJournal: Bool, calls: FileCalls, clock: any Clock<Duration>
    ) async throws -> DownloadFiles {
        let partPath = partPath(of: path)
        let part = try await lockedPart(at: partPath, of: path, calls, clock)
        let name = String(decoding: path.utf8.dropFirst(OutputFile.folder(of: path).utf8.count), as: UTF8.self)
        var record = DownloadResumption(fileName: name)
        if let journal = try await readJournal(of: path, replaces: replacesJournal, calls: calls) {
            record = journal
            record.fileName = name
        } else if let resuming, resuming.fileName.isExactly(name) {
            record = resuming
        }
        let present = try await BlockingWork.run { try part.lengthBytes() }
        // A part of the file may have been removed, or the file may have been copied without its end.
        if present < record.bytes { record = DownloadResumption(fileName: name) }
        let files = DownloadFiles(path: path, partPath: partPath, part: part, calls: calls, record: record)
        try await files.writeJournal(record)
        return files
    }

    /// Returns the partial file with its lock.
    ///
    /// Another process may rename the file before this process takes the lock. Therefore the path is checked after the lock is taken, and
    /// the file is not changed before the check. While a process starts another program, the new process has a copy of each descriptor.
    /// Therefore, if the lock is taken, the function tries again for 100 ms.
    private static func lockedPart(
        at partPath: String, of path: String, _ calls: FileCalls, _ clock: any Clock<Duration>
    ) async throws -> PartialFile {
        let part = try await FileLock.poll(within: .milliseconds(100), every: .milliseconds(10), on: clock) {
            try await BlockingWork.run { try lockedPart(at: partPath, calls) }
        }
        if let part { return part }
        let octets = try? await PrivateFile.read(
            journalPath(of: path), limitBytes: DownloadJournal.limitBytes, followsLinks: false, calls: calls)
        let process = octets.flatMap { DownloadJournal.process(parsing: $0) }.map { "process \($0)" } ?? "another transfer"
        throw TransferError(.busy, "\(process) writes \(partPath.shownSafely())")
    }

    /// Returns the partial file with its lock; `nil` if the lock is taken, or if the file has another name now.
    private static func lockedPart(at partPath: String, _ calls: FileCalls) throws -> PartialFile? {
        var part = try PartialFile(path: partPath, .either, calls: calls)
        guard try part.lock() && part.isAtItsPath else { return nil }
        if try part.hasOtherNames() {
            // The other name may be the name of a finished file, which must not change.
            try part.remove()
            part = try PartialFile(path: partPath, .new, calls: calls)
            guard try part.lock() && part.isAtItsPath else { return nil }
        }
        try part.removePermissions()
        return part
    }

    // MARK: The journal

    static func readJournal(of path: String, replaces: Bool, calls: FileCalls = .system) async throws -> DownloadResumption? {
        let journalPath = journalPath(of: path)
        do {
            let limit = DownloadJournal.limitBytes
            let octets = try await PrivateFile.read(journalPath, limitBytes: limit, followsLinks: false, calls: calls)
            guard let octets else { return nil }
            return try DownloadJournal(parsing: octets).record
        } catch {
            if replaces { return nil }
            throw TransferError(.journalUnreadable, "\(journalPath.shownSafely()): \(error)")
        }
    }

    private func writeJournal(_ record: DownloadResumption) async throws {
        let octets = try DownloadJournal(record, process: currentProcess()).octets
        try await PrivateFile.writeLocked(octets, to: Self.journalPath(of: path), calls: calls)
    }

    // MARK: The bytes

    /// The description of the bytes, including written bytes that may not yet be on the disk.
    var record: DownloadResumption {
        state.withLock { state in
            var record = state.record
            record.bytes = state.written
            return record
        }
    }

    /// Begins a body at an offset. With 0, removes all bytes of an earlier content.
    ///
    /// - Throws: ``TransferError`` if the disk has too little space; `FileWriteError`.
    func begin(_ record: DownloadResumption, at offset: Int64) async throws {
        var record = record
        // Later bytes of the file may be written, but may not be on the disk. The journal does not describe these bytes.
        record.bytes = offset == 0 ? 0 : state.withLock(\.record.bytes)
        try await checkSpace(record, at: offset)
        // The journal comes first. If the process crashes between the two steps, the journal describes no removed byte.
        try await writeJournal(record)
        let part = part
        if offset == 0 { try await BlockingWork.run { try part.truncate(to: 0) } }
        state.withLock { state in
            state.record = record
            if offset == 0 { state.written = 0 }
        }
    }

    private func checkSpace(_ record: DownloadResumption, at offset: Int64) async throws {
        guard let total = record.total else { return }
        let (partPath, calls) = (partPath, calls)
        // The space of bytes that will be removed or overwritten counts as free.
        let present = offset == 0 ? try await BlockingWork.run { [part] in try part.lengthBytes() } : offset
        let free = try await BlockingWork.run { try PartialFile.freeBytes(for: partPath, calls: calls) }
        let (needed, isTooMany) = max(0, total - present).addingReportingOverflow(Self.spareBytes)
        guard isTooMany || needed > free else { return }
        throw TransferError(
            .noSpace, "the download needs \((total - min(present, total)).counted("byte")), and the disk has \(free.counted("free byte"))",
            resumption: .download(self.record))
    }

    /// Writes bytes at an offset.
    ///
    /// - Throws: `FileWriteError`.
    func write(_ data: Data, at offset: Int64) async throws {
        let part = part
        try await BlockingWork.run { try part.write(data, at: offset) }
        let end = offset + Int64(data.count)
        state.withLock { state in state.written = max(state.written, end) }
    }

    /// Sets the total number of bytes at the end of a body without a length.
    func setTotal(_ total: Int64) { state.withLock { $0.record.total = total } }

    /// Forces the written bytes to the disk, and then writes the journal.
    ///
    /// - Parameter isLast: whether no other call writes to the partial file. If the disk is full, the last bytes of the partial file are
    ///   removed, so that there is space for the journal.
    /// - Throws: `FileWriteError`.
    func checkpoint(isLast: Bool = false) async throws {
        do {
            try await writeCheckpoint()
        } catch let error as FileWriteError where isLast && isErrorOfFullDisk(error.code) {
            try await releaseSpace()
            try await writeCheckpoint()
        }
    }

    /// Removes the last bytes of the partial file that the journal does not describe: those of a failed write, or ``journalSpaceBytes``.
    private func releaseSpace() async throws {
        let part = part
        let present = try await BlockingWork.run { try part.lengthBytes() }
        let kept = state.withLock { state in
            if present - state.written < Self.journalSpaceBytes {
                state.written = max(state.record.bytes, state.written - Self.journalSpaceBytes)
            }
            return state.written
        }
        try await BlockingWork.run { try part.truncate(to: kept) }
    }

    private func writeCheckpoint() async throws {
        let (record, isNew) = state.withLock { state in
            var record = state.record
            record.bytes = state.written
            return (record, record.bytes > state.record.bytes && !state.isPublished)
        }
        guard isNew else { return }
        // A second descriptor of the same file is synchronized, so that the writer does not wait for the lock of the first descriptor.
        let (partPath, calls) = (partPath, calls)
        try await BlockingWork.run { try PartialFile(path: partPath, .existing, calls: calls).synchronize() }
        var failure: FileWriteError?
        do {
            try await writeJournal(record)
        } catch let error as FileWriteError where error.operation == FileWriteError.folderSynchronization {
            // The new journal is in its place.
            failure = error
        }
        state.withLock { state in
            // Another body may have begun while the journal was written.
            if state.written >= record.bytes { state.record.bytes = max(state.record.bytes, record.bytes) }
        }
        if let failure { throw failure }
    }

    /// Marks the content as wrong, so that the next run starts from the first byte.
    func reject() async throws {
        var record = record
        record.isRejected = true
        try await writeJournal(record)
        state.withLock { $0.record = record }
    }

    /// Returns the digest of the whole file; `nil` in a build without the trait `Crypto`.
    func digest(by algorithm: IntegrityDigest.Algorithm) async throws -> IntegrityDigest? {
        #if Crypto
        var hash = OctetHash(algorithm == .sha256 ? .sha256 : .sha512)
        var offset: Int64 = 0
        let (part, total) = (part, record.bytes)
        while offset < total {
            try Task.checkCancellation()
            let start = offset
            let piece = try await BlockingWork.run { try part.read(count: 1 << 20, at: start) }
            if piece.isEmpty { break }
            hash.update(piece)
            offset += Int64(piece.count)
        }
        return IntegrityDigest(algorithm, octets: hash.finalized())
        #else
        return nil
        #endif
    }

    /// Gives the partial file its final name, and removes the journal.
    ///
    /// After the rename, another download may create a new partial file and its journal. Therefore the journal is removed only if there is
    /// no new partial file. If the journal stays, the next download ignores the journal, because the partial file is shorter.
    ///
    /// - Throws: `FileWriteError`.
    func publish(options: FileWriteOptions) async throws {
        let (part, path, length) = (part, path, record.bytes)
        let failure = try await BlockingWork.run { () -> (any Error)? in
            // An earlier run may have left a partial file that is longer than the content. The further bytes are removed.
            if try part.lengthBytes() != length { try part.truncate(to: length) }
            do {
                try part.publish(at: path, options: options)
                return nil
            } catch  where !part.isAtItsPath {
                // The file has its final name, but the name may not be on the disk.
                return error
            }
        }
        state.withLock { $0.isPublished = true }
        try? await removeJournal()
        if let failure { throw failure }
    }

    private func removeJournal() async throws {
        let partPath = partPath
        guard try await BlockingWork.run({ !PartialFile.exists(at: partPath) }) else { return }
        try await PrivateFile.remove(Self.journalPath(of: path), calls: calls)
    }

    /// Removes both files.
    func discard() async throws {
        try await PrivateFile.remove(partPath, calls: calls)
        try await PrivateFile.remove(Self.journalPath(of: path), calls: calls)
        part.close()
    }
}
