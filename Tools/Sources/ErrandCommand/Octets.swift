// Text from servers and from files is compared and searched by its octets. Swift compares by `Character`: a combining mark after a
// slash or a quotation mark hides that character, and long runs of such marks take quadratic time. The library has the same
// functions for its own modules.

extension StringProtocol {
    /// Returns whether this text has the same octets in UTF-8 as `other`.
    func isExactly(_ other: some StringProtocol) -> Bool { utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) }

    /// Returns whether this text has the same octets as `other`, where `A` to `Z` equal `a` to `z`.
    func isExactlyIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Returns whether this text begins with the octets of `prefix`, where `A` to `Z` equal `a` to `z`.
    func hasOctetPrefixIgnoringCase(_ prefix: some StringProtocol) -> Bool {
        utf8.prefix(prefix.utf8.count).elementsEqual(prefix.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Returns whether this text begins with the octets of `prefix`.
    func hasOctetPrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Returns whether this text ends with the octets of `suffix`.
    func hasOctetSuffix(_ suffix: some StringProtocol) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }

    /// Returns whether this text contains `octet`.
    func containsOctet(_ octet: UInt8) -> Bool { utf8.contains(octet) }

    /// Returns whether this text contains the octets of `other`, which is short.
    func containsOctets(_ other: some StringProtocol) -> Bool { lastOctets(other) != nil }

    /// Returns the last range of the octets of `other`, which is short, where `A` to `Z` equal `a` to `z`.
    func lastOctets(_ other: some StringProtocol) -> Range<Index>? {
        let length = other.utf8.count
        var found: Range<Index>?
        var start = utf8.startIndex
        while start < utf8.endIndex {
            let isHere = utf8[start...].prefix(length).elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
            if isHere { found = start..<utf8.index(start, offsetBy: length) }
            start = utf8.index(after: start)
        }
        return found
    }

    /// Returns the pieces before and after the first octet equal to `octet`; the second one is `nil` if there is no such octet.
    func cut(atOctet octet: UInt8) -> (String, String?) {
        guard let mark = utf8.firstIndex(of: octet) else { return (String(self), nil) }
        return (String(self[..<mark]), String(self[utf8.index(after: mark)...]))
    }

    /// This text without spaces and tabs around it.
    var withoutOuterBlanks: String {
        let isBlank = { (octet: UInt8) in octet == 0x20 || octet == 0x09 }
        let octets = Substring(self).utf8
        guard let first = octets.firstIndex(where: { !isBlank($0) }), let last = octets.lastIndex(where: { !isBlank($0) }) else {
            return ""
        }
        return String(Substring(octets[first...last]))
    }
}

extension UInt8 {
    /// This octet in lower case, if it is an ASCII letter.
    var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}

extension Unicode.Scalar {
    /// Whether a terminal may obey this character instead of showing it: a control character (C0 or C1), a line separator of Unicode,
    /// or a change of the direction of text.
    var steersTerminal: Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
