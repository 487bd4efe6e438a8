/// An escape in a string of a JSON text ([RFC 8259, section 7](https://www.rfc-editor.org/rfc/rfc8259#section-7)): `\n`, `\/`, `\u0041`,
/// or a surrogate pair such as `\uD83D\uDE00`.
package struct JSONEscape: Sendable {
    /// The character; `nil` for an unpaired surrogate, which is not a character.
    package let scalar: Unicode.Scalar?
    /// The position after the escape.
    package let end: Int

    /// The character in UTF-8; the replacement character for an unpaired surrogate.
    package var octets: Unicode.Scalar.UTF8View { (scalar ?? "\u{FFFD}").utf8 }

    /// Reads an escape.
    ///
    /// - Parameters:
    ///   - bytes: the text, in UTF-8.
    ///   - start: the position of the backslash.
    /// - Returns: `nil` if no valid escape begins at `start`, or the end of the text truncates the escape.
    package init?(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) {
        guard start + 1 < bytes.count, bytes[start] == UInt8(ascii: "\\") else { return nil }
        let plain: Unicode.Scalar
        switch bytes[start + 1] {
        case UInt8(ascii: "\""): plain = "\""
        case UInt8(ascii: "\\"): plain = "\\"
        case UInt8(ascii: "/"): plain = "/"
        case UInt8(ascii: "b"): plain = "\u{08}"
        case UInt8(ascii: "f"): plain = "\u{0C}"
        case UInt8(ascii: "n"): plain = "\n"
        case UInt8(ascii: "r"): plain = "\r"
        case UInt8(ascii: "t"): plain = "\t"
        default:
            guard let first = Self.unit(in: bytes, at: start) else { return nil }
            if UTF16.isLeadSurrogate(first), let second = Self.unit(in: bytes, at: start + 6), UTF16.isTrailSurrogate(second) {
                scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + UInt32(second) - 0xDC00)
                end = start + 12
            } else {
                (scalar, end) = (Unicode.Scalar(first), start + 6)
            }
            return
        }
        (scalar, end) = (plain, start + 2)
    }

    /// Returns the code unit of an escape such as `\u1234` at `start`; `nil` if no escape of this form begins at `start`.
    static func unit<Bytes>(in bytes: Bytes, at start: Int) -> UInt16? where Bytes: RandomAccessCollection<UInt8>, Bytes.Index == Int {
        guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else { return nil }
        var unit: UInt16 = 0
        for byte in bytes[(start + 2)..<(start + 6)] {
            guard let digit = byte.hexValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
