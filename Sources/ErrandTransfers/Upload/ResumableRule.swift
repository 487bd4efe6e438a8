internal import ErrandCore
internal import ErrandFormats

/// The rules of the [IETF draft for resumable uploads](https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/), in the
/// interoperability versions 6 and 8.
struct ResumableRule: UploadRule {
    /// The version that each request names.
    let version: Int

    /// The beginning of the type of each problem that the draft defines.
    private static let problems = "https://iana.org/assignments/http-problem-types#"

    func problem(of method: HTTPRequest.Method, options: UploadOptions) -> String? {
        guard [.post, .put, .patch].contains(method) else {
            return "the method is \(method.rawValue.shownSafely(limit: 20)), not POST, PUT or PATCH"
        }
        return options.checksum == nil && options.metadata.isEmpty ? nil : "the options have a checksum or metadata, which only tus sends"
    }

    func request(
        for action: UploadAction, of record: UploadResumption, method: HTTPRequest.Method, options: UploadOptions
    ) -> (method: HTTPRequest.Method, fields: HTTPFields) {
        var fields: HTTPFields = [.uploadDraftInteropVersion: "\(version)"]
        switch action {
        case .create(let part):
            fields[.uploadComplete] = part.isLast ? "?1" : "?0"
            fields[.uploadLength] = "\(record.total)"
            return (method, fields)
        case .askOffset:
            fields[.cacheControl] = "no-store"
            return (.head, fields)
        case .append(let part):
            fields[.uploadComplete] = part.isLast ? "?1" : "?0"
            fields[.uploadOffset] = "\(part.range.lowerBound)"
            fields[.contentType] = "application/partial-upload"
            return (.patch, fields)
        case .cancel: return (.delete, fields)
        }
    }

    func firstPart(total: Int64, options: UploadOptions, seesInformation: Bool) -> UploadPart {
        let hasContent: Bool =
            switch options.creation {
            case .automatic: seesInformation
            case .empty: false
            case .withContent: true
            }
        // An empty content has nothing to resume.
        guard hasContent || total == 0 else { return UploadPart(range: 0..<0, isLast: false) }
        return part(from: 0, of: total, options: options, limits: UploadLimits())
    }

    func decide(_ head: UploadHead, after action: UploadAction, of record: UploadResumption) -> UploadDecision {
        // After a request that completes the upload, the response is the response of the resource, also if it is an error.
        if let part = action.part, part.isLast, Self.isComplete(head.fields) == true {
            return head.isSuccess ? .complete : .refuse(isFinal: true)
        }
        guard head.isSuccess else { return refusal(head, after: action, record) }
        switch action {
        case .cancel: return .complete
        case .create(let part): return created(head, part, record)
        case .askOffset: return position(head, record)
        case .append(let part): return appended(head, part, record)
        }
    }

    private func created(_ head: UploadHead, _ part: UploadPart, _ record: UploadResumption) -> UploadDecision {
        // A server without resumable uploads also accepts a request with the whole content.
        if part.isLast, Self.isComplete(head.fields) != false { return .complete }
        var record = record
        switch head.location() {
        case .success(let url):
            // All responses to one request name the same upload.
            if let known = record.url, known != url { return .fail(.noLocation) }
            (record.url, record.origin) = (url, head.url?.origin)
        case .failure(let error):
            guard head.fields[.location] == nil else { return .fail(error.reason) }
            guard record.url != nil else { return .fail(.notResumable) }
        }
        if let maxSize = head.limits.maxSize, maxSize < record.total { return .cancel(record, .tooLarge) }
        if part.isLast { return .askOffset(record) }
        return accepted(Self.offset(head.fields) ?? part.range.upperBound, part, record)
    }

    private func position(_ head: UploadHead, _ record: UploadResumption) -> UploadDecision {
        if Self.isComplete(head.fields) == true { return .complete }
        guard let offset = Self.offset(head.fields) else { return .fail(.noOffset) }
        if let length = Self.integer(head.fields, .uploadLength), length != record.total { return .fail(.anotherLength) }
        if offset > record.total { return .fail(.offsetBeyondEnd) }
        // The offset may be less than the bytes that were sent, or more.
        return .append(accept(offset, record))
    }

