/// Reads the value of a field from its first byte to its last: tokens, quoted strings and separators
/// ([RFC 9110, section 5.6](https://www.rfc-editor.org/rfc/rfc9110#section-5.6)).
struct FieldReader {
    let bytes: [UInt8]
    var position = 0

    init(_ value: some StringProtocol) { bytes = Array(value.utf8) }

    /// The byte at the position; `nil` at the end.
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Reads a token. Returns `nil` and reads nothing if no token begins at the position.
    mutating func token() -> String? {
        let start = position
        skip(\.isTokenOctet)
        return position > start ? text(start..<position) : nil
    }

    /// Reads the quoted string that begins at the position, and returns its text without quotation marks. Returns `nil` if the
    /// closing quotation mark is missing.
    ///
    /// - Parameter keepingBackslashes: whether a backslash is data unless a quotation mark or a backslash follows it. Default:
    ///   `false`. In file names, some senders do not escape backslashes.
    mutating func quoted(keepingBackslashes: Bool = false) -> String? {
        position += 1
        var value: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = next else { return nil }
                if keepingBackslashes, escaped != UInt8(ascii: "\""), escaped != UInt8(ascii: "\\") { value.append(byte) }
                value.append(escaped)
                position += 1
            default: value.append(byte)
            }
        }
        return nil
    }

    /// Reads `byte` if it is the next byte. Returns whether `byte` was read.
    mutating func take(_ byte: Character) -> Bool {
        guard next == byte.asciiValue else { return false }
        position += 1
        return true
    }

    /// Reads a list whose members are separated by commas; `nil` if a member can't be read, or if there are more than `limit` members.
    /// Empty members are ignored.
    mutating func list<Member>(upTo limit: Int, _ read: (inout FieldReader) -> Member?) -> [Member]? {
        var members: [Member] = []
        while true {
            skip { $0.isOptionalSpace || $0 == UInt8(ascii: ",") }
            guard next != nil else { return members }
            guard members.count < limit, let member = read(&self) else { return nil }
            members.append(member)
            skip(\.isOptionalSpace)
            guard next == nil || next == UInt8(ascii: ",") else { return nil }
        }
    }

    mutating func skip(_ isSkipped: (UInt8) -> Bool) { while let byte = next, isSkipped(byte) { position += 1 } }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
