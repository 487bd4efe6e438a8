/// Base64 ([RFC 4648, section 4](https://www.rfc-editor.org/rfc/rfc4648#section-4)).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let alphabetOfURLs = Array(alphabet.dropLast(2)) + Array("-_".utf8)

    /// Returns the value of a base64 digit; `nil` for any other character. The digit may be from the standard alphabet, or from
    /// the alphabet for URLs ([RFC 4648, section 5](https://www.rfc-editor.org/rfc/rfc4648#section-5)).
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }

    private static func isOfURLs(_ digit: UInt8) -> Bool { digit == UInt8(ascii: "-") || digit == UInt8(ascii: "_") }

    /// Returns the bytes as base64 text in the standard alphabet, with padding.
    static func encode(_ bytes: [UInt8]) -> String { encode(bytes, in: alphabet, isPadded: true) }

    /// Returns the bytes as text in the alphabet for URLs, without padding
    /// ([RFC 4648, section 5](https://www.rfc-editor.org/rfc/rfc4648#section-5)).
    package static func encodeForURLs(_ bytes: some Sequence<UInt8>) -> String {
        encode(Array(bytes), in: alphabetOfURLs, isPadded: false)
    }

    private static func encode(_ bytes: [UInt8], in alphabet: [UInt8], isPadded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<(isPadded ? 4 : group.count + 1) {
                text.append(place <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes that `text` encodes; `nil` if `text` isn't valid base64 in the standard alphabet.
    ///
    /// The padding may be missing, but existing padding must be correct. The unused bits of the last digit may be set ([RFC
    /// 9651, section 4.2.7](https://www.rfc-editor.org/rfc/rfc9651#section-4.2.7)).
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits = text
        while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 { digits.removeLast() }
        if digits.count != text.count, text.count % 4 != 0 { return nil }
        if digits.count % 4 == 1 { return nil }
        guard digits.allSatisfy({ value($0) != nil && !isOfURLs($0) }) else { return nil }
        return decode(digits: digits)
    }

    /// Decodes digits of either alphabet, and returns the bytes. Bits at the end are dropped if these bits are not a whole byte. Any other
    /// character is treated as the digit with the value zero.
    package static func decode(digits: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count) = (UInt32(0), 0)
        for digit in digits {
            (bits, count) = (bits << 6 | UInt32(value(digit) ?? 0), count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }
}
