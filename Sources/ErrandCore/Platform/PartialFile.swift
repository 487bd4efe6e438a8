internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A file that is written at offsets, and that a later run of the program may continue. The file is closed when this object is released.
///
/// All calls block. By default, only the owner of the file can read and write the file (mode 0600).
package final class PartialFile: Sendable {
    /// Whether the file must, may or must not exist.
    package enum Opening: Sendable {
        /// A new file. An existing file is an error.
        case new
        /// An existing file. A missing file is an error.
        case existing
        /// An existing file, or a new file if no file exists.
        case either
    }

    private let path: String
    private let calls: FileCalls
    /// The descriptor; `nil` after the file is closed.
    private let descriptor: Mutex<Int32?>
    /// Whether the file was created.
    let isNew: Bool

    /// Opens or creates a file.
    ///
    /// - Parameters:
    ///   - path: the path of the file. The folder of the file must exist.
    ///   - opening: whether the file must, may or must not exist.
    ///   - permissions: the permissions of a new file. Default: 0600. An existing file keeps its permissions: see
    ///     ``removePermissions(except:)``.
    ///   - calls: the system's calls.
    /// - Throws: `FileWriteError`, also for a symbolic link, a folder, a device and a pipe.
    package init(path: String, _ opening: Opening, permissions: UInt16 = 0o600, calls: FileCalls = .system) throws(FileWriteError) {
        try OutputFile.check(path)
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        var (descriptor, isNew): (Int32, Bool) = (-1, false)
        // The calls are repeated, because another process may create or remove the file between two calls.
        for _ in 0..<4 {
            if opening != .new {
                descriptor = calls.open(path, flags, 0)
                if descriptor >= 0 || descriptor != -ENOENT || opening == .existing { break }
            }
            descriptor = calls.open(path, flags | O_CREAT | O_EXCL, permissions)
            isNew = descriptor >= 0
            if isNew || descriptor != -EEXIST || opening == .new { break }
        }
        guard descriptor >= 0 else {
            let code = -descriptor
            throw opening == .existing
                ? FileWriteError(path: path, operation: "open", code: code) : .creating(at: path, operation: "create", code: code)
        }
        // The open file is checked, because the file at the path may have been replaced at any time.
        var status = stat()
        let code = calls.status(descriptor, &status)
        guard code == 0, status.st_mode & S_IFMT == S_IFREG else {
            _ = systemClose(descriptor)
            // A new file would look like the result of an earlier run.
            if isNew { _ = unlink(path) }
            throw code == 0
                ? FileWriteError(path: path, operation: "open", code: EINVAL, reason: "it is not a regular file")
                : FileWriteError(path: path, operation: "open", code: code)
        }
        (self.path, self.calls, self.isNew) = (path, calls, isNew)
        self.descriptor = Mutex(descriptor)
    }

    deinit { close() }

    /// Closes the file. Later reads and writes fail. A second call does nothing.
    package func close() { if let open = descriptor.withLock({ $0.take() }) { _ = systemClose(open) } }

    private func failure(_ operation: String, _ code: Int32) -> FileWriteError {
        FileWriteError(path: path, operation: operation, code: code)
    }

    /// Runs a call under the lock, so that no other thread can close the descriptor and reuse its number for another file.
    private func with(_ operation: String, _ call: (Int32) -> Int32) throws(FileWriteError) {
        let code = descriptor.withLock { descriptor in descriptor.map { call($0) } ?? EBADF }
        if code != 0 { throw failure(operation, code) }
    }

    /// Returns the length of the file in bytes.
    ///
    /// - Throws: `FileWriteError`.
    package func lengthBytes() throws(FileWriteError) -> Int64 {
        var status = stat()
        try with("open") { calls.status($0, &status) }
        return Int64(status.st_size)
    }

    /// Writes all of `data` at an offset. Bytes between the end of the file and the offset are zeros.
    ///
    /// - Throws: `FileWriteError`. If the function throws, the file may have some of the bytes.
    package func write(_ data: Data, at offset: Int64) throws(FileWriteError) {
        try with("write") { calls.writeAll(data, to: $0, at: offset) }
    }

    /// Returns `count` bytes from an offset, or fewer at the end of the file.
    ///
    /// - Throws: `FileWriteError`.
    package func read(count: Int, at offset: Int64) throws(FileWriteError) -> Data {
        var data = Data(count: count)
        var got = 0
        try with("read") { descriptor in
            data.withUnsafeMutableBytes { bytes -> Int32 in
                while got < count {
                    let piece = calls.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: bytes[got...]), offset + Int64(got))
                    if piece > 0 { got += piece } else if piece == 0 { break } else if piece != -Int(EINTR) { return Int32(-piece) }
                }
                return 0
            }
        }
        return got == count ? data : data.prefix(got)
    }

    /// Takes the lock of the file, which only one holder in all processes can have at a time. Returns `false` if another holder has the
    /// lock. The lock is released when the file is closed.
    ///
    /// - Throws: `FileWriteError`.
    package func lock() throws(FileWriteError) -> Bool {
        var isLocked = false
        try with("lock") { descriptor in
            let code = calls.lock(descriptor, false)
            isLocked = code == 0
            return code == EWOULDBLOCK ? 0 : code
        }
        return isLocked
    }

    /// Whether the path still leads to this file. Another process may have renamed or removed the file before this process took the lock.
    package var isAtItsPath: Bool { descriptor.withLock { descriptor in descriptor.map { ReservedFile.isSame($0, path) } ?? false } }

    /// Returns whether a file exists at a path. A symbolic link is a file.
    package static func exists(at path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Returns whether the file has other names (hard links).
    ///
    /// - Throws: `FileWriteError`.
    package func hasOtherNames() throws(FileWriteError) -> Bool {
        var status = stat()
        try with("open") { calls.status($0, &status) }
        return status.st_nlink > 1
    }

    /// Removes the name of the file. Other names stay.
    ///
    /// - Throws: `FileWriteError`.
    package func remove() throws(FileWriteError) {
        let code = calls.remove(path)
        if code != 0 { throw failure("remove", code) }
    }

    /// Removes permissions of an existing file, so that no other user has access to the bytes.
    ///
    /// Take the lock before the call. Without the lock, another process may give the file its final name and its final permissions at the
    /// same time.
    ///
    /// - Throws: `FileWriteError`.
    package func removePermissions(except permissions: UInt16 = 0o600) throws(FileWriteError) {
        try with("set the permissions of") { descriptor in
            var status = stat()
            let code = calls.status(descriptor, &status)
            let mode = UInt16(status.st_mode & 0o777)
            return code == 0 && mode & ~permissions != 0 ? calls.setPermissions(descriptor, mode & permissions) : code
        }
    }

    /// Gives the file its final name, and closes it. The file must be complete.
    ///
    /// - Parameters:
    ///   - target: the path of the final name, in the same folder.
    ///   - options: the options for writing.
    /// - Throws: `FileWriteError`. If the file has its final name, but its folder can't be forced to the disk, the operation of the error
    ///   is `synchronize the folder of`.
    package func publish(at target: String, options: FileWriteOptions) throws(FileWriteError) {
        try OutputFile.check(target)
        if options.synchronizesToDisk { try synchronize() }
        try with("set the permissions of") { descriptor in
            let code = calls.setPermissions(descriptor, options.permissions)
            // A file system without permissions may refuse the call. The default permissions must not cause an error.
            return options.permissions == FileWriteOptions.standard.permissions ? 0 : code
        }
        try OutputFile.rename(path, to: target, options: options, calls)
        close()
        if options.synchronizesToDisk { try OutputFile.synchronizeFolder(of: target, calls) }
    }

    /// Changes the length of the file: bytes at its end are removed, or zeros are added.
    ///
    /// - Throws: `FileWriteError`.
    package func truncate(to lengthBytes: Int64) throws(FileWriteError) { try with("truncate") { calls.truncate($0, lengthBytes) } }

    /// Forces the file to the disk.
    ///
    /// - Throws: `FileWriteError`. If the function throws, the bytes may or may not be on the disk.
    package func synchronize() throws(FileWriteError) { try with("synchronize") { calls.synchronize($0) } }

    /// Forces the folder of a new or renamed file to the disk. After the call, the name of the file is on the disk.
    ///
    /// - Throws: `FileWriteError`.
    static func synchronizeFolder(of path: String, calls: FileCalls = .system) throws(FileWriteError) {
        try OutputFile.synchronizeFolder(of: path, calls)
    }

    /// Returns the number of bytes that this user may still write to the file system of a file.
    ///
    /// The file need not exist. A quota, or a file system that copies on write, may allow fewer bytes.
    ///
    /// - Throws: `FileWriteError`.
    package static func freeBytes(for path: String, calls: FileCalls = .system) throws(FileWriteError) -> Int64 {
        let folder = OutputFile.folder(of: path)
        let bytes = calls.freeBytes(folder.isEmpty ? "." : folder)
        guard bytes >= 0 else { throw FileWriteError(path: path, operation: "find the free space for", code: Int32(-bytes)) }
        return bytes
    }
}

/// Calls the system's `close`, which the member `close` of ``PartialFile`` hides.
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
