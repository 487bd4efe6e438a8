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
        let type = MediaType(mimeType)
        switch type?.essence {
        case FormURLEncoded.mediaType: addForm(bytes)
        case "text/event-stream": addLines(bytes, after: "data:")
        case let name? where Self.lineTypes.contains(name): addLines(bytes, after: "")
        case _ where type?.type == "multipart": if let boundary = type?[parameter: "boundary"] { addParts(bytes, boundary) }
        case _ where type?.isJSON == true: addJSON(bytes)
        default: if let first = bytes.first(where: { !$0.isSpace }), "{[".utf8.contains(first) { addJSON(bytes) }
        }
    }

    private static let lineTypes: Set<String> = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-seq",
    ]

    func isSensitive(_ name: String) -> Bool {
        sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    private mutating func addJSON(_ bytes: [UInt8], at offset: Int = 0) {
        var secrets: Set<String> = []
        let redaction = JSONRedaction(
            bytes, placeholder: Self.placeholder, isSensitive: { sensitivity.isSensitive(memberName: $0) },
            rewrite: { text in
                guard text.utf8.contains(UInt8(ascii: "=")) || text.utf8.contains(UInt8(ascii: "@")),
                    text.hasPrefix("/") || text.utf8.firstRange(of: "://".utf8) != nil
                else { return nil }
                let redacted = sensitivity.redactedURL(text)
                if redacted != text { secrets.formUnion(sensitivity.secretValues(inURL: text)) }
                return redacted
            })
        edits += redaction.edits.map { ByteEdit($0.range.shifted(by: offset), $0.replacement) }
        values += redaction.values + secrets
    }

    private mutating func addLines(_ bytes: [UInt8], after prefix: String) {
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            if bytes[start..<end].starts(with: prefix.utf8) {
                var text = start + prefix.utf8.count
                while text < end, bytes[text].isSpace || bytes[text] == 0x1E { text += 1 }
                if text < end { addJSON(Array(bytes[text..<end]), at: text) }
            }
            start = end + 1
        }
    }

    private mutating func addForm(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            if let equals = bytes[start..<end].firstIndex(of: UInt8(ascii: "=")), equals + 1 < end,
                let pair = Pairs.decode(String(decoding: bytes[start..<end], as: UTF8.self), isForm: true).first, isSensitive(pair.name)
            {
                edits.append(ByteEdit((equals + 1)..<end, Array(Self.placeholder.utf8)))
                values.append(pair.value ?? "")
            }
            start = end + 1
        }
    }

    private mutating func addParts(_ bytes: [UInt8], _ boundary: String) {
        for part in MultipartParts.ranges(in: bytes, boundary: boundary) {
            let fields = String(decoding: bytes[part.head], as: UTF8.self)
            let content = Array(bytes[part.content])
            if let name = MultipartParts.name(in: fields), isSensitive(name) {
                edits.append(ByteEdit(part.content, Array(Self.placeholder.utf8)))
                values.append(String(decoding: content, as: UTF8.self))
            } else {
                let inner = BodyRedaction(content, mimeType: MultipartParts.mediaType(in: fields), sensitivity: sensitivity)
                edits += inner.edits.map { ByteEdit($0.range.shifted(by: part.content.lowerBound), $0.replacement) }
                values += inner.values
            }
        }
    }
}

/// The parts of a multipart body (RFC 2046, 5.1), as far as redaction needs them.
private enum MultipartParts {
    static func ranges(in bytes: [UInt8], boundary: String) -> [(head: Range<Int>, content: Range<Int>)] {
        let delimiter = Array("--\(boundary)".utf8)
        var starts: [Range<Int>] = []
        var rest = bytes[...]
        while let range = rest.firstRange(of: delimiter) {
            starts.append(range)
            rest = bytes[range.upperBound...]
        }
        return starts.indices.compactMap { index in
            // The last part of a body that broke off ends with it.
            let end = index + 1 < starts.count ? starts[index + 1].lowerBound : bytes.count
            let part = bytes[starts[index].upperBound..<end]
            guard let blank = part.firstRange(of: Array("\r\n\r\n".utf8)) ?? part.firstRange(of: Array("\n\n".utf8)) else { return nil }
            var content = blank.upperBound..<end
            if index + 1 < starts.count {
                if bytes[content].last == 0x0A { content = content.lowerBound..<(content.upperBound - 1) }
                if bytes[content].last == 0x0D { content = content.lowerBound..<(content.upperBound - 1) }
            }
            return (part.startIndex..<blank.lowerBound, content)
        }
    }

    /// The name of a form's part.
    static func name(in fields: String) -> String? {
        value(of: "content-disposition", in: fields).flatMap { MediaType("part/" + $0)?[parameter: "name"] }
    }

    static func mediaType(in fields: String) -> String { value(of: "content-type", in: fields) ?? "text/plain" }

    private static func value(of name: String, in fields: String) -> String? {
        for line in fields.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = String(Substring(line))
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), line[..<colon].lowercased() == name else { continue }
            return String(line[line.utf8.index(after: colon)...].drop { $0 == " " })
        }
        return nil
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

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
