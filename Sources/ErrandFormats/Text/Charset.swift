/// The charset of a text, other than UTF-8.
package enum Charset: Sendable {
    /// ISO-8859-1 is decoded as windows-1252, as in browsers
    /// ([WHATWG Encoding, section 4.2](https://encoding.spec.whatwg.org/#names-and-labels)).
    case windows1252
    /// The byte order mark, if any, states the order of the bytes. Without this mark, the order is little-endian.
    case utf16
    case utf16LittleEndian
    case utf16BigEndian

    /// Returns the charset with this name. Returns `nil` for UTF-8, for an unknown name, and if `name` is `nil`.
    package init?(named name: String?) {
        guard let name else { return nil }
        func isOne(of names: String...) -> Bool { names.contains(where: name.isExactlyIgnoringCase) }
        if isOne(of: "iso-8859-1", "latin1", "windows-1252") {
            self = .windows1252
        } else if isOne(of: "utf-16") {
            self = .utf16
        } else if isOne(of: "utf-16le") {
            self = .utf16LittleEndian
        } else if isOne(of: "utf-16be") {
            self = .utf16BigEndian
        } else {
            return nil
        }
    }

    /// Returns the bytes as text, without a byte order mark.
    package func decode(_ bytes: [UInt8]) -> String {
        switch self {
        case .windows1252: Self.windows1252(bytes)
        case .utf16: Self.utf16(bytes, isBigEndian: bytes.starts(with: [0xFE, 0xFF]))
        case .utf16LittleEndian: Self.utf16(bytes, isBigEndian: false)
        case .utf16BigEndian: Self.utf16(bytes, isBigEndian: true)
        }
    }

    /// Returns the text without a byte order mark. An odd byte at the end is half a code unit, and becomes U+FFFD.
    private static func utf16(_ bytes: [UInt8], isBigEndian: Bool) -> String {
        var units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        if units.first == 0xFEFF { units.removeFirst() }
        return String(decoding: units, as: UTF16.self) + (bytes.count.isMultiple(of: 2) ? "" : "\u{FFFD}")
    }

    /// The characters of the bytes from 0x80 to 0x9F. Five bytes are not assigned, and become control characters.
    private static let middle = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars)

    private static func windows1252(_ bytes: [UInt8]) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append((0x80..<0xA0).contains(byte) ? middle[Int(byte) - 0x80] : Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
