internal import ErrandFormats

/// A check of a text without a known syntax, such as a string in JSON or the title of a problem. If the text seems to contain a secret
/// and its name, the whole text is hidden.
package struct SecretMention {
    private let sensitivity: Sensitivity
    /// Whether the text is nested in JSON or a form. In JSON and in forms, the names `code` and `key` are so common that their values
    /// are usually not secret. A text such as `urn:token:x` is more often a name than a secret. Therefore a colon marks a value only before
    /// white space or a quotation mark.
    private let isWithin: Bool

    package init(sensitivity: Sensitivity, isWithin: Bool) { (self.sensitivity, self.isWithin) = (sensitivity, isWithin) }

    /// Returns whether the text has a sensitive name before `:`, `=` or `%3D`, an XML element with a sensitive name, or a URL with a
    /// secret.
    package func isIn(_ bytes: [UInt8]) -> Bool { bytes.firstIndex(in: Self.signs) != nil && (hasName(in: bytes) || hasURL(in: bytes)) }

    /// The octets of names, tags and URLs. Text without these octets mentions no secret.
    package static let signs = ByteSet { ":=<%@\\".utf8.contains($0) }

    package func isSensitive(_ name: String) -> Bool {
        if isWithin { return sensitivity.isSensitive(memberName: name) }
        return sensitivity.isSensitive(queryName: name) || HTTPField.Name(name).map { sensitivity.isSensitive($0) } ?? false
    }

    private func isSensitive(_ name: some Sequence<UInt8>) -> Bool { isSensitive(String(decoding: Array(name), as: UTF8.self)) }

    private func hasName(in bytes: [UInt8]) -> Bool {
        var word = 0..<0
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: ":") where isWithin && !Self.isSeparate(bytes, index + 1): word = 0..<0
            case UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "%"):
                let isSign = byte != UInt8(ascii: "%") || Self.isEscapedSign(bytes, index)
                if isSign, !word.isEmpty, isSensitive(bytes[word]) { return true }
                word = 0..<0
            case UInt8(ascii: "<"):
                let tag = bytes[(index + 1)...].prefix { Self.isOfName($0) || $0 == UInt8(ascii: ":") }
                if let name = tag.split(separator: UInt8(ascii: ":")).last, isSensitive(name) { return true }
                word = 0..<0
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), 0x20, 0x09: continue  // may be between a name and its sign
            case _ where !Self.isOfName(byte): word = 0..<0
            default: word = word.upperBound == index && !word.isEmpty ? word.lowerBound..<(index + 1) : index..<(index + 1)
            }
        }
        return false
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "_-.".utf8.contains(byte) || byte >= 0x80
    }

    /// Returns whether there is white space, a quotation mark or the end of the text at `index`.
    private static func isSeparate(_ bytes: [UInt8], _ index: Int) -> Bool {
        index >= bytes.count || bytes[index].isSpace || "\"'\\".utf8.contains(bytes[index])
    }

    private static func isEscapedSign(_ bytes: [UInt8], _ index: Int) -> Bool {
        bytes[index...].starts(with: "%3D".utf8) || bytes[index...].starts(with: "%3d".utf8)
    }

    /// Returns whether a word is a URL with a secret. The slashes of the URL may be escaped with backslashes, as in JSON.
    private func hasURL(in bytes: [UInt8]) -> Bool {
        let plain = bytes.contains(UInt8(ascii: "\\")) ? bytes.filter { $0 != UInt8(ascii: "\\") } : bytes
        return plain.split(whereSeparator: { $0.isSpace || "\"'<>`".utf8.contains($0) }).contains { word in
            guard word.contains(UInt8(ascii: "/")) else { return false }
            let text = String(decoding: word, as: UTF8.self)
            return !sensitivity.redactedURL(text).isExactly(text)
        }
    }
}
