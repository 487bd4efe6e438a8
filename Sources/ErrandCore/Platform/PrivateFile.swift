#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A small file with secrets, which only its owner can read (mode 0600).
///
/// The file is replaced as a whole, and forced to the disk before the call returns. The system's calls run on threads that may
/// block.
package enum PrivateFile {
    /// The default limit of ``read(_:limitBytes:followsLinks:)`` and ``reserve(_:limitBytes:)``: 1 MiB.
    package static let limitBytes = 1 << 20

    /// Returns the bytes of the file; `nil` if there is no file.
    ///
    /// - Parameters:
    ///   - limitBytes: the maximum length of the file in bytes, at least 0. Default: 1 MiB.
    ///   - followsLinks: whether the path may be a symbolic link. Default: true.
    ///   - calls: the system's calls.
    /// - Throws: `FileReadError`, also if other users can read or write the file, or the file has more than `limitBytes`.
    package static func read(
        _ path: String, limitBytes: Int = limitBytes, followsLinks: Bool = true, calls: FileCalls = .system
    ) async throws -> Data? {
        try await BlockingWork.run { try readBlocking(path, limitBytes: limitBytes, followsLinks: followsLinks, calls: calls) }
    }

    /// Returns the bytes of the file, like ``read(_:limitBytes:followsLinks:)``, and blocks the thread.
    ///
    /// - Throws: `FileReadError`.
    package static func readBlocking(
        _ path: String, limitBytes: Int = limitBytes, followsLinks: Bool = true, calls: FileCalls = .system
    ) throws -> Data? {
        let file: ReadOnlyFile
        do {
            file = try ReadOnlyFile(path: path, followsLinks: followsLinks, calls: calls)
        } catch let error as FileReadError where error.code == ENOENT {
            return nil
        }
        guard try file.permissions(path: path) & 0o077 == 0 else {
            throw FileReadError(
                path: path, operation: "read", code: EACCES,
                reason: "users other than its owner can read or write the file (run chmod 600 on the file)")
        }
        var data = Data()
        while true {
            let piece = try file.read(count: 64 * 1024, at: Int64(data.count), path: path, calls: calls)
            if piece.isEmpty { return data }
            data += piece
            guard data.count <= limitBytes else {
                throw FileReadError(path: path, operation: "read", code: EFBIG, reason: "it has more than \(limitBytes.counted("byte"))")
            }
        }
    }

    /// The number of bytes that ``reserve(_:limitBytes:)`` adds to the present length of the file.
    static let reservedGrowthBytes = 16 * 1024

    /// Reserves space on the disk for the next content of the file: its present length plus ``reservedGrowthBytes``.
    ///
    /// The next ``write(_:to:)`` uses this space, and does not fail because of a full disk. Until the next write, the file `PATH.part`
    /// exists.
    ///
    /// - Parameter limitBytes: the maximum number of bytes to reserve for the present content, at least 0. Default: 1 MiB.
    /// - Throws: `FileWriteError`. If the space can't be reserved, the part file is removed.
    package static func reserve(_ path: String, limitBytes: Int = limitBytes) async throws {
        try await BlockingWork.run {
            try OutputFile.check(path)
            var status = stat()
            let present = lstat(path, &status) == 0 ? Int(clamping: status.st_size) : 0
            try ReservedFile.created(for: path).reserve(min(present, limitBytes) + reservedGrowthBytes)
        }
    }

    /// Releases the space that ``reserve(_:limitBytes:)`` has reserved, if no write has used it.
    package static func cancelReservation(_ path: String) async {
        try? await BlockingWork.run { ReservedFile.existing(for: path)?.discard() }
    }

    /// Replaces the file, or creates it.
    ///
    /// - Throws: `FileWriteError`.
    package static func write(_ data: Data, to path: String) async throws {
        try await BlockingWork.run {
            try OutputFile.check(path)
            if let reserved = ReservedFile.existing(for: path) {
                try reserved.commit(data)
                return try OutputFile.synchronizeFolder(of: path, .system)
            }
            let file = try OutputFile(
                path: path, options: FileWriteOptions(permissions: 0o600, synchronizesToDisk: true), calls: .system)
            try file.append(data)
            try file.commit()
        }
    }

    /// Replaces the file, or creates it, by means of the file `PATH.part`, whose name is fixed.
    ///
    /// If a process is killed before the end, `PATH.part` remains, and the next call uses this file. Therefore, no secrets are left in
    /// files with unknown names. Only one caller at a time may write the file. Therefore the caller must hold the lock:
    /// ``LockedPrivateFile``.
    ///
    /// - Throws: `FileWriteError`.
    package static func writeLocked(_ data: Data, to path: String, calls: FileCalls = .system) async throws {
        try await BlockingWork.run {
            try OutputFile.check(path)
            try ReservedFile.created(for: path, calls: calls).commit(data)
            try OutputFile.synchronizeFolder(of: path, calls)
        }
    }

    /// Takes the lock of the file. Waits until no other process, and no other caller of this process, has the lock.
    ///
    /// The file is created if it does not exist. A holder may remove the file as its last action. The lock is tried again
    /// every 20 ms.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - limit: the longest wait.
    ///   - clock: measures the wait.
    /// - Returns: the lock, or `nil` if the lock is not free within `limit`.
    /// - Throws: `FileWriteError`; `CancellationError`.
    package static func lock(
        _ path: String, within limit: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> FileLock? {
        try await FileLock.poll(within: limit, every: .milliseconds(20), on: clock) {
            while true {
                let lock = try await BlockingWork.run { try FileLock(path: path) }
                guard try lock.take() else { return nil }
                // The previous holder may have removed the file. After the removal, other callers may lock a new file.
                if lock.isAtItsPath { return lock }
                lock.release()
            }
        }
    }

    /// Removes the file, and the part file that a killed process has left. Does nothing if neither file exists.
    ///
    /// - Throws: `FileWriteError`.
    package static func remove(_ path: String, calls: FileCalls = .system) async throws {
        try await BlockingWork.run {
            ReservedFile.existing(for: path, calls: calls)?.discard()
            let code = calls.remove(path)
            guard code != 0, code != ENOENT else { return }
            throw FileWriteError(path: path, operation: "remove", code: code)
        }
    }
}
