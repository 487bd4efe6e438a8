internal import ErrandCore
internal import ErrandFormats
internal import ErrandHashing
internal import Synchronization

/// The files of a download: the partial file `NAME.errand-part`, and its journal `NAME.errand-part.json`, beside the finished file.
///
/// The journal describes only bytes that are on the disk: the partial file is forced to the disk before the journal is written. An object
/// holds the lock of the partial file for its lifetime.
final class DownloadFiles: Sendable {
    /// The free space that stays on the disk.
    static let spareBytes: Int64 = 1 << 20

    private struct State {
        var record: DownloadResumption
        /// The number of bytes at the beginning of the partial file that are written, but may not be on the disk.
        var written: Int64
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
    ///   - resuming: the description that the app has kept. It is used if there is a partial file without a journal.
    ///   - replacesJournal: whether an unreadable journal means that the download starts from the first byte.
    /// - Throws: ``TransferError``; `FileWriteError`.
    static func open(
        _ path: String, resuming: DownloadResumption?, replacesJournal: Bool, calls: FileCalls, clock: any Clock<Duration>
    ) async throws -> DownloadFiles {
        let partPath = partPath(of: path)
        let part = try await lockedPart(at: partPath, of: path, calls, clock)
        let name = String(decoding: path.utf8.dropFirst(OutputFile.folder(of: path).utf8.count), as: UTF8.self)
        var record = DownloadResumption(fileName: name)
        if let journal = try await readJournal(of: path, replaces: replacesJournal) {
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
    /// Another process may rename the file before this process takes the lock. Therefore the path is checked after the lock is taken. While
    /// a process starts another program, the new process has a copy of each descriptor. Therefore a taken lock is tried again for 100 ms.
    private static func lockedPart(
        at partPath: String, of path: String, _ calls: FileCalls, _ clock: any Clock<Duration>
    ) async throws -> PartialFile {
        for attempt in 0..<10 {
            if attempt > 0 { try await clock.sleep(for: .milliseconds(10)) }
            let part = try await BlockingWork.run { () -> PartialFile? in
                let part = try PartialFile(path: partPath, .either, calls: calls)
                return try part.lock() && part.isAtItsPath ? part : nil
            }
            if let part { return part }
        }
        let journal = try? await PrivateFile.read(journalPath(of: path), limitBytes: DownloadJournal.limitBytes, followsLinks: false)
        let process = journal.flatMap { DownloadJournal.process(parsing: $0) }.map { "process \($0)" } ?? "another transfer"
        throw TransferError(.busy, "\(process) writes \(partPath.shownSafely())")
    }

    // MARK: The journal

    static func readJournal(of path: String, replaces: Bool) async throws -> DownloadResumption? {
        let journalPath = journalPath(of: path)
        do {
            let limit = DownloadJournal.limitBytes
            guard let octets = try await PrivateFile.read(journalPath, limitBytes: limit, followsLinks: false) else { return nil }
            return try DownloadJournal(parsing: octets).record
        } catch {
            if replaces { return nil }
            throw TransferError(.journalUnreadable, "\(journalPath.shownSafely()): \(error)")
        }
    }

    private func writeJournal(_ record: DownloadResumption) async throws {
        try await PrivateFile.writeLocked(DownloadJournal(record, process: currentProcess()).octets, to: Self.journalPath(of: path))
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
        // The journal comes first. After a crash between both steps, the journal describes no byte that is removed.
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
        // Bytes that will be removed or overwritten are free again.
        let present = offset == 0 ? try await BlockingWork.run { [part] in try part.lengthBytes() } : offset
        let free = try await BlockingWork.run { try PartialFile.freeBytes(for: partPath, calls: calls) }
        let (needed, isTooMany) = max(0, total - present).addingReportingOverflow(Self.spareBytes)
        guard isTooMany || needed > free else { return }
        throw TransferError(
            .noSpace, "the download needs \((total - min(present, total)).counted("byte")), and the disk has \(free.counted("byte"))",
            resumption: .download(self.record))
    }

    /// Writes bytes at an offset.
    ///
    /// - Throws: ``TransferError`` if the disk is full; `FileWriteError`.
    func write(_ data: Data, at offset: Int64) async throws {
        let part = part
        do {
            try await BlockingWork.run { try part.write(data, at: offset) }
        } catch let error as FileWriteError where isErrorOfFullDisk(error.code) {
            throw TransferError(.noSpace, "the disk is full", resumption: .download(record))
        }
        let end = offset + Int64(data.count)
        state.withLock { state in state.written = max(state.written, end) }
    }

    /// Sets the total number of bytes at the end of a body without a length.
    func setTotal(_ total: Int64) { state.withLock { $0.record.total = total } }

    /// Forces the written bytes to the disk, and then writes the journal.
    ///
    /// - Throws: `FileWriteError`.
    func checkpoint() async throws {
        let (record, isNew) = state.withLock { state in
            var record = state.record
            record.bytes = state.written
            return (record, record.bytes > state.record.bytes)
        }
        guard isNew else { return }
        // A second descriptor of the same file is synchronized, so that the writer does not wait for the lock of the first descriptor.
        let (partPath, calls) = (partPath, calls)
        try await BlockingWork.run { try PartialFile(path: partPath, .existing, calls: calls).synchronize() }
        try await writeJournal(record)
        state.withLock { state in
            // Another body may have begun meanwhile.
            if state.written >= record.bytes { state.record.bytes = max(state.record.bytes, record.bytes) }
        }
    }

    /// Marks the content as wrong, so that the next run starts from the first byte.
    func reject() async throws {
        var record = record
        record.isRejected = true
        try await writeJournal(record)
        state.withLock { $0.record = record }
    }

    /// Returns the digest of the whole file.
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
    /// - Throws: `FileWriteError`.
    func publish(options: FileWriteOptions) async throws {
        let (part, path, length) = (part, path, record.bytes)
        try await BlockingWork.run {
            // A longer file of an earlier run may have bytes after the end of the content.
            if try part.lengthBytes() != length { try part.truncate(to: length) }
            try part.publish(at: path, options: options)
        }
        try await PrivateFile.remove(Self.journalPath(of: path))
    }

    /// Removes both files.
    func discard() async throws {
        try await PrivateFile.remove(partPath)
        try await PrivateFile.remove(Self.journalPath(of: path))
        part.close()
    }
}
