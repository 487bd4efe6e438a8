#if SWIFT_NIO
internal import ErrandFormats

/// The size line of a chunk ([RFC 9112, section 7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)).
struct ChunkLine {
    /// The maximum number of hexadecimal digits in a size. A size with 15 digits fits into 60 bits.
    static let sizeDigits = 15

    /// The size of the chunk in bytes; 0 for the last chunk.
    let size: Int64
    /// The number of bytes after the size. The bytes after the size are checked and ignored. Up to ``paddingBytes`` blanks at the end of
    /// the line are not counted.
    let extensionBytes: Int
    /// The maximum number of blanks at the end of a line that ``extensionBytes`` does not count. Some servers pad the size to a fixed
    /// width.
    static let paddingBytes = 16

    /// Reads a line without its line end. Blanks at the end of the line, and a `;` before these blanks, are ignored.
    init(_ line: UnsafeBufferPointer<UInt8>) throws(ResponseParseError) {
        var (digits, size) = (0, Int64(0))
        while digits < line.count, let digit = line[digits].hexValue {
            guard digits < Self.sizeDigits else { throw .chunkSizeTooLong(limitDigits: Self.sizeDigits) }
            size = size << 4 | Int64(digit)
            digits += 1
        }
        var end = line.count
        while end > digits, line[end - 1].isOptionalSpace { end -= 1 }
        let padding = line.count - end
        let rest = line.part(digits..<end)
        guard digits > 0, rest.isEmpty || rest[0] == UInt8(ascii: ";") || rest[0].isOptionalSpace && rest.trimmed.first == UInt8(ascii: ";")
        else { throw .invalidChunkSize(ResponseParseError.shown(line)) }
        guard Self.areExtensions(rest) else { throw .invalidChunkExtension }
        (self.size, extensionBytes) = (size, rest.count + max(0, padding - Self.paddingBytes))
    }

    /// Whether `bytes` are extensions: `;name`, `;name=token` or `;name="text"`, with whitespace between the parts. The last extension
    /// may be empty.
    private static func areExtensions(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var index = 0
        func skipWhitespace() { while index < bytes.count, bytes[index].isOptionalSpace { index += 1 } }
        func skip(_ byte: UInt8) -> Bool {
            guard index < bytes.count, bytes[index] == byte else { return false }
            index += 1
            return true
        }
        func skipToken() -> Bool {
            let start = index
            while index < bytes.count, bytes[index].isTokenOctet { index += 1 }
            return index > start
        }
        func skipQuotedText() -> Bool {
            while index < bytes.count {
                let byte = bytes[index]
                index += 1
                switch byte {
                case UInt8(ascii: "\""): return true
                case UInt8(ascii: "\\"):
                    guard index < bytes.count, bytes[index] == 0x09 || bytes[index] >= 0x20 && bytes[index] != 0x7F else { return false }
                    index += 1
                case 0x09, 0x20...0x7E, 0x80...0xFF: break
                default: return false
                }
            }
            return false
        }
        while index < bytes.count {
            skipWhitespace()
            guard skip(UInt8(ascii: ";")) else { return false }
            if index == bytes.count { return true }
            skipWhitespace()
            guard skipToken() else { return false }
            let end = index
            skipWhitespace()
            guard skip(UInt8(ascii: "=")) else {
                index = end
                continue
            }
            skipWhitespace()
            guard skip(UInt8(ascii: "\"")) ? skipQuotedText() : skipToken() else { return false }
        }
        return true
    }
}
#endif
