/// Base64 with the standard alphabet ([RFC 4648, section 4](https://www.rfc-editor.org/rfc/rfc4648#section-4)).
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let values: [UInt8: UInt32] = Dictionary(uniqueKeysWithValues: alphabet.enumerated().map { ($1, UInt32($0)) })

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes; `nil` if `text` isn't valid base64. Padding may be missing, and bits after the last byte may be set
    /// ([RFC 9651, section 4.2.7](https://www.rfc-editor.org/rfc/rfc9651#section-4.2.7)), but existing padding must be correct.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits = text
        while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 { digits.removeLast() }
        if digits.count != text.count, text.count % 4 != 0 { return nil }
        if digits.count % 4 == 1 { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count) = (UInt32(0), 0)
        for digit in digits {
            guard let value = values[digit] else { return nil }
            (bits, count) = ((bits << 6 | value) & 0xFFFF, count + 6)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }
}
