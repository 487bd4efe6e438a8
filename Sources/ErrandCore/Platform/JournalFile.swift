internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A file to which records are appended, and that stays valid after a crash at any moment.
///
/// The file begins with eight octets, `ERRJRNL1`. Each record is a frame:
/// 1. the length of the record in octets: four octets, the least significant first
/// 2. CRC-32 of the length and the record, as in [RFC 1952, section 8](https://www.rfc-editor.org/rfc/rfc1952#section-8): four
///    octets, the least significant first
/// 3. the record
///
/// If a process dies while it appends, a part of a frame may remain. When the file is opened again, this part and all later octets are
/// removed. ``replace(with:)`` writes a new file and renames that file. After a crash, the journal has either the old records or the new
/// records. The file has at most `limitBytes` octets. Replace the records before the file is full.
///
/// Only one holder at a time may use the file: take a ``FileLock`` first. All calls block. Only the owner of the file can read and
/// write the file (mode 0600).
final class JournalFile: Sendable {
    private struct State {
        var file: PartialFile
        var length: Int
        /// Whether the file still has octets after `length`, because the removal of these octets failed.
        var isTorn = false
        var isClosed = false
    }

    private static let header = Data("ERRJRNL1".utf8)
    private static let frameBytes = 8

    private let path: String
    private let calls: FileCalls
    /// The maximum length of the file in octets.
    let limitBytes: Int
    private let state: Mutex<State>

    /// The records of the file when it was opened.
    let openedRecords: [Data]
    /// The number of octets that were removed when the file was opened: an incomplete frame, and the octets after it.
    let droppedBytes: Int

    /// Opens the file, or creates it.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The folder of the file must exist. ``replace(with:)`` uses the file `PATH.new`, which this
    ///     initializer removes.
    ///   - limitBytes: the maximum length of the file in octets, from 64 to 2^30. Default: 1 MiB.
    ///   - calls: the system's calls.
    /// - Throws: `FileWriteError`, also if the file is not a journal or has more octets than `limitBytes`. A file that is not a journal, or
    ///   is too long, is unchanged.
    init(path: String, limitBytes: Int = 1 << 20, calls: FileCalls = .system) throws(FileWriteError) {
        precondition((64...1 << 30).contains(limitBytes), "limitBytes must be from 64 to 2^30 (is \(limitBytes))")
        let file = try PartialFile(path: path, .either, calls: calls)
        try file.removePermissions()
        let length = try file.lengthBytes()
        guard length <= limitBytes else {
            throw FileWriteError(path: path, operation: "open", code: EFBIG, reason: "it has more than \(limitBytes.counted("byte"))")
        }
        let data = try file.read(count: Int(length), at: 0)
        guard data.prefix(Self.header.count) == Self.header.prefix(data.count) else {
            throw FileWriteError(path: path, operation: "open", code: EINVAL, reason: "it is not a journal of this version")
        }
        _ = unlink(Self.replacementPath(of: path))
        let (records, end) = Self.records(in: data)
        if data.count < Self.header.count {
            // The file is new, or its creator died before it wrote the header.
            try file.write(Self.header, at: 0)
            try file.synchronize()
            try PartialFile.synchronizeFolder(of: path, calls: calls)
        } else if end < data.count {
            try file.truncate(to: Int64(end))
            try file.synchronize()
        }
        (self.path, self.calls, self.limitBytes) = (path, calls, limitBytes)
        openedRecords = records
        droppedBytes = max(0, data.count - max(end, Self.header.count))
        state = Mutex(State(file: file, length: max(end, Self.header.count)))
    }

    private static func replacementPath(of path: String) -> String { path + ".new" }

