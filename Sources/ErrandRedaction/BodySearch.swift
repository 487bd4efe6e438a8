internal import ErrandCore
internal import ErrandFormats

/// Looks for what is secret in a body by its syntax: that of its type, or the one that its front shows.
struct BodySearch {
    let sensitivity: Sensitivity
    let keepsBinary: Bool

    /// How deep a body stands in others.
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

    /// What is in text of one octet for each character of ASCII.
    private func narrowFindings(in bytes: [UInt8], type: MediaType?, isCut: Bool, depth: Depth) -> Findings {
        if type?.type == "multipart" {
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
            // What `curl -d` sends has this type, whatever it is.
            if !Self.isForm(bytes) { found = text(bytes, isOpen: isCut) }
            let edited = found.edits.applied(to: bytes)
            found = found.followed(by: form(edited, depth: depth), in: edited)
            credentials.endsAtAmpersand = true
        case "text/event-stream" where !beginsLikeJSON && front != UInt8(ascii: "<"):
            found = events(bytes, depth: depth)
        case let name? where name.hasSuffix("json-seq"): found = records(bytes, depth: depth)
        case let name? where Self.lineTypes.contains(name): found = jsonLines(bytes, depth: depth)
        case _ where type?.isJSON == true || beginsLikeJSON || front == UInt8(ascii: "\"") && isJSON(bytes):
            let json = json(bytes, depth: depth)
            found = json.found
            credentials.needsSlashes = json.isValid
        default:
            if keepsBinary, !TextRedaction.isText(bytes, type: type) { return found }
            // What is XML is cut where an element does not end.
            found = text(bytes, isOpen: isCut || type?.subtype.hasSuffix("xml") == true)
        }
        // Once more, for credentials that no syntax told of.
        let edited = found.edits.applied(to: bytes)
        return found.followed(by: credentials.findings(in: edited), in: edited)
    }

    /// The placeholder in JSON.
    private static let string = Array("\"\(BodyRedaction.placeholder)\"".utf8)

    /// Types with a JSON text on each line.
    private static let lineTypes: Set<String> = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
    ]

    /// The first octet that is neither white space nor of a byte order mark.
    static func front(of bytes: [UInt8]) -> UInt8? { frontIndex(of: bytes).map { bytes[$0] } }

    static func frontIndex(of bytes: [UInt8], from start: Int = 0) -> Int? {
        bytes[start...].firstIndex { !$0.isSpace && !byteOrderMark.contains($0) }
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    // MARK: Names

    private func isSensitive(_ name: String) -> Bool {
        sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    /// In a text within another, `code` and `key` are too common to be secret.
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

    /// - Parameter depth: where the JSON stands.
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

    /// A text within another, looked at as a body without a type; nil where nothing in it is secret.
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
        let isForm = !text.hasPrefix("/") && Self.isForm(bytes)
        if isForm, depth.texts >= JSONRedaction.nestedTextLimit, bytes.contains(UInt8(ascii: "%")) {
            return (BodyRedaction.placeholder, [])
        }
        if text.hasPrefix("/") || text.utf8.firstRange(of: "://".utf8) != nil || !hasSpace && bytes.contains(UInt8(ascii: "%")) {
            let redacted = sensitivity.redactedURL(text)
            if redacted != text {
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

    /// Without any of these, a text has no name, no tag and no URL.
    private static let signs = ByteSet { ":=<%@\\".utf8.contains($0) }

    // MARK: Forms

    /// Whether a name and an equals sign are in front, and no line ends but at the end: else what is called a form may be other text.
    static func isForm(_ bytes: [UInt8]) -> Bool {
        guard let sign = bytes.firstIndex(in: signsOfForm), bytes[sign] == UInt8(ascii: "=") || sign > 0 && bytes[sign] == UInt8(ascii: "&")
        else { return front(of: bytes).map("{[\"".utf8.contains) == true }
        guard let lineEnd = bytes.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else { return true }
        return bytes[lineEnd...].allSatisfy(\.isSpace)
    }

    private static let signsOfForm = ByteSet { $0.isSpace || "=&:<>\"'{".utf8.contains($0) }

    /// - Parameter looksInside: whether what stands unescaped in an item, and would not in a form, is looked at by its own syntax.
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
            // In a text within another, signs alone are the end of base64.
            if isWithin, value < end, item[value...].allSatisfy({ $0 == UInt8(ascii: "=") }) { continue }
            if let equals, equals + 1 < end, let pair = FormURLEncoded.decode(text).first,
                isSensitive(pair.name, isWithin: isWithin)
            {
                // In brackets, an ampersand may be a part of it.
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
                // It may go on behind an ampersand.
                let rest = Array(bytes[inside...])
                let other = bytes[inside] == UInt8(ascii: "<") ? self.text(rest, isOpen: true) : json(rest, depth: depth).found
                let edited = other.edits.applied(to: rest)
                let items = form(edited, depth: depth, isWithin: isWithin, looksInside: false)
                found.add(other.followed(by: items, in: edited), at: inside)
                return found
            }
            // A name or a value may be text with a syntax of its own, a value may be a URL or a query.
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
            if shown != redacted { found.values += sensitivity.secretValues(inURL: redacted) }
            if shown != text { found.edits.append(ByteEdit(start..<end, Array(shown.utf8))) }
        }
        return found
    }

    /// Where JSON or XML begins that is not escaped; nil where none does.
    private static func beginningInside(_ bytes: [UInt8], from start: Int, to end: Int) -> Int? {
        guard let first = frontIndex(of: bytes, from: start), first < end, "{[\"<".utf8.contains(bytes[first]) else { return nil }
        return first
    }

    // MARK: Lines

    /// A stream of events: the lines of one are one text.
    private func events(_ bytes: [UInt8], depth: Depth) -> Findings {
        var found = Findings()
        var lines: [Range<Int>] = []  // of the data of one event
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
        // A secret of several lines may have others between them.
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

    /// JSON texts that each begin with a record separator (RFC 7464), and may have line ends in them.
    private func records(_ bytes: [UInt8], depth: Depth) -> Findings {
        var found = Findings()
        for record in bytes.split(separator: 0x1E) { found.add(jsonLines(Array(record), depth: depth), at: record.startIndex) }
        return found
    }

    /// JSON texts behind one another. Where a line is none, it is looked at as text, and JSON is expected again on the next.
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
                // A value that was begun may go on anywhere.
                let isBegun = line.contains(where: "\"{[".utf8.contains)
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
        // What is not looked into may hold anything.
        if depth.parts == MultipartSection.deepest || MultipartSection.isTooLong(boundary: boundary) || parts.isEmpty {
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
        for part in parts {
            let isSecret = part.names.contains { isSensitive($0) }
            // Without an empty line, all of it may be what it is named for.
            if part.isFragment, !isSecret { continue }
            let range = part.isFragment ? part.head : part.content
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
}

extension Findings {
    /// What these find in `bytes`, and what `next` finds in the result.
    fileprivate func followed(by next: Findings, in edited: [UInt8]) -> Findings {
        Findings(edits: edits.followed(by: next.edits, in: edited), values: values + next.values)
    }

    /// The text without what was found; nil where there was nothing.
    fileprivate func inner(in bytes: [UInt8]) -> (text: String, values: [String])? {
        edits.isEmpty ? nil : (String(decoding: edits.applied(to: bytes), as: UTF8.self), values)
    }
}
