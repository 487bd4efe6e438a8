#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A small file with secrets, which its owner alone can read: mode 0600.
///
/// It is replaced as a whole, and forced to the disk before the call returns. The calls of the system are made on threads that may block.
package enum PrivateFile {
    /// The most bytes that are read, unless a caller gives another limit: 1 MiB.
    package static let limitBytes = 1 << 20

    /// Returns the bytes of the file; `nil` if there is none.
    ///
    /// - Parameter limitBytes: the most bytes of the file, at least 0; 1 MiB by default.
    /// - Throws: `FileReadError`, also for a file that others than its owner can read or write, and for one of more than `limitBytes`.
    package static func read(_ path: String, limitBytes: Int = limitBytes) async throws -> Data? {
        try await BlockingWork.run {
            let file: ReadOnlyFile
            do {
                file = try ReadOnlyFile(path: path)
            } catch let error as FileReadError where error.code == ENOENT {
                return nil
            }
            guard try file.permissions(path: path) & 0o077 == 0 else {
                throw FileReadError(
                    path: path, operation: "read", code: EACCES, reason: "others than its owner can read or write it (chmod 600 helps)")
            }
            var data = Data()
            while true {
                let piece = try file.read(count: 64 * 1024, at: Int64(data.count), path: path)
                if piece.isEmpty { return data }
                data += piece
                guard data.count <= limitBytes else {
                    throw FileReadError(path: path, operation: "read", code: EFBIG, reason: "it has more than \(limitBytes) bytes")
                }
            }
        }
    }

    /// The most bytes by which the next content of a file may exceed the present one and still have its space reserved.
    static let reservedGrowthBytes = 16 * 1024

    /// Reserves space on the disk for the next content of the file: up to ``reservedGrowthBytes`` more than it has now. The next ``write(_:to:)`` uses
    /// that space, and does not fail because the disk is full. Until then, the file `PATH.part` is there.
    ///
    /// - Parameter limitBytes: the most bytes of the present content that count, at least 0; 1 MiB by default.
    /// - Throws: `FileWriteError`; then nothing is left behind.
    package static func reserve(_ path: String, limitBytes: Int = limitBytes) async throws {
        try await BlockingWork.run {
            try OutputFile.check(path)
            var status = stat()
            let present = lstat(path, &status) == 0 ? Int(clamping: status.st_size) : 0
            try ReservedFile.created(for: path).reserve(min(present, limitBytes) + reservedGrowthBytes)
        }
    }

    /// Gives back what ``reserve(_:)`` has reserved, and a write has not used.
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

    /// Waits until no other process, and no other caller of this one, has the lock of the file, which is created if there is none. A holder may remove the
    /// file, as the last thing that it does.
    ///
    /// Another process announces no release: the lock is asked for again every 20 ms.
    ///
    /// - Parameter clock: measures the wait.
    /// - Returns: the lock, or `nil` if it is not free within `limit`.
    /// - Throws: `FileWriteError`; `CancellationError`.
    package static func lock(
        _ path: String, within limit: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> FileLock? {
        let waited = stopwatch(clock)
        while true {
            let lock = try await BlockingWork.run { try FileLock(path: path) }
            while !(try lock.take()) {
                guard waited() < limit else { return nil }
                try await clock.sleep(for: .milliseconds(20))
            }
            // The holder before may have removed the file, and others lock a new one.
            if lock.isAtItsPath { return lock }
            lock.release()
        }
    }

    /// Removes the file and the part file of a killed process. Does nothing if neither exists.
    ///
    /// - Throws: `FileWriteError`.
    package static func remove(_ path: String) async throws {
        try await BlockingWork.run {
            ReservedFile.existing(for: path)?.discard()
            guard unlink(path) != 0, errno != ENOENT else { return }
            throw FileWriteError(path: path, operation: "remove", code: errno)
        }
    }
}

/// An open file whose lock one holder at a time has, in all processes. It is released at the latest when the process ends.
package final class FileLock: Sendable {
    private let path: String
    private let descriptor: Int32

    /// - Throws: `FileWriteError`, also for a symbolic link.
    init(path: String) throws(FileWriteError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor < 0 else { return }
        let (code, isThere) = (errno, access(path, F_OK) == 0)
        throw isThere
            ? FileWriteError(path: path, operation: "lock", code: code) : .creating(at: path, operation: "lock", code: code)
    }

    deinit { close(descriptor) }

    /// Takes the lock; `false` if another holder has it.
    func take() throws(FileWriteError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            guard errno == EINTR else { throw FileWriteError(path: path, operation: "lock", code: errno) }
        }
        return true
    }

    /// Whether the file is still the one at its path.
    var isAtItsPath: Bool {
        var (own, there) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev
    }

    package func release() { _ = flock(descriptor, LOCK_UN) }
}
