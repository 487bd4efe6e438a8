#if MockServer
internal import ErrandCore
internal import ErrandFormats
internal import Synchronization

/// A reason to refuse a request for an upload.
enum UploadRefusal: Sendable {
    case mismatchingOffset(expected: Int, provided: Int)
    case completed, inconsistentLength, tooLarge
    /// Less than the limit with this name.
    case tooSmall(String)
    /// A missing or invalid field.
    case field(String)
    case mediaType, notFound

    func response(limits: MockUploads.Limits) -> MockResponse {
        var members: JSONValue = [:]
        let status: HTTPResponse.Status
        switch self {
        case .mismatchingOffset(let expected, let provided):
            status = .conflict
            members = [
                "type": Self.type("mismatching-upload-offset"), "title": "The offset is not the offset of the upload",
                "expected-offset": JSONValue(expected), "provided-offset": JSONValue(provided),
            ]
        case .completed: (status, members) = (.badRequest, ["type": Self.type("completed-upload"), "title": "The upload is complete"])
        case .inconsistentLength:
            status = .badRequest
            members = ["type": Self.type("inconsistent-upload-length"), "title": "The lengths of the upload contradict each other"]
        case .tooLarge: (status, members) = (.contentTooLarge, ["title": "The content is larger than a limit"])
        case .tooSmall(let limit): (status, members) = (.badRequest, ["title": JSONValue("The content is smaller than \(limit)")])
        case .field(let name): (status, members) = (.badRequest, ["title": JSONValue("The field \(name) is missing or invalid")])
        case .mediaType: (status, members) = (.unsupportedMediaType, ["title": "The content is not application/partial-upload"])
        case .notFound: return .status(.notFound)
        }
        return .json(members, status: status, headers: [.contentType: ProblemDetails.mediaType]).with {
            if case .mismatchingOffset(let expected, _) = self {
                $0.head.headerFields[.uploadOffset] = "\(expected)"
                $0.head.headerFields[.uploadComplete] = "?0"
            }
            if case .tooLarge = self { $0.head.headerFields[.uploadLimit] = limits.field }
        }
    }

    private static func type(_ name: String) -> JSONValue { JSONValue("https://iana.org/assignments/http-problem-types#\(name)") }
}

/// Serves one request of ``MockUploads``.
struct UploadExchange {
    let uploads: MockUploads
    let request: IncomingRequest

    private var headers: HTTPFields { request.headers }
    private var isOfThisVersion: Bool { headers[.uploadDraftInteropVersion].flatMap { try? StructuredItem(parsing: $0) }?.value == 8 }
    private var completes: Bool? { headers[.uploadComplete].flatMap { try? StructuredItem(parsing: $0) }?.value.booleanValue }

    /// A field whose value is a number that is not negative; `nil` for any other value, because the draft ignores such a field.
    private func number(_ name: HTTPField.Name) -> Int? {
        let value = headers[name].flatMap { try? StructuredItem(parsing: $0) }?.value.integerValue
        return value.flatMap { $0 >= 0 ? Int(exactly: $0) : nil }
    }

    /// Returns `nil` if the request is not for an upload.
    func response() async throws -> MockResponse? {
        if request.path.isExactly(uploads.path) {
            if request.method == .options { return options() }
            guard [.post, .put, .patch].contains(request.method) else { return nil }
            return try await create()
        }
        guard request.path.hasOctetPrefix(uploads.path + "/") else { return nil }
        let found = uploads.state.withLock { state in state.index(of: request.path).map { ($0, state.uploads[$0]) } }
        guard isOfThisVersion, let (index, upload) = found else { return refuse(.notFound) }
        switch request.method {
        case .head:
            endEarlierRequest(of: index)
            return offset(of: index)
        case .patch: return try await append(to: index, upload)
        case .delete:
            endEarlierRequest(of: index)
            uploads.state.withLock { $0.uploads[index].isActive = false }
            return .status(.noContent)
        default: return .status(.methodNotAllowed, headers: [.allow: "HEAD, PATCH, DELETE"])
        }
    }

    private func refuse(_ refusal: UploadRefusal) -> MockResponse { refusal.response(limits: uploads.limits) }

    private func options() -> MockResponse {
        .status(.noContent, headers: [.acceptPatch: "application/partial-upload"]).with {
            $0.head.headerFields[.uploadLimit] = uploads.limits.field
        }
    }

    private func create() async throws -> MockResponse {
        let completes = isOfThisVersion ? completes : nil
        let location = completes == nil ? nil : "\(uploads.path)/\(String(UInt64.random(in: .min ... .max), radix: 16))"
        let (index, refusal) = uploads.state.withLock { state in
            state.uploads.append(MockUploads.Upload(request.head, resourcePath: location))
            let index = state.uploads.count - 1
            let refusal = state.check(
                index, content: number(.contentLength), completes: completes ?? true,
                uploadLength: completes == nil ? nil : number(.uploadLength))
            if refusal != nil { state.uploads.removeLast() }
            return (index, refusal)
        }
        if let refusal { return refuse(refusal) }
        guard let location else { return try await receive(at: index, completes: true, isResumable: false) }
        var announced: HTTPFields = [.location: location]
        announced[.uploadLimit] = uploads.limits.field
        if uploads.sendsInformational { try await inform(announced) }
        let response = try await receive(at: index, completes: completes == true)
        return response.with {
            guard completes == false, $0.head.status == .noContent else { return }
            $0.head.status = .created
            for field in announced { $0.head.headerFields.append(field) }
        }
    }

