internal import ErrandCore
internal import ErrandFormats
internal import ErrandRedaction

/// Removes the secrets from an entry: first the values with a secret name, then the same values everywhere else.
struct EntryRedaction {
    /// The length of the shortest value that is replaced everywhere, in bytes. A shorter value is replaced only under a secret name.
    static let shortestScrubbed = 8

    let sensitivity: Sensitivity
    /// Whether a text body without a known syntax is kept. If false, the body is removed.
    let keepsUnknownText: Bool
    private var secrets = SecretValues(shortestBytes: Self.shortestScrubbed)

    init(_ sensitivity: Sensitivity, keepsUnknownText: Bool) {
        (self.sensitivity, self.keepsUnknownText) = (sensitivity, keepsUnknownText)
    }

    static func redacted(_ entry: HAREntry, by sensitivity: Sensitivity, keepsUnknownText: Bool = false) -> HAREntry {
        var redaction = EntryRedaction(sensitivity, keepsUnknownText: keepsUnknownText)
        return redaction.redact(entry)
    }

    /// Returns a copy of the request for comparisons. The copy has no secrets, and has a new list of its query items. A text
    /// body without a known syntax is kept.
    static func redacted(_ request: HARRequest, by sensitivity: Sensitivity) -> HARRequest {
        var redaction = EntryRedaction(sensitivity, keepsUnknownText: true)
        var request = request
        redaction.replaceNamed(&request)
        redaction.scrub(&request, by: SecretScrubber(redaction.secrets.texts))
        return request
    }

    private mutating func redact(_ entry: HAREntry) -> HAREntry {
        var entry = entry
        replaceNamed(&entry.request)
        replaceNamed(&entry.response)
        let scrubber = SecretScrubber(secrets.texts)
        scrub(&entry.request, by: scrubber)
        scrub(&entry.response, by: scrubber)
        if let tag = entry.cache.beforeRequest?.eTag {
            // The value of the field may have been replaced, because the name of the field is sensitive.
            let isReplaced = entry.response.headers[.eTag].map { !$0.isExactly(tag) } ?? false
            entry.cache.beforeRequest?.eTag = isReplaced ? entry.response.headers[.eTag] ?? "" : scrubber.scrubbed(tag)
        }
        return entry
    }

    // MARK: By name

    private mutating func replaceNamed(_ request: inout HARRequest) {
        secrets.learn(fromURL: request.url, by: sensitivity)
        request.url = sensitivity.redactedURL(request.url)
        replaceNamed(&request.headers)
        request.cookies = []
        guard var data = request.postData, data.text != nil else { return }
        let bytes = data.bytes
        if let edits = learnSecrets(in: bytes, mimeType: data.mimeType, isCut: data.incomplete != nil) {
            if !edits.isEmpty { data.bytes = edits.applied(to: bytes) }
            request.headers.adjustLength(from: bytes.count, to: data.bytes.count)
        } else {
            (data.text, data.encoding, data.incomplete) = (nil, nil, .hidden)
        }
        request.postData = data
    }

    private mutating func replaceNamed(_ response: inout HARResponse) {
        replaceNamed(&response.headers)
        if var trailers = response.trailers {
            replaceNamed(&trailers)
            response.trailers = trailers
        }
        response.cookies = []
        secrets.learn(fromURL: response.redirectURL, by: sensitivity)
        response.redirectURL = sensitivity.redactedURL(response.redirectURL)
        guard response.content.text != nil else { return }
        if let edits = learnSecrets(in: response.content.bytes, mimeType: response.content.mimeType, isCut: response.isCut) {
            response.apply(edits)
        } else {
            (response.content.text, response.content.encoding) = (nil, nil)
            (response.chunks, response.incomplete) = (nil, .hidden)
        }
    }

    /// Returns the replacements in a body, and remembers the secret values; `nil` if the body must be removed.
    private mutating func learnSecrets(in bytes: [UInt8], mimeType: String, isCut: Bool) -> [ByteEdit]? {
        let found = Findings(in: bytes, type: MediaType(mimeType), sensitivity: sensitivity, isCut: isCut, keepsBinary: true)
        if found.isHidden { return keepsUnknownText ? [] : nil }
        for value in found.values { secrets.learn(value) }
        return found.edits
    }

