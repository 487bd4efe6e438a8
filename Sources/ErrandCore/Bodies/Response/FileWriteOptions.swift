/// The options for writing a response's body to a file.
///
/// ```swift
/// try await response.body.write(to: url, options: FileWriteOptions(replacesExistingFile: false, permissions: 0o644))
/// ```
public struct FileWriteOptions: Sendable, Hashable {
    /// Whether an existing file is replaced; `true` by default.
    ///
    /// If `false` and the file exists, writing throws a ``FileWriteError`` with the code `EEXIST` before anything is read. If another
    /// process creates the file while the body is written, `EEXIST` is thrown too. `false` requires a file system with hard links.
    public var replacesExistingFile: Bool
    /// The exact permissions of the new file, from 0 to `0o777`. The umask of the process does not change these permissions.
    /// `0o600` by default: only the owner can read and write the file.
    ///
    /// The new file does not inherit the permissions of a replaced file. On a file system without permissions, the default has no
    /// effect, and other permissions may throw a ``FileWriteError``.
    public let permissions: UInt16
    /// Whether the bytes and the name are forced to the disk (`fsync`) before the call returns; `false` by default. Forced data
    /// survives a loss of power.
    public var synchronizesToDisk: Bool
    /// The maximum number of bytes that are written; `nil`, the default, means no limit. A longer body throws a ``TransportError``
    /// with the code `bodyTooLarge`. If the body declares a larger length, the error is thrown before anything is read.
    public var limitBytes: Int?

    /// Creates options.
    ///
    /// - Precondition: `permissions` is from 0 to `0o777`; `limitBytes` is at least 0, or `nil`.
    public init(
        replacesExistingFile: Bool = true, permissions: UInt16 = 0o600, synchronizesToDisk: Bool = false, limitBytes: Int? = nil
    ) {
        precondition(permissions <= 0o777, "permissions must be from 0 to 0o777 (is 0o\(String(permissions, radix: 8)))")
        precondition(limitBytes ?? 0 >= 0, "limitBytes must be at least 0, or nil (is \(limitBytes ?? 0))")
        (self.replacesExistingFile, self.permissions) = (replacesExistingFile, permissions)
        (self.synchronizesToDisk, self.limitBytes) = (synchronizesToDisk, limitBytes)
    }

    /// Replaces an existing file, permits only the owner to read and write, and has no limit.
    public static let standard = FileWriteOptions()
}
