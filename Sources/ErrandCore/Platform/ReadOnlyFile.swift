#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// An open file that is read at offsets, and closed when this object is released.
///
/// This type is necessary, because FoundationEssentials has no file handle, and the pages of a mapped file would count as memory of this
/// process.
package final class ReadOnlyFile: Sendable {
    private let descriptor: Int32
    private let calls: FileCalls

    /// Opens the regular file at `path` for reading.
    ///
    /// - Parameters:
    ///   - followsLinks: whether the path may be a symbolic link. Default: true.
    ///   - calls: the system's calls for opening, and for the status of the file.
    /// - Throws: `FileReadError` with the operation and the system's error number, also for a folder, a device and a pipe.
    package init(path: String, followsLinks: Bool = true, calls: FileCalls = .system) throws {
        try Self.checkPath(path)
        // A pipe may have replaced the file. With `O_NONBLOCK`, the call does not wait for a writer of the pipe.
        let descriptor = calls.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW), 0)
        guard descriptor >= 0 else {
            let code = -descriptor
            let isLink = !followsLinks && code == ELOOP
            let reason = isLink ? "it is a symbolic link; use the path of the file to which the link leads" : nil
            throw FileReadError(path: path, operation: "open", code: code, reason: reason)
        }
        do {
            // The open file is checked, because the file at the path may have been replaced at any time.
            var status = stat()
            let code = calls.status(descriptor, &status)
            guard code == 0 else { throw FileReadError(path: path, operation: "open", code: code) }
            try Self.checkKind(status, path)
        } catch {
            _ = close(descriptor)
            throw error
        }
        (self.descriptor, self.calls) = (descriptor, calls)
    }

    deinit { _ = close(descriptor) }

    /// Returns the reason why nothing can be read at `path`, for code that opens the file by other means. `nil` for a file, a
    /// pipe and a device.
    package static func problem(path: String) -> FileReadError? {
        var status = stat()
        guard stat(path, &status) == 0 else { return FileReadError(path: path, operation: "open", code: errno) }
        return status.st_mode & S_IFMT == S_IFDIR ? FileReadError(path: path, operation: "read", code: EISDIR) : nil
    }

    /// Refuses a path with a NUL, because the system would use only the text before the NUL.
    private static func checkPath(_ path: String) throws {
        guard path.utf8.contains(0) else { return }
        throw FileReadError(path: path, operation: "open", code: EINVAL, reason: "a path must not contain a NUL")
    }

    /// Returns the permissions of the open file, such as `0o600`.
    func permissions(path: String) throws -> UInt16 {
        var status = stat()
        let code = calls.status(descriptor, &status)
        guard code == 0 else { throw FileReadError(path: path, operation: "read", code: code) }
        return UInt16(status.st_mode & 0o777)
    }

    /// Returns the length of the open file, in bytes.
    package func lengthBytes(path: String) throws -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileReadError(path: path, operation: "read", code: errno) }
        return Int64(status.st_size)
    }

    /// Returns up to `count` bytes from `offset`; empty at the end of the file.
    package func read(count: Int, at offset: Int64, path: String) throws -> Data {
        try read(count: count, at: offset, path: path, calls: .system)
    }

    /// - Parameter calls: the system's calls for reading.
    package func read(count: Int, at offset: Int64, path: String, calls: FileCalls) throws -> Data {
        var data = Data(count: count)
        let got = data.withUnsafeMutableBytes { buffer -> Int in
            while true {
                let got = calls.read(descriptor, buffer, offset)
                if got != -Int(EINTR) { return got }
            }
        }
        guard got >= 0 else { throw FileReadError(path: path, operation: "read", code: Int32(-got)) }
        return got == count ? data : data.prefix(got)
    }

    /// Returns the length of the regular file at `path`, in bytes.
    ///
    /// - Throws: `FileReadError` if there is no such file, or if the file has no length (a folder, a pipe).
    static func lengthBytes(path: String) throws -> Int64 {
        try checkPath(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileReadError(path: path, operation: "read", code: errno) }
        try checkKind(status, path)
        return Int64(status.st_size)
    }

    /// Refuses a file that is not regular, because only a regular file has offsets and an end.
    private static func checkKind(_ status: stat, _ path: String) throws {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw FileReadError(path: path, operation: "read", code: EISDIR)
        default: throw FileReadError(path: path, operation: "read", code: EINVAL, reason: "it is not a regular file")
        }
    }
}
