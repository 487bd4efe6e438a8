package import ErrandCore
package import ErrandFormats

/// Bodies without what a name that stands in them says is secret: members of JSON, items of a form, parts of a multipart body, and
/// what follows such a name in any other text.
package struct BodyRedaction {
    /// Letters alone, so that it can stand in any syntax.
    package static let placeholder = Sensitivity.urlPlaceholder

    let sensitivity: Sensitivity

    package init(sensitivity: Sensitivity) { self.sensitivity = sensitivity }

    /// - Parameters:
    ///   - bytes: a body, or its front.
    ///   - isCut: whether more follows, so that the last word may be the front of a secret.
    ///   - type: nil where nothing is known. Then, and in any type that has no syntax of its own here, JSON is recognised by its front.
    package func redacted(_ bytes: [UInt8], isCut: Bool = false, type: MediaType?) -> [UInt8] {
        redacted(bytes, isCut: isCut, type: type, depth: 0)
    }

    /// - Parameter depth: of one multipart body within another.
    private func redacted(_ bytes: [UInt8], isCut: Bool, type: MediaType?, depth: Int) -> [UInt8] {
        if type?.type == "multipart" {
            let boundary = type?[parameter: "boundary"]
            // What is not looked into may hold anything.
            if depth == MultipartSection.deepest || MultipartSection.isTooLong(boundary: boundary) { return Array(Self.placeholder.utf8) }
            let parts = MultipartSection.parts(of: bytes, boundary: boundary)
            if !parts.isEmpty { return multipart(bytes, parts, isCut: isCut, depth: depth) }
        }
        return TextRedaction.withoutCredentials(named(bytes, type), isCut: isCut, sensitivity: sensitivity)
    }

    private func named(_ bytes: [UInt8], _ type: MediaType?) -> [UInt8] {
        let first = bytes.first { !$0.isSpace }
        return switch type?.essence {
        case FormURLEncoded.mediaType: form(bytes)
        case let name? where Self.lineTypes.contains(name): lines(bytes)
        case _ where type?.isJSON == true || first.map("{[".utf8.contains) == true: json(bytes)
        default: TextRedaction.withoutNamed(bytes, isSensitive: isSensitive)
        }
    }

    private static let lineTypes: Set<String> = [
        "text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
        "application/json-seq",
    ]

    func isSensitive(_ name: String) -> Bool {
        sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    /// - Parameter depth: how many texts it stands within.
    private func json(_ bytes: [UInt8], depth: Int = 0) -> [UInt8] {
        let redaction = JSONRedaction(
            bytes, placeholder: Self.placeholder, isSensitive: { sensitivity.isSensitive(memberName: $0) },
            rewrite: { text in
                // JSON within JSON, or what may be a URL: other text is no query.
                if let first = text.utf8.first, "{[".utf8.contains(first) {
                    guard depth < JSONRedaction.nestedTextLimit else { return Self.placeholder }
                    return String(decoding: json(Array(text.utf8), depth: depth + 1), as: UTF8.self)
                }
                guard text.hasPrefix("/") || text.utf8.firstRange(of: "://".utf8) != nil else { return nil }
                return sensitivity.redactedURL(text)
            })
        let redacted = redaction.edits.applied(to: bytes)
        // What it could not read to the end is looked at once more as text, which knows no escapes.
        return redaction.isValid ? redacted : redacted.replacing("\\/".utf8, with: "/".utf8)
    }

    private func form(_ bytes: [UInt8]) -> [UInt8] {
        let items = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item -> [UInt8] in
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")), equals + 1 < item.endIndex else { return Array(item) }
            let name = String(decoding: item[..<equals], as: UTF8.self).replacing("+", with: " ")
            if isSensitive(PercentEncoding.decode(name) ?? name) { return Array(item[...equals] + Self.placeholder.utf8) }
            return String(validating: item, as: UTF8.self).map { Array(sensitivity.redactedQuery($0).utf8) } ?? Array(item)
        }
        return Array(items.joined(separator: [UInt8(ascii: "&")]))
    }

    private func lines(_ bytes: [UInt8]) -> [UInt8] {
        var redacted: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0A && $0 != 0x0D }
            let field = line.starts(with: "data:".utf8) ? 5 : 0
            let text = line.dropFirst(field).drop { $0.isSpace || $0 == 0x1E }
            redacted += line[..<text.startIndex]
            if let first = text.first {
                let isJSON = "{[\"".utf8.contains(first)
                redacted += isJSON ? json(Array(text)) : TextRedaction.withoutNamed(Array(text), isSensitive: isSensitive)
            }
            redacted += rest[line.endIndex...].prefix(1)
            rest = rest[line.endIndex...].dropFirst()
        }
        return redacted
    }

    private func multipart(_ bytes: [UInt8], _ parts: [MultipartSection], isCut: Bool, depth: Int) -> [UInt8] {
        var redacted: [UInt8] = []
        var done = 0
        for part in parts {
            redacted += bytes[done..<part.content.lowerBound]
            if let name = part.name, isSensitive(name) {
                redacted += Self.placeholder.utf8
            } else {
                redacted += self.redacted(
                    Array(bytes[part.content]), isCut: isCut && part.content.upperBound == bytes.count,
                    type: part.type.flatMap { MediaType($0) }, depth: depth + 1)
            }
            done = part.content.upperBound
        }
        return redacted + bytes[done...]
    }
}
