internal import ErrandCore
internal import ErrandFormats

/// Finds the secrets in a body by its syntax. The type or the beginning of the body shows the syntax.
struct BodySearch {
    let sensitivity: Sensitivity
    let keepsBinary: Bool

    /// The depth at which a body is nested in other bodies.
    struct Depth {
        /// The nesting in multipart bodies.
        var parts = 0
        /// The nesting in strings of JSON and values of forms.
        var texts = 0

        var ofPart: Depth { Depth(parts: parts + 1, texts: texts) }
        var ofText: Depth { Depth(parts: parts, texts: texts + 1) }
    }

    func findings(in bytes: [UInt8], type: MediaType?, isCut: Bool, depth: Depth = Depth()) -> Findings {
        if type?.type == "multipart" {  // octets: ASCII
            return multipart(bytes, boundary: type?[parameter: "boundary"], isCut: isCut, depth: depth)
        }
        if type?.mayBeText != false, let boundary = MultipartSection.boundary(atFrontOf: bytes) {
            return multipart(bytes, boundary: boundary, isCut: isCut, depth: depth)
        }
        let essence = type?.essence
        let isForm = essence == FormURLEncoded.mediaType
        if isForm, Self.isForm(bytes) { return form(bytes, isCut: isCut, depth: depth) }
        let beginsLikeJSON = Self.front(of: bytes).map("{[".utf8.contains) == true
        if essence == "text/event-stream", !beginsLikeJSON { return events(bytes, isCut: isCut, depth: depth) }  // octets: ASCII
        if essence?.hasSuffix("json-seq") == true { return records(bytes, depth: depth) }  // octets: ASCII
        let isJSON = type?.isJSON == true || essence.map(Self.lineTypes.contains) == true
        if keepsBinary, !isForm, !isJSON, !TextDetection.isText(bytes, type: type) {
            // Bytes that begin like JSON may be JSON with control characters. If they seem to contain a secret, the bytes are not treated
            // as binary.
            let mention = SecretMention(sensitivity: sensitivity, isWithin: false)
            if !beginsLikeJSON || !mention.isIn(bytes) { return Findings() }
        }
        return jsonOrHidden(bytes, isBroken: isJSON || isCut, depth: depth)
    }

    /// The media types of bodies with one JSON text on each line.
    private static let lineTypes: Set<String> = [  // octets: ASCII types
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
    ]

    /// Returns the first octet that is neither white space nor part of a byte order mark.
    private static func front(of bytes: [UInt8]) -> UInt8? { bytes.first { !$0.isSpace && !byteOrderMark.contains($0) } }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    // MARK: JSON

    /// Examines JSON texts. Hides the bytes if they are not JSON.
    ///
    /// - Parameter isBroken: whether an array or an object may be incomplete. If true, the bytes are hidden only from the first byte that
    ///   is not JSON.
    func jsonOrHidden(_ bytes: [UInt8], isBroken: Bool, depth: Depth) -> Findings {
        guard let front = Self.front(of: bytes) else { return Findings() }
        let json = json(bytes, depth: depth)
        return json.isValid || isBroken && "{[".utf8.contains(front) ? json.found : Findings(hiding: bytes)
    }

    /// - Parameter depth: the nesting of the JSON.
    private func json(_ bytes: [UInt8], depth: Depth) -> (found: Findings, isValid: Bool) {
        var nested: [String] = []
        let redaction = JSONRedaction(
            bytes, placeholder: Sensitivity.urlPlaceholder, isSensitive: { sensitivity.isSensitive(memberName: $0) },
            rewrite: { text in
                guard let inner = inner(text, depth: depth) else { return nil }
                nested += inner.values
                return inner.text
            })
        return (Findings(edits: redaction.edits, values: redaction.values + nested), redaction.isValid)
    }

    // MARK: Nested texts

    /// Returns a nested text without its secrets, and the secrets; `nil` if the text contains no secret. The nested text is JSON, a form, a
    /// URL, or plain text.
    ///
    /// - Parameter isWithin: whether the text is nested in JSON or a form.
    func inner(_ text: String, depth: Depth, isWithin: Bool = true) -> (text: String, values: [String])? {
        let hidden = (text: Sensitivity.urlPlaceholder, values: [String]())
        let bytes = Array(text.utf8)
        guard bytes.firstIndex(in: SecretMention.signs) != nil, let front = Self.front(of: bytes) else { return nil }
        if "{[\"".utf8.contains(front) {
            guard depth.texts < JSONRedaction.nestedTextLimit else { return hidden }
            let json = json(bytes, depth: depth.ofText)
            if json.isValid { return json.found.inner(in: bytes) }
            // The text is not JSON, so escapes are not resolved. A backslash may be part of an escaped sensitive name.
            if bytes.contains(UInt8(ascii: "\\")) { return hidden }
        }
        let mention = SecretMention(sensitivity: sensitivity, isWithin: isWithin)
        let isPath = text.hasOctetPrefix("/")
        if !isPath, Self.isForm(bytes) {
            if depth.texts < JSONRedaction.nestedTextLimit { return form(bytes, depth: depth.ofText, isWithin: isWithin).inner(in: bytes) }
            if bytes.contains(UInt8(ascii: "%")) { return hidden }
        }
        let isURL = isPath || bytes.firstRange(of: "://".utf8) != nil || bytes.contains(UInt8(ascii: "%"))  // octets: of bytes
        if isURL, !bytes.contains(where: { $0.isSpace || $0 == UInt8(ascii: "<") }) {
            let redacted = sensitivity.redactedURL(text)
            // A URL may have a secret before its query, as in `/login&password=x`.
            if mention.isIn(Array(redacted.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })) { return hidden }
            return redacted.isExactly(text) ? nil : (redacted, sensitivity.secretValues(inURL: text))
        }
        return mention.isIn(bytes) ? hidden : nil
    }
}

extension Findings {
    /// Returns the text with its replacements; `nil` if nothing was found.
    fileprivate func inner(in bytes: [UInt8]) -> (text: String, values: [String])? {
        edits.isEmpty ? nil : (String(decoding: edits.applied(to: bytes), as: UTF8.self), values)
    }
}
