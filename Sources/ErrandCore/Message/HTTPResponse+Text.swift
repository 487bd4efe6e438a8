internal import ErrandFormats

extension HTTPResponse {
    /// The text that a body is, by the `charset` of `Content-Type`. ISO-8859-1 is read as windows-1252, as browsers do
    /// ([WHATWG Encoding, section 4.2](https://encoding.spec.whatwg.org/#names-and-labels)). A charset that is not known is UTF-8.
    package func text(of data: Data) -> String {
        let charset = headerFields.single(.contentType).flatMap { MediaType($0) }?[parameter: "charset"] ?? "utf-8"
        func isOne(of names: String...) -> Bool { names.contains(where: charset.isExactlyIgnoringCase) }
        if isOne(of: "iso-8859-1", "latin1", "windows-1252") { return Self.windows1252(data) }
        if isOne(of: "utf-16") { return Self.utf16(data, isBigEndian: data.starts(with: [0xFE, 0xFF])) }
        if isOne(of: "utf-16le") { return Self.utf16(data, isBigEndian: false) }
        if isOne(of: "utf-16be") { return Self.utf16(data, isBigEndian: true) }
        return String(decoding: data, as: UTF8.self)
    }

    /// Without a byte order mark. A byte that is left over is half a unit, which is invalid.
    private static func utf16(_ data: Data, isBigEndian: Bool) -> String {
        let bytes = Array(data)
        var units = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        if units.first == 0xFEFF { units.removeFirst() }
        return String(decoding: units, as: UTF16.self) + (bytes.count.isMultiple(of: 2) ? "" : "\u{FFFD}")
    }

    /// The characters of the bytes from 0x80 to 0x9F. Five are not assigned, and are control characters.
    private static let middle = Array(
        "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ".unicodeScalars)

    private static func windows1252(_ data: Data) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in data { scalars.append((0x80..<0xA0).contains(byte) ? middle[Int(byte) - 0x80] : Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
