/// Checks JSON text from the network before it is decoded, in linear time and without recursion.
///
/// A first pass checks nesting and names. In text of more than 256 bytes, a second pass searches for long runs of combining marks.
/// The second pass skips most of the text.
///
/// The nesting is limited, because each level uses stack. A recursive decoder, Foundation's decoder and the values themselves all
/// use stack for each level. A thread may have a stack of only 512 KiB.
///
/// Runs of combining marks are limited because comparing such a run as Unicode text takes quadratic time. A decoder that stores
/// members by name compares the names as Unicode text. An app also compares values as Unicode text, for example as raw values and
/// as elements of sets.
package enum JSONDepth {
    /// The limit for the app's own types: 128 levels.
    package static let limit = 128

    /// Returns the problem of the text; `nil` if the text may be decoded. Text that is not JSON may be reported as too deep.
    ///
    /// The type of `bytes` is concrete, because a generic function in another module is several times slower.
    package static func problem(in bytes: UnsafeRawBufferPointer, limit: Int = limit) -> String? {
        // JSON text in UTF-16 or UTF-32 has a zero among its first four bytes, or a byte order mark.
        if bytes.prefix(4).contains(0) || bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return "not UTF-8 (RFC 8259, 8.1)"
        }
        var depth = 0
        var string = JSONStringState()
        var stringStart = 0
        var isPlain = true
        /// Whether the last token is a string that would be too long as a name.
        var hasLongString = false
        for (index, byte) in bytes.enumerated() {
            switch string.read(byte) {
            case .start:
                (stringStart, isPlain, hasLongString) = (index + 1, true, false)
                continue
            case .text:
                if byte >= 0x80 || byte == UInt8(ascii: "\\") { isPlain = false }
                continue
            case .end:
                hasLongString = !isPlain && index - stringStart > FieldLimits.nameBytes
                continue
            case .outside: break
            }
            switch byte {
            case UInt8(ascii: ":") where hasLongString:
                return "a member's name that is not ASCII is longer than \(FieldLimits.nameBytes) bytes"
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                hasLongString = false
                if depth > limit { return "nested deeper than \(limit)" }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case 0x20, 0x09, 0x0A, 0x0D: break
            default: hasLongString = false
            }
        }
        return MarkRun.isTooLong(in: bytes, .json) ? MarkRun.problem : nil
    }
}
