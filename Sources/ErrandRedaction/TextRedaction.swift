internal import ErrandCore
internal import ErrandFormats

/// Text of no syntax that is known here, without what seems secret.
struct TextRedaction {
    /// Without what follows a sensitive name and `:` or `=`, to the end of the line or in quotes, and without the content of an element
    /// of such a name.
    static func withoutNamed(_ bytes: [UInt8], isSensitive: (String) -> Bool) -> [UInt8] {
        // Every other octet is zero in UTF-16, where no syntax is looked for.
        if bytes.count(where: { $0 == 0 }) * 3 > bytes.count {
            return JSONRedaction.mentionsSecret(bytes, isSensitive: isSensitive) ? Array(BodyRedaction.placeholder.utf8) : bytes
        }
        return withoutActuallyEscaping(isSensitive) { TextRedaction(bytes: bytes, isSensitive: $0).withoutNamed() }
    }

    private let bytes: [UInt8]
    private let isSensitive: (String) -> Bool

    private init(bytes: [UInt8], isSensitive: @escaping (String) -> Bool) { (self.bytes, self.isSensitive) = (bytes, isSensitive) }

    private func withoutNamed() -> [UInt8] {
        var edits: [ByteEdit] = []
        var word: Range<Int>?
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: ":"), UInt8(ascii: "="):
                if let name = word, isSensitive(String(decoding: bytes[name], as: UTF8.self)),
                    let value = value(from: index, isOfLine: byte == UInt8(ascii: ":"))
                {
                    edits.append(ByteEdit(value, Array(BodyRedaction.placeholder.utf8)))
                    index = value.upperBound
                }
                word = nil
            case UInt8(ascii: "<"):
                word = nil
                if let element = element(from: index) {
                    edits.append(ByteEdit(element, Array((">" + BodyRedaction.placeholder).utf8)))
                    index = element.upperBound
                }
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), 0x20, 0x09:
                continue  // may stand between a name and its sign
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
        return edits.applied(to: bytes)
    }

    private func isOfName(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte.isASCIIDigit || "_-.".utf8.contains(byte) || byte >= 0x80 }

    /// The value that begins at `start`; nil where it is empty.
    private func value(from start: Int, isOfLine: Bool) -> Range<Int>? {
        var first = start
        while first < bytes.count, [0x20, 0x09, UInt8(ascii: "\\")].contains(bytes[first]) { first += 1 }
        guard first < bytes.count else { return nil }
        let quote = bytes[first]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            var end = first + 1
            while end < bytes.count, bytes[end] != quote { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
            end = min(end, bytes.count)
            return end > first + 1 ? (first + 1)..<end : nil
        }
        // A value may have spaces in it (`Bearer …`); too much is better hidden than too little.
        let ends = isOfLine ? "\n\r" : "\n\r&<>\"'"
        let end = bytes[first...].firstIndex(where: ends.utf8.contains) ?? bytes.count
        return end > first ? first..<end : nil
    }

    /// From behind the name of an element to its end tag; nil if the name is not sensitive, or no start tag begins here.
    private func element(from start: Int) -> Range<Int>? {
        let name = bytes[start...].prefix { isOfName($0) || $0 == UInt8(ascii: ":") }
        guard !name.isEmpty else { return nil }
        let local = String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? name, as: UTF8.self)
        // As elements, these two are something else nearly always: a program's text, and names of files and settings.
        guard local.lowercased() != "code", local.lowercased() != "key", isSensitive(local) else { return nil }
        let end = bytes[name.endIndex...].firstRange(of: Array("</".utf8) + name)
        return name.endIndex..<(end?.lowerBound ?? bytes.count)
    }

    // MARK: - Credentials

    /// Without credentials in URLs.
    ///
    /// - Parameter isCut: whether the last word may go on, and so may be credentials whose at sign is missing.
    static func withoutCredentials(_ bytes: [UInt8], isCut: Bool, sensitivity: Sensitivity) -> [UInt8] {
        guard bytes.firstRange(of: "//".utf8) != nil, isCut || bytes.contains(UInt8(ascii: "@")) else { return bytes }
        var redacted: [UInt8] = []
        redacted.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while !rest.isEmpty {
            var word = rest.prefix { !$0.isSpace && !"\"'<>`".utf8.contains($0) }
            let end = word.endIndex
            let isUnfinished = isCut && end == bytes.count && dropUnfinishedAuthority(&word)
            if word.contains(UInt8(ascii: "@")), let text = String(validating: word, as: UTF8.self) {
                redacted += sensitivity.redactedURL(text).utf8
            } else {
                redacted += word
            }
            if isUnfinished { redacted += BodyRedaction.placeholder.utf8 }
            redacted += rest[end...].prefix(1)
            rest = rest[end...].dropFirst()
        }
        return redacted
    }

    /// Drops an authority that breaks off, or whose port is none and so may be the front of a password; whether there was one.
    private static func dropUnfinishedAuthority(_ word: inout ArraySlice<UInt8>) -> Bool {
        var rest = word
        let at = word.lastIndex(of: UInt8(ascii: "@"))
        while let slashes = rest.firstRange(of: "//".utf8) {
            rest = rest[slashes.upperBound...]
            let authority = rest.prefix { !"/?#".utf8.contains($0) }
            let port = authority.first == UInt8(ascii: "[") ? [] : authority.drop { $0 != UInt8(ascii: ":") }.dropFirst()
            guard authority.endIndex == word.endIndex || !port.allSatisfy(\.isASCIIDigit), at.map({ $0 < rest.startIndex }) ?? true else {
                continue
            }
            word = word[..<slashes.upperBound]
            return true
        }
        return false
    }
}
