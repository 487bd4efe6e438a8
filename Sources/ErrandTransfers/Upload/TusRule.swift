internal import ErrandCore
internal import ErrandFormats

/// The rules of [tus 1.0.0](https://tus.io/protocols/resumable-upload), with the extensions `creation`, `creation-with-upload`,
/// `expiration`, `checksum` and `termination`.
struct TusRule: UploadRule {
    /// The version of the protocol.
    static let version = "1.0.0"
    /// The status for a part that differs from its checksum.
    static let checksumMismatch = 460

    func problem(of method: HTTPRequest.Method, options: UploadOptions) -> String? {
        guard method == .post else { return "the method is \(method.rawValue.shownSafely(limit: 20)), not POST" }
        if options.metadata.keys.contains(where: { !Self.isKey($0) }) {
            return "a key of the metadata is empty, or has a character other than visible ASCII, or a comma"
        }
        #if Crypto
        return nil
        #else
        return options.checksum == nil ? nil : "a checksum needs the trait Auth or NIO"
        #endif
    }

    /// Returns whether a text is a key of `Upload-Metadata`: visible ASCII without a comma.
    private static func isKey(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
    }

    /// Returns the value of `Upload-Metadata`; `nil` without metadata. The keys are sorted, so that each request has the same value.
    static func metadata(_ metadata: [String: String]) -> String? {
        guard !metadata.isEmpty else { return nil }
        let pairs = metadata.sorted { $0.key < $1.key }
        return pairs.map { $0.value.isEmpty ? $0.key : "\($0.key) \(Data($0.value.utf8).base64EncodedString())" }.joined(separator: ",")
    }

    func request(
        for action: UploadAction, of record: UploadResumption, method: HTTPRequest.Method, options: UploadOptions
    ) -> (method: HTTPRequest.Method, fields: HTTPFields) {
        var fields: HTTPFields = [.tusResumable: Self.version]
        switch action {
        case .create(let part):
            fields[.uploadLength] = "\(record.total)"
            fields[.uploadMetadata] = Self.metadata(options.metadata)
            if part.count > 0 { fields[.contentType] = "application/offset+octet-stream" }
            return (.post, fields)
        case .askOffset:
            fields[.cacheControl] = "no-store"
            return (.head, fields)
        case .append(let part):
            fields[.uploadOffset] = "\(part.range.lowerBound)"
            fields[.contentType] = "application/offset+octet-stream"
            return (.patch, fields)
        case .cancel: return (.delete, fields)
        }
    }

    func firstPart(total: Int64, options: UploadOptions, seesInformation: Bool) -> UploadPart {
        guard options.creation == .withContent else { return UploadPart(range: 0..<0, isLast: total == 0) }
        return part(from: 0, of: total, options: options, limits: UploadLimits())
    }

    func decide(_ head: UploadHead, after action: UploadAction, of record: UploadResumption) -> UploadDecision {
        guard head.isSuccess else { return refusal(head, after: action, record) }
        var record = record
        record.expires =
            head.fields.single(.uploadExpires).flatMap { HTTPDate($0, now: HTTPDate(Date())) }
            .map { Date(timeIntervalSince1970: Double($0.secondsSinceEpoch)) } ?? record.expires
        switch action {
        case .cancel: return .complete
        case .create(let part):
            switch head.location() {
            case .failure(let error): return .fail(error.reason)
            case .success(let url): (record.url, record.origin) = (url, head.url?.origin)
            }
            guard part.count > 0 else { return record.total == 0 ? .complete : .append(accept(0, record)) }
            guard let offset = offset(head) else { return .askOffset(record) }
            return position(offset, in: part, record)
        case .askOffset:
            guard let offset = offset(head) else { return .fail(.noOffset) }
            if let length = head.fields.single(.uploadLength), Int64(clampingDigits: length.utf8) != record.total {
                return .fail(.anotherLength)
            }
            if offset > record.total { return .fail(.offsetBeyondEnd) }
            return offset == record.total ? .complete : .append(accept(offset, record))
        case .append(let part):
            guard let offset = offset(head) else { return .askOffset(record) }
            return position(offset, in: part, record)
        }
    }

    /// Decides about the offset after a part: the server may have accepted only the beginning of the part.
    private func position(_ offset: Int64, in part: UploadPart, _ record: UploadResumption) -> UploadDecision {
        if offset > record.total { return .fail(.offsetBeyondEnd) }
        // Another offset than the bytes of this part is a contradiction. The response to HEAD decides.
        guard part.range.lowerBound <= offset, offset <= part.range.upperBound else { return .askOffset(record) }
        if offset == record.total { return .complete }
        return offset == part.range.lowerBound ? .wait(.noProgress) : .append(accept(offset, record))
    }

    private func refusal(_ head: UploadHead, after action: UploadAction, _ record: UploadResumption) -> UploadDecision {
        switch (head.status, action) {
        case (412, _): .fail(.otherVersion)
        case (423, .askOffset), (423, .append): .wait(.busy)
        case (409, .append): .wait(.anotherOffset)
        case (Self.checksumMismatch, .append), (Self.checksumMismatch, .create): .wait(.checksum)
        // Some servers forget an upload when they have all bytes.
        case (403, .askOffset), (404, .askOffset), (410, .askOffset):
            record.mayBeComplete ? .fail(.mayBeComplete) : .startAgain(.unknownUpload)
        // The response to HEAD decides whether the server knows the upload.
        case (403, .append), (404, .append), (410, .append): .wait(.unknownUpload)
        default: .refuse(isFinal: false)
        }
    }

    /// Returns the offset in a head; `nil` unless there is exactly one number.
    private func offset(_ head: UploadHead) -> Int64? { head.fields.single(.uploadOffset).flatMap { Int64(clampingDigits: $0.utf8) } }
}

extension HTTPField.Name {
    static let tusResumable = HTTPField.Name.known("Tus-Resumable")
    static let uploadChecksum = HTTPField.Name.known("Upload-Checksum")
    static let uploadExpires = HTTPField.Name.known("Upload-Expires")
    static let uploadLength = HTTPField.Name.known("Upload-Length")
    static let uploadMetadata = HTTPField.Name.known("Upload-Metadata")
    static let uploadOffset = HTTPField.Name.known("Upload-Offset")
}
