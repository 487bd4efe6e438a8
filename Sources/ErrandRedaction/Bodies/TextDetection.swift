package import ErrandFormats

extension MediaType {
    /// Whether a body of this type may be text. False for images, sounds, videos and fonts, except for XML and JSON formats.
    package var mayBeText: Bool {
        !["image", "audio", "video", "font"].contains(type) || subtype.hasSuffix("xml") || subtype.hasSuffix("json")  // octets: ASCII
    }
}

/// Distinguishes text from other bytes.
enum TextDetection {
    /// Returns whether bytes may be text, in UTF-8, in UTF-16 or with one octet for each character.
    ///
    /// Bytes whose type can't be text (``ErrandFormats/MediaType/mayBeText``) are never text. If the type may be text, or is missing, the
    /// first matching rule decides. Bytes with the charset or a byte order mark of UTF-16 are text. Bytes with a type of text, such as
    /// `text/plain` or XML, are text if they contain at most two control characters. Any other bytes are text if at most 1 % of them, and
    /// none of the first 512 bytes, are control characters other than zero. Such bytes may have zeros only as in UTF-16: more than a third,
    /// and at most four fifths, of all bytes.
    static func isText(_ bytes: [UInt8], type: MediaType?) -> Bool {
        guard type?.mayBeText != false else { return false }
        let charset = type?[parameter: "charset"]?.utf8.prefix(6).map(\.asciiLowercased)
        let hasMark = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        if hasMark || charset?.elementsEqual("utf-16".utf8) == true { return true }
        let saysSo = type.map { $0.type == "text" || $0.subtype.hasSuffix("xml") } == true  // octets: ASCII
        // The search uses pointers, because tests run without optimization, and bodies may be long.
        return bytes.withUnsafeBufferPointer { bytes in
            var (zeros, controls, controlsAtFront) = (0, 0, 0)
            for (index, byte) in bytes.enumerated() where isControl[Int(byte)] {
                if byte == 0 {
                    zeros += 1
                } else {
                    controls += 1
                    if index < 512 { controlsAtFront += 1 }
                }
            }
            if saysSo, zeros + controls <= 2 { return true }
            let isWide = zeros * 3 > bytes.count
            return controlsAtFront == 0 && controls <= bytes.count / 100 && (isWide ? zeros * 5 <= bytes.count * 4 : zeros == 0)
        }
    }

    /// Whether an octet is a control character that does not occur in text. Form feeds, terminal escapes and record separators occur in
    /// text.
    private static let isControl: [Bool] = (UInt8.min...UInt8.max).map { byte in
        switch byte {
        case 0x09, 0x0A, 0x0C, 0x0D, 0x1B, 0x1E: false
        default: byte < 0x20 || byte == 0x7F
        }
    }
}
