public import ErrandCore

/// The options of a ``Download``: for writing the file, and for content that can't be resumed.
public struct DownloadOptions: Sendable {
    /// The behavior of a download that can't continue the bytes on the disk.
    public enum Fallback: Sendable, Hashable {
        /// The download starts from the first byte.
        case startAgain
        /// The call fails, and the bytes on the disk stay.
        case fail
    }

    /// The options for writing the finished file. ``/ErrandCore/FileWriteOptions/limitBytes`` applies to the length of the whole content.
    public var file: FileWriteOptions
    /// The behavior if the journal of an earlier run can't be read, for example because a newer version of this library has written the
    /// journal. Default: `fail`.
    public var unreadableJournal: Fallback
    /// The behavior if the content has changed, or if the server can't continue the bytes on the disk. Default: `startAgain`. If the bytes
    /// have no strong validator, the download always starts from the first byte.
    public var changedContent: Fallback
    /// Whether the request asks for a digest of the content (`Want-Repr-Digest`, [RFC 9530, section
    /// 4](https://www.rfc-editor.org/rfc/rfc9530#section-4)). Default: false. Even if the request does not ask, a SHA-256 or SHA-512 digest
    /// that the server sends is checked. The check needs the trait `Auth` or `NIO`.
    public var wantsDigest: Bool

    /// Creates options. For each parameter, see the property of the same name.
    public init(
        file: FileWriteOptions = .standard, unreadableJournal: Fallback = .fail, changedContent: Fallback = .startAgain,
        wantsDigest: Bool = false
    ) {
        (self.file, self.unreadableJournal) = (file, unreadableJournal)
        (self.changedContent, self.wantsDigest) = (changedContent, wantsDigest)
    }

    /// Replaces an existing file, permits only the owner to read and write, and starts again if the content has changed.
    public static let standard = DownloadOptions()
}
