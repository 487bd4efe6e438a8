#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The length and the modification time of a regular file. Two different stamps of a file show that the file has changed.
package struct FileStamp: Sendable, Hashable {
    /// The length in bytes.
    package let lengthBytes: Int64
    /// The modification time, in nanoseconds since 1970.
    package let modified: Int64

    /// Returns the stamp of the file at a path, without opening the file. Links are followed.
    ///
    /// - Throws: `FileReadError` if the path is invalid, if the system can't examine the file, or if the file is not a regular file.
    package init(path: String) throws(FileReadError) {
        guard !path.utf8.contains(0) else {
            throw FileReadError(path: path, operation: "read", code: EINVAL, reason: "a path must not contain a NUL")
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileReadError(path: path, operation: "read", code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileReadError(path: path, operation: "read", code: EINVAL, reason: "it is not a regular file")
        }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        lengthBytes = Int64(status.st_size)
        let (seconds, isTooLarge) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        modified = isTooLarge ? .max : seconds &+ Int64(time.tv_nsec)
    }
}
