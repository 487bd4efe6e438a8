internal import ErrandCore
internal import ErrandFormats

/// Finds the secrets in a body by its syntax: that of its type, or the one that its beginning shows.
struct BodySearch {
    let sensitivity: Sensitivity
    let keepsBinary: Bool

    /// How deeply a body is nested in others.
    struct Depth {
        /// In multipart bodies.
        var parts = 0
        /// In strings of JSON and values of forms.
        var texts = 0

        var ofPart: Depth { Depth(parts: parts + 1, texts: texts) }
        var ofText: Depth { Depth(parts: parts, texts: texts + 1) }
    }

    func findings(in bytes: [UInt8], type: MediaType?, isCut: Bool, depth: Depth = Depth()) -> Findings {
        if let wide = UTF16Text(bytes, charset: type?[parameter: "charset"]), !keepsBinary || TextRedaction.isText(wide.utf8, type: type) {
            let found = narrowFindings(in: wide.utf8, type: type, isCut: isCut, depth: depth)
            if !found.edits.isEmpty {
                let redacted = wide.encoded(found.edits.applied(to: wide.utf8))
                return Findings(edits: [ByteEdit(0..<bytes.count, redacted)], values: found.values)
            }
        }
        return narrowFindings(in: bytes, type: type, isCut: isCut, depth: depth)
    }

    /// Examines text with one octet for each ASCII character.
    private func narrowFindings(in bytes: [UInt8], type: MediaType?, isCut: Bool, depth: Depth) -> Findings {
        if type?.type == "multipart" {  // octets: ASCII
            return multipart(bytes, boundary: type?[parameter: "boundary"], isCut: isCut, depth: depth)
        }
        if type?.mayBeText != false, let boundary = MultipartSection.boundary(atFrontOf: bytes) {
            return multipart(bytes, boundary: boundary, isCut: isCut, depth: depth)
        }
        var found = Findings()
        var credentials = CredentialSearch(sensitivity: sensitivity, isCut: isCut)
        let front = Self.front(of: bytes)
        let beginsLikeJSON = front.map("{[".utf8.contains) == true
        switch type?.essence {
        case FormURLEncoded.mediaType:
            // `curl -d` sends any data with this type.
            if !Self.isForm(bytes) { found = text(bytes, isOpen: isCut) }
            let edited = found.edits.applied(to: bytes)
            found = found.followed(by: form(edited, depth: depth), in: edited)
            credentials.endsAtAmpersand = true
        case "text/event-stream" where !beginsLikeJSON && front != UInt8(ascii: "<"):  // octets: ASCII
            found = events(bytes, depth: depth)
        case let name? where name.hasSuffix("json-seq"): found = records(bytes, depth: depth)  // octets: ASCII
        case let name? where Self.lineTypes.contains(name): found = jsonLines(bytes, depth: depth)
        case _ where type?.isJSON == true || beginsLikeJSON || front == UInt8(ascii: "\"") && isJSON(bytes):
            let json = json(bytes, depth: depth)
            found = json.found
            credentials.needsSlashes = json.isValid
        default:
            if keepsBinary, !TextRedaction.isText(bytes, type: type) { return found }
            // XML is treated as truncated if an element does not end.
            found = text(bytes, isOpen: isCut || type?.subtype.hasSuffix("xml") == true)  // octets: ASCII
        }
        // Once more, for credentials that no syntax revealed.
        let edited = found.edits.applied(to: bytes)
        return found.followed(by: credentials.findings(in: edited), in: edited)
    }

    /// The placeholder as a JSON string.
    private static let string = Array("\"\(BodyRedaction.placeholder)\"".utf8)

    /// The types with one JSON text on each line.
    private static let lineTypes: Set<String> = [  // octets: ASCII types
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
    ]

    /// Returns the first octet that is neither white space nor part of a byte order mark.
    static func front(of bytes: [UInt8]) -> UInt8? { frontIndex(of: bytes).map { bytes[$0] } }

