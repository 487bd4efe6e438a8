package import ErrandFormats

/// Finds apparent secrets in text whose syntax is unknown.
struct TextRedaction {
    /// Finds the text after a sensitive name and `:` or `=`, to the end of the line or in quotation marks, and the content of an element
    /// with such a name.
    ///
    /// - Parameters:
    ///   - bytes: the text.
    ///   - isOpen: whether an element without an end tag extends to the end of the bytes, instead of the end of its line.
    ///   - isWithin: whether the text is nested in another, where `urn:token:x` is more often a name than a secret: a colon must then be
    ///     followed by a space or a quotation mark.
    ///   - isSensitive: whether a name is that of a secret.
    static func findings(in bytes: [UInt8], isOpen: Bool, isWithin: Bool = false, isSensitive: (String) -> Bool) -> Findings {
        // In UTF-16, every other octet is zero. No syntax is examined there.
        if bytes.count(where: { $0 == 0 }) * 3 > bytes.count {
            var found = Findings()
            if JSONRedaction.mentionsSecret(bytes, isSensitive: isSensitive) { found.replace(0..<bytes.count) }
            return found
        }
        return withoutActuallyEscaping(isSensitive) { isSensitive in
            var redaction = TextRedaction(bytes: bytes, isOpen: isOpen, isWithin: isWithin, isSensitive: isSensitive)
            redaction.search()
            return redaction.found
        }
    }

    /// Whether bytes may be text, in UTF-8 or UTF-16 or with one octet for each character. At most 1 % of the bytes may be control
    /// characters, and none of the first 512; if the type says that it is text, two are allowed anywhere.
    static func isText(_ bytes: [UInt8], type: MediaType?) -> Bool {
        guard type?.mayBeText != false else { return false }
        let isControl = Self.isControl
        let saysSo = type.map { $0.type == "text" || $0.subtype.hasSuffix("xml") } == true  // octets: ASCII
        return bytes.withUnsafeBufferPointer { bytes in
            var (zeros, controls, controlsAtFront) = (0, 0, 0)
            for index in bytes.indices {
                let byte = bytes[index]
                if byte == 0 {
                    zeros += 1
                } else if isControl[Int(byte)] {
                    controls += 1
                }
                if index == 511 { controlsAtFront = controls }
            }
            if bytes.count <= 512 { controlsAtFront = controls }
            if saysSo, zeros + controls <= 2 { return true }
            let isWide = zeros * 3 > bytes.count
            return controlsAtFront == 0 && controls <= bytes.count / 100 && (isWide ? zeros * 5 <= bytes.count * 4 : zeros == 0)
        }
    }

    /// Control characters that don't occur in text. Form feeds, terminal escapes and record separators do.
    private static let isControl: [Bool] = (UInt8.min...UInt8.max).map { byte in
        switch byte {
        case 0x09, 0x0A, 0x0C, 0x0D, 0x1B, 0x1E: false
        default: byte < 0x20 || byte == 0x7F
        }
    }

    private let bytes: [UInt8]
    private let isOpen: Bool
    private let isWithin: Bool
    private let isSensitive: (String) -> Bool
    private var found = Findings()
    /// The number of elements without an end tag.
    private var unclosedCount = 0
    /// The number of such elements after which everything that follows one is replaced, because each search for an end tag takes linear
    /// time.
    private static let unclosedLimit = 8
    /// The indices in ``opaque`` of the constructs that have no end after a position that was examined.
    private var isEndless: Set<Int> = []

    private init(bytes: [UInt8], isOpen: Bool, isWithin: Bool, isSensitive: @escaping (String) -> Bool) {
        (self.bytes, self.isOpen, self.isWithin, self.isSensitive) = (bytes, isOpen, isWithin, isSensitive)
    }

