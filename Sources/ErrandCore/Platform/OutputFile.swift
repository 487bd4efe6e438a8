internal import Synchronization

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

/// A file that appears under its name only when it is whole: until ``commit()``, its bytes are in a temporary file beside it.
///
/// All of its calls block.
package final class OutputFile: Sendable {
    private struct State {
        /// Nil once it is closed.
        var descriptor: Int32?
        /// Whether the temporary file is there.
        var exists = true
    }

    private let path: String
    private let temporaryPath: String
    private let options: FileWriteOptions
    private let calls: FileCalls
    private let state: Mutex<State>

    /// Creates the temporary file.
    ///
    /// - Throws: `FileWriteError`, also where `path` is a folder, or a file that must not be replaced.
    package init(path: String, options: FileWriteOptions, calls: FileCalls) throws {
        (self.path, self.options, self.calls) = (path, options, calls)
        var status = stat()
        // The system would take what stands before it for the path.
        if path.utf8.contains(0) { throw FileWriteError(path: path, operation: "write", code: EINVAL) }
        if path.utf8.last == UInt8(ascii: "/") || (stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR) {
            throw FileWriteError(path: path, operation: "write", code: EISDIR)
        }
        // A rename would put a regular file in the place of a device or a pipe.
        if lstat(path, &status) == 0, ![S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT) {
            throw FileWriteError(path: path, operation: "replace, as it is not a regular file,", code: EINVAL)
        }
        if !options.overwrite, lstat(path, &status) == 0 { throw FileWriteError(path: path, operation: "write", code: EEXIST) }
        var temporary = ""
        var descriptor: Int32 = -1
        // A name that is taken is tried once more with another number.
        for _ in 0..<4 {
            temporary = Self.folder(of: path) + ".errand-" + String(UInt64.random(in: .min ... .max), radix: 16) + ".part"
            descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor >= 0 || errno != EEXIST { break }
        }
        guard descriptor >= 0 else { throw FileWriteError(path: path, operation: "create a file beside", code: errno) }
        temporaryPath = temporary
        state = Mutex(State(descriptor: descriptor))
        // Not for 0600, as a file system without permissions may refuse it.
        if options.permissions != 0o600, fchmod(descriptor, mode_t(options.permissions)) != 0 {
            throw failure("set the permissions of")
        }
    }

    /// The folder that a file is in, up to its slash; empty for the current one.
    private static func folder(of path: String) -> String {
        // By octets: a combining character after the slash must not hide it.
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? ""
    }

    private func failure(_ operation: String, _ code: Int32 = errno) -> FileWriteError {
        FileWriteError(path: path, operation: operation, code: code)
    }

    /// Appends all of `data`.
    package func append(_ data: Data) throws {
        guard let descriptor = state.withLock(\.descriptor) else { throw failure("write", EBADF) }
        let code = data.withUnsafeBytes { bytes -> Int32 in
            var written = 0
            while written < bytes.count {
                let count = calls.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[written...]))
                if count > 0 { written += count } else if count != -Int(EINTR) { return count == 0 ? EIO : Int32(-count) }
            }
            return 0
        }
        if code != 0 { throw failure("write", code) }
    }

    /// Closes the file and gives it its name.
    package func commit() throws {
        guard let descriptor = state.withLock({ $0.descriptor.take() }) else { throw failure("write", EBADF) }
        let isSynchronized = !options.synchronize || fsync(descriptor) == 0
        let code = errno
        // Some file systems report a full disk here.
        let isClosed = close(descriptor) == 0 || errno == EINTR
        guard isSynchronized else { throw failure("synchronize", code) }
        guard isClosed else { throw failure("close") }
        if options.overwrite {
            guard rename(temporaryPath, path) == 0 else { throw failure("move the finished file to") }
            state.withLock { $0.exists = false }
        } else {
            // Unlike a rename, a link never replaces anything.
            guard link(temporaryPath, path) == 0 else { throw failure("write") }
            discard()
        }
        if options.synchronize { try synchronizeFolder() }
    }

    /// So that the new name outlives a loss of power as well.
    private func synchronizeFolder() throws {
        let folder = Self.folder(of: path)
        let descriptor = open(folder.isEmpty ? "." : folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("synchronize the folder of") }
        defer { _ = close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("synchronize the folder of") }
    }

    /// Removes the temporary file; does nothing once there is none.
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