    static func frontIndex(of bytes: [UInt8], from start: Int = 0) -> Int? {
        bytes[start...].firstIndex { !$0.isSpace && !byteOrderMark.contains($0) }
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    // MARK: Names

    private func isSensitive(_ name: String) -> Bool {
        sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    /// In a nested text, `code` and `key` are too common to be secret.
    private func isSensitive(_ name: String, isWithin: Bool) -> Bool {
        isWithin ? sensitivity.isSensitive(memberName: name) : isSensitive(name)
    }

    // MARK: Syntaxes

    func text(_ bytes: [UInt8], isOpen: Bool, isWithin: Bool = false) -> Findings {
        TextRedaction.findings(in: bytes, isOpen: isOpen, isWithin: isWithin, isSensitive: { isSensitive($0, isWithin: isWithin) })
    }

    private func isJSON(_ bytes: [UInt8]) -> Bool {
        JSONRedaction(bytes, placeholder: "", isSensitive: { _ in false }).isValid
    }

    /// - Parameter depth: the nesting of the JSON.
    func json(_ bytes: [UInt8], from start: Int = 0, leavesRest: Bool = false, depth: Depth) -> (
        found: Findings, isValid: Bool, rest: Range<Int>?
    ) {
        var nested: [String] = []
        let redaction = JSONRedaction(
            bytes, from: start, leavesRest: true, placeholder: BodyRedaction.placeholder,
            isSensitive: { sensitivity.isSensitive(memberName: $0) },
            rewrite: { text in
                guard let inner = inner(text, depth: depth) else { return nil }
                nested += inner.values
                return inner.text
            })
        var found = Findings(edits: redaction.edits, values: redaction.values + nested)
        guard !leavesRest, let rest = redaction.rest else { return (found, redaction.isValid, redaction.rest) }
        let tail = Array(bytes[rest.lowerBound...])
        if JSONRedaction.mentionsSecret(tail, isSensitive: { sensitivity.isSensitive(memberName: $0) }) {
            found.edits.append(ByteEdit(rest.lowerBound..<bytes.count, Self.string))
        } else {
            found.add(text(tail, isOpen: true, isWithin: true), at: rest.lowerBound)
        }
        return (found, false, nil)
    }

    /// Examines a nested text like a body without a type. Returns `nil` if it contains no secret.
    private func inner(_ text: String, depth: Depth) -> (text: String, values: [String])? {
        let bytes = Array(text.utf8)
        guard bytes.firstIndex(in: Self.signs) != nil, let front = Self.front(of: bytes) else { return nil }
        if "{[\"".utf8.contains(front) {
            guard depth.texts < JSONRedaction.nestedTextLimit else { return (BodyRedaction.placeholder, []) }
            let json = json(bytes, depth: depth.ofText)
            if json.isValid || front != UInt8(ascii: "\"") { return json.found.inner(in: bytes) }
        }
        var found = Findings()
        let hasSpace = bytes.contains(where: \.isSpace)
        let isForm = !text.hasOctetPrefix("/") && Self.isForm(bytes)
        if isForm, depth.texts >= JSONRedaction.nestedTextLimit, bytes.contains(UInt8(ascii: "%")) {
            return (BodyRedaction.placeholder, [])
        }
        let hasScheme = bytes.firstRange(of: "://".utf8) != nil  // octets: of bytes
        if text.hasOctetPrefix("/") || hasScheme || !hasSpace && bytes.contains(UInt8(ascii: "%")) {
            let redacted = sensitivity.redactedURL(text)
            if !redacted.isExactly(text) {
                found.edits = [ByteEdit(0..<bytes.count, Array(redacted.utf8))]
                found.values = sensitivity.secretValues(inURL: text)
            }
            // A URL, and nothing else.
            if !hasSpace, !isForm, !bytes.contains(UInt8(ascii: "<")) { return found.inner(in: bytes) }
        }
        let edited = found.edits.applied(to: bytes)
        let next =
            isForm && depth.texts < JSONRedaction.nestedTextLimit
            ? form(edited, depth: depth.ofText, isWithin: true) : self.text(edited, isOpen: false, isWithin: true)
        return found.followed(by: next, in: edited).inner(in: bytes)
    }

    /// A text without any of these has no name, no tag and no URL.
    private static let signs = ByteSet { ":=<%@\\".utf8.contains($0) }

    // MARK: Forms

    /// Whether the bytes begin with a name and an equals sign, and are one line. Otherwise a body with a form's type may be other text.
    static func isForm(_ bytes: [UInt8]) -> Bool {
        guard let sign = bytes.firstIndex(in: signsOfForm), bytes[sign] == UInt8(ascii: "=") || sign > 0 && bytes[sign] == UInt8(ascii: "&")
        else { return front(of: bytes).map("{[\"".utf8.contains) == true }
        guard let lineEnd = bytes.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else { return true }
        return bytes[lineEnd...].allSatisfy(\.isSpace)
    }

    private static let signsOfForm = ByteSet { $0.isSpace || "=&:<>\"'{".utf8.contains($0) }

    /// - Parameter looksInside: whether unescaped text in an item that is not valid in a form is examined by its own syntax.
    private func form(_ bytes: [UInt8], depth: Depth, isWithin: Bool = false, looksInside: Bool = true) -> Findings {
        var found = Findings()
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            defer { start = end + 1 }
            let item = bytes[start..<end]
            let equals = item.firstIndex(of: UInt8(ascii: "="))
            let value = equals.map { $0 + 1 } ?? start
            let text = String(decoding: item, as: UTF8.self)
            // In a nested text, equals signs alone are the padding of base64.
            if isWithin, value < end, item[value...].allSatisfy({ $0 == UInt8(ascii: "=") }) { continue }
            if let equals, equals + 1 < end, let pair = FormURLEncoded.decode(text).first,
                isSensitive(pair.name, isWithin: isWithin)
            {
                // In brackets, an ampersand may be part of the value.
                let isBracketed = "{[\"".utf8.contains(bytes[value]) && !isJSON(Array(bytes[value..<end]))
                found.replace(value..<(isBracketed ? bytes.count : end), value: pair.value)
                if isBracketed { return found }
                continue
            }
            if looksInside, let inside = [start, value].compactMap({ Self.beginningInside(bytes, from: $0, to: end) }).first {
                if bytes[inside] != UInt8(ascii: "<") {
                    let json = json(Array(bytes[inside..<end]), depth: depth)
                    if json.isValid {
                        found.add(json.found, at: inside)
                        continue
                    }
                }
                // It may continue after an ampersand.
                let rest = Array(bytes[inside...])
                let other = bytes[inside] == UInt8(ascii: "<") ? self.text(rest, isOpen: true) : json(rest, depth: depth).found
                let edited = other.edits.applied(to: rest)
                let items = form(edited, depth: depth, isWithin: isWithin, looksInside: false)
                found.add(other.followed(by: items, in: edited), at: inside)
                return found
            }
            // A name or a value may be text with a syntax of its own. A value may be a URL or a query.
            var redacted = text
            for part in [item[start..<max(start, value - 1)], item[value...]]
            where !part.isEmpty && depth.texts < JSONRedaction.nestedTextLimit {
                let isEscaped = part.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }
                let plus = part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
                guard let inner = inner(PercentEncoding.decodedLeniently(String(decoding: plus, as: UTF8.self)), depth: depth.ofText) else {
                    continue
                }
                found.values += inner.values
                let shown = isEscaped ? String(FormURLEncoded.encode([("", inner.text)]).dropFirst()) : inner.text
                let name = equals == nil || part.startIndex == value ? String(decoding: item[start..<value], as: UTF8.self) : ""
                redacted =
                    part.startIndex == value
                    ? (equals == nil ? shown : name + shown) : shown + String(decoding: item[(value - 1)...], as: UTF8.self)
            }
            let shown = sensitivity.redactedQuery(redacted)
            if !shown.isExactly(redacted) { found.values += sensitivity.secretValues(inURL: redacted) }
            if !shown.isExactly(text) { found.edits.append(ByteEdit(start..<end, Array(shown.utf8))) }
        }
        return found
    }

