internal import ErrandCore
internal import ErrandFormats

/// The part of the content that a request asks for: all bytes from an offset, if the content has not changed.
struct DownloadRange: Sendable, Hashable {
    /// The first byte.
    let offset: Int64
    /// The value of `If-Range`: a strong validator.
    let validator: String
}

/// The decision of a download about a response.
enum DownloadDecision: Sendable, Hashable {
    /// Write the body from an offset. All earlier bytes of the file stay. After the body, the file has the content of the record.
    ///
    /// - Parameters:
    ///   - from: the offset of the first byte of the body. With 0, no byte of an earlier response stays.
    ///   - to: the end of the body's bytes in the file; `nil` if the head does not say where the body ends.
    ///   - record: the description of the content.
    case write(from: Int64, to: Int64?, record: DownloadResumption)
    /// The file has all bytes.
    case complete
    /// The response can't continue the file. Send a request for the whole content.
    case startAgain(Reason)
    /// The response has no content of the file. The call fails with a ``StatusError``.
    case refuse
    /// The call fails: the response has a part, although the request asks for the whole content.
    case fail(Reason)

    /// The reason why a response can't continue the file.
    enum Reason: String, Sendable, Hashable, CaseIterable {
        case anotherValidator = "the content has another validator than the bytes on the disk"
        case noValidator = "the part has no strong validator"
        case anotherLength = "the content has another length than before"
        case anotherOffset = "the part begins at another offset than requested"
        case noRange = "the part has no valid Content-Range"
        case severalParts = "the response has several parts"
        case anotherCoding = "the content has another content coding than the bytes on the disk"
        case anotherBodyLength = "the length of the body differs from its Content-Range"
        case notRequested = "the response is a part, although the request asks for the whole content"
        case notSatisfiable = "the server has no bytes after the bytes on the disk"
    }
}

/// The rules by which a download asks for bytes, and judges the response ([RFC 9110, sections
/// 14 and 15.3.7](https://www.rfc-editor.org/rfc/rfc9110#section-14)).
struct DownloadRule: Sendable {
    /// The parts of a response that the rules use.
    struct Head: Sendable {
        let response: HTTPResponse
        /// The length of the body; `nil` if the head does not say where the body ends.
        let bodyLength: Int64?
        /// Whether a layer or the transport has decoded the body. Offsets of decoded bytes mean nothing to the server.
        let isDecoded: Bool
        /// Whether a layer or an option accepts the status.
        let isAccepted: Bool
    }

    /// Returns the range to ask for; `nil` if the request asks for the whole content.
    ///
    /// If all bytes are on the disk, the request asks for the last byte again: the response shows whether the content is still the same.
    static func range(after record: DownloadResumption) -> DownloadRange? {
        guard record.canContinue, let validator = record.validator else { return nil }
        let offset = min(record.bytes, (record.total ?? .max) - 1)
        return offset > 0 ? DownloadRange(offset: offset, validator: validator) : nil
    }

    /// Decides about a response.
    ///
    /// - Parameters:
    ///   - head: the head.
    ///   - asked: the range of the request; `nil` if the request asks for the whole content.
    ///   - record: the description of the bytes on the disk.
    ///   - now: the time at which the head arrived.
    static func decide(_ head: Head, asked: DownloadRange?, record: DownloadResumption, now: HTTPDate) -> DownloadDecision {
        switch (head.response.status, asked) {
        case (.partialContent, nil): return .fail(.notRequested)
        case (.partialContent, let asked?): return part(head, asked, record, now)
        case (.rangeNotSatisfiable, _?): return unsatisfiable(head, record, now)
        case (.ok, _), (.nonAuthoritativeInformation, _): return .write(from: 0, to: head.bodyLength, record: new(head, record, now))
        // A response with another accepted status is the content only if the request asks for the whole content.
        case (_, nil) where head.isAccepted: return .write(from: 0, to: head.bodyLength, record: new(head, record, now))
        default: return .refuse
        }
    }

