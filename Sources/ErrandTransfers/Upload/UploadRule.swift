internal import ErrandCore
internal import ErrandFormats

/// The bytes of the content that a request has.
struct UploadPart: Sendable, Hashable {
    /// The bytes.
    let range: Range<Int64>
    /// Whether the request completes the upload.
    let isLast: Bool

    var count: Int64 { range.upperBound - range.lowerBound }
}

/// The next request of an upload.
enum UploadAction: Sendable, Hashable {
    /// Create the upload at the server.
    case create(UploadPart)
    /// Ask the server how many bytes it has.
    case askOffset
    /// Send bytes after the bytes that the server has.
    case append(UploadPart)
    /// Cancel the upload at the server.
    case cancel

    var part: UploadPart? {
        switch self {
        case .create(let part), .append(let part): part
        case .askOffset, .cancel: nil
        }
    }
}

/// The decision of an upload about a response.
enum UploadDecision: Sendable, Hashable {
    /// The server has the first bytes of the record. Send the next part.
    case append(UploadResumption)
    /// The number of bytes at the server is not known. Ask for it.
    case askOffset(UploadResumption)
    /// The upload failed for now. Wait, and ask for the offset again.
    case wait(Reason)
    /// The server has all bytes. The response is the response to the whole upload.
    case complete
    /// The response is an error. The error is a `StatusError`.
    ///
    /// - Parameter isFinal: whether the upload is over, so that no later run continues it.
    case refuse(isFinal: Bool)
    /// The server does not know the upload. Create another upload.
    case startAgain(Reason)
    /// The upload can't succeed. Cancel it at the server.
    case cancel(UploadResumption, Reason)
    /// The response can't be the response to an upload.
    case fail(Reason)

    /// The reason of a decision.
    enum Reason: String, Sendable, Hashable, CaseIterable {
        case busy = "another request of the same upload is in progress at the server"
        case anotherOffset = "the server has another number of bytes than expected"
        case checksum = "the server received a part that differs from its checksum"
        case noProgress = "the server has accepted a request, but none of its bytes"
        case unknownUpload = "the server does not know the upload"
        case mayBeComplete = "all bytes were sent, and the server has removed the upload; the upload may be complete"
        case noLocation = "the server has not sent a valid URL of the upload"
        case insecureLocation = "the URL of the upload has no TLS, but the request has"
        case noOffset = "the server has not sent the number of bytes that it has"
        case offsetBeyondEnd = "the server has more bytes than the content has"
        case anotherLength = "the upload at the server has another length than the content"
        case otherVersion = "the server supports another version of the protocol"
        case tooLarge = "the server does not accept a content of this length"
        case notResumable = "the server does not support resumable uploads by this protocol"

        /// The code of the error.
        var code: TransferError.Code {
            switch self {
            case .tooLarge: .tooLarge
            case .notResumable, .otherVersion: .notResumable
            case .mayBeComplete: .outcomeUnknown
            case .busy, .anotherOffset, .checksum, .noProgress, .unknownUpload, .noLocation, .insecureLocation, .noOffset,
                .offsetBeyondEnd, .anotherLength:
                .unusableResponse
            }
        }
    }
}

/// The limits that a server has sent in `Upload-Limit`.
struct UploadLimits: Sendable, Hashable {
    /// The largest content.
    var maxSize: Int64?
    /// The largest part.
    var maxPart: Int64?
    /// The smallest part that is not the last part.
    var minPart: Int64?
}

/// The rules of a protocol for resumable uploads: the requests, and the decision about each response. No rule sends anything.
protocol UploadRule: Sendable {
    /// Returns whether a request can be the request of an upload; `nil` if it can, otherwise the reason in words.
    func problem(of method: HTTPRequest.Method, options: UploadOptions) -> String?

    /// Returns the method and the fields of the request for an action. The fields of the app's request are not included.
    ///
    /// - Parameter method: the method of the app's request.
    func request(
        for action: UploadAction, of record: UploadResumption, method: HTTPRequest.Method, options: UploadOptions
    ) -> (method: HTTPRequest.Method, fields: HTTPFields)

    /// Returns the content of the request that creates an upload.
    ///
    /// - Parameter seesInformation: whether the transport reports informational responses.
    func firstPart(total: Int64, options: UploadOptions, seesInformation: Bool) -> UploadPart

    /// Decides about a final response.
    func decide(_ head: UploadHead, after action: UploadAction, of record: UploadResumption) -> UploadDecision
}

/// The parts of a response that the rules use.
struct UploadHead: Sendable {
    let response: HTTPResponse
    /// The URL of the request as it was sent; `nil` if the URL is not known.
    var url: HTTPURL?
    /// The problem that the body describes.
    var problem: ProblemDetails?
    /// The limits of the server, including the limits in this head.
    var limits = UploadLimits()
    /// Whether the method of the app's request is idempotent.
    var isIdempotent = false

    var status: Int { response.status.code }
    var isSuccess: Bool { response.status.kind == .successful }
    var fields: HTTPFields { response.headerFields }

    /// Returns the URL of the upload from `Location`, which may be relative.
    ///
    /// - Returns: a reason if there is no URL, if the URL is invalid or too long, or if the URL has no TLS although the request has.
    func location() -> Result<HTTPURL, UploadLocationError> {
        guard let text = fields.single(.location), !text.isEmpty, text.utf8.count <= UploadResumption.urlLimitBytes,
            let reference = try? URLReference(received: text),
            let found = try? HTTPURL(url.map { reference.resolved(against: URLReference($0)) } ?? reference),
            found.description.utf8.count <= UploadResumption.urlLimitBytes
        else { return .failure(UploadLocationError(reason: .noLocation)) }
        guard found.isSecure || url?.isSecure != true else { return .failure(UploadLocationError(reason: .insecureLocation)) }
        return .success(found)
    }
}

/// The reason why a response has no usable `Location`.
struct UploadLocationError: Error {
    let reason: UploadDecision.Reason
}

extension UploadRule {
    /// Returns the next part of a content.
    func part(from offset: Int64, of total: Int64, options: UploadOptions, limits: UploadLimits) -> UploadPart {
        let rest = total - offset
        let own = options.partBytes ?? (options.checksum == nil ? .max : UploadOptions.checkedPartBytes)
        var size = min(own, limits.maxPart ?? .max)
        if let least = limits.minPart { size = max(size, min(least, limits.maxPart ?? .max)) }
        let count = min(max(1, size), rest)
        return UploadPart(range: offset..<(offset + count), isLast: count == rest)
    }

    /// Returns the record after the server has confirmed an offset.
    func accept(_ offset: Int64, _ record: UploadResumption) -> UploadResumption {
        var record = record
        (record.bytes, record.mayBeComplete) = (offset, false)
        return record
    }
}
