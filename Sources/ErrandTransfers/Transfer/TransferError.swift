public import ErrandCore
internal import ErrandFormats

/// The error for a transfer that can't continue.
///
/// ```
/// GET https://a.example/archive.zip: no space: the download needs 734003200 bytes, and the disk has 1048576 free bytes; archive.zip, …
/// GET https://a.example/archive.zip: content changed: the content has another validator than the bytes on the disk
/// ```
///
/// Other failures of a transfer keep their types: ``/ErrandCore/TransportError``, ``/ErrandCore/StatusError`` and
/// ``/ErrandCore/FileWriteError``. After each of these failures, the bytes that the transfer has written stay on the disk.
public struct TransferError: RequestFailure, NumberedFailure {
    /// The kind of the failure. Other codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code in words, such as `no space`.
        public let description: String
        /// Creates a code.
        ///
        /// - Parameter description: the code in words, as the start of the error's description.
        public init(_ description: String) { self.description = description }

        /// The content has changed, or the server's response can't continue the transfer. The options forbid a start from the first byte,
        /// or the transfer has made five such starts.
        public static let changed = Code("content changed")
        /// The server responded with a part of the content that can't be used.
        public static let unusablePart = Code("unusable part")
        /// The disk has too little space.
        public static let noSpace = Code("no space")
        /// The content differs from the digest that the server has sent.
        public static let digestMismatch = Code("digest mismatch")
        /// The journal of the transfer can't be read. A newer version of this library may have written the journal.
        public static let journalUnreadable = Code("journal unreadable")
        /// Another transfer, in this process or in another process, uses the same file.
        public static let busy = Code("busy")
        /// The content is longer than the limit of the options.
        public static let tooLarge = Code("too large")
        /// The method of the request is not GET, or the request has the field `Range` or `If-Range`.
        public static let invalidRequest = Code("invalid request")
        /// The body of an upload can be sent only once, so the upload can't resume.
        public static let notReplayable = Code("content can't be sent again")
        /// The uploaded content has changed since the upload began, or has ended too early. The upload does not continue. If a file has
        /// changed while its bytes were sent, the server may have bytes of the changed file.
        public static let fileChanged = Code("file changed")
        /// The server does not support resumable uploads by the protocol of the upload.
        public static let notResumable = Code("no resumable uploads")
        /// The server's responses contradict the protocol of the upload.
        public static let unusableResponse = Code("unusable response")
        /// All bytes of an upload were sent, and its outcome can't be found out.
        public static let outcomeUnknown = Code("outcome unknown")
    }

    /// The kind of the failure.
    public let code: Code
    /// The details in words. The text contains no secrets.
    public let message: String
    /// The description of the unfinished transfer, for a later call. `nil` if nothing was transferred, or if the error does not know the
    /// description: see ``Download/resumption`` and ``Upload/resumption``.
    public let resumption: TransferResumption?
    public var request: Request?
    /// The head of the response; `nil` if there was no response.
    public internal(set) var response: HTTPResponse?
    public var attempts: [AttemptRecord] = []

    init(
        _ code: Code, _ message: String, resumption: TransferResumption? = nil, request: Request? = nil, response: HTTPResponse? = nil
    ) {
        (self.code, self.message, self.resumption) = (code, message, resumption)
        (self.request, self.response) = (request, response)
    }

    public var phase: ExchangePhase { response == nil ? .request : .body }
    public var delivery: Delivery { response == nil ? attempts.delivery : .sent }

    /// The request, the code, the message, and the resumption.
    public var description: String { "\(shownRequest)\(happened)\(resumption.map { " (\($0))" } ?? "")\(shownAttempts)" }

    private var happened: String { "\(code): \(message)" }

    public var failureNumber: FailureNumber {
        switch code {
        case .noSpace: .noSpace
        case .digestMismatch: .digestMismatch
        case .busy: .transferBusy
        case .journalUnreadable: .journalUnreadable
        case .tooLarge: .bodyTooLarge
        case .invalidRequest, .notReplayable: .invalidRequest
        case .notResumable, .unusableResponse, .outcomeUnknown: .invalidResponse
        default: .contentChanged
        }
    }
    /// The details.
    public var failureReason: String? { happened.asSentence }
    /// The advice for a person.
    public var recoverySuggestion: String? {
        switch code {
        case .noSpace: "Free some space on the disk, and try again. The transfer continues from the last byte."
        case .digestMismatch, .changed, .unusablePart: "Try again. The transfer starts from the beginning."
        case .busy: "Wait until the other transfer ends."
        case .fileChanged: "Discard the upload, and start the upload again."
        case .outcomeUnknown: "Find out whether the server has the content before you upload the content again."
        case .journalUnreadable: "Remove the journal, and try again. The transfer starts from the beginning."
        default: nil
        }
    }
}