/// The system's call that writes: a parameter, so that a test can let a disk be full.
package struct FileCalls: Sendable {
    /// Writes some of the bytes. Returns how many, or the negative error number.
    package var write: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int

    package init(write: @escaping @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int) { self.write = write }

    /// The system's own.
    package static let system = FileCalls { systemWrite($0, $1) }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    let count = write(descriptor, bytes.baseAddress, bytes.count)
    return count >= 0 ? count : -Int(errno)
}

/// How a response's body is written to a file.
///
/// ```swift
/// try await response.body.write(to: url, options: FileWriteOptions(overwrite: false, permissions: 0o644))
/// ```
public struct FileWriteOptions: Sendable, Hashable {
    /// Whether a file that exists is replaced; `true` by default. `false` throws a ``FileWriteError`` with the code `EEXIST`, before anything is
    /// read, and also if another process creates the file in the meantime. The file system must support hard links for `false`.
    public var overwrite: Bool
    /// The permissions of the new file, exactly, whatever the process's umask is: `0o600` by default, which lets only the owner read and write
    /// it. From 0 to `0o777`. The permissions of a file that is replaced do not matter.
    public let permissions: UInt16
    /// Whether the bytes and the name are forced to the disk before the call returns (`fsync`), so that they outlive a loss of power; `false` by
    /// default.
    public var synchronize: Bool
    /// The most that is written, in bytes; `nil`, the default, is no limit. A longer body throws a ``TransportError`` with the code
    /// `bodyTooLarge`; if its length is declared, before anything is read.
    public var limitBytes: Int?

    /// Creates options.
    ///
    /// - Precondition: `permissions` is from 0 to `0o777`, `limitBytes` at least 0.
    public init(overwrite: Bool = true, permissions: UInt16 = 0o600, synchronize: Bool = false, limitBytes: Int? = nil) {
        precondition(permissions <= 0o777, "permissions must be from 0 to 0o777 (is 0o\(String(permissions, radix: 8)))")
        precondition(limitBytes ?? 0 >= 0, "limitBytes must be at least 0, or nil (is \(limitBytes ?? 0))")
        (self.overwrite, self.permissions, self.synchronize, self.limitBytes) = (overwrite, permissions, synchronize, limitBytes)
    }

    /// Replaces what is there, for the owner alone, without a limit.
    public static let standard = FileWriteOptions()
}

/// A response's body could not be written to a file.
///
/// Nothing is left behind: neither a part of the new file nor a temporary one, and a file that was there before is as it was. The exception is
/// `synchronize the folder of`: then the new file is complete and has its name, but a loss of power may undo that.
public struct FileWriteError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file that was to be written.
    public let path: String
    /// What was tried: `write`, `create a file beside`, `close`, `move the finished file to`, `synchronize` and the like.
    public let operation: String
    /// The system's error number (`errno`): `ENOSPC` for a full disk, `ENOENT` for a missing folder, `EEXIST` for a file that must not be
    /// replaced.
    public let code: Int32

    /// Creates an error.
    public init(path: String, operation: String, code: Int32) {
        (self.path, self.operation, self.code) = (path, operation, code)
    }

    /// The operation, the path and the system's error, in words and as a number: `cannot write '/data/a.zip': no space left on the disk
    /// (errno 28)`.
    public var description: String {
        let words = systemErrorText(code)
        return "cannot \(operation) '\(path.shownSafely())': \(words)" + (words.hasSuffix("(errno \(code))") ? "" : " (errno \(code))")
    }

    /// A sentence for people, with the path: what an alert shows as `localizedDescription`.
    public var errorDescription: String? { "The file '\(path.shownSafely())' cannot be written." }
    /// The system's error in words.
    public var failureReason: String? { systemErrorText(code).asSentence }
    /// What a person can do about a full disk, a missing folder, missing permission or an existing file; `nil` for other errors.
    public var recoverySuggestion: String? {
        switch code {
        case ENOSPC, EDQUOT: "Free some space and try again."
        case ENOENT: "Create the folder and try again."
        case EACCES, EPERM, EROFS: "Choose a folder that this program may write to."
        case EEXIST: "Choose another name, or allow the file to be replaced."
        case EISDIR: "Choose the name of a file: this is a folder."
        default: nil
        }
    }
}

extension FileWriteError: SafelyDescribedError {}
