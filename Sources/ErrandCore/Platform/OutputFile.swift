internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A file that gets its name only when it is complete. Until ``commit()``, its bytes are in a temporary file in the same folder.
///
/// All calls block.
package final class OutputFile: Sendable {
    private struct State {
        /// The descriptor; `nil` after the file is closed.
        var descriptor: Int32?
        /// Whether the temporary file exists.
        var exists = true
    }

    private let path: String
    private let temporaryPath: String
    private let options: FileWriteOptions
    private let calls: FileCalls
    private let state: Mutex<State>

    private static let prefix = ".errand-"
    private static let suffix = ".part"

    /// Returns whether the name of a file, without its folder, is a name of a temporary file: `.errand-1f.part`.
    package static func isTemporary(_ name: String) -> Bool {
        guard name.utf8.starts(with: prefix.utf8), name.utf8.reversed().starts(with: suffix.utf8.reversed()) else { return false }
        let digits = name.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
        return (1...16).contains(digits.count) && UInt64(Substring(digits), radix: 16) != nil && digits.first != UInt8(ascii: "+")
    }

    /// Creates the temporary file.
    ///
    /// - Throws: `FileWriteError`, also if `path` is or leads to a folder, a device or a pipe, or is a file that must not be
    ///   replaced.
    package convenience init(path: String, options: FileWriteOptions) throws { try self.init(path: path, options: options, calls: .system) }

    /// - Parameter calls: the system's calls for writing.
    init(path: String, options: FileWriteOptions, calls: FileCalls) throws {
        (self.path, self.options, self.calls) = (path, options, calls)
        try Self.check(path)
        var status = stat()
        if !options.replacesExistingFile, lstat(path, &status) == 0 { throw FileWriteError(path: path, operation: "write", code: EEXIST) }
        var temporary = ""
        var descriptor: Int32 = -1
        // If a name is taken, another number is tried.
        for _ in 0..<4 {
            temporary = Self.folder(of: path) + Self.prefix + String(UInt64.random(in: .min ... .max), radix: 16) + Self.suffix
            descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor >= 0 || errno != EEXIST { break }
        }
        guard descriptor >= 0 else { throw FileWriteError.creating(at: path, operation: "create a file beside", code: errno) }
        temporaryPath = temporary
        state = Mutex(State(descriptor: descriptor))
        // The umask may have removed some permissions. A file system without permissions may refuse this call. On a file system without
        // permissions, the default permissions must not cause an error.
        if fchmod(descriptor, mode_t(options.permissions)) != 0, options.permissions != FileWriteOptions.standard.permissions {
            throw failure("set the permissions of")
        }
    }

    /// Checks that a path may name a regular file.
    ///
    /// - Throws: `FileWriteError` if `path` is empty, has a NUL, or is or leads to a folder, a device or a pipe.
    package static func check(_ path: String) throws(FileWriteError) {
        var status = stat()
        if path.isEmpty { throw FileWriteError(path: path, operation: "write", code: ENOENT, reason: "the path is empty") }
        // The system reads a path only up to its first NUL.
        if path.utf8.contains(0) {
            throw FileWriteError(path: path, operation: "write", code: EINVAL, reason: "a path must not contain a NUL")
        }
        if path.utf8.last == UInt8(ascii: "/") || (stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR) {
            throw FileWriteError(path: path, operation: "write", code: EISDIR)
        }
        // A rename would replace a device, a pipe, or a link to a device (such as /dev/stdout) by a regular file.
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw FileWriteError(path: path, operation: "replace", code: EINVAL, reason: "it is not a regular file")
        }
    }

    /// Returns the path that a file has after its symbolic links are followed. The last link may lead to a file that does not exist.
    package static func target(of path: String) -> String {
        var target = path
        // The system follows at most 40 links.
        for _ in 0..<40 {
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: target) else { return target }
            target = next.hasOctetPrefix("/") ? next : folder(of: target) + next
        }
        return path
    }

    /// Returns the folder of a file, including the last slash; empty for the current folder.
    package static func folder(of path: String) -> String {
        // Octets are compared, because a combining character after the slash must not hide the slash.
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? ""
    }

    private func failure(_ operation: String, _ code: Int32 = errno) -> FileWriteError {
        FileWriteError(path: path, operation: operation, code: code)
    }

    /// Appends all of `data` to the file.
    package func append(_ data: Data) throws {
        guard let descriptor = state.withLock(\.descriptor) else { throw failure("write", EBADF) }
        let code = calls.writeAll(data, to: descriptor, at: nil)
        if code != 0 { throw failure("write", code) }
    }

    /// Closes the file, and gives it its final name.
    package func commit() throws {
        guard let descriptor = state.withLock({ $0.descriptor.take() }) else { throw failure("write", EBADF) }
        let code = options.synchronizesToDisk ? calls.synchronize(descriptor) : 0
        // Some file systems report a full disk when the file is closed.
        let isClosed = close(descriptor) == 0 || errno == EINTR
        guard code == 0 else { throw failure("synchronize", code) }
        guard isClosed else { throw failure("close") }
        try Self.rename(temporaryPath, to: path, options: options, calls)
        state.withLock { $0.exists = false }
        if options.synchronizesToDisk { try Self.synchronizeFolder(of: path, calls) }
    }

    /// Gives a complete file its final name. The old name no longer exists.
    ///
    /// - Throws: `FileWriteError`. After a failure, the file has only its old name.
    static func rename(_ old: String, to path: String, options: FileWriteOptions, _ calls: FileCalls) throws(FileWriteError) {
        if options.replacesExistingFile {
            let code = calls.rename(old, path)
            guard code == 0 else { throw FileWriteError(path: path, operation: "move the finished file to", code: code) }
        } else {
            // Unlike a rename, a link never replaces an existing file.
            let code = calls.link(old, path)
            guard code == 0 else { throw FileWriteError(path: path, operation: "write", code: code) }
            _ = calls.remove(old)
        }
    }

    /// Forces the folder of a file to the disk, so that the file's new name survives a loss of power.
    ///
    /// - Throws: `FileWriteError`.
    static func synchronizeFolder(of path: String, _ calls: FileCalls) throws(FileWriteError) {
        let folder = Self.folder(of: path)
        let descriptor = calls.open(folder.isEmpty ? "." : folder, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw FileWriteError(path: path, operation: FileWriteError.folderSynchronization, code: -descriptor) }
        defer { _ = close(descriptor) }
        let code = calls.synchronize(descriptor)
        guard code == 0 else { throw FileWriteError(path: path, operation: FileWriteError.folderSynchronization, code: code) }
    }

    /// Removes the temporary file. Does nothing if the temporary file no longer exists.
    package func discard() {
        let (descriptor, exists) = state.withLock { state in
            defer { state = State(descriptor: nil, exists: false) }
            return (state.descriptor, state.exists)
        }
        if let descriptor { _ = close(descriptor) }
        if exists { _ = unlink(temporaryPath) }
    }

    deinit { discard() }
}
