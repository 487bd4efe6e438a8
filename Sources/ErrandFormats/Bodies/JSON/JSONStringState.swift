/// Finds the strings of a JSON text ([RFC 8259, section 7](https://www.rfc-editor.org/rfc/rfc8259#section-7)) byte by byte. The text can be
/// read in pieces, and may be truncated.
package struct JSONStringState: Sendable {
    /// The role of a byte.
    package enum Role: Sendable {
        /// The byte is not part of a string.
        case outside
        /// The byte is the quotation mark at the beginning of a string.
        case start
        /// The byte is between the quotation marks of a string.
        case text
        /// The byte is the quotation mark at the end of a string.
        case end
    }

    /// Whether the bytes that were read so far end within a string.
    package internal(set) var isInString = false
    @usableFromInline var isEscaped = false

    @inlinable package init() {}

    /// Reads the next byte.
    @inlinable package mutating func read(_ byte: UInt8) -> Role {
        guard isInString else {
            guard byte == UInt8(ascii: "\"") else { return .outside }
            isInString = true
            return .start
        }
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
            return .end
        }
        return .text
    }
}