    /// Returns the records up to the first incomplete frame, and the end of the last record.
    private static func records(in data: Data) -> (records: [Data], end: Int) {
        let octets = [UInt8](data)
        var (records, end): ([Data], Int) = ([], header.count)
        func number(at index: Int) -> UInt32 { UInt32(littleEndianOctets: octets[index..<index + 4]) }
        while octets.count - end >= frameBytes {
            let length = Int(number(at: end))
            guard octets.count - end - frameBytes >= length else { break }
            let record = octets[(end + frameBytes)..<(end + frameBytes + length)]
            guard CRC32.of(octets[end..<(end + 4)], record) == number(at: end + 4) else { break }
            records.append(Data(record))
            end += frameBytes + length
        }
        return (records, min(end, octets.count))
    }

    private static func append(_ record: Data, to data: inout Data) {
        let length = UInt32(record.count).littleEndianOctets
        data += length
        data += CRC32.of(length, record).littleEndianOctets
        data += record
    }

    /// The length of the file in octets.
    var lengthBytes: Int { state.withLock(\.length) }

    /// Returns whether a record of this length in octets can still be appended.
    func hasRoom(for recordBytes: Int) -> Bool { recordBytes <= limitBytes - Self.frameBytes - lengthBytes }

    private func checkRoom(_ length: Int) throws(FileWriteError) {
        guard length > limitBytes else { return }
        throw FileWriteError(path: path, operation: "write", code: EFBIG, reason: "it would have more than \(limitBytes.counted("byte"))")
    }

    /// Appends a record.
    ///
    /// - Parameter synchronizes: whether the function forces the record to the disk before it returns. Default: `true`.
    /// - Throws: `FileWriteError`. If the function throws, the record is not in the file, with one exception. If the disk also
    ///   refuses to remove the written octets of the record, the next ``append(_:synchronizes:)`` removes these octets first. If
    ///   the file is opened before that call, the opener may read the record.
    func append(_ record: Data, synchronizes: Bool = true) throws(FileWriteError) {
        try state.withLock { state throws(FileWriteError) in
            try checkRoom(state.length + Self.frameBytes + record.count)
            if state.isTorn {
                try state.file.truncate(to: Int64(state.length))
                state.isTorn = false
            }
            var frame = Data()
            Self.append(record, to: &frame)
            do throws(FileWriteError) {
                try state.file.write(frame, at: Int64(state.length))
                if synchronizes { try state.file.synchronize() }
            } catch {
                state.isTorn = (try? state.file.truncate(to: Int64(state.length))) == nil
                throw error
            }
            state.length += frame.count
        }
    }

    /// Forces the appended records to the disk.
    ///
    /// - Throws: `FileWriteError`.
    func synchronize() throws(FileWriteError) {
        let file = state.withLock(\.file)
        try file.synchronize()
    }

    /// Replaces all records, and forces the new records to the disk. After a crash, the file has either the old records or the new
    /// records.
    ///
    /// - Throws: `FileWriteError`. If the function throws, the file has the old records, with one exception. If the operation of
    ///   the error is `synchronize the folder of`, the file has the new records. After a loss of power, the file may have the old
    ///   records again.
    func replace(with records: [Data]) throws(FileWriteError) {
        try checkRoom(records.reduce(Self.header.count) { $0 + Self.frameBytes + $1.count })
        var data = Self.header
        for record in records { Self.append(record, to: &data) }
        let newPath = Self.replacementPath(of: path)
        try state.withLock { state throws(FileWriteError) in
            // After the journal was closed, another holder may have the lock of the file.
            if state.isClosed { throw FileWriteError(path: path, operation: "write to", code: EBADF) }
            _ = unlink(newPath)
            let file = try PartialFile(path: newPath, .new, calls: calls)
            do throws(FileWriteError) {
                try file.write(data, at: 0)
                try file.synchronize()
                let code = calls.rename(newPath, path)
                if code != 0 { throw FileWriteError(path: path, operation: "move the finished file to", code: code) }
            } catch {
                _ = unlink(newPath)
                throw error
            }
            state = State(file: file, length: data.count)
            try PartialFile.synchronizeFolder(of: path, calls: calls)
        }
    }

    /// Closes the file. Later calls fail.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.file.close()
        }
    }
}