    private func append(to index: Int, _ upload: MockUploads.Upload) async throws -> MockResponse {
        let type = headers[.contentType].flatMap { MediaType($0) }?.essence
        guard type?.isExactly("application/partial-upload") == true else { return refuse(.mediaType) }
        guard let completes else { return refuse(.field("Upload-Complete")) }
        guard let provided = number(.uploadOffset) else { return refuse(.field("Upload-Offset")) }
        endEarlierRequest(of: index)
        let refusal = uploads.state.withLock { state -> UploadRefusal? in
            let upload = state.uploads[index]
            if upload.isComplete { return .completed }
            if upload.offset != provided { return .mismatchingOffset(expected: upload.offset, provided: provided) }
            return state.check(index, content: number(.contentLength), completes: completes, uploadLength: number(.uploadLength))
        }
        if let refusal { return refuse(refusal) }
        return try await receive(at: index, completes: completes)
    }

    private func offset(of index: Int) -> MockResponse {
        let (upload, limits) = uploads.state.withLock { ($0.uploads[index], $0.limits) }
        return .status(.noContent, headers: [.cacheControl: "no-store"]).with {
            $0.head.headerFields[.uploadOffset] = "\(upload.offset)"
            $0.head.headerFields[.uploadComplete] = upload.isComplete ? "?1" : "?0"
            $0.head.headerFields[.uploadLength] = upload.length.map { "\($0)" }
            $0.head.headerFields[.uploadLimit] = limits.field
        }
    }

    /// Ends a request that still sends content, so that the offset can't change any more.
    private func endEarlierRequest(of index: Int) {
        uploads.state.withLock { $0.setSender(nil, of: index).earlier }?.breakOff("a later request ended this request")
    }

    private func receive(at index: Int, completes: Bool, isResumable: Bool = true) async throws -> MockResponse {
        let (sender, cut) = uploads.state.withLock { state in
            let cut = number(.contentLength) == 0 || state.cuts.isEmpty ? nil : state.cuts.removeFirst()
            return (state.setSender(request.incoming, of: index).number, cut)
        }
        defer { uploads.state.withLock { $0.removeSender(sender, of: index) } }
        var (received, reported) = (0, 0)
        do {
            if cut == 0 { throw BrokenRequestError("the connection was cut after 0 bytes of content") }
            while let data = try await request.source.next() {
                let piece = uploads.state.withLock { $0.add(data, to: index, sender: sender, received: received, cut: cut) }
                switch piece {
                case .refused(let refusal): return refuse(refusal)
                case .ends(let reason): throw BrokenRequestError(reason)
                case .kept(let offset):
                    received += data.count
                    guard isResumable, let step = uploads.progressBytes, received - reported >= step else { continue }
                    reported = received
                    try await inform([.uploadOffset: "\(offset)"])
                }
            }
        } catch {
            // A conventional upload can't be resumed.
            if !isResumable { uploads.state.withLock { $0.uploads[index].isActive = false } }
            throw error
        }
        guard completes else { return .status(.noContent, headers: [.uploadComplete: "?0"]) }
        let upload = uploads.state.withLock { state -> MockUploads.Upload? in
            if let length = state.uploads[index].length, length != state.uploads[index].offset { return nil }
            state.uploads[index].isComplete = true
            state.uploads[index].length = state.uploads[index].offset
            return state.uploads[index]
        }
        guard let upload else { return refuse(.inconsistentLength) }
        return try await uploads.respond(upload).with { if isResumable { $0.head.headerFields[.uploadComplete] = "?1" } }
    }

    private func inform(_ fields: HTTPFields) async throws {
        var head = HTTPResponse(status: .init(code: 104, reasonPhrase: "Upload Resumption Supported"), headerFields: fields)
        head.headerFields[.uploadDraftInteropVersion] = "8"
        try await request.inform(head)
    }
}

extension MockUploads.Limits {
    /// The value of `Upload-Limit`; `nil` without limits.
    var field: String? {
        let limits = [
            ("max-size", maxSizeBytes), ("min-size", minSizeBytes), ("max-append-size", maxAppendBytes),
            ("min-append-size", minAppendBytes), ("max-age", maxAgeSeconds),
        ]
        let members = limits.compactMap { name, value in value.map { "\(name)=\($0)" } }
        return members.isEmpty ? nil : members.joined(separator: ", ")
    }
}

extension HTTPField.Name {
    fileprivate static let acceptPatch = Self("Accept-Patch")!
    fileprivate static let uploadComplete = Self("Upload-Complete")!
    fileprivate static let uploadDraftInteropVersion = Self("Upload-Draft-Interop-Version")!
    fileprivate static let uploadLength = Self("Upload-Length")!
    fileprivate static let uploadLimit = Self("Upload-Limit")!
    fileprivate static let uploadOffset = Self("Upload-Offset")!
}
#endif
