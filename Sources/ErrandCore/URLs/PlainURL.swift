/// The parts of an absolute URL in the most common form. The scheme is in lower case, the host has only lower-case letters,
/// digits, hyphens and dots, and nothing is escaped.
///
/// A URL in this form is parsed in one pass, because it needs no change. ``URLReference`` parses or refuses all other URLs.
struct PlainURL {
    /// The length of the scheme, `http` or `https`, in bytes.
    let schemeBytes: Int
    let hostEnd: Int
    let port: Int?
    /// The offset at which the authority ends.
    let pathStart: Int
    /// The offset of the question mark before the query; the offset of the end of the text if there is no query.
    let pathEnd: Int

    /// Parses a URL in the most common form; `nil` for any other URL.
    init?(_ text: String) {
        guard text.utf8.count <= RequestTarget.limitBytes,
            let read = text.utf8.withContiguousStorageIfAvailable({ PlainURL(reading: $0) }), let read
        else { return nil }
        self = read
    }

    private init?(reading text: UnsafeBufferPointer<UInt8>) {
        let (colon, slash, dot) = (UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "."))
        guard text.count > 8, text.starts(with: "http".utf8) else { return nil }
        schemeBytes = text[4] == UInt8(ascii: "s") ? 5 : 4
        guard text[schemeBytes] == colon, text[schemeBytes + 1] == slash, text[schemeBytes + 2] == slash else { return nil }

        let hostStart = schemeBytes + 3
        var (index, label) = (hostStart, hostStart)
        while index < text.count {
            let byte = text[index]
            if byte == dot {
                guard (1...63).contains(index - label) else { return nil }
                label = index + 1
            } else if !((0x61...0x7A).contains(byte) || byte.isASCIIDigit || byte == UInt8(ascii: "-")) {
                break
            }
            index += 1
        }
        guard (1...63).contains(index - label), index - hostStart <= 253 else { return nil }
        hostEnd = index

        if index < text.count, text[index] == colon {
            let digits = text[(index + 1)...].prefix { $0.isASCIIDigit }
            // A port with leading zeros must be changed, so this parser does not accept such a port.
            guard digits.first != UInt8(ascii: "0"), let number = Int(portDigits: digits) else { return nil }
            port = number
            index = digits.endIndex
        } else {
            port = nil
        }

        pathStart = index
        let question = UInt8(ascii: "?")
        let path = URLCharacterSet.path
        if index < text.count, text[index] != slash, text[index] != question { return nil }
        while index < text.count, text[index] != question {
            guard path.contains(text[index]) else { return nil }
            index += 1
        }
        pathEnd = index
        let query = URLCharacterSet.query
        index += 1
        while index < text.count {
            guard query.contains(text[index]) else { return nil }
            index += 1
        }
    }
}

extension String {
    /// Returns the text from one offset to another.
    func slice(_ start: Int, _ end: Int) -> String {
        String(self[utf8.index(startIndex, offsetBy: start)..<utf8.index(startIndex, offsetBy: end)])
    }
}
