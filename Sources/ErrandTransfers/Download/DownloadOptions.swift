public import ErrandCore

/// The options of a ``Download``: how it writes its file, and what it does if it can't resume.
public struct DownloadOptions: Sendable {
    /// What a download does if the bytes on the disk can't be continued.
    public enum Fallback: Sendable, Hashable {
        /// The download starts from the first byte.
        case startAgain
        /// The call fails, and the bytes on the disk stay.
        case fail
    }

    /// The options for writing the finished file. Its limit applies to the length of the whole content.
    public var file: FileWriteOptions
    /// What happens if the journal of an earlier run can't be read. Its version may be newer than this library. Default: `fail`.
    public var unreadableJournal: Fallback
    /// What happens if the content has changed, or the server can't continue the bytes on the disk. Default: `startAgain`.
    public var changedContent: Fallback
    /// Whether the request asks for a digest of the content (`Want-Repr-Digest`, [RFC 9530, section
    /// 4](https://www.rfc-editor.org/rfc/rfc9530#section-4)). Default: false. A digest that the server sends is always checked.
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
