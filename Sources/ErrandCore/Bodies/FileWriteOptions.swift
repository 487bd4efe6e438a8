/// How a response's body is written to a file.
///
/// ```swift
/// try await response.body.write(to: url, options: FileWriteOptions(replacesExistingFile: false, permissions: 0o644))
/// ```
public struct FileWriteOptions: Sendable, Hashable {
    /// Whether a file that exists is replaced; `true` by default. `false` throws a ``FileWriteError`` with the code `EEXIST`, before anything is
    /// read, and also if another process creates the file in the meantime. The file system must support hard links for `false`.
    public var replacesExistingFile: Bool
    /// The permissions of the new file, exactly, whatever the process's umask is: `0o600` by default, which lets only the owner read and write
    /// it. From 0 to `0o777`. The permissions of a file that is replaced do not matter. On a file system that has no permissions, the default
    /// has no effect, and other permissions may throw a ``FileWriteError``.
    public let permissions: UInt16
    /// Whether the bytes and the name are forced to the disk before the call returns (`fsync`), so that they outlive a loss of power; `false` by
    /// default.
    public var synchronizesToDisk: Bool
    /// The most that is written, in bytes; `nil`, the default, is no limit. A longer body throws a ``TransportError`` with the code
    /// `bodyTooLarge`; if its length is declared, before anything is read.
    public var limitBytes: Int?

    /// Creates options.
    ///
    /// - Precondition: `permissions` is from 0 to `0o777`, `limitBytes` at least 0.
    public init(
        replacesExistingFile: Bool = true, permissions: UInt16 = 0o600, synchronizesToDisk: Bool = false, limitBytes: Int? = nil
    ) {
        precondition(permissions <= 0o777, "permissions must be from 0 to 0o777 (is 0o\(String(permissions, radix: 8)))")
        precondition(limitBytes ?? 0 >= 0, "limitBytes must be at least 0, or nil (is \(limitBytes ?? 0))")
        (self.replacesExistingFile, self.permissions) = (replacesExistingFile, permissions)
        (self.synchronizesToDisk, self.limitBytes) = (synchronizesToDisk, limitBytes)
    }

    /// Replaces what is there, for the owner alone, without a limit.
    public static let standard = FileWriteOptions()
}