    private mutating func search() {
        var word: Range<Int>?
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: ":"), UInt8(ascii: "="):
                if let name = word, !isWithin || byte == UInt8(ascii: "=") || isSeparate(index),
                    isSensitive(String(decoding: bytes[name], as: UTF8.self)),
                    let value = value(from: index, of: name, isOfLine: byte == UInt8(ascii: ":"))
                {
                    found.replace(value)
                    learn(bytes[value])
                    index = value.upperBound
                }
                word = nil
            case UInt8(ascii: "%") where isEscapedSign(index - 1):
                // Within a URL, for example, an item also ends at the next escape.
                if let name = word, isSensitive(String(decoding: bytes[name], as: UTF8.self)) {
                    let end = bytes[(index + 2)...].firstIndex { $0.isSpace || "%&<>\"'".utf8.contains($0) } ?? bytes.count
                    if end > index + 2 { found.replace((index + 2)..<end, value: nil) }
                    index = end
                }
                word = nil
            case UInt8(ascii: "<"):
                word = nil
                if let element = element(from: index) {
                    found.edits.append(element)
                    index = element.range.upperBound
                }
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), 0x20, 0x09:
                continue  // may be between a name and its sign
            default:
                if !isOfName(byte) {
                    word = nil
                } else if let begun = word, begun.upperBound == index - 1 {
                    word = begun.lowerBound..<index
                } else {
                    word = (index - 1)..<index
                }
            }
        }
    }

    /// Records a value. A plain word is not recorded: without a syntax, it is less often a secret (`password: required`) than a common
    /// word.
    private mutating func learn(_ value: ArraySlice<UInt8>) {
        let words = value.split { $0.isSpace }
        guard let last = words.last, words.count > 1 || !last.allSatisfy(\.isASCIILetter) else { return }
        let text = String(decoding: value[words[0].startIndex..<last.endIndex], as: UTF8.self)
        found.values.append(text)
        // A scheme and its credentials ([RFC 9110, section 11.4](https://www.rfc-editor.org/rfc/rfc9110#section-11.4)).
        if words.count == 2, words[0].allSatisfy(\.isASCIILetter) { found.values.append(String(decoding: last, as: UTF8.self)) }
    }

    /// Whether there is `%3D` at `index`.
    private func isEscapedSign(_ index: Int) -> Bool {
        bytes[index...].starts(with: "%3D".utf8) || bytes[index...].starts(with: "%3d".utf8)
    }

    private func isOfName(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte.isASCIIDigit || "_-.".utf8.contains(byte) || byte >= 0x80 }

    /// Whether there is a space, a quotation mark or the end at `index`.
    private func isSeparate(_ index: Int) -> Bool {
        index >= bytes.count || bytes[index].isSpace || "\"'\\".utf8.contains(bytes[index])
    }

    /// Returns the value that begins at `start`; `nil` if it is empty.
    ///
    /// - Parameter isOfLine: whether it follows a colon, not an equals sign.
    private mutating func value(from start: Int, of name: Range<Int>, isOfLine: Bool) -> Range<Int>? {
        // `"name" => "value"`
        let isArrow = !isOfLine && bytes[start...].first == UInt8(ascii: ">")
        var first = isArrow ? start + 1 : start
        while first < bytes.count, [0x20, 0x09, UInt8(ascii: "\\")].contains(bytes[first]) { first += 1 }
        guard first < bytes.count else { return nil }
        let hasQuotedName = bytes[name.upperBound] == UInt8(ascii: "\"") || bytes[name.upperBound] == UInt8(ascii: "\\")
        if isLineEnd(bytes[first]) {
            // The value of a member, or of an attribute, may begin on another line.
            guard let next = bytes[first...].firstIndex(where: { !$0.isSpace }) else { return nil }
            let isQuoted = bytes[next] == UInt8(ascii: "\"") || bytes[next] == UInt8(ascii: "'")
            if isOfLine || isArrow ? hasQuotedName : isQuoted { first = next }
        }
        let quote = bytes[first]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") { return quoted(from: first) }
        if isOfLine || isArrow, quote == UInt8(ascii: "[") || quote == UInt8(ascii: "{") {
            return first..<bracketsEnd(from: first, isOpen: hasQuotedName)
        }
        // A value may contain spaces (`Bearer …`); it is better to hide too much than too little.
        let ends = isOfLine || isArrow ? "\n\r" : "\n\r&<>\"'"
        var end = bytes[first...].firstIndex(where: ends.utf8.contains) ?? bytes.count
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") || bytes[end] == UInt8(ascii: "'"), end > first, goesOn(end + 1) {
            end = lineEnd(from: end)
        }
        guard isOfLine, !hasQuotedName, let continued = continuation(from: end, of: name) else { return end > first ? first..<end : nil }
        return (end > first ? first : continued.lowerBound)..<continued.upperBound
    }

    private func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
    private func lineEnd(from index: Int) -> Int { bytes[index...].firstIndex(where: isLineEnd) ?? bytes.count }

    /// Whether the text at `index` continues a value, although it follows a quotation mark.
    private func goesOn(_ index: Int) -> Bool {
        index < bytes.count && (isOfName(bytes[index]) && bytes[index] != UInt8(ascii: ".") || "\"'+".utf8.contains(bytes[index]))
    }

    /// Returns the value whose quotation mark, or three of them, are at `first`.
    private func quoted(from first: Int) -> Range<Int>? {
        let quote = bytes[first]
        let three = [quote, quote, quote]
        if bytes[first...].starts(with: three) {
            let end = bytes[(first + 3)...].firstRange(of: three)?.lowerBound ?? bytes.count  // octets: of bytes
            return end > first + 3 ? (first + 3)..<end : nil
        }
        var end = first + 1
        while end < bytes.count, bytes[end] != quote { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
        // The value may contain a quotation mark. Then it is the whole line, including the first quotation mark.
        if goesOn(end + 1) { return first..<lineEnd(from: end) }
        end = min(end, bytes.count)
        return end > first + 1 ? (first + 1)..<end : nil
    }

    /// Returns the end of the line on which the bracket at `first` is closed; if it is not closed, the end of its own line, or of the
    /// bytes.
    private mutating func bracketsEnd(from first: Int, isOpen: Bool) -> Int {
        var (depth, quote, index) = (0, nil as UInt8?, first)
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\\") {
                index += 1
            } else if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") {
                quote = byte
            } else if "[{".utf8.contains(byte) {
                depth += 1
            } else if "]}".utf8.contains(byte) {
                depth -= 1
                if depth == 0 { return lineEnd(from: index) }
            }
            index += 1
        }
        if isOpen || self.isOpen || unclosedCount >= Self.unclosedLimit { return bytes.count }
        unclosedCount += 1
        return lineEnd(from: first)
    }

    /// Returns the lines after the one that ends at `end` that are indented more than its name: those of a folded field, or of a block in
    /// YAML. `nil` if there are none, or if there is text before the name.
    private func continuation(from end: Int, of name: Range<Int>) -> Range<Int>? {
        var margin = name.lowerBound
        while margin > 0, " \t-".utf8.contains(bytes[margin - 1]) { margin -= 1 }
        guard margin == 0 || isLineEnd(bytes[margin - 1]) else { return nil }
        var (first, last, index) = (nil as Int?, end, end)
        while index < bytes.count {
            index += bytes[index...].starts(with: [0x0D, 0x0A]) ? 2 : 1
            guard let text = bytes[index...].firstIndex(where: { $0 != 0x20 && $0 != 0x09 }), !isLineEnd(bytes[text]),
                text - index > name.lowerBound - margin
            else { break }
            first = first ?? text
            index = lineEnd(from: text)
            last = index
        }
        return first.map { $0..<last }
    }

    /// Replaces an element from the end of its name to its end tag. Returns `nil` if the name is not sensitive, or if no start tag begins
    /// here.
    private mutating func element(from start: Int) -> ByteEdit? {
        let name = bytes[start...].prefix { isOfName($0) || $0 == UInt8(ascii: ":") }
        guard !name.isEmpty else { return nil }
        let local = String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? name, as: UTF8.self)
        // As elements, these two are almost always something else: source code, or names of files and settings.
        guard !local.isExactlyIgnoringCase("code"), !local.isExactlyIgnoringCase("key"), isSensitive(local) else { return nil }
        // A comparison isn't a tag: `a <tokens.length; …`.
        if let next = bytes[name.endIndex...].first, !next.isSpace, next != UInt8(ascii: ">"), next != UInt8(ascii: "/") { return nil }
        let shown = Array((">" + BodyRedaction.placeholder).utf8)
        let content = contentStart(from: name.endIndex)
        let attributes = bytes[name.endIndex..<content].drop { $0.isSpace }
        if attributes.suffix(2).elementsEqual("/>".utf8) {
            // An element without content may have its secret in an attribute.
            if attributes.count == 2 { return nil }
            return ByteEdit(name.endIndex..<content, shown + Array("</".utf8) + name + [UInt8(ascii: ">")])
        }
        guard attributes.isEmpty || attributes.first == UInt8(ascii: ">") || attributes.contains(UInt8(ascii: "=")) else { return nil }
        let (endTag, isBalanced) = endTag(of: name, from: content)
        var end = endTag ?? bytes.count
        if !isBalanced {
            if isOpen || unclosedCount >= Self.unclosedLimit {
                end = bytes.count
            } else {
                unclosedCount += 1
                end = endTag ?? bytes[content...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            }
        }
        if content < end { learn(content: bytes[content..<end]) }
        return ByteEdit(name.endIndex..<end, shown)
    }

    /// The constructs in which text may look like tags: their beginnings and ends.
    private static let opaque = [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>")].map { (Array($0.0.utf8), Array($0.1.utf8)) }

    /// Returns the end tag of an element whose content begins at `start`, after those of nested elements with its name. If there are too
    /// few end tags, the last one, or `nil`.
    private mutating func endTag(of name: ArraySlice<UInt8>, from start: Int) -> (position: Int?, isBalanced: Bool) {
        var (depth, last) = (1, nil as Int?)
        var index = start
        while let open = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            index = open + 1
            if let behind = opaqueEnd(from: open) {
                index = behind
            } else if index < bytes.count, bytes[index] == UInt8(ascii: "/") {
                guard isTag(name, at: index + 1) else { continue }
                (depth, last) = (depth - 1, open)
                if depth == 0 { return (open, true) }
            } else if isTag(name, at: index) {
                index = contentStart(from: index + name.count)
                if !bytes[..<index].suffix(2).elementsEqual("/>".utf8) { depth += 1 }
            }
        }
        return (last, false)
    }

    /// Returns the end of the comment, the instruction or the character data that begins at `start`; `nil` if there is none, or if it does
    /// not end.
    private mutating func opaqueEnd(from start: Int) -> Int? {
        for (kind, (begin, end)) in Self.opaque.enumerated() where bytes[start...].starts(with: begin) {
            // If one has no end, none of those that follow has.
            guard !isEndless.contains(kind) else { return nil }
            if let range = bytes[(start + begin.count)...].firstRange(of: end) { return range.upperBound }  // octets: of bytes
            if isOpen { return bytes.count }
            isEndless.insert(kind)
        }
        return nil
    }

    /// Whether there is the complete name of a tag at `start`. HTML ignores case.
    private func isTag(_ name: ArraySlice<UInt8>, at start: Int) -> Bool {
        let end = start + name.count
        guard end < bytes.count, bytes[end].isSpace || bytes[end] == UInt8(ascii: ">") || bytes[end] == UInt8(ascii: "/") else {
            return false
        }
        return zip(name, bytes[start..<end]).allSatisfy { $0 == $1 || $0.isASCIILetter && $0 ^ 0x20 == $1 }
    }

    /// Returns the end of the start tag whose attributes begin at `start`, or the start of another tag; the end of the bytes if it does not
    /// end.
    private func contentStart(from start: Int) -> Int {
        var index = start
        var quote: UInt8?
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return index
            } else if byte == UInt8(ascii: "<") {
                return index - 1
            }
        }
        return index
    }

    private mutating func learn(content: ArraySlice<UInt8>) {
        guard !content.contains(UInt8(ascii: "<")) else { return }
        found.values.append(String(decoding: content, as: UTF8.self))
        guard content.contains(UInt8(ascii: "&")) else { return }
        found.values.append(String(decoding: Self.withoutEntities(content), as: UTF8.self))
    }

    private static let entities: [(text: [UInt8], octet: UInt8)] = [
        ("&lt;", UInt8(ascii: "<")), ("&gt;", UInt8(ascii: ">")), ("&quot;", UInt8(ascii: "\"")), ("&apos;", UInt8(ascii: "'")),
        ("&amp;", UInt8(ascii: "&")),
    ].map { (Array($0.0.utf8), $0.1) }

    /// Returns the text with the predefined entities of XML resolved, by octets: a combining character after one hides it from no parser.
    private static func withoutEntities(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            if text[index] == UInt8(ascii: "&"), let entity = entities.first(where: { text[index...].starts(with: $0.text) }) {
                plain.append(entity.octet)
                index += entity.text.count
            } else {
                plain.append(text[index])
                index += 1
            }
        }
        return plain
    }
}

extension MediaType {
    /// False for types of images, sounds, videos and fonts, except for those that are XML or JSON.
    package var mayBeText: Bool {
        !["image", "audio", "video", "font"].contains(type) || subtype.hasSuffix("xml") || subtype.hasSuffix("json")  // octets: ASCII
    }
}
