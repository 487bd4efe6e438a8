#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A folder of a store, which only its owner can use (mode 0700). All calls block.
package struct StoreFolder: Sendable {
    /// The identity of a file. Another file at the same path has a different identity.
    package struct FileIdentity: Sendable, Hashable {
        private let device: UInt64
        private let number: UInt64

        fileprivate init(_ status: stat) {
            (device, number) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
        }
    }

    /// The path of the folder, without a slash at the end.
    package let path: String

    /// - Parameter path: the path of the folder, not empty.
    package init(path: String) {
        precondition(!path.isEmpty, "path must not be empty")
        var octets = path.utf8[...]
        while octets.count > 1, octets.last == UInt8(ascii: "/") { octets = octets.dropLast() }
        self.path = String(decoding: octets, as: UTF8.self)
    }

    /// Returns the path of a file in the folder.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Returns the subfolder with this name.
    package func subfolder(_ name: String) -> StoreFolder { StoreFolder(path: file(name)) }

    private func failure(_ operation: String, _ code: Int32, reason: String? = nil) -> FileWriteError {
        FileWriteError(path: path, operation: operation, code: code, reason: reason)
    }

    /// Creates the folder, and the folders above it, if the folder does not exist. If the folder exists, the permissions of other users are
    /// removed. On Apple's platforms, the folder is excluded from backups.
    ///
    /// - Parameter allowsLink: whether the path may be a symbolic link to a folder.
    /// - Throws: `FileWriteError`, also for a folder of another user, and for a path that does not lead to a folder.
    package func create(allowsLink: Bool = true) throws(FileWriteError) {
        if path.utf8.contains(0) { throw failure("create", EINVAL, reason: "a path must not contain a NUL") }
        var isNew = mkdir(path, 0o700) == 0
        if !isNew, errno == ENOENT {
            // The folders above get the default permissions.
            let parent = OutputFile.folder(of: path)
            do {
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            } catch {
                throw FileWriteError.creating(at: path, operation: "create", code: ENOENT)
            }
            isNew = mkdir(path, 0o700) == 0
        }
        let code = errno
        guard isNew || code == EEXIST else { throw failure("create", code) }
        var status = stat()
        guard (allowsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { throw failure("open", errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            throw failure("open", ENOTDIR, reason: isLink ? "it is a symbolic link, not a folder" : nil)
        }
        guard status.st_uid == geteuid() else { throw failure("open", EACCES, reason: "the folder belongs to another user") }
        if status.st_mode & 0o077 != 0, chmod(path, 0o700) != 0 { throw failure("set the permissions of", errno) }
        if isNew { excludeFromBackups() }
    }

    private func excludeFromBackups() {
        #if canImport(Darwin)
        var url = URL(fileURLWithPath: path, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
        #endif
    }

    /// Whether the path is a folder, and not a symbolic link to a folder.
    package var isFolder: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the error for a folder with files that do not belong to the store. The code is ENOTEMPTY.
    package func hasOtherFiles(reason: String) -> FileWriteError { failure("use the folder", ENOTEMPTY, reason: reason) }

    /// Creates an empty file that only its owner can read (mode 0600), if no file has this name. If a file has this name, the permissions
    /// of other users are removed. The existing file is not opened, because closing a file releases all locks of the process on the file.
    ///
    /// - Throws: `FileWriteError`.
    package func createFile(_ name: String) throws(FileWriteError) {
        let path = file(name)
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            _ = close(descriptor)
            return
        }
        guard errno == EEXIST else { throw FileWriteError.creating(at: path, operation: "create", code: errno) }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw FileWriteError(path: path, operation: "open", code: EINVAL, reason: "it is not a regular file")
        }
        if status.st_mode & 0o077 != 0, chmod(path, 0o600) != 0 {
            throw FileWriteError(path: path, operation: "set the permissions of", code: errno)
        }
    }

    /// Returns the identity of the file with this name; `nil` if there is no such file.
    package func identity(of name: String) -> FileIdentity? {
        var status = stat()
        return lstat(file(name), &status) == 0 ? FileIdentity(status) : nil
    }

    /// The names of all files in the folder; empty if the folder does not exist.
    package var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    /// Removes the file with this name if it exists. Returns 0, or the number of the error.
    @discardableResult
    package func remove(_ name: String) -> Int32 {
        unlink(file(name)) == 0 || errno == ENOENT ? 0 : errno
    }

    /// Removes the file with this name, unless another holder in any process has the lock of the file.
    ///
    /// - Parameter isNeeded: returns whether the file must stay. Called after the lock was taken.
    /// - Returns: whether the file no longer exists.
    package func removeUnlocked(_ name: String, unless isNeeded: () -> Bool) -> Bool {
        guard identity(of: name) != nil else { return true }
        guard let lock = try? FileLock(path: file(name)), (try? lock.take()) == true else { return false }
        defer { lock.release() }
        return !isNeeded() && remove(name) == 0
    }

    /// Takes the lock of the file with this name, which only one holder in all processes can have at a time. Waits for other holders,
    /// and blocks the thread.
    ///
    /// - Parameter seconds: the longest wait.
    /// - Throws: `FileWriteError`, whose code is EBUSY if the lock is not free in time.
    package func lock(_ name: String, seconds: Int) throws(FileWriteError) -> FileLock {
        let lock = try FileLock(path: file(name))
        let take = { () throws(FileWriteError) in try lock.take() ? lock : nil }
        if let lock = try FileLock.poll(within: .seconds(seconds), every: .milliseconds(2), take) { return lock }
        throw FileLock.busy(file(name), for: .seconds(seconds))
    }
}