    private mutating func replaceNamed(_ fields: inout [HARField]) {
        for index in fields.indices {
            // A Boolean is never a secret, even in a field such as `Access-Control-Allow-Credentials`.
            guard let field = fields[index].field, !["", "true", "false"].contains(where: field.value.isExactly) else { continue }
            let shown = sensitivity.shownValue(of: field)
            if sensitivity.isSensitive(field) {
                secrets.learn(field)
                fields[index].encoding = nil
                fields[index].value = shown
            } else if !shown.isExactly(field.value) {
                secrets.learn(fromURL: field.value, by: sensitivity)
                fields[index].value = shown
            }
        }
    }

    // MARK: Everywhere else

    private func scrub(_ request: inout HARRequest, by scrubber: SecretScrubber) {
        request.url = scrubber.scrubbed(request.url)
        request.queryString = [HARField].query(request.query ?? "").map { HARField(name: $0.name, value: $0.value ?? "") }
        Self.scrub(&request.headers, by: scrubber)
        guard var data = request.postData else { return }
        data.mimeType = scrubber.scrubbed(data.mimeType)
        if data.text != nil {
            let bytes = data.bytes
            let edits = scrubber.edits(in: bytes, isCut: data.incomplete != nil)
            if !edits.isEmpty { data.bytes = edits.applied(to: bytes) }
            request.headers.adjustLength(from: bytes.count, to: data.bytes.count)
            if MediaType(data.mimeType)?.essence == FormURLEncoded.mediaType, data.encoding == nil {
                data.params = .form(data.text ?? "")
            }
        }
        request.postData = data
    }

    private func scrub(_ response: inout HARResponse, by scrubber: SecretScrubber) {
        response.statusText = scrubber.scrubbed(response.statusText)
        Self.scrub(&response.headers, by: scrubber)
        if var trailers = response.trailers {
            Self.scrub(&trailers, by: scrubber)
            response.trailers = trailers
        }
        response.redirectURL = scrubber.scrubbed(response.redirectURL)
        response.content.mimeType = scrubber.scrubbed(response.content.mimeType)
        response.error = response.error.map { scrubber.scrubbed($0) }
        guard response.content.text != nil else { return }
        response.apply(scrubber.edits(in: response.content.bytes, isCut: response.isCut))
    }

    private static func scrub(_ fields: inout [HARField], by scrubber: SecretScrubber) {
        for index in fields.indices { fields[index].value = fields[index].value.map { scrubber.scrubbed($0) } }
    }
}

extension HARResponse {
    /// Whether the body may be cut within a word.
    fileprivate var isCut: Bool { incomplete != nil || failure != nil }

    /// Applies edits to the body, and adjusts its length and its chunks.
    fileprivate mutating func apply(_ edits: [ByteEdit]) {
        guard !edits.isEmpty else { return }
        let bytes = content.bytes
        var (start, mappedStart) = (0, 0)
        var map = OffsetMap(edits)
        chunks = chunks?.map { chunk in
            start += chunk.bytes
            let end = map.mapped(start)
            defer { mappedStart = end }
            return HARChunk(bytes: end - mappedStart, time: chunk.time)
        }
        let edited = edits.applied(to: bytes)
        content.bytes = edited
        content.size += edited.count - bytes.count
        headers.adjustLength(from: bytes.count, to: edited.count)
    }
}

/// Converts increasing offsets in the text before the edits to offsets in the text after the edits. All offsets together take one pass over
/// the edits.
struct OffsetMap {
    private var rest: ArraySlice<ByteEdit>
    private var shift = 0

    /// - Parameter edits: the edits, in order, without overlaps.
    init(_ edits: [ByteEdit]) { rest = edits[...] }

    mutating func mapped(_ offset: Int) -> Int {
        while let edit = rest.first, edit.range.upperBound <= offset {
            shift += edit.replacement.count - edit.range.count
            rest = rest.dropFirst()
        }
        guard let edit = rest.first, edit.range.lowerBound < offset else { return offset + shift }
        return edit.range.lowerBound + shift + edit.replacement.count
    }
}

extension [HARField] {
    /// Replaces the old length in `Content-Length` by the length after redaction.
    fileprivate mutating func adjustLength(from old: Int, to new: Int) {
        guard old != new else { return }
        for index in indices
        where self[index].name.isExactlyIgnoringCase("content-length") && self[index].value?.isExactly(String(old)) == true {
            self[index].value = String(new)
        }
    }
}
