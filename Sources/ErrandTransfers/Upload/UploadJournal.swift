internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// The journal of an upload: a private file that describes the upload, and a lock, so that only one upload uses the journal.
///
/// Without a path, nothing is written.
final class UploadJournal: Sendable {
    /// The largest journal that is read.
    static let limitBytes = 64 * 1024
    /// The longest name of a file that is a part of the journal's name.
    static let nameLimitBytes = 180

    /// The path; `nil` without a journal.
    let path: String?
    private let lock: Mutex<FileLock?>
    private let calls: FileCalls

    private init(path: String?, lock: FileLock?, calls: FileCalls) {
        (self.path, self.calls) = (path, calls)
        self.lock = Mutex(lock)
    }

    /// Returns a hash of a text with 16 hexadecimal digits, which is the same in each process (FNV-1a, 64 bits).
    static func hash(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for octet in text.utf8 { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01B3 }
        return hex(withUnsafeBytes(of: hash.bigEndian) { Array($0) })
    }

    /// Returns the hash by which a later run recognizes the target of an upload, and the identity of its content.
    ///
    /// The query is not a part of the hash, because signed URLs have another query each time.
    static func target(of request: Request, contentID: String?) -> String {
        let path = request.head.path?.split(atOctet: UInt8(ascii: "?"), maxSplits: 1, omittingEmptyPieces: false).first ?? ""
        return hash("\(request.head.scheme ?? "")://\(request.head.authority ?? "")\(path)\n\(contentID ?? "")")
    }

    /// Returns the path of the journal; `nil` if the options or the content allow no journal.
    ///
    /// - Throws: `FileWriteError` if the folder is not a file URL.
    static func path(of content: UploadContent, target: String, options: UploadOptions) throws -> String? {
        guard content.isRecognizable else { return nil }
        let name = content.fileName ?? "content"
        let shown = name.utf8.count <= nameLimitBytes ? name : "content-\(hash(name))"
        let file = "\(shown).errand-upload-\(target).json"
        switch options.journal {
        case .none: return nil
        case .folder(let url):
            let folder = try FileWriteError.path(of: url)
            return folder.utf8.last == UInt8(ascii: "/") ? folder + file : folder + "/" + file
        case .besideFile:
            guard let path = content.path else { return nil }
            return String(decoding: path.utf8.dropLast(name.utf8.count), as: UTF8.self) + file
        }
    }

    /// Takes the lock of a journal.
    ///
    /// - Throws: ``TransferError`` with the code `busy`; `FileWriteError`; `CancellationError`.
    static func open(_ path: String?, calls: FileCalls, clock: any Clock<Duration>) async throws -> UploadJournal {
        guard let path else { return UploadJournal(path: nil, lock: nil, calls: calls) }
        guard let lock = try await PrivateFile.lock(path + ".lock", within: .milliseconds(100), clock: clock) else {
            let owner = try? await PrivateFile.read(path, limitBytes: limitBytes, followsLinks: false)
            let process = owner.flatMap { try? coding.decode(Owner.self, from: $0) }.map { "process \($0.process)" } ?? "another transfer"
            throw TransferError(.busy, "\(process) uses \(path.shownSafely())")
        }
        return UploadJournal(path: path, lock: lock, calls: calls)
    }

    /// Removes the lock file, and releases the lock.
    func close() async {
        guard let path, let lock = lock.withLock({ $0.take() }) else { return }
        // The file is removed while its lock is held. Therefore no other process can have locked it.
        try? await PrivateFile.remove(path + ".lock")
        lock.release()
    }

    private static let coding = JSONCoding()

    /// The process that writes the journal, for the error of another process.
    private struct Owner: Codable { let process: Int32 }

    /// The content of the journal.
    private struct Journal: Codable {
        let record: UploadResumption
        let process: Int32
    }

    /// Returns the record of an earlier run; `nil` if there is no journal.
    ///
    /// - Parameter replaces: whether an unreadable journal counts as no journal.
    /// - Throws: ``TransferError`` with the code `journalUnreadable`.
    func read(replaces: Bool) async throws -> UploadResumption? {
        guard let path else { return nil }
        do {
            let found = try await PrivateFile.read(path, limitBytes: Self.limitBytes, followsLinks: false, calls: calls)
            guard let data = found else { return nil }
            return try Self.decode(data)
        } catch {
            if replaces { return nil }
            let reason = (error as? FileReadError).map { "\($0)" } ?? "it is not a journal of this version"
            throw TransferError(.journalUnreadable, "\(path.shownSafely()): \(reason)")
        }
    }

    /// Decodes the octets of a journal.
    static func decode(_ data: Data) throws -> UploadResumption { try coding.decode(Journal.self, from: data).record }

    /// Replaces the journal.
    ///
    /// - Throws: `FileWriteError`.
    func write(_ record: UploadResumption) async throws {
        guard let path else { return }
        let data = try Self.coding.encode(Journal(record: record, process: currentProcess()))
        try await PrivateFile.writeLocked(data, to: path, calls: calls)
    }

    /// Removes the journal.
    ///
    /// - Throws: `FileWriteError`.
    func remove() async throws {
        guard let path else { return }
        try await PrivateFile.remove(path)
    }
}
