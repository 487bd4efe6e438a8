internal import ErrandFormats

extension HTTPResponse {
    /// Whether the media type of the body is JSON.
    package var isJSON: Bool { headerFields.single(.contentType).flatMap { MediaType($0) }?.isJSON == true }

    /// Returns a body as text, decoded by the `charset` of `Content-Type`. ISO-8859-1 is decoded as windows-1252, as in browsers
    /// ([WHATWG Encoding, section 4.2](https://encoding.spec.whatwg.org/#names-and-labels)). If the charset is missing or
    /// unknown, the body is decoded as UTF-8.
    package func text(of data: Data) -> String {
        let charset = headerFields.single(.contentType).flatMap { MediaType($0) }?[parameter: "charset"] ?? "utf-8"
        func isOne(of names: String...) -> Bool { names.contains(where: charset.isExactlyIgnoringCase) }
        if isOne(of: "iso-8859-1", "latin1", "windows-1252") { return Self.windows1252(data) }
        if isOne(of: "utf-16") { return Self.utf16(data, isBigEndian: data.starts(with: [0xFE, 0xFF])) }
        if isOne(of: "utf-16le") { return Self.utf16(data, isBigEndian: false) }
        if isOne(of: "utf-16be") { return Self.utf16(data, isBigEndian: true) }
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the text without a byte order mark. An odd byte at the end is half a code unit, and becomes U+FFFD.
    private static func utf16(_ data: Data, isBigEndian: Bool) -> String {
        let bytes = Array(data)
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

    private static func windows1252(_ data: Data) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in data { scalars.append((0x80..<0xA0).contains(byte) ? middle[Int(byte) - 0x80] : Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