    /// Returns where unescaped JSON or XML begins; `nil` if there is none.
    private static func beginningInside(_ bytes: [UInt8], from start: Int, to end: Int) -> Int? {
        guard let first = frontIndex(of: bytes, from: start), first < end, "{[\"<".utf8.contains(bytes[first]) else { return nil }
        return first
    }

    // MARK: Lines

    /// Examines a stream of events. The data lines of an event are one text.
    private func events(_ bytes: [UInt8], depth: Depth) -> Findings {
        var found = Findings()
        var lines: [Range<Int>] = []  // the data of one event
        func endEvent() {
            let data = lines
            lines = []
            var joined: [UInt8] = []
            var starts: [Int] = []
            for line in data {
                if !starts.isEmpty { joined.append(0x0A) }
                starts.append(joined.count)
                joined += bytes[line]
            }
            var line = 0
            func position(_ offset: Int, isEnd: Bool) -> Int {
                while line + 1 < starts.count, isEnd ? starts[line + 1] < offset : starts[line + 1] <= offset { line += 1 }
                return min(data[line].lowerBound + offset - starts[line], data[line].upperBound)
            }
            let inner = event(joined, depth: depth)
            for edit in inner.edits {
                let lower = position(edit.range.lowerBound, isEnd: false)
                found.edits.append(ByteEdit(lower..<max(lower, position(edit.range.upperBound, isEnd: true)), edit.replacement))
            }
            found.values += inner.values
        }
        var others: [(text: Findings, start: Int)] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            if start == end {
                endEvent()
            } else if bytes[start..<end].starts(with: "data:".utf8) {
                lines.append((bytes[(start + 5)..<end].firstIndex { $0 != 0x20 } ?? end)..<end)
            } else {
                others.append((event(Array(bytes[start..<end]), depth: depth), start))
            }
            start = end + (bytes[end...].starts(with: [0x0D, 0x0A]) ? 2 : 1)
        }
        endEvent()
        for other in others { found.add(other.text, at: other.start) }
        // Other lines may be between the lines of a secret.
        var last = 0
        found.edits = found.edits.sorted { $0.range.lowerBound < $1.range.lowerBound }.filter { edit in
            defer { last = max(last, edit.range.upperBound) }
            return edit.range.lowerBound >= last
        }
        return found
    }

    private func event(_ bytes: [UInt8], depth: Depth) -> Findings {
        guard Self.front(of: bytes).map("{[\"".utf8.contains) == true else { return text(bytes, isOpen: false) }
        return json(bytes, depth: depth).found
    }

    /// Examines JSON texts that each begin with a record separator ([RFC 7464](https://www.rfc-editor.org/rfc/rfc7464)), and may contain
    /// line endings.
    private func records(_ bytes: [UInt8], depth: Depth) -> Findings {
        var found = Findings()
        for record in bytes.split(separator: 0x1E) { found.add(jsonLines(Array(record), depth: depth), at: record.startIndex) }
        return found
    }

    /// Examines a sequence of JSON texts. A line that is not JSON is examined as text, and JSON is expected again on the next line.
    private func jsonLines(_ bytes: [UInt8], depth: Depth) -> Findings {
        var found = Findings()
        var start = 0
        while start < bytes.count {
            let json = json(bytes, from: start, leavesRest: true, depth: depth)
            found.add(json.found)
            guard let rest = json.rest else { break }
            let end = bytes[rest.upperBound...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            let line = Array(bytes[rest.lowerBound..<end])
            if JSONRedaction.mentionsSecret(line, isSensitive: { sensitivity.isSensitive(memberName: $0) }) {
                // An unfinished value may continue anywhere.
                let isBegun = line.contains(where: "\"{[".utf8.contains)  // octets: of bytes
                found.edits.append(ByteEdit(rest.lowerBound..<(isBegun ? bytes.count : end), Self.string))
                if isBegun { break }
            } else {
                found.add(text(line, isOpen: end == bytes.count), at: rest.lowerBound)
            }
            start = end + 1
        }
        return found
    }

    // MARK: Multipart

    private func multipart(_ bytes: [UInt8], boundary: String?, isCut: Bool, depth: Depth) -> Findings {
        var found = Findings()
        let parts = MultipartSection.parts(of: bytes, boundary: boundary, includingFragments: true)
        // A part that is not examined may contain anything.
        if depth.parts == MultipartSection.maxDepth || MultipartBoundary.isTooLong(boundary) || parts.isEmpty {
            if !bytes.isEmpty { found.replace(0..<bytes.count) }
            return found
        }
        var done = 0
        func searchText(to end: Int) {
            let gap = Array(bytes[done..<end])
            let text = text(gap, isOpen: false)
            let edited = text.edits.applied(to: gap)
            let credentials = CredentialSearch(sensitivity: sensitivity, isCut: isCut && end == bytes.count)
            found.add(text.followed(by: credentials.findings(in: edited), in: edited), at: done)
        }
        let strictEnds = Self.strictEnds(of: parts, in: bytes, boundary: boundary, isCut: isCut)
        for (index, part) in parts.enumerated() where part.head.lowerBound >= done {
            let isSecret = part.names.contains { isSensitive($0) }
            // Without an empty line, the whole fragment may be the value of its name.
            if part.isFragment, !isSecret { continue }
            var range = part.isFragment ? part.head : part.content
            // A line that ends with LF alone does not end the part for every reader.
            if isSecret, let end = strictEnds[index], end > range.upperBound { range = range.lowerBound..<end }
            searchText(to: range.lowerBound)
            done = range.upperBound
            let content = Array(bytes[range])
            if isSecret {
                found.replace(range, value: String(decoding: content, as: UTF8.self))
            } else {
                let type = part.type.flatMap { MediaType($0) }
                let inner = findings(in: content, type: type, isCut: isCut && range.upperBound == bytes.count, depth: depth.ofPart)
                found.add(inner, at: range.lowerBound)
            }
        }
        searchText(to: bytes.count)
        return found
    }

    /// Returns, for each part, where it ends for a reader to whom LF alone ends no line; `nil` for a part that such a reader does not see, and
    /// without an end of it, unless more bytes follow.
    private static func strictEnds(of parts: [MultipartSection], in bytes: [UInt8], boundary: String?, isCut: Bool) -> [Int?] {
        func isLineEnd(before index: Int) -> Bool { index >= 2 && bytes[index - 2] == 0x0D && bytes[index - 1] == 0x0A }
        let length = 2 + (boundary?.utf8.count ?? 0)
        let ends = MultipartSection.delimiters(of: boundary, in: bytes).filter { start in
            isLineEnd(before: start) && (start + length == bytes.count || bytes[start + length] != 0x0A)
        }
        var next = ends.endIndex
        var found: [Int?] = []
        for part in parts.reversed() {
            while next > 0, ends[next - 1] - 2 >= part.content.lowerBound { next -= 1 }
            let end = next < ends.endIndex ? ends[next] - 2 : isCut ? bytes.count : nil
            found.append(isLineEnd(before: part.head.lowerBound) ? end : nil)
        }
        return found.reversed()
    }
}

extension Findings {
    /// Returns these findings, followed by the findings `next` in the result.
    fileprivate func followed(by next: Findings, in edited: [UInt8]) -> Findings {
        Findings(edits: edits.followed(by: next.edits, in: edited), values: values + next.values)
    }

    /// Returns the text with its replacements; `nil` if nothing was found.
    fileprivate func inner(in bytes: [UInt8]) -> (text: String, values: [String])? {
        edits.isEmpty ? nil : (String(decoding: edits.applied(to: bytes), as: UTF8.self), values)
    }
}
