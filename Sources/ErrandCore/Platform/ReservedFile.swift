#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The file `PATH.part`, whose blocks on the disk are reserved for the next content of `PATH`.
///
/// The name is fixed, so that a process uses the reservation of an earlier process that was killed. Only one holder at a time uses
/// the file. The holder has the lock of the file until the file has its new name. All calls block.
struct ReservedFile: ~Copyable {
    private let path: String
    private let partPath: String
    private let descriptor: Int32
    private let calls: FileCalls

    private init(_ path: String, _ partPath: String, _ descriptor: Int32, _ calls: FileCalls) {
        (self.path, self.partPath, self.descriptor, self.calls) = (path, partPath, descriptor, calls)
    }

    deinit { close(descriptor) }

    private static func partPath(of path: String) -> String { path + ".part" }

    /// Opens the file, and takes its lock. Returns `nil` if there is no private file of this user, if the file is still in use after 50
    /// pauses, or if the file has another name now.
    ///
    /// - Parameters:
    ///   - calls: the system's calls.
    ///   - pause: blocks the thread for the duration.
    static func existing(for path: String, calls: FileCalls = .system, pause: (Duration) -> Void = FileLock.sleep) -> ReservedFile? {
        let partPath = partPath(of: path)
        let descriptor = calls.open(partPath, flags, 0)
        guard descriptor >= 0 else { return nil }
        guard isPrivate(descriptor, calls), lockSoon(descriptor, calls, pause), isSame(descriptor, partPath) else {
            close(descriptor)
            return nil
        }
        return ReservedFile(path, partPath, descriptor, calls)
    }

    /// Tries for a short time to take the lock. If another thread starts a program, the new process has a copy of each descriptor until
    /// the program runs. Therefore the new process may hold the lock of a closed file.
    private static func lockSoon(_ descriptor: Int32, _ calls: FileCalls, _ pause: (Duration) -> Void) -> Bool {
        FileLock.poll(within: .milliseconds(500), every: .milliseconds(10), by: pause) { () -> Int32? in
            let code = calls.lock(descriptor, false)
            return code == EWOULDBLOCK ? nil : code
        } == 0
    }

    /// Opens the file, or creates it, and waits for its lock.
    ///
    /// - Throws: `FileWriteError`.
    static func created(for path: String, calls: FileCalls = .system) throws(FileWriteError) -> ReservedFile {
        let partPath = partPath(of: path)
        // If another holder renames the file while this call waits for the lock, this call tries again. Each holder renames the file only
        // once.
        for _ in 0..<100 {
            let descriptor = calls.open(partPath, flags | O_CREAT, 0o600)
            guard descriptor >= 0 else { throw FileWriteError(path: path, operation: "create a file beside", code: -descriptor) }
            let file = ReservedFile(path, partPath, descriptor, calls)
            guard isPrivate(descriptor, calls) else {
                let reason = "'\(partPath.shownSafely())' exists, and is not a private file of this user; remove the file"
                throw FileWriteError(path: path, operation: "create a file beside", code: EEXIST, reason: reason)
            }
            let code = calls.lock(descriptor, true)
            guard code == 0 else { throw FileWriteError(path: path, operation: "lock a file beside", code: code) }
            if isSame(descriptor, partPath) { return file }
        }
        throw FileWriteError(path: path, operation: "lock a file beside", code: EBUSY)
    }

    private static let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK

    /// Returns whether this user owns the file, and no other user has access to the file.
    private static func isPrivate(_ descriptor: Int32, _ calls: FileCalls) -> Bool {
        var status = stat()
        guard calls.status(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink <= 1 else { return false }
        return status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// Returns whether an open file is the file at a path. A symbolic link is another file.
    static func isSame(_ descriptor: Int32, _ path: String) -> Bool {
        var (own, there) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev
    }

    /// Fills the file with `count` zeros, whose blocks are on the disk when this function returns.
    ///
    /// - Throws: `FileWriteError`. If the function throws, the file is removed.
    func reserve(_ count: Int) throws(FileWriteError) {
        var code = ftruncate(descriptor, 0) == 0 ? 0 : errno
        if code == 0 { code = allocate(count) }
        if code == 0 { code = fsync(descriptor) == 0 ? 0 : errno }
        guard code == 0 else {
            discard()
            throw FileWriteError(path: path, operation: "reserve space beside", code: code)
        }
    }

    private func allocate(_ count: Int) -> Int32 {
        #if !canImport(Darwin)
        // On a file system that copies on write, the blocks of written zeros do not stay reserved. Blocks from `posix_fallocate` stay
        // reserved.
        var code = posix_fallocate(descriptor, 0, off_t(count))
        while code == EINTR { code = posix_fallocate(descriptor, 0, off_t(count)) }
        if code != EOPNOTSUPP, code != EINVAL, code != ENOSYS { return code }
        #endif
        return FileCalls.system.writeAll(Data(count: count), to: descriptor, at: 0)
    }

    /// Writes `data` to the reserved blocks, and gives the file the name `path`.
    ///
    /// - Throws: `FileWriteError`. If the function throws, the file is removed, and `path` is unchanged.
    func commit(_ data: Data) throws(FileWriteError) {
        var (operation, code) = ("write", calls.writeAll(data, to: descriptor, at: 0))
        // Unused blocks are released only after all bytes are written.
        if code == 0 { code = calls.truncate(descriptor, Int64(data.count)) }
        if code == 0 { (operation, code) = ("synchronize", calls.synchronize(descriptor)) }
        if code == 0 { (operation, code) = ("move the finished file to", calls.rename(partPath, path)) }
        guard code == 0 else {
            discard()
            throw FileWriteError(path: path, operation: operation, code: code)
        }
    }

    /// Removes the file.
    func discard() { _ = calls.remove(partPath) }
}
