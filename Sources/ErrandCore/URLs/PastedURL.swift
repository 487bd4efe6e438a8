/// Text that a person pasted or typed as a URL, or that a server has named: see ``HTTPURL/init(pasted:)`` and ``URLReference/init(fromServer:)``.
enum PastedURL {
    /// What stays as it is in a path. A backslash is not escaped but refused later, as browsers take it for a slash.
    private static let path = URLCharacterSet("-._~!$&'()*+,;=:@/\\")
    private static let query = URLCharacterSet.query

    /// `text` without white space and byte order marks around it and without its fragment, with its path and its query percent-encoded.
    ///
    /// - Throws: ``InvalidURLError`` for a control character within the text.
    static func encoded(_ text: String) throws(InvalidURLError) -> String {
        let whole = text.unicodeScalars.trimmingWhiteSpace
        if let control = whole.utf8.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw InvalidURLError(String(whole), .invalidOctet(control, component: "text"))
        }
        // By octets: a combining character after a separator must not hide it.
        let rest = whole[..<(whole.utf8.firstIndex(of: UInt8(ascii: "#")) ?? whole.endIndex)]
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        let beforeQuery = rest[..<(mark ?? rest.endIndex)]
        let start = pathStart(of: beforeQuery)
        var encoded = String(beforeQuery[..<start]) + escaped(beforeQuery[start...], allowing: path)
        if let mark { encoded += "?" + escaped(rest[rest.utf8.index(after: mark)...], allowing: query) }
        return encoded
    }

    /// `text` without spaces around it, with its path, its query and its fragment percent-encoded.
    ///
    /// - Throws: ``InvalidURLError`` for a control character.
    static func encoded(reference text: String) throws(InvalidURLError) -> String {
        if let control = text.utf8.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw InvalidURLError(text, .invalidOctet(control, component: "text"))
        }
        var octets = text.utf8[...]
        while octets.first == 0x20 { octets.removeFirst() }
        while octets.last == 0x20 { octets.removeLast() }
        // By octets: a combining character after a separator must not hide it.
        let whole = Substring(octets)
        let number = whole.utf8.firstIndex(of: UInt8(ascii: "#"))
        let rest = whole[..<(number ?? whole.endIndex)]
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        let beforeQuery = rest[..<(mark ?? rest.endIndex)]
        let start = beforeQuery.utf8.starts(with: "//".utf8) ? authorityEnd(of: beforeQuery, at: 2) : pathStart(of: beforeQuery)
        var encoded = String(beforeQuery[..<start]) + escaped(beforeQuery[start...], allowing: .path)
        if let mark { encoded += "?" + escaped(rest[rest.utf8.index(after: mark)...], allowing: query) }
        if let number { encoded += "#" + escaped(whole[whole.utf8.index(after: number)...], allowing: query) }
        return encoded
    }

    /// Where an authority ends that begins at an offset.
    private static func authorityEnd(of text: Substring, at offset: Int) -> Substring.Index {
        text[text.utf8.index(text.startIndex, offsetBy: offset)...].utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
    }

    /// Where the path begins: after the authority, if there is one.
    private static func pathStart(of text: Substring) -> Substring.Index {
        guard let colon = text.utf8.firstIndex(where: { !$0.isSchemeOctet }), text[colon...].utf8.starts(with: "://".utf8) else {
            return text.startIndex
        }
        let authority = text[text.utf8.index(colon, offsetBy: 3)...]
        return authority.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
    }

    /// `text` as UTF-8, with every octet outside `allowed` escaped, except whole escapes.
    private static func escaped(_ text: Substring, allowing allowed: URLCharacterSet) -> String {
        let octets = Array(text.utf8)
        var encoded = ""
        encoded.reserveCapacity(octets.count)
        var index = 0
        while index < octets.count {
            let isEscape =
                octets[index] == UInt8(ascii: "%") && index + 2 < octets.count && PercentEncoding.isHexDigit(octets[index + 1])
                && PercentEncoding.isHexDigit(octets[index + 2])
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
    /// Whether a scheme may hold it ([RFC 3986, section 3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1)).
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