    private static func part(
        _ head: Head, _ asked: DownloadRange, _ record: DownloadResumption, _ now: HTTPDate
    ) -> DownloadDecision {
        let fields = head.response.headerFields
        if fields.single(.contentType).flatMap({ MediaType($0) })?.essence.isExactly("multipart/byteranges") == true {
            return .startAgain(.severalParts)
        }
        guard let content = head.response.contentRange, let range = content.range else { return .startAgain(.noRange) }
        guard range.lowerBound == asked.offset else { return .startAgain(.anotherOffset) }
        // If the first response had no length, the `Content-Range` of the part may have the total length.
        let total = record.total ?? content.completeLength
        guard content.completeLength == total, total ?? .max >= record.bytes else { return .startAgain(.anotherLength) }
        guard coding(head.response) == record.coding, !head.isDecoded else { return .startAgain(.anotherCoding) }
        if let length = head.bodyLength, length != Int64(range.count) { return .startAgain(.anotherBodyLength) }
        guard let validator = ResponseValidators(fields, receivedAt: now).strongText else { return .startAgain(.noValidator) }
        guard validator.isExactly(asked.validator) else { return .startAgain(.anotherValidator) }
        var record = record
        record.total = total
        if record.digest == nil { record.digest = representationDigest(fields) }
        return .write(from: range.lowerBound, to: range.upperBound, record: record)
    }

    private static func unsatisfiable(_ head: Head, _ record: DownloadResumption, _ now: HTTPDate) -> DownloadDecision {
        if let validator = ResponseValidators(head.response.headerFields, receivedAt: now).strongText, validator != record.validator {
            return .startAgain(.anotherValidator)
        }
        guard let length = head.response.contentRange?.completeLength else { return .startAgain(.notSatisfiable) }
        // If the total is known, the request asks for a byte that exists. A 416 then means that the content is shorter now.
        return length == record.bytes && record.total == nil ? .complete : .startAgain(.anotherLength)
    }

    /// Returns the record of a whole content.
    private static func new(_ head: Head, _ old: DownloadResumption, _ now: HTTPDate) -> DownloadResumption {
        let fields = head.response.headerFields
        var record = DownloadResumption(fileName: old.fileName)
        guard !head.isDecoded else { return record }
        record.total = head.bodyLength
        let coding = coding(head.response)
        // The journal does not keep a very long value. Without the value, the download can't continue.
        if coding.map(DownloadResumption.isCoding) ?? true {
            (record.coding, record.validator) = (coding, ResponseValidators(fields, receivedAt: now).strongText)
        }
        // In a whole response, the content and the representation are the same bytes.
        record.digest = representationDigest(fields) ?? fields[.contentDigest].flatMap { IntegrityDigest(strongestIn: $0) }
        return record
    }

    private static func representationDigest(_ fields: HTTPFields) -> IntegrityDigest? {
        fields[.reprDigest].flatMap { IntegrityDigest(strongestIn: $0) }
    }

    /// Returns the content coding; `nil` if the content has no coding.
    private static func coding(_ response: HTTPResponse) -> String? {
        let coding = response.headerFields[.contentEncoding]?.trimmingOptionalWhitespace().lowercased()
        return coding.flatMap { $0.isEmpty || $0.isExactly("identity") ? nil : $0 }
    }
}

extension HTTPField.Name {
    /// The field `Content-Digest` ([RFC 9530, section 2](https://www.rfc-editor.org/rfc/rfc9530#section-2)).
    static let contentDigest = HTTPField.Name.known("Content-Digest")
    /// The field `Repr-Digest` ([RFC 9530, section 3](https://www.rfc-editor.org/rfc/rfc9530#section-3)).
    static let reprDigest = HTTPField.Name.known("Repr-Digest")
    /// The field `Want-Repr-Digest` ([RFC 9530, section 4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
    static let wantReprDigest = HTTPField.Name.known("Want-Repr-Digest")
}
