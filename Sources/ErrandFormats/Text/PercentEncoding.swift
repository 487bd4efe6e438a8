/// The octets that a component of a URL may contain without percent-encoding ([RFC 3986](https://www.rfc-editor.org/rfc/rfc3986)).
package struct URLCharacterSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    package init(_ characters: String, alphanumerics: Bool = true) {
        for byte in characters.utf8 { insert(byte) }
        guard alphanumerics else { return }
        for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { insert(byte) }
        for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { insert(byte) }
        for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { insert(byte) }
    }

    private mutating func insert(_ byte: UInt8) {
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
    }

    package func contains(_ byte: UInt8) -> Bool {
        switch byte {
        case ..<64: low & (1 << UInt64(byte)) != 0
        case ..<128: high & (1 << UInt64(byte - 64)) != 0
        default: false
        }
    }

    /// The octets that `pchar` allows unencoded, for a segment of an absolute path ([RFC 3986, section
    /// 3.3](https://www.rfc-editor.org/rfc/rfc3986#section-3.3)).
    package static let segment = URLCharacterSet("-._~!$&'()*+,;=:@")
    /// The octets of segments, and the slashes between them.
    package static let path = URLCharacterSet("-._~!$&'()*+,;=:@/")
    /// The octets that `query` allows ([RFC 3986, section 3.4](https://www.rfc-editor.org/rfc/rfc3986#section-3.4)).
    package static let query = URLCharacterSet("-._~!$&'()*+,;=:@/?")
    /// The octets of a name or a value within a query. `&`, `=` and `;` are not included, because they separate pairs. `+` is not
    /// included, because many servers read a `+` as a space.
    package static let queryComponent = URLCharacterSet("-._~!$'()*,:@/?")
    /// The octets that stay unencoded in a redacted URL, if the redacted URL is percent-encoded to become a part of another URL.
    package static let shownURL = URLCharacterSet("-._~!$'()*,:@/?=;")
    /// The octets that `reg-name` allows unencoded ([RFC 3986, section
    /// 3.2.2](https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2)).
    package static let host = URLCharacterSet("-._~!$&'()*+,;=")
}

package enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Appends `byte`, percent-encoded.
    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Returns the escape of `byte`, such as `%2F`.
    package static func escape(of byte: UInt8) -> String {
        var bytes: [UInt8] = []
        append(byte, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns `text` as UTF-8, with every octet outside `allowed` percent-encoded. A percent sign is data, and is also encoded.
    package static func encode(_ text: some StringProtocol, allowing allowed: URLCharacterSet) -> String {
        if text.withUTF8Bytes({ bytes in bytes.allSatisfy { allowed.contains($0) } }) { return String(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            if allowed.contains(byte) {
                bytes.append(byte)
            } else {
                append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the first byte of `text` that is invalid, and its offset. A valid byte is in `allowed` or is a part of a complete
    /// escape (`%41`). Returns `nil` if every byte is valid.
    package static func firstInvalidByte(
        in text: some StringProtocol, allowing allowed: URLCharacterSet
    ) -> (byte: UInt8, offset: Int)? {
        text.withUTF8Bytes { firstInvalidByte(in: $0, allowing: allowed) }
    }

    package static func firstInvalidByte(
        in bytes: UnsafeBufferPointer<UInt8>, allowing allowed: URLCharacterSet
    ) -> (byte: UInt8, offset: Int)? {
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%") {
                guard index + 2 < bytes.count, bytes[index + 1].isHexDigit, bytes[index + 2].isHexDigit else {
                    return (bytes[index], index)
                }
                index += 3
            } else if allowed.contains(bytes[index]) {
                index += 1
            } else {
                return (bytes[index], index)
            }
        }
        return nil
    }

    /// Returns `text`, percent-decoded once; `nil` if an escape is invalid, or if the octets are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        octets(of: text, isLenient: false).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns `text`, percent-decoded once. An invalid escape stays unchanged, and octets that are not UTF-8 become U+FFFD.
    package static func decodedLeniently(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")), let octets = octets(of: text, isLenient: true) else { return String(text) }
        return String(decoding: octets, as: UTF8.self)
    }

    /// Returns the octets that `text` encodes.
    ///
    /// - Parameter isLenient: whether an invalid escape stays as it is. If false, the function returns `nil` for a text with an
    ///   invalid escape.
    static func octets(of text: some StringProtocol, isLenient: Bool) -> [UInt8]? {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = bytes[index + 1].hexValue,
                let low = bytes[index + 2].hexValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                guard isLenient || bytes[index] != UInt8(ascii: "%") else { return nil }
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded
    }
}
