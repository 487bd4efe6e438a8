package import ErrandCore
package import ErrandFormats

/// What in a body is secret by a name that stands in it, or is credentials in a URL: the one place that decides this for logs, for `curl` commands
/// and for recordings.
///
/// It looks into JSON (also within a string of JSON), the items of a form, the parts of a multipart body, the lines of an event stream or of a
/// list of JSON texts, and in any other text into lines such as `name: value` and into elements of XML. Names decide, as ``Sensitivity`` has them.
///
/// The work is linear in the bytes, and the stack it needs has a bound: multipart bodies are looked into to a depth of
/// ``MultipartSection/deepest``, and JSON within JSON to ``JSONRedaction/nestedTextLimit``. What nests deeper is replaced whole.
package struct BodyRedaction: Sendable {
    /// What is written in place of a secret. Letters alone, so that it can stand in any syntax.
    package static let placeholder = Sensitivity.urlPlaceholder

    /// What to replace, in order.
    package let edits: [ByteEdit]
    /// What stood there, unescaped; more than is replaced where it is not certain what the secret is. The same value may be there twice.
    package let values: [String]

    /// - Parameters:
    ///   - bytes: a body, or its front.
    ///   - type: nil where nothing is known. Then, and in any type that has no syntax of its own here, JSON is recognised by its front.
    ///   - isCut: whether more follows, so that the last word may be the front of a secret.
    ///   - keepsBinary: whether bytes that are not text, such as an image, stay as they are, although a name may stand in them. For what is
    ///     replayed.
    package init(_ bytes: [UInt8], type: MediaType?, sensitivity: Sensitivity, isCut: Bool = false, keepsBinary: Bool = false) {
        let found = BodySearch(sensitivity: sensitivity, keepsBinary: keepsBinary).findings(in: bytes, type: type, isCut: isCut, depth: 0)
        (edits, values) = (found.edits, found.values)
    }
}

private struct BodySearch {
    let sensitivity: Sensitivity
    let keepsBinary: Bool

    /// - Parameter depth: of one multipart body within another.
    func findings(in bytes: [UInt8], type: MediaType?, isCut: Bool, depth: Int) -> Findings {
        var found = Findings()
        if type?.type == "multipart" {
            let boundary = type?[parameter: "boundary"]
            // What is not looked into may hold anything.
            if depth == MultipartSection.deepest || MultipartSection.isTooLong(boundary: boundary) {
                found.replace(0..<bytes.count)
                return found
            }
            let parts = MultipartSection.parts(of: bytes, boundary: boundary)
            if !parts.isEmpty { return multipart(bytes, parts, isCut: isCut, depth: depth) }
        }
        var credentials = CredentialSearch(sensitivity: sensitivity, isCut: isCut)
        switch type?.essence {
        case FormURLEncoded.mediaType:
            found = form(bytes)
            credentials.endsAtAmpersand = true
        case "text/event-stream": found = lines(bytes, areJSON: false)
        case let name? where Self.lineTypes.contains(name): found = lines(bytes, areJSON: true)
        case _ where type?.isJSON == true || bytes.first(where: { !$0.isSpace }).map("{[".utf8.contains) == true:
            let json = json(bytes)
            found = json.found
            credentials.needsSlashes = json.isValid
        default:
            if keepsBinary, !TextRedaction.isText(bytes, type: type) { return found }
            // What is XML is cut where an element does not end.
            found = text(bytes, isOpen: isCut || type?.subtype.hasSuffix("xml") == true)
        }
        // Once more, for credentials that no syntax told of.
        let edited = found.edits.applied(to: bytes)
        let last = credentials.findings(in: edited)
        return Findings(edits: found.edits.followed(by: last.edits, in: edited), values: found.values + last.values)
    }

    /// Types with a JSON text on each line.
    private static let lineTypes: Set<String> = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq",
    ]

    private func isSensitive(_ name: String) -> Bool {
        sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    private func text(_ bytes: [UInt8], isOpen: Bool) -> Findings {
        TextRedaction.findings(in: bytes, isOpen: isOpen, isSensitive: isSensitive)
    }

    /// - Parameter depth: how many texts it stands within.
    private func json(_ bytes: [UInt8], depth: Int = 0) -> (found: Findings, isValid: Bool) {
        var nested: [String] = []
        let redaction = JSONRedaction(
            bytes, placeholder: BodyRedaction.placeholder, isSensitive: { sensitivity.isSensitive(memberName: $0) },
            rewrite: { text in
                // JSON within JSON, or what may be a URL: other text is no query.
                if let first = text.utf8.first(where: { !$0.isSpace }), "{[".utf8.contains(first) {
                    guard depth < JSONRedaction.nestedTextLimit else { return BodyRedaction.placeholder }
                    let inner = Array(text.utf8)
                    let found = json(inner, depth: depth + 1).found
                    nested += found.values
                    return found.edits.isEmpty ? nil : String(decoding: found.edits.applied(to: inner), as: UTF8.self)
                }
                guard text.hasPrefix("/") || text.utf8.firstRange(of: "://".utf8) != nil else { return nil }
                let redacted = sensitivity.redactedURL(text)
                if redacted != text { nested += sensitivity.secretValues(inURL: text) }
                return redacted
            })
        return (Findings(edits: redaction.edits, values: redaction.values + nested), redaction.isValid)
    }

    private func form(_ bytes: [UInt8]) -> Findings {
        var found = Findings()
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            defer { start = end + 1 }
            let item = bytes[start..<end]
            let text = String(decoding: item, as: UTF8.self)
            if let equals = item.firstIndex(of: UInt8(ascii: "=")), equals + 1 < end, let pair = FormURLEncoded.decode(text).first,
                isSensitive(pair.name)
            {
                found.replace((equals + 1)..<end, value: pair.value)
            } else if text.utf8.elementsEqual(item) {
                // A value may be a URL, or a query.
                let redacted = sensitivity.redactedQuery(text)
                if redacted == text { continue }
                found.edits.append(ByteEdit(start..<end, Array(redacted.utf8)))
                found.values += sensitivity.secretValues(inURL: text)
            }
        }
        return found
    }

    private func lines(_ bytes: [UInt8], areJSON: Bool) -> Findings {
        var found = Findings()
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            var text = start + (bytes[start..<end].starts(with: "data:".utf8) ? 5 : 0)
            // JSON texts may begin with a record separator (RFC 7464).
            while text < end, bytes[text].isSpace || bytes[text] == 0x1E { text += 1 }
            if text < end { found.add(line(Array(bytes[text..<end]), isJSON: areJSON), at: text) }
            start = end + 1
        }
        return found
    }

    private func line(_ bytes: [UInt8], isJSON: Bool) -> Findings {
        let beginsLikeJSON = bytes.first.map("{[\"".utf8.contains) == true
        if isJSON || beginsLikeJSON {
            let found = json(bytes).found
            if beginsLikeJSON || !found.edits.isEmpty { return found }
        }
        return text(bytes, isOpen: false)
    }

    private func multipart(_ bytes: [UInt8], _ parts: [MultipartSection], isCut: Bool, depth: Int) -> Findings {
        var found = Findings()
        for part in parts {
            let content = Array(bytes[part.content])
            if let name = part.name, isSensitive(name) {
                found.replace(part.content, value: String(decoding: content, as: UTF8.self))
            } else {
                let inner = findings(
                    in: content, type: part.type.flatMap { MediaType($0) }, isCut: isCut && part.content.upperBound == bytes.count,
                    depth: depth + 1)
                found.add(inner, at: part.content.lowerBound)
            }
        }
        return found
    }
}
