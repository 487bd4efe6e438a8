internal import ErrandFormats

extension HTTPResponse {
    /// The text that a body is, by the `charset` of `Content-Type`. ISO-8859-1 is read as windows-1252, as browsers do
    /// ([WHATWG Encoding, section 4.2](https://encoding.spec.whatwg.org/#names-and-labels)). A charset that is not known is UTF-8.
    package func text(of data: Data) -> String {
        let charset = headerFields[.contentType].flatMap { MediaType($0) }?[parameter: "charset"]?.lowercased()
        let text: String? =
            switch charset {
            case "iso-8859-1", "latin1", "windows-1252": Self.windows1252(data)
            case "utf-16": String(data: data, encoding: .utf16)
            case "utf-16le": String(data: data, encoding: .utf16LittleEndian)
            case "utf-16be": String(data: data, encoding: .utf16BigEndian)
            default: nil
            }
        return text ?? String(decoding: data, as: UTF8.self)
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
