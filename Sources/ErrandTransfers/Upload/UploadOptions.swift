public import ErrandCore

/// The options of an ``Upload``: the parts of the content, the journal, and the fields of the protocol.
public struct UploadOptions: Sendable {
    /// The content of the request that creates an upload.
    public enum Creation: Sendable, Hashable {
        /// With tus, the request has no content. With the IETF draft, the request has the content if the transport reports informational
        /// responses (``/ErrandCore/TransportCapabilities/informationalResponses``).
        case automatic
        /// The request has no content. After a failure, at most one empty upload stays at the server.
        case empty
        /// The request has the first part of the content. With tus, the server must support the extension `creation-with-upload`.
        case withContent
    }

    /// The behavior of an upload that can't continue an earlier run.
    public enum Fallback: Sendable, Hashable {
        /// The upload starts from the first byte, as a new upload.
        case startAgain
        /// The call fails, and the record of the earlier run stays.
        case fail
    }

    /// The algorithm of the checksums that tus sends with each part.
    public enum Checksum: String, Sendable, Hashable {
        /// SHA-1, which each tus server with the extension `checksum` supports.
        case sha1
        /// SHA-256.
        case sha256
    }

    /// The place of the journal, by which a later run continues the upload.
    public enum Journal: Sendable, Hashable {
        /// The folder of the uploaded file. Content that is not a file has no journal.
        case besideFile
        /// A folder that exists. The folder may move between two runs.
        case folder(URL)
        /// No journal. A later run continues only with the ``Upload/resumption`` that the app has kept.
        case none
    }

    /// The largest part of a checked content, if ``partBytes`` is `nil`: 4 MiB. A checked part is in memory while it is sent.
    static let checkedPartBytes: Int64 = 4 << 20

    /// The content of the request that creates the upload. Default: `automatic`.
    public var creation: Creation
    /// The largest content of one request, in bytes. Default: `nil`, all remaining bytes, or 4 MiB with a ``checksum``. Set a limit if a
    /// proxy before the server has a limit. A smaller limit of the server takes precedence.
    public var partBytes: Int64?
    /// The metadata that tus sends (`Upload-Metadata`), such as `filename` and `filetype`. Default: no metadata.
    public var metadata: [String: String]
    /// The checksum of each part, with tus only. Default: `nil`, no checksum. With a checksum, each part is in memory while it is sent.
    public var checksum: Checksum?
    /// The place of the journal. Default: `besideFile`.
    public var journal: Journal
    /// The behavior if the file has changed since the earlier run. Default: `fail`.
    public var changedContent: Fallback
    /// The behavior if the journal of an earlier run can't be read. Default: `fail`.
    public var unreadableJournal: Fallback
    /// A text that is the same in each run if the content is the same, for content that is not a file. Default: `nil`. Without this text, a
    /// later run can't continue the upload of a stream.
    public var contentID: String?

    /// Creates options. For each parameter, see the property of the same name.
    ///
    /// - Parameter partBytes: at least 1.
    public init(
        creation: Creation = .automatic, partBytes: Int64? = nil, metadata: [String: String] = [:], checksum: Checksum? = nil,
        journal: Journal = .besideFile, changedContent: Fallback = .fail, unreadableJournal: Fallback = .fail, contentID: String? = nil
    ) {
        if let partBytes { precondition(partBytes > 0, "partBytes must be at least 1 (is \(partBytes))") }
        (self.creation, self.partBytes, self.metadata, self.checksum) = (creation, partBytes, metadata, checksum)
        (self.journal, self.changedContent) = (journal, changedContent)
        (self.unreadableJournal, self.contentID) = (unreadableJournal, contentID)
    }

    /// One request for all remaining bytes, a journal beside the file, and a failure if the file has changed.
    public static let standard = UploadOptions()
}
