/// Percent-encodes the characters that a URL must not contain: see ``HTTPURL/init(pasted:)`` and
/// ``URLReference/init(received:)``.
enum RepairedURL {
    /// The source of a text.
    enum Source {
        /// A person pasted or typed the text. White space and byte order marks around the text, and its fragment, are dropped. A
        /// backslash in the path is kept. A later check refuses the URL, because browsers read a backslash as a slash.
        case person
        /// A server sent the text. Spaces around the text are dropped. A backslash in the path is percent-encoded.
        case server
    }

    private static let pathOfPerson = URLCharacterSet("-._~!$&'()*+,;=:@/\\")

    /// Returns the text with its path, its query and its fragment percent-encoded.
    ///
    /// - Throws: ``InvalidURLError`` for a control character.
    static func encoded(_ text: String, from source: Source) throws(InvalidURLError) -> String {
        let whole = source == .person ? text.unicodeScalars.trimmingWhiteSpace : trimmingSpaces(text)
        if let control = whole.utf8.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw InvalidURLError(String(whole), .invalidOctet(control, component: "text"))
        }
        // Octets are compared, because a combining character after a separator must not hide the separator.
        let number = whole.utf8.firstIndex(of: UInt8(ascii: "#"))
        let rest = whole[..<(number ?? whole.endIndex)]
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        let beforeQuery = rest[..<(mark ?? rest.endIndex)]
        let start = pathStart(of: beforeQuery)
        let path = source == .person ? pathOfPerson : .path
        var encoded = String(beforeQuery[..<start]) + escaped(beforeQuery[start...], allowing: path)
        if let mark { encoded += "?" + escaped(rest[rest.utf8.index(after: mark)...], allowing: .query) }
        if let number, source == .server { encoded += "#" + escaped(whole[whole.utf8.index(after: number)...], allowing: .query) }
        return encoded
    }

    private static func trimmingSpaces(_ text: String) -> Substring {
        var octets = text.utf8[...]
        while octets.first == 0x20 { octets.removeFirst() }
        while octets.last == 0x20 { octets.removeLast() }
        return Substring(octets)
    }

    /// Returns the start of the path. If there is an authority, the path starts after the authority.
    private static func pathStart(of text: Substring) -> Substring.Index {
        var authority = text
        if !text.utf8.starts(with: "//".utf8) {
            guard let colon = text.utf8.firstIndex(where: { !$0.isSchemeOctet }), text[colon...].utf8.starts(with: "://".utf8) else {
                return text.startIndex
            }
            authority = text[text.utf8.index(after: colon)...]
        }
        return authority[authority.utf8.index(authority.startIndex, offsetBy: 2)...].utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
    }

    /// Returns `text` as UTF-8, with every octet outside `allowed` percent-encoded. Complete escapes are kept.
    private static func escaped(_ text: Substring, allowing allowed: URLCharacterSet) -> String {
        let octets = Array(text.utf8)
        var encoded = ""
        encoded.reserveCapacity(octets.count)
        var index = 0
        while index < octets.count {
            let isEscape =
                octets[index] == UInt8(ascii: "%") && index + 2 < octets.count && octets[index + 1].isHexDigit
                && octets[index + 2].isHexDigit
            if isEscape || allowed.contains(octets[index]) {
                encoded.unicodeScalars.append(Unicode.Scalar(octets[index]))
            } else {
                encoded += PercentEncoding.escape(of: octets[index])
            }
            index += 1
        }
        return encoded
    }
}

extension UInt8 {
    /// Whether a scheme may contain the octet ([RFC 3986, section 3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1)).
    fileprivate var isSchemeOctet: Bool {
        isASCIILetter || isASCIIDigit || self == UInt8(ascii: "+") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }
}

extension String.UnicodeScalarView {
    fileprivate var trimmingWhiteSpace: Substring {
        // U+FEFF is the byte order mark with which some files and some copied texts begin.
        func isText(_ scalar: Unicode.Scalar) -> Bool { !scalar.properties.isWhitespace && scalar != "\u{FEFF}" }
        guard let first = firstIndex(where: isText), let last = lastIndex(where: isText) else { return "" }
        return Substring(self[first...last])
    }
}