    private func appended(_ head: UploadHead, _ part: UploadPart, _ record: UploadResumption) -> UploadDecision {
        guard part.isLast else { return accepted(Self.offset(head.fields) ?? part.range.upperBound, part, record) }
        // Version 6 has servers that do not mark the last response.
        if version == 6, Self.isComplete(head.fields) == nil { return .complete }
        return .askOffset(record)
    }

    /// Decides about the offset after a part that is not the last part.
    private func accepted(_ offset: Int64, _ part: UploadPart, _ record: UploadResumption) -> UploadDecision {
        if offset > record.total { return .fail(.offsetBeyondEnd) }
        guard part.range.lowerBound <= offset, offset <= part.range.upperBound else { return .askOffset(record) }
        return part.count > 0 && offset == part.range.lowerBound ? .wait(.noProgress) : .append(accept(offset, record))
    }

    private func refusal(_ head: UploadHead, after action: UploadAction, _ record: UploadResumption) -> UploadDecision {
        switch (head.status, action) {
        case (404, .askOffset), (410, .askOffset):
            return record.mayBeComplete && !head.isIdempotent ? .fail(.mayBeComplete) : .startAgain(.unknownUpload)
        // The response to HEAD decides whether the server knows the upload.
        case (404, .append), (410, .append): return .wait(.unknownUpload)
        case (409, .append):
            guard let offset = Self.expectedOffset(head) else { return .wait(.anotherOffset) }
            return offset > record.total ? .fail(.offsetBeyondEnd) : .append(accept(offset, record))
        case (400, .append) where head.problem?.type.isExactly(Self.problems + "inconsistent-upload-length") == true:
            return .fail(.anotherLength)
        case (413, .create(let part)), (413, .append(let part)):
            if let maxSize = head.limits.maxSize, maxSize < record.total { return .cancel(record, .tooLarge) }
            // A smaller part may be accepted.
            guard let maxPart = head.limits.maxPart, maxPart < part.count, record.url != nil else { return .refuse(isFinal: false) }
            return .askOffset(record)
        default: return .refuse(isFinal: false)
        }
    }

    // MARK: Fields

    /// Returns the limits in a head, or the earlier limits if the head has no valid `Upload-Limit`. One value of a wrong type makes the
    /// whole field invalid.
    static func limits(in fields: HTTPFields, or earlier: UploadLimits) -> UploadLimits {
        guard let text = fields[.uploadLimit], text.utf8.count <= FieldLimits.valueBytes,
            let members = try? StructuredDictionary(parsing: text)
        else { return earlier }
        var numbers: [String: Int64] = [:]
        for key in ["max-size", "min-size", "max-append-size", "min-append-size", "max-age"] {
            guard let member = members[key] else { continue }
            guard let number = member.item?.value.integerValue, number >= 0 else { return earlier }
            numbers[key] = number
        }
        return UploadLimits(maxSize: numbers["max-size"], maxPart: numbers["max-append-size"], minPart: numbers["min-append-size"])
    }

    /// Returns the offset in a head; `nil` if the field is missing or invalid.
    static func offset(_ fields: HTTPFields) -> Int64? { integer(fields, .uploadOffset) }

    /// Returns whether a head says that the upload is complete; `nil` if the field is missing or invalid.
    static func isComplete(_ fields: HTTPFields) -> Bool? {
        fields[.uploadComplete].flatMap { try? StructuredItem(parsing: $0) }?.value.booleanValue
    }

    private static func integer(_ fields: HTTPFields, _ name: HTTPField.Name) -> Int64? {
        guard let text = fields[name], text.utf8.count <= FieldLimits.valueBytes else { return nil }
        return (try? StructuredItem(parsing: text))?.value.integerValue.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Returns the offset that a 409 expects; `nil` if the response does not say an offset.
    static func expectedOffset(_ head: UploadHead) -> Int64? {
        if let offset = offset(head.fields) { return offset }
        guard let problem = head.problem, problem.type.isExactly(problems + "mismatching-upload-offset"),
            case .number(let number)? = problem.extensions["expected-offset"], let offset = number.intValue, offset >= 0
        else { return nil }
        return Int64(offset)
    }
}

extension HTTPField.Name {
    static let uploadComplete = HTTPField.Name.known("Upload-Complete")
    static let uploadDraftInteropVersion = HTTPField.Name.known("Upload-Draft-Interop-Version")
    static let uploadLimit = HTTPField.Name.known("Upload-Limit")
}
