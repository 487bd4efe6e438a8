#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// System calls that block or fail on a slow, full or broken disk. The calls are parameters, so that a test can simulate these failures.
package struct FileCalls: Sendable {
    /// Writes some of the bytes. Returns the number of bytes written, or the negative error number.
    package var write: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int = { descriptor, bytes in
        let count = systemWrite(descriptor, bytes.baseAddress, bytes.count)
        return count >= 0 ? count : -Int(errno)
    }
    /// Writes some of the bytes at an offset. Returns the number of bytes written, or the negative error number.
    package var writeAt: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Int = {
        let count = pwrite($0, $1.baseAddress, $1.count, off_t($2))
        return count >= 0 ? count : -Int(errno)
    }
    /// Reads some bytes from an offset. Returns the number of bytes read, 0 at the end, or the negative error number.
    package var read: @Sendable (_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, _ offset: Int64) -> Int = {
        let count = pread($0, $1.baseAddress, $1.count, off_t($2))
        return count >= 0 ? count : -Int(errno)
    }
    /// Changes the length of a file. Returns 0, or the error number.
    package var truncate: @Sendable (_ descriptor: Int32, _ length: Int64) -> Int32 = { ftruncate($0, off_t($1)) == 0 ? 0 : errno }
    /// Forces a file or a folder to the disk. Returns 0, or the error number.
    package var synchronize: @Sendable (_ descriptor: Int32) -> Int32 = { fsync($0) == 0 ? 0 : errno }
    /// Renames a file. An existing file with the new name is replaced. Returns 0, or the error number.
    package var rename: @Sendable (_ old: String, _ new: String) -> Int32 = { systemRename($0, $1) == 0 ? 0 : errno }
    /// Returns the number of bytes that this user may still write to the file system of a path. Returns the negative error number
    /// on failure.
    package var freeBytes: @Sendable (_ path: String) -> Int64 = { path in
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return -Int64(errno) }
        let (bytes, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isTooMany ? .max : Int64(clamping: bytes)
    }

    /// Opens or creates a file, or opens a folder. Returns the descriptor, or the negative error number.
    package var open: @Sendable (_ path: String, _ flags: Int32, _ permissions: UInt16) -> Int32 = {
        let descriptor = systemOpen($0, $1, mode_t($2))
        return descriptor >= 0 ? descriptor : -errno
    }
    /// Reads the status of an open file. Returns 0, or the error number.
    var status: @Sendable (_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>) -> Int32 = { fstat($0, $1) == 0 ? 0 : errno }
    /// Changes the permissions of an open file. Returns 0, or the error number.
    package var setPermissions: @Sendable (_ descriptor: Int32, _ permissions: UInt16) -> Int32 = {
        fchmod($0, mode_t($1)) == 0 ? 0 : errno
    }
    /// Takes the lock of an open file. Returns 0, or the error number: EWOULDBLOCK if another holder has the lock, and the call does not
    /// wait.
    package var lock: @Sendable (_ descriptor: Int32, _ waits: Bool) -> Int32 = { FileLock.lock($0, waits: $1) }
    /// Gives a file a second name. An existing file with the new name is an error. Returns 0, or the error number.
    package var link: @Sendable (_ old: String, _ new: String) -> Int32 = { systemLink($0, $1) == 0 ? 0 : errno }
    /// Removes a file. Returns 0, or the error number.
    package var remove: @Sendable (_ path: String) -> Int32 = { unlink($0) == 0 ? 0 : errno }

    /// The real calls of the system.
    package static let system = FileCalls()

    /// Writes all octets of `data` at `offset`, or after the last written octet if `offset` is `nil`.
    ///
    /// - Returns: 0, or the number of the error.
    func writeAll(_ data: Data, to descriptor: Int32, at offset: Int64?) -> Int32 {
        data.withUnsafeBytes { bytes -> Int32 in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = offset.map { writeAt(descriptor, rest, $0 + Int64(written)) } ?? write(descriptor, rest)
                if count > 0 { written += count } else if count != -Int(EINTR) { return count == 0 ? EIO : Int32(-count) }
            }
            return 0
        }
    }
}

// Within `FileCalls`, the members `write`, `rename`, `open` and `link` hide the system's functions with these names.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(descriptor, bytes, count) }
private func systemRename(_ old: String, _ new: String) -> Int32 { rename(old, new) }
private func systemOpen(_ path: String, _ flags: Int32, _ permissions: mode_t) -> Int32 { open(path, flags, permissions) }
private func systemLink(_ old: String, _ new: String) -> Int32 { link(old, new) }
