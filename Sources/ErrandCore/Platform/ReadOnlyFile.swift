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

/// An open file, read at offsets and closed when it is released.
///
/// Foundation's essentials have no file handle, and mapping a file would count its pages as ours.
package final class ReadOnlyFile: Sendable {
    private let descriptor: Int32

    /// Opens `path` for reading.
    ///
    /// - Throws: `FileReadError` with the operation and the system's error number.
    package init(path: String) throws {
        try Self.checkPath(path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileReadError(path: path, operation: "open", code: errno) }
        self.descriptor = descriptor
    }

    deinit { _ = close(descriptor) }

    /// The system would take the text before a NUL for the path.
    private static func checkPath(_ path: String) throws {
        if path.utf8.contains(0) { throw FileReadError(path: path, operation: "open", code: EINVAL) }
    }

    /// Up to `count` bytes from `offset`; empty at the end of the file.
    package func read(count: Int, at offset: Int64, path: String) throws -> Data {
        var failure: Int32 = 0
        var data = Data(count: count)
        let got = data.withUnsafeMutableBytes { buffer -> Int in
            guard let base = buffer.baseAddress else { return 0 }
            while true {
                let got = pread(descriptor, base, count, off_t(offset))
                if got >= 0 { return got }
                if errno == EINTR { continue }
                failure = errno
                return -1
            }
        }
        guard got >= 0 else { throw FileReadError(path: path, operation: "read", code: failure) }
        return got == count ? data : data.prefix(got)
    }

    /// The length of the regular file at `path`, in bytes.
    ///
    /// - Throws: `FileReadError` if there is no such file, or if it has no length (a folder, a pipe).
    static func lengthBytes(path: String) throws -> Int64 {
        try checkPath(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileReadError(path: path, operation: "stat", code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileReadError(path: path, operation: "stat (not a regular file)", code: EINVAL)
        }
        return Int64(status.st_size)
    }
}

/// A file could not be read, such as one to be sent as a request's body.
///
/// The description names the path and the system's error in words: `cannot open '/tmp/report.pdf': no such file or folder (errno 2)`.
public struct FileReadError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The file's path.
    public let path: String
    /// The operation that failed: `open`, `read` or `stat`.
    public let operation: String
    /// The system's error number (`errno`).
    public let code: Int32

    /// - Parameters:
    ///   - path: the file's path.
    ///   - operation: the operation that failed, as a verb.
    ///   - code: the system's error number (`errno`).
    public init(path: String, operation: String, code: Int32) {
        (self.path, self.operation, self.code) = (path, operation, code)
    }

    /// Operation, path and the system's error, in words and as a number.
    public var description: String {
        let words = systemErrorText(code)
        return "cannot \(operation) '\(path.shownSafely())': \(words)" + (words.hasSuffix("(errno \(code))") ? "" : " (errno \(code))")
    }

    /// A sentence for people, with the path.
    public var errorDescription: String? { "The file '\(path.shownSafely())' cannot be read." }
    /// The system's error in words.
    public var failureReason: String? { systemErrorText(code).asSentence }
    /// What may help.
    public var recoverySuggestion: String? { "Check that the file exists and may be read." }
}

extension FileReadError: SafelyDescribedError {}
