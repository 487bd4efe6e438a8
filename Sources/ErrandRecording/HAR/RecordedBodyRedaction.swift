internal import ErrandCore
internal import ErrandFormats

/// What in a body is secret by a name that stands in it: members of JSON, items of a form, parts of a multipart body.
struct BodyRedaction {
    /// What is written in place of a secret in a body. Letters alone, so that it can stand in any syntax.
    static let placeholder = Sensitivity.urlPlaceholder

    /// What to replace, in order.
    private(set) var edits: [ByteEdit] = []
    /// What stood there, unescaped.
    private(set) var values: [String] = []
    private let sensitivity: Sensitivity

    /// - Parameter mimeType: of the body. Where it says nothing, a body that looks like JSON is taken for JSON.
    init(_ bytes: [UInt8], mimeType: String, sensitivity: Sensitivity) {
        self.sensitivity = sensitivity
        add(bytes, 0..<bytes.count, mimeType: mimeType, depth: 0)
    }

    /// - Parameters:
    ///   - range: where in `bytes` the body stands.
    ///   - depth: of one multipart body within another.
    private mutating func add(_ bytes: [UInt8], _ range: Range<Int>, mimeType: String, depth: Int) {
        let type = MediaType(mimeType)
        switch type?.essence {
        case FormURLEncoded.mediaType: addForm(bytes, range)
        case "text/event-stream": addLines(bytes, range, after: "data:")
        case let name? where Self.lineTypes.contains(name): addLines(bytes, range, after: "")
        case _ where type?.type == "multipart": addParts(bytes, range, boundary: type?[parameter: "boundary"], depth: depth)
        case _ where type?.isJSON == true: addJSON(bytes, range)
        default: if let first = bytes[range].first(where: { !$0.isSpace }), "{[".utf8.contains(first) { addJSON(bytes, range) }
        }
    }

    private static let lineTypes: Set<String> = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq",
    ]

    func isSensitive(_ name: String) -> Bool {
        sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    private mutating func addJSON(_ bytes: [UInt8], _ range: Range<Int>) {
        var secrets: Set<String> = []
        let redaction = JSONRedaction(
            range.count == bytes.count ? bytes : Array(bytes[range]), placeholder: Self.placeholder,
            isSensitive: { sensitivity.isSensitive(memberName: $0) },
            rewrite: { text in
                guard text.utf8.contains(UInt8(ascii: "=")) || text.utf8.contains(UInt8(ascii: "@")),
                    text.hasPrefix("/") || text.utf8.firstRange(of: "://".utf8) != nil
                else { return nil }
                let redacted = sensitivity.redactedURL(text)
                if redacted != text { secrets.formUnion(sensitivity.secretValues(inURL: text)) }
                return redacted
            })
        edits += redaction.edits.map { ByteEdit($0.range.shifted(by: range.lowerBound), $0.replacement) }
        values += redaction.values + secrets
    }

    private mutating func addLines(_ bytes: [UInt8], _ range: Range<Int>, after prefix: String) {
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? range.upperBound
            if bytes[start..<end].starts(with: prefix.utf8) {
                var text = start + prefix.utf8.count
                while text < end, bytes[text].isSpace || bytes[text] == 0x1E { text += 1 }
                if text < end { addJSON(bytes, text..<end) }
            }
            start = end + 1
        }
    }

    private mutating func addForm(_ bytes: [UInt8], _ range: Range<Int>) {
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            if let equals = bytes[start..<end].firstIndex(of: UInt8(ascii: "=")), equals + 1 < end,
                let pair = Pairs.decode(String(decoding: bytes[start..<end], as: UTF8.self), isForm: true).first, isSensitive(pair.name)
            {
                edits.append(ByteEdit((equals + 1)..<end, Array(Self.placeholder.utf8)))
                values.append(pair.value ?? "")
            }
            start = end + 1
        }
    }

    private mutating func addParts(_ bytes: [UInt8], _ range: Range<Int>, boundary: String?, depth: Int) {
        // What is not looked into may hold anything.
        guard depth < MultipartSection.deepest, !MultipartSection.isTooLong(boundary: boundary) else {
            edits.append(ByteEdit(range, Array(Self.placeholder.utf8)))
            return
        }
        for part in MultipartSection.parts(of: bytes, in: range, boundary: boundary) {
            if let name = part.name, isSensitive(name) {
                edits.append(ByteEdit(part.content, Array(Self.placeholder.utf8)))
                values.append(String(decoding: bytes[part.content], as: UTF8.self))
            } else {
                add(bytes, part.content, mimeType: part.type ?? "text/plain", depth: depth + 1)
            }
        }
    }
}

extension Sensitivity {
    /// The values, unescaped, that ``redactedURL(_:)`` replaces.
    func secretValues(inURL url: String) -> [String] {
        var values: [String] = []
        for part in url.utf8.split(whereSeparator: "?#&;".utf8.contains).map({ String(Substring($0)) }) {
            guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = part[..<equals]
            guard isSensitive(queryName: PercentEncoding.decode(name) ?? String(name)) else { continue }
            // In a `Link`, the URL ends before its item does.
            let value = String(Substring(part[part.utf8.index(after: equals)...].utf8.prefix { !"<>\" ".utf8.contains($0) }))
            values.append(PercentEncoding.decode(value) ?? value)
            // For some a plus is a space.
            if value.contains("+"), let pair = Pairs.decode("=" + value, isForm: true).first { values.append(pair.value ?? "") }
        }
        if let slashes = url.utf8.firstRange(of: "//".utf8), let at = url.utf8[slashes.upperBound...].firstIndex(of: UInt8(ascii: "@")) {
            let credentials = url[slashes.upperBound..<at]
            values.append(PercentEncoding.decode(credentials) ?? String(credentials))
            if let password = credentials.split(separator: ":", maxSplits: 1).last {
                values.append(PercentEncoding.decode(password) ?? String(password))
            }
        }
        return values
    }
}

extension Range<Int> {
    fileprivate func shifted(by offset: Int) -> Range<Int> { (lowerBound + offset)..<(upperBound + offset) }
}
